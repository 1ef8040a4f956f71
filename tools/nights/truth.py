"""What is true of a night, written down where it is planted or played; never by a rule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Truth:
    """One cause at one place."""

    #: As docs/findings/<code>.md has it.
    code: str
    #: Whom a finding may name to be about this; nobody is meant where both are empty.
    brokers: frozenset[str]
    bundles: frozenset[str]
    begin_ms: int
    end_ms: int
    #: So near to a bar, or known so badly, that it need not be found, and may be.
    is_open: bool = False
    #: This is what the night was made for.
    is_planted: bool = False


def at(
    code: str,
    span: tuple[int, int],
    brokers: object = (),
    bundles: object = (),
    is_open: bool = False,
) -> Truth:
    """Return a cause at a place."""
    return Truth(code, _names(brokers), _names(bundles), *span, is_open)


def _names(names: object) -> frozenset[str]:
    return frozenset([names]) if isinstance(names, str) else frozenset(names)  # type: ignore[call-overload]
