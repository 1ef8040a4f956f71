"""The nouns of steering: what a strategy is shown, and what it answers.  No functions.

Brokers and bundles are positions in the names of a view.  A name keeps its position for good:
later views may have more names, never fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trimtab.lab.costs import Look, Windows
from trimtab.pulsar.model import Flags, Floats, Ints


class Sight(StrEnum):
    """By what a strategy sees the brokers."""

    #: The last report that each broker wrote to the metadata store, as Pulsar's leader.
    STORE = "store"
    #: What each broker says of itself when it is asked, whether it has written it or not.
    REPORTS = "reports"
    #: Counters of each broker and its host, read at short intervals: noisy, and some are lost.
    POLLED = "polled"


class Change(StrEnum):
    """What happened to the membership of a broker."""

    JOIN = "join"
    LEAVE = "leave"
    #: It joined, and had been there before.
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Member:
    """A broker that has come or gone."""

    time_s: float
    broker: int
    change: Change


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a command."""

    time_s: float
    bundle: int
    #: Where it was to go, and who has it: the former owner if it did not move, -1 for nobody.
    wanted: int
    to: int


@dataclass(frozen=True, slots=True)
class Network:
    """What the reports of a look say of the network; rows are those of the look's reports."""

    #: (n_reports, 2) percent of the NIC in use, in and out, by whatever.
    percent: Floats
    #: (n_reports,) bytes/s that the NIC carries each way.
    capacity: Floats


@dataclass(frozen=True, slots=True)
class View:
    """A cluster at a time, and what is new of it since the view before."""

    brokers: tuple[str, ...]
    bundles: tuple[str, ...]
    #: New reports with the time of each, cores, the background where it is measured; and bundles
    #: that changed hands.  `look.time_s` is the clock.
    look: Look
    network: Network
    windows: Windows
    #: (n_brokers,) it is a member of the cluster now.
    is_there: Flags
    #: New since the view before, in order of time.
    members: tuple[Member, ...]
    fates: tuple[Fate, ...]
    #: (n_bundles,) may be moved: not Pulsar's own, and left alone for no grace period.
    is_movable: Flags

    @property
    def time_s(self) -> float:
        """Return when this is, s."""
        return self.look.time_s


@dataclass(frozen=True, slots=True)
class Asked:
    """A bundle that a client looks up, and that somebody has to own."""

    time_s: float
    bundle: int
    #: Its owner, which is about to give it up; -1 for nobody.
    source: int
    #: Positions of brokers that may have it, at least one.
    candidates: Ints


@dataclass(frozen=True, slots=True)
class Command:
    """A bundle that is to go from one broker to another, and why."""

    bundle: int
    source: int
    target: int
    reason: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the usage of a broker will be when all commands of an answer are done, percent."""

    broker: int
    before: float
    after: float
    #: Standard deviation of the change, and of the usage afterwards.
    change_deviation: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be done now."""

    commands: tuple[Command, ...]
    #: One for each broker that the commands touch; none by a strategy that predicts nothing.
    predictions: tuple[Prediction, ...]
    #: Why these commands, or why none.
    reason: str
    #: What an operator is advised to do, which no move does: a bundle to split.
    advice: tuple[str, ...]
    #: (n_brokers,) usage as the strategy believes it to be, percent; NaN where it does not know.
    levels: Floats
