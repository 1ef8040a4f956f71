"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file beside its place and move it there, so that it is never half there.

    Returns:
        The path, for whoever tells where it is.

    Raises:
        OSError: it cannot be written, and the error names it; what was there before still is.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        return draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
