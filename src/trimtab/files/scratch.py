"""Folders for what nobody named a place for; they go when the process ends."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path


def scratch_folder(purpose: str) -> Path:
    """Return a new, empty folder that is removed with all it holds when the process ends."""
    return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=_scratch().name))


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="trimtab-")
