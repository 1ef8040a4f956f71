"""Files of a recording → tables, with every line accounted for."""

from trimtab.ingest.accounting import Accounting, FileAccount, IngestError
from trimtab.ingest.pipeline import ingest, ingest_all
from trimtab.ingest.recording import Recording, UnusedFile, open_recording
from trimtab.ingest.recording_toml import RecordingError

__all__ = [
    "Accounting",
    "FileAccount",
    "IngestError",
    "Recording",
    "RecordingError",
    "UnusedFile",
    "ingest",
    "ingest_all",
    "open_recording",
]
