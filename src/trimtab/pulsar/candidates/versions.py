"""Versions as the Java library semver reads and orders them, which is almost as SemVer has it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_INT_MAX = 2**31 - 1
_NUMBER = r"(?:0|[1-9][0-9]*)"
# With a letter or a hyphen anything goes; without, it is a number and has no leading zero.
_PRE_RELEASE = rf"(?:[0-9]*[A-Za-z-][0-9A-Za-z-]*|{_NUMBER})"
_BUILD = r"[0-9A-Za-z-]+"
# 4.0.8, 5.0.0-M1, 4.1.0-SNAPSHOT+ab12
_VERSION = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-({_PRE_RELEASE}(?:\.{_PRE_RELEASE})*))?(?:\+{_BUILD}(?:\.{_BUILD})*)?"
)
_INTEGER = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class Version:
    """A version: three numbers, and identifiers that may follow."""

    numbers: tuple[int, int, int]
    #: What follows a hyphen; a version without it is the newer one.
    pre_release: tuple[str, ...] = ()


def parse_version(text: str) -> Version:
    """Read a version; what follows a plus is a build, which must be well formed and says nothing.

    Raises:
        ValueError: the text is none: there must be exactly three numbers, of 32 bits and
            without leading zeros.
    """
    match = _VERSION.fullmatch(text)
    numbers = [int(number) for number in match.groups()[:3]] if match else []
    if match is None or max(numbers) > _INT_MAX:
        raise ValueError(f"version {text!r} is not understood: expected one like 4.0.8")
    pre_release = match.group(4)
    return Version(
        (numbers[0], numbers[1], numbers[2]), tuple(pre_release.split(".")) if pre_release else ()
    )


def compare(one: Version, other: Version) -> int:
    """Return how two versions compare; negative if the first is older."""
    if one.numbers != other.numbers:
        return -1 if one.numbers < other.numbers else 1
    return _compare_identifiers(one.pre_release, other.pre_release)


def _compare_identifiers(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Compare identifier by identifier; none at all is the newest, and more beat fewer."""
    if not one or not other:
        return bool(other) - bool(one)
    for mine, theirs in zip(one, other, strict=False):
        result = _compare_identifier(mine, theirs)
        if result != 0:
            return result
    return len(one) - len(other)


def _compare_identifier(one: str, other: str) -> int:
    """Compare two identifiers as numbers if both are, else letter by letter."""
    if _is_integer(one) and _is_integer(other):
        return int(one) - int(other)
    return (one > other) - (one < other)


def _is_integer(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and -_INT_MAX - 1 <= int(text) <= _INT_MAX
