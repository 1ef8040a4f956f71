"""Reads a client.conf: a file of Java properties."""

from __future__ import annotations

import re
from pathlib import Path

# key=value, key: value, key value; a backslash keeps what follows it from meaning anything.
_PROPERTY = re.compile(r"((?:[^\\\s=:]|\\.)+)[ \t\f]*[=: \t\f]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_client_conf(path: Path) -> dict[str, str]:
    """Return a file of properties as Java reads it, the last of a key that stands twice.

    Raises:
        OSError: it cannot be read.
    """
    keys = {}
    for line in _logical(path.read_text(encoding="utf-8", errors="replace")):
        if match := _PROPERTY.fullmatch(line):
            keys[_plain(match[1])] = _plain(match[2]).strip()
    return keys


def _logical(text: str) -> list[str]:
    """Return lines, joined where a backslash at the end continues them, without comments."""
    lines: list[str] = []
    head = ""
    for line in text.splitlines():
        stripped = line.lstrip()
        if not head and stripped[:1] in {"", "#", "!"}:
            continue
        n_backslashes = len(stripped) - len(stripped.rstrip("\\"))
        if n_backslashes % 2:
            head += stripped[:-1]
            continue
        lines.append(head + stripped)
        head = ""
    return [*lines, head] if head else lines


def _plain(text: str) -> str:
    def one(escape: re.Match[str]) -> str:
        return chr(int(escape[1], 16)) if escape[1] else _LETTERS.get(escape[2], escape[2])

    return _ESCAPE.sub(one, text)
