"""Files that are there whole or not at all, and files that are text or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.places import is_store


def write_whole(path: Path, content: str | bytes) -> Path:
    """Return the path of a file, written beside its place and moved there, never half there.

    Returns:
        The path, for whoever tells where it is.

    Raises:
        OSError: it cannot be written, and the error names it; what was there before still is.
    """
    content = content.encode() if isinstance(content, str) else content
    if is_store(path):
        path.write_bytes(content)
        return path
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(content)
        return draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None


def read_text(path: Path | str, wrong: Callable[[str], TrimtabError]) -> str:
    """Return the text of a file.

    Raises:
        TrimtabError: what `wrong` makes of a message; it cannot be read, or is no UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise wrong(f"{path}: expected text in UTF-8: {error}") from error
    except OSError as error:
        raise wrong(f"{path}: {error.strerror}") from error
