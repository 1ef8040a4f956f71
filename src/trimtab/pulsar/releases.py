"""Pulsar's releases: their order, and the lines whose decisions were measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

Entry = TypeVar("Entry")

#: Lines whose strategy classes were run, oldest first.
RELEASE_LINES = ("2.10", "3.0", "3.3", "4.0", "5.0")

# 4.0.8, 5.0.0-M1, 3.3.5-SNAPSHOT, 2.10.4.3; or a line alone: 4.0
_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+)(.*))?", re.ASCII)

# A line alone stands for the newest release of it.
_NEWEST_PATCH = 1_000_000


@cache
def release_order(release: str) -> tuple[int, int, int, int]:
    """Return a key by which releases sort: 3.0.7 < 5.0.0-M1 < 5.0.0 < 5.0.

    A line without a patch number counts as its newest release; whatever follows the
    patch number after a hyphen (`-M1`, `-SNAPSHOT`) marks what came before the release.

    Raises:
        ValueError: the text is not a release; the message shows it.
    """
    match = _RELEASE.fullmatch(release.strip())
    if match is None:
        raise ValueError(f"release {release!r} is not understood: expected one like 4.0.8 or 4.0")
    major, minor, patch, suffix = match.groups()
    if patch is None:
        return int(major), int(minor), _NEWEST_PATCH, 0
    return int(major), int(minor), int(patch), -1 if suffix.startswith("-") else 0


@cache
def release_line(release: str) -> str:
    """Return the line whose decisions a release makes: 4.0.8 is of line 4.0.

    A release of no measured line counts to the nearest line below it, so 3.2.4 to 3.0
    and 4.1.0 to 4.0: strategies were carried forward, rarely changed.

    Raises:
        ValueError: the release is older than the oldest line, or not a release.
    """
    wanted = release_order(release)[:2]
    lines = [line for line in RELEASE_LINES if release_order(line)[:2] <= wanted]
    if not lines:
        raise ValueError(f"release {release!r} is too old: expected {RELEASE_LINES[0]} or later")
    return lines[-1]


def newest_entry(entries: Mapping[tuple[str, str], Entry], name: str, release: str) -> Entry | None:
    """Return what a name stands for in a release: its newest entry that is not newer.

    Args:
        entries: (name, release from which on) → what it stands for.
        name: the name looked for.
        release: a Pulsar release or a release line.

    Returns:
        The entry; None if there is none of that name, or none that old.

    Raises:
        ValueError: the release is not one.
    """
    wanted = release_order(release)
    since = [key for key in entries if key[0] == name and release_order(key[1]) <= wanted]
    return entries[max(since, key=lambda key: release_order(key[1]))] if since else None
