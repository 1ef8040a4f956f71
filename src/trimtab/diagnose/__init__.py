"""Tables → rounds decided again → findings, and what the recording cannot answer."""
