r"""Text of others, written so that whoever reads it sees it and it does nothing else.

A terminal acts on escape sequences, a browser turns the line after U+202E around, and both
show two names that differ by a zero-width space as one.  Such characters are spelled out,
as Python does: `\x1b`, `\u202e`.
"""

from __future__ import annotations

#: Of a name that is cut, the characters kept from its end: what tells bundles apart.
_END = 24


def visible(text: str, longest: int | None = None, keep: str = "") -> str:
    r"""Return a text with characters that are not shown spelled out, and cut if too long.

    Args:
        text: anything, lone surrogates included.
        longest: characters of `text` that are kept; None for all.
        keep: characters to leave as they are, such as newline and tab of a log line.

    Properties:
        What it gives is printable but for `keep`, and can be written as UTF-8.

    >>> visible("a\x1b[2Jb\u202e")
    'a\\x1b[2Jb\\u202e'
    >>> visible("abcdef", longest=3)
    'abc… (6 characters)'
    """
    shown = text if longest is None else text[:longest]
    # Most texts are plain, and a hundred thousand of them are asked for.
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(it if it.isprintable() or it in keep else _escaped(it) for it in shown)
    is_cut = longest is not None and len(text) > longest
    return f"{shown}… ({len(text):,} characters)" if is_cut else shown


def visible_name(name: str, longest: int = 160) -> str:
    """Return a name on one line, and of a very long one its beginning and its end.

    >>> visible_name("tenant/namespace/0x00000000_0x40000000", longest=30)
    'tenan…ce/0x00000000_0x40000000 (38 characters)'
    """
    if len(name) <= longest:
        return visible(name)
    start = max(1, longest - _END - 1)
    return f"{visible(name[:start])}…{visible(name[-_END:])} ({len(name):,} characters)"


def _escaped(character: str) -> str:
    """Return a character as Python spells it."""
    code = ord(character)
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
