"""What brokers have said, and the leader has averaged, when a simulation begins in mid-life.

No functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.pulsar.model import Floats, Ints


@dataclass(frozen=True, slots=True)
class Reported:
    """The last report of each broker that had written one; arrays are (n_reports, …)."""

    broker: Ints
    #: s at which it was written, at most 0.
    written_s: Floats
    #: (n_reports, 3) percent of CPU, NIC in and NIC out.
    usage: Floats


@dataclass(frozen=True, slots=True)
class Listed:
    """What those reports say of bundles, and the leader's averages; arrays are (n_lines, …)."""

    bundle: Ints
    #: Whose report it is, which need not own the bundle any more.
    broker: Ints
    #: Messages/s.
    rate_in: Floats
    rate_out: Floats
    #: (n_lines, 2) samples in the short and in the long average.
    samples: Ints
    #: (n_lines, 2, 2) messages/s: the short and the long average, each in and out.
    average: Floats


@dataclass(frozen=True, slots=True)
class Standing:
    """All of it."""

    reported: Reported
    listed: Listed
    #: (n_bundles,) s at which the leader unloaded it last, at most 0; -inf if it did not.
    unloaded_s: Floats
