"""A recording with damage in it, the same damage each time: what is said of lines that are odd."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import TypeAlias

#: Share of the lines that are damaged.
_SHARE = 0.02
#: Files that are copied as they are: one slip in such a document, and all of it is lost.
_WHOLE = {".toml", ".json", ".md"}
_MEMBER = re.compile(rb'"\w+":(?:"[^"]*"|[-\d.eE]+|true|false|null),?')
_NUMBER = re.compile(rb"(?<=[:,\[ =])-?\d+(?:\.\d+)?")

#: Returns what stands there instead of a line.
_Damage: TypeAlias = Callable[[bytes, Random], bytes]


def damaged(source: Path, target: Path) -> None:
    """Write a copy of a recording in which some lines of each file are not what they should be."""
    for path in sorted(it for it in source.rglob("*") if it.is_file()):
        name = path.relative_to(source)
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        if path.suffix not in _WHOLE:
            lines = content.splitlines(keepends=True)
            content = b"".join(damaged_lines(lines, Random(name.as_posix())))
        if path.suffix == ".gz":
            content = gzip.compress(content, mtime=0)
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content)


def damaged_lines(lines: Iterable[bytes], random: Random) -> Iterator[bytes]:
    """Return lines of which some are damaged."""
    for line in lines:
        is_spared = random.random() >= _SHARE
        yield line if is_spared else random.choice(_DAMAGES)(line, random)


def _cut(line: bytes, random: Random) -> bytes:
    return line[: random.randrange(len(line))] + b"\n"


def _doubled(line: bytes, _: Random) -> bytes:
    return line + line


def _with_garbage(line: bytes, random: Random) -> bytes:
    place = random.randrange(len(line))
    return line[:place] + b"\x00\xff\xe2" + line[place:]


def _without_member(line: bytes, random: Random) -> bytes:
    return _replaced(line, _MEMBER, b"", random)


def _with_text_for_number(line: bytes, random: Random) -> bytes:
    return _replaced(line, _NUMBER, b'"odd"', random)


def _with_null_for_number(line: bytes, random: Random) -> bytes:
    return _replaced(line, _NUMBER, b"null", random)


def _with_other_number(line: bytes, random: Random) -> bytes:
    return _replaced(line, _NUMBER, random.choice((b"-1", b"1e400", b"NaN", b"0.5")), random)


def _replaced(line: bytes, pattern: re.Pattern[bytes], by: bytes, random: Random) -> bytes:
    """Return a line with one match replaced; without a match, the line cut off."""
    matches = list(pattern.finditer(line))
    if not matches:
        return _cut(line, random)
    start, end = random.choice(matches).span()
    return line[:start] + by + line[end:]


_DAMAGES: tuple[_Damage, ...] = (
    _cut,
    _doubled,
    _with_garbage,
    _without_member,
    _with_text_for_number,
    _with_null_for_number,
    _with_other_number,
)
