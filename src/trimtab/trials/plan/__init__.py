"""A recording, or a plan → how low the peak may come, as text, as a document and as a picture."""
