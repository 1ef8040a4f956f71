"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write_whole(path: Path, text: str) -> Path:
    """Write a file beside its place and move it there, so that it is never half there.

    Returns:
        The path, for whoever tells where it is.

    Raises:
        OSError: it cannot be written; what was there before still is.
    """
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    return draft.replace(path)
