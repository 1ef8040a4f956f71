"""A thread as it is kept: what its author posted, and what can be known from that."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "testdata" / "threads"

Door: TypeAlias = Literal["explain", "lint"]


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that is provable from a thread's material."""

    what: str
    #: Which line or key shows it, and by which behaviour of Pulsar.
    because: str
    door: Door
    #: Codes of which one says it; empty where any statement about the place does.
    codes: tuple[str, ...] = ()
    #: Words that must all stand in what is said: brokers, bundles, keys.
    place: tuple[str, ...] = ()
    #: Words of which one must stand in the advice; empty where no advice follows.
    remedy: tuple[str, ...] = ()
    #: How grave the finding's page calls it; empty where the page leaves it open.
    severity: str = ""
    #: What trimtab lacks to say it, where it does not.
    needs: str = ""


class Contradiction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that the material speaks against, or says nothing of."""

    what: str
    door: Door = "explain"
    codes: tuple[str, ...] = ()
    #: A pattern that must not be found in the headline.
    headline: str = ""


class Thread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thread, in our own words; names of brokers, bundles and tenants are changed."""

    number: int
    title: str
    #: Empty where the thread does not tell it.
    release: str
    question: str
    #: What of the thread is kept beside this file.
    material: str
    undecidable: tuple[str, ...]
    #: Keys of recording.toml that the author would fill in if trimtab asked for them.
    answers: dict[str, str] = {}
    provable: tuple[Claim, ...] = ()
    contradiction: tuple[Contradiction, ...] = ()

    @property
    def folder(self) -> Path:
        """Return the folder of what was posted."""
        return CASES / str(self.number) / "material"


def threads() -> list[Thread]:
    """Return all threads by number.

    Raises:
        msgspec.ValidationError: a file says what no thread has.
    """
    files = sorted(CASES.glob("*/thread.toml"), key=lambda file: int(file.parent.name))
    return [msgspec.toml.decode(file.read_bytes(), type=Thread) for file in files]
