"""Recordings that grow → which bytes are new, each once, whatever becomes of the files."""
