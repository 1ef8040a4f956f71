"""What Foresee keeps from one step to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs import Knowledge, nothing_known
from trimtab.lab.costs.look import COUNTS
from trimtab.lab.steering.foresight.calm import Waiting
from trimtab.lab.steering.view import View
from trimtab.pulsar.model import Flags, Floats, Ints

#: What a byte/s in and out takes of a NIC, rows in and out, before anything is seen:
#: acknowledgements are left aside, and what is published goes to two bookies.
SHARES_BEFORE: Floats = np.array(((1.0, 0.0), (2.0, 1.0)))


@dataclass(frozen=True, slots=True)
class Picture:
    """What brokers use and bundles cost, as it is believed to be now.

    Columns are CPU, network in and network out.
    """

    #: (n_brokers, 3) percent; NaN for a broker of which nothing can be said.
    usage: Floats
    #: (n_brokers, 3) points for a unit of cost, and (n_bundles, 3) the costs.
    speed: Floats
    cost: Floats
    #: (n_bundles,) positions; -1 for nobody.
    owner: Ints
    #: (n_brokers,) points by which other processes hold a broker above all that moves could do.
    beyond: Floats
    #: Percent at which the CPU of all brokers would stand if what they carry were poured over them.
    water: float
    #: (n_bundles,) would hold any broker above the others: no move helps.
    is_too_large: Flags

    @property
    def movable_usage(self) -> Floats:
        """Return the usage without what no move can do about, (n_brokers, 3) percent."""
        usage = self.usage.copy()
        usage[:, 0] -= self.beyond
        return usage

    @property
    def is_aside(self) -> Flags:
        """Return which brokers hold a bundle that is too large, (n_brokers,)."""
        aside = np.zeros(len(self.usage), np.bool_)
        aside[self.owner[self.is_too_large & (self.owner >= 0)]] = True
        return aside

    @property
    def levels(self) -> Floats:
        """Return the fullest column of each broker without that, (n_brokers,) percent."""
        return np.asarray(self.movable_usage.max(axis=1))


@dataclass(frozen=True, slots=True)
class Network:
    """How bytes fill the NIC."""

    #: (2, 2) percent of a NIC's bytes/s, rows in and out, by bytes/s in and out of bundles.
    shares: Floats
    #: Sums of squares and products of what was seen, (2, 2) and (2, 2).
    squares: Floats
    products: Floats
    #: (n_brokers, 2) percent that bundles do not explain, filtered; NaN before the first report.
    rest: Floats
    #: (n_brokers,) bytes/s.
    capacity: Floats


@dataclass(frozen=True, slots=True)
class Mood:
    """What has been going on."""

    #: Evidence of imbalance, in windows; at one it acts.  And when it was weighed last, s.
    evidence: float = 0.0
    weighed_s: float = -np.inf
    #: It has made a plan, and the spread has not been small since.
    is_open: bool = False
    planned_s: float = -np.inf
    #: s until which it holds still after a broker went or came back.
    hold_s: float = -np.inf
    #: s since which a bundle has been too large.
    large_s: float = np.inf
    #: A broker has joined that holds nothing yet.
    has_new: bool = False


@dataclass(frozen=True, slots=True)
class Excursions:
    """How long brokers have been off their usual usage, now and before."""

    #: (n_looks, n_brokers) percent as reported, and (n_looks,) s.
    usage: Floats
    time_s: Floats
    #: (n_brokers,) s at which an excursion began; NaN for none.
    since_s: Floats
    #: (n_brokers,) traffic is what it is off by.
    by_traffic: Flags
    #: (n_brokers,) the bundle whose traffic rose most in it, by how much (0: none did), and at
    #: which half of that is left, points.
    surge: Ints
    rise: Floats
    half: Floats
    #: (n_past, 4) s at which one was over, how long it was, whose, and 1 if traffic was it.
    past: Floats


@dataclass(frozen=True, slots=True)
class Memory:
    """All of it: about 3 kB a broker and 600 B a bundle."""

    known: Knowledge
    #: (windows, n_bundles, 7) the last sound windows, columns COUNTS, the newest last, and their
    #: median; how many there are of each bundle, and the s at which the newest was taken.
    rates: Floats
    robust: Floats
    n_rates: Ints
    rated_s: Floats
    #: (n_brokers,) percent of CPU in the newest report, s at which it said something new, and
    #: (windows, n_brokers) percent that others took in the last, the newest last; NaN where nobody
    #: measured it.
    newest: Floats
    newest_s: Floats
    others: Floats
    network: Network
    mood: Mood
    excursions: Excursions
    #: (n_brokers,) s at which it left last, and came last.
    left_s: Floats
    came_s: Floats
    is_there: Flags
    picture: Picture
    waiting: Waiting | None = None


def no_excursions(n_brokers: int) -> Excursions:
    """Return that no broker has been off its usual usage, and that nobody has looked yet."""
    return Excursions(
        usage=np.empty((0, n_brokers)),
        time_s=np.empty(0),
        since_s=np.full(n_brokers, np.nan),
        by_traffic=np.zeros(n_brokers, np.bool_),
        surge=np.full(n_brokers, -1),
        rise=np.zeros(n_brokers),
        half=np.zeros(n_brokers),
        past=np.empty((0, 4)),
    )


def beginning(view: View, windows: int) -> Memory:
    """Return the memory before the first view."""
    n, m = len(view.brokers), len(view.bundles)
    none = np.full(n, np.nan)
    nothing = np.zeros((n, 3))
    return Memory(
        known=nothing_known(view.brokers, view.bundles),
        rates=np.zeros((windows, m, len(COUNTS))),
        robust=np.zeros((m, len(COUNTS))),
        n_rates=np.zeros(m, np.int64),
        rated_s=np.full(m, -np.inf),
        newest=none,
        newest_s=np.full(n, -np.inf),
        others=np.full((windows, n), np.nan),
        network=Network(
            shares=SHARES_BEFORE.copy(),
            squares=np.zeros((2, 2)),
            products=np.zeros((2, 2)),
            rest=np.full((n, 2), np.nan),
            capacity=none,
        ),
        mood=Mood(),
        excursions=no_excursions(n),
        left_s=np.full(n, -np.inf),
        came_s=np.full(n, -np.inf),
        is_there=view.is_there,
        picture=Picture(
            nothing * np.nan,
            nothing,
            np.zeros((m, 3)),
            np.full(m, -1),
            np.zeros(n),
            0.0,
            np.zeros(m, np.bool_),
        ),
    )
