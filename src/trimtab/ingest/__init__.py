"""Recordings → tables: what brokers logged and reported, as Parquet, every line accounted for."""

from trimtab.ingest.pipeline import Accounting, FileAccount, IngestError, ingest
from trimtab.ingest.recording import Recording, RecordingError, UnusedFile, open_recording

__all__ = [
    "Accounting",
    "FileAccount",
    "IngestError",
    "Recording",
    "RecordingError",
    "UnusedFile",
    "ingest",
    "open_recording",
]
