"""When brokers write their load reports, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.parameters import Measuring
from trimtab.lab.simulate.windows import Counted, Sampled
from trimtab.pulsar.leader import load_data, report_gate
from trimtab.pulsar.model import Flags, Floats, Ints
from trimtab.pulsar.releases import release_order
from trimtab.pulsar.settings import LoadManagerSettings, ResourceWeights

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Writes:
    """Reports written in a stretch, in order of time; all arrays are (n_writes,)."""

    tick: Ints
    broker: Ints
    #: The bundle stats in it are of a window that closed in this stretch.
    is_fresh: Flags
    #: (n_writes, 3) percent of CPU, NIC in and NIC out, and (n_writes, 4) messages/s in and
    #: out, bytes/s in and out.
    usage: Floats
    totals: Floats


@dataclass(frozen=True, slots=True)
class Gate:
    """What makes a broker write."""

    #: Returns who writes because something has changed, or for the age of its report.
    needs_update: Callable[
        [report_gate.Measured, report_gate.Measured, Floats, LoadManagerSettings], Flags
    ]
    settings: LoadManagerSettings
    #: Ticks after which it writes in any case.
    ticks_max: int
    #: Weight of CPU, NIC in and NIC out in its usage, and the usage of its memory, weighed.
    weights: tuple[float, float, float]
    memory: float

    def usage(self, usage: Floats) -> Floats:
        """Return the usage of each broker's busiest resource, of percent; a fraction."""
        weighed = usage * self.weights
        busiest = np.maximum(np.maximum(weighed[:, 0], weighed[:, 1]), weighed[:, 2])
        return np.maximum(busiest, self.memory) / 100.0


def gate(
    settings: LoadManagerSettings, weights: ResourceWeights, release: str, measuring: Measuring
) -> Gate:
    """Return what makes a broker of a release write.

    Quirks:
        Before 4.0 usage is not weighed; the heap counts in no case but the weighed one.
    """
    by_resource = (weights.cpu, weights.bandwidth_in, weights.bandwidth_out)
    memory = weights.direct_memory * measuring.direct_memory_percent
    if release_order(release) < release_order("4.0.0-A"):
        by_resource, memory = (1.0, 1.0, 1.0), measuring.direct_memory_percent
    # It looks every so often, and writes at the first look after that.
    looks = int(settings.report_interval_s_max // settings.report_interval_s_min)
    look_ticks = max(1, round(settings.report_interval_s_min / measuring.tick_s))
    ticks = (looks + 1) * look_ticks - 1
    bookkeeping = load_data("ModularLoadManagerImpl", release)
    needs = (
        report_gate.need_broker_data_update_2_10
        if bookkeeping is None
        else bookkeeping.need_broker_data_update
    )
    return Gate(needs, settings, ticks, by_resource, memory)


@dataclass(frozen=True, slots=True)
class Measured:
    """What brokers measured in a stretch, and when they knew."""

    sampled: Sampled
    counted: Counted
    #: (n_brokers, 4) rates of what was counted, added up, as in `Reports.totals`.
    totals: Floats
    #: (n_brokers,) bundles of it.
    bundles: Ints


class Reports:
    """What each broker knows of itself, and what it wrote last."""

    def __init__(self, gate: Gate, n_brokers: int) -> None:
        """Begin with nothing measured and nothing written."""
        self.gate = gate
        #: (n_brokers, 3) percent of CPU, NIC in and NIC out; now, and as it was written.
        self.usage: Floats = np.zeros((n_brokers, 3))
        self.written_usage = self.usage.copy()
        #: The same of (n_brokers, 4) messages/s in and out, bytes/s in and out.
        self.totals: Floats = np.zeros((n_brokers, 4))
        self.written_totals = self.totals.copy()
        #: The same of (n_brokers,) bundles.
        self.bundles: Ints = np.zeros(n_brokers, np.int64)
        self.written_bundles = self.bundles.copy()
        #: The same of (n_brokers,) usage of the busiest resource, fraction.
        self._busiest = gate.usage(self.usage)
        self._written_busiest = self._busiest.copy()
        #: (n_brokers,) tick at whose end it wrote last.
        self.written: Ints = np.zeros(n_brokers, np.int64)
        #: (n_brokers,) there have been new bundle stats since it wrote.
        self.is_behind: Flags = np.zeros(n_brokers, np.bool_)

    def start(self, broker: int, tick: int) -> None:
        """Write a broker's first report: nothing measured yet, CPU 0."""
        who = np.array([broker])
        totals, usage = np.zeros((1, 4)), np.zeros((1, 3))
        self._count(who, totals, np.zeros(1, np.int64))
        self._sample(who, usage, self.gate.usage(usage))
        self._write(who, np.array([tick - 1]))

    def resume(self, who: Ints, usage: Floats, counted: tuple[Floats, Ints], tick: Ints) -> None:
        """Begin with what brokers have written before, at ticks below 0."""
        self._count(who, *counted)
        self._sample(who, usage, self.gate.usage(usage))
        self._write(who, tick)

    def stretch(self, measured: Measured, reports: Flags, end: int) -> Writes:
        """Take what was measured in a stretch up to tick `end`, and write where it is time."""
        sampled, counted = measured.sampled, measured.counted
        late = self.written + self.gate.ticks_max + 1
        due = np.full((3, reports.size), _NEVER)
        np.copyto(due[0], counted.tick, where=counted.tick >= 0)
        np.copyto(due[1], sampled.tick, where=sampled.tick >= 0)
        np.copyto(due[2], late, where=reports & (late < end))
        # In order: bundle stats, usage, and a report for its age.
        turns, ticks = np.argsort(due, axis=0, kind="stable"), np.sort(due, axis=0)
        comes = ticks < _NEVER
        looks = comes.copy()
        # What happens in one tick is looked at once.
        looks[:-1] &= ticks[1:] != ticks[:-1]
        usage = self.gate.usage(sampled.usage)
        writes: list[tuple[Ints, Ints, Flags, Floats, Floats]] = []
        fresh = np.zeros(reports.size, np.bool_)
        for i in range(int(np.count_nonzero(comes.any(axis=1)))):
            tick = ticks[i]
            (counts,) = (comes[i] & (turns[i] == 0)).nonzero()
            if counts.size:
                self._count(counts, measured.totals[counts], measured.bundles[counts])
                fresh[counts] = True
            (samples,) = (comes[i] & (turns[i] == 1)).nonzero()
            if samples.size:
                self._sample(samples, sampled.usage[samples], usage[samples])
            (who,) = (looks[i] & self._is_due(tick)).nonzero()
            if who.size:
                self._write(who, tick[who])
                values = self.usage[who], self.totals[who]
                writes.append((tick[who], who, fresh[who], *values))
        return _in_order(writes)

    def _is_due(self, tick: Ints) -> Flags:
        """Return which brokers write if they look at the end of a tick."""
        now = report_gate.Measured(self.totals, self.bundles, self._busiest)
        written = report_gate.Measured(
            self.written_totals, self.written_bundles, self._written_busiest
        )
        # How old a report may be is a number of looks here.
        is_changed = self.gate.needs_update(written, now, np.zeros(tick.size), self.gate.settings)
        return np.asarray(is_changed | (tick - self.written > self.gate.ticks_max))

    def _count(self, who: Ints, totals: Floats, bundles: Ints) -> None:
        self.totals[who], self.bundles[who] = totals, bundles
        self.is_behind[who] = True

    def _sample(self, who: Ints, usage: Floats, busiest: Floats) -> None:
        self.usage[who], self._busiest[who] = usage, busiest

    def _write(self, who: Ints, tick: Ints) -> None:
        self.written_usage[who] = self.usage[who]
        self.written_totals[who] = self.totals[who]
        self.written_bundles[who] = self.bundles[who]
        self._written_busiest[who] = self._busiest[who]
        self.written[who], self.is_behind[who] = tick, False


def _in_order(writes: list[tuple[Ints, Ints, Flags, Floats, Floats]]) -> Writes:
    """Return writes in order of time, those of one tick in the order of the brokers."""
    if not writes:
        nothing = np.empty(0, np.int64)
        empty = np.empty((0, 3)), np.empty((0, 4))
        return Writes(nothing, nothing, np.empty(0, np.bool_), *empty)
    tick, broker, fresh, usage, totals = (
        np.concatenate(part) for part in zip(*writes, strict=True)
    )
    order = np.lexsort((broker, tick))
    return Writes(tick[order], broker[order], fresh[order], usage[order], totals[order])
