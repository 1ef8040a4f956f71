"""A recording → what its traffic costs, as text, as a document and as a picture."""
