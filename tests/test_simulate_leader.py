"""The simulated leader against other code that does the same: one notification at a time."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.plain_leader.load import cluster_load
from tests.plain_leader.load_manager import LoadManager
from tests.plain_leader.objects import Report
from tests.simulated_worlds import drawn_balancer, drawn_parameters, drawn_world
from trimtab.lab.simulate import simulation as simulation_module
from trimtab.lab.simulate.averages import Average
from trimtab.lab.simulate.leader import Leader
from trimtab.lab.simulate.parameters import Measuring
from trimtab.lab.simulate.reports import Measured, Reports, Writes, gate
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.windows import Counted, Sampled
from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.leader import report_gate
from trimtab.pulsar.leader.time_average import averaged
from trimtab.pulsar.model import ClusterLoad, Ints
from trimtab.pulsar.settings import ResourceWeights, load_manager_settings

#: The last two once showed reports that cross each other.
SEEDS = (*range(2000, 2080), 2219, 10551)


class Shadowed(Leader):
    """A leader with another beside it, to whom each report is told as a whole."""

    compared = counted = 0

    def _begin(self) -> None:
        self.shadow = LoadManager()
        #: Broker → bundle → messages/s in and out, as it counted last.
        self.stats: dict[int, dict[int, tuple[float, float]]] = {}
        #: Bundles that two reports listed at a time: each gives the shadow a sample.
        self.doubled: set[str] = set()
        self.has_split = False
        #: Bundle → broker, on their way.
        self.given: dict[int, int] = {}

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._begin()
        for broker in self.order.tolist():
            self.shadow.write(self._report(broker))

    def take(self, writes: Writes, was_behind: np.ndarray, counted: Counted) -> None:
        super().take(writes, was_behind, counted)
        fresh: dict[int, dict[int, tuple[float, float]]] = {
            broker: {} for broker in np.flatnonzero(counted.tick >= 0).tolist()
        }
        columns = (counted.bundles, counted.is_listed, counted.rate_in, counted.rate_out)
        for bundle, listed, rate_in, rate_out in zip(*(c.tolist() for c in columns), strict=True):
            if listed:
                fresh[int(self.cluster.server[bundle])][bundle] = (rate_in, rate_out)
        for broker, is_fresh in zip(writes.broker.tolist(), writes.is_fresh.tolist(), strict=True):
            if is_fresh:
                self.stats[broker] = fresh[broker]
            self.shadow.look([self._report(broker)])
            self._look_for_doubles()
        self.stats.update(fresh)

    def join(self, broker: int) -> None:
        super().join(broker)
        self.stats[broker] = {}
        self.shadow.look([self._report(broker)])

    def drop(self, broker: int) -> None:
        super().drop(broker)
        self.shadow.look([self._name(broker)])

    def recompute(self, times: int) -> None:
        super().recompute(times)
        if times == 1:
            self.shadow.update_bundle_data()
            self._look_for_doubles()

    def forget(self, bundle: int) -> None:
        super().forget(bundle)
        self.has_split = True
        for stats in self.stats.values():
            stats.pop(bundle, None)
        name = self.cluster.bundles.names[bundle]
        self.shadow.bundle_data.pop(name, None)
        for broker, data in self.shadow.broker_data.items():
            report = data.local_data
            left = {b: s for b, s in report.stats.items() if b != name}
            self.shadow.write(
                Report(broker, report.usage, report.limit, report.totals, tuple(left), left)
            )

    def meet(self, bundle: int) -> None:
        super().meet(bundle)
        self.shadow.get_bundle_data_or_default(self.cluster.bundles.names[bundle])

    def preallocate(self, bundle: int, broker: int) -> None:
        super().preallocate(bundle, broker)
        self.given[bundle] = broker

    def _recomputes(self) -> None:
        super()._recomputes()
        self.given = {}

    def start_anew(self) -> None:
        super().start_anew()
        self.given = {}

    def load_for_placement(self) -> ClusterLoad:
        load = super().load_for_placement()
        self._compare(load)
        self._compare_with_one_laid_out_anew(load)
        self._compare_counts()
        return load

    def _name(self, broker: int) -> str:
        return self.cluster.machines.names[broker]

    def _report(self, broker: int) -> Report:
        names, size = self.cluster.bundles.names, self.cluster.bundles.message_bytes
        stats = {
            names[i]: [a, b, a * size[i], b * size[i], self.cluster.bundles.topics[i]]
            for i, (a, b) in self.stats.get(broker, {}).items()
        }
        nothing = np.zeros(5)
        return Report(self._name(broker), nothing, nothing, np.zeros(4), tuple(stats), stats)

    def _look_for_doubles(self) -> None:
        listed = [b for data in self.shadow.broker_data.values() for b in data.local_data.bundles]
        self.doubled.update({b for b in listed if listed.count(b) > 1})
        self.doubled &= self.shadow.bundle_data.keys()

    def _compare(self, load: ClusterLoad) -> None:
        wanted = cluster_load(self.shadow, lambda _: False)
        assert set(load.brokers) == set(wanted.brokers)
        mine, other = (
            sorted(zip(one.bundles, [one.brokers[i] for i in one.bundle_broker], strict=True))
            for one in (load, wanted)
        )
        assert mine == other
        shadow, averages = self.shadow.bundle_data, self.averages
        names = self.cluster.bundles.names
        assert {names[i] for i in np.flatnonzero(averages.bundles.is_known)} == set(shadow)
        bundles = self.cluster.bundles
        held = averages.snapshot(bundles.message_bytes, bundles.topics)
        values = held[range(len(names))]
        for i in np.flatnonzero(averages.bundles.is_known).tolist():
            if names[i] in self.doubled:
                continue
            contents = shadow[names[i]].contents()[:10]
            np.testing.assert_allclose(values[i, :10], contents, rtol=1e-9, err_msg=names[i])
            Shadowed.compared += 1
        if self.has_split:
            # A report goes on counting the bundle that is no more, which the leader has struck.
            return
        counts = {b: len(d.local_data.bundles) for b, d in self.shadow.broker_data.items()}
        assert dict(zip(load.brokers, load.bundle_count.tolist(), strict=True)) == counts

    def _compare_with_one_laid_out_anew(self, load: ClusterLoad) -> None:
        """What has only been brought up to date is what it would be from the beginning."""
        anew = self._layout_of_now().load
        for field in dataclasses.fields(load):
            if field.name not in ("preallocations", "bundle_data", "bundle_traffic", "few_traffic"):
                mine, wanted = (getattr(one, field.name) for one in (load, anew))
                assert np.array_equal(mine, wanted), field.name
        carried = [dataclasses.astuple(one.bundle_traffic()) for one in (load, anew)]
        assert all(map(np.array_equal, *carried))
        if load.bundle_data is not None and anew.bundle_data is not None:
            assert load.bundle_data.rows == anew.bundle_data.rows
            rows = list(anew.bundle_data.rows.values())
            for name in ("numbers", "values"):
                mine, wanted = (getattr(one.bundle_data, name)[rows] for one in (load, anew))
                assert np.array_equal(mine, wanted), name
        bundles, long = list(self.given), self.averages.long
        ahead = load.preallocations
        mine = [load.brokers[i] for i in ahead.broker.tolist()]
        assert mine == [self._name(broker) for broker in self.given.values()]
        assert ahead.rate_in.tolist() == long.rate_in[bundles].tolist()
        assert ahead.rate_out.tolist() == long.rate_out[bundles].tolist()

    def _compare_counts(self) -> None:
        """Bundles are counted by namespace as the leader does: one by one, from all it knows."""
        names = self.cluster.bundles.names
        counts: dict[str, dict[int, int]] = {namespace(name): {} for name in names}
        reported = zip(self.cluster.owner.tolist(), names, self.listings.is_written, strict=True)
        found = [(broker, name) for broker, name, is_written in reported if is_written]
        found += [(broker, names[bundle]) for bundle, broker in self.given.items()]
        found = list(dict.fromkeys(found))
        formers = (f for formers in self.listings.formers.values() for f in formers)
        found += [(f.broker, names[f.bundle]) for f in formers if f.is_written]
        for broker, name in found:
            of = counts[namespace(name)]
            of[broker] = of.get(broker, 0) + 1
        for bundle, name in enumerate(names):
            mine = self.by_namespace.beside(bundle)
            wanted = counts[namespace(name)]
            assert mine.tolist() == [wanted.get(i, 0) for i in range(self.cluster.nobody)]
            Shadowed.counted += 1


@pytest.mark.slow
def test_the_leader_knows_what_it_would_from_one_notification_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulation_module, "Leader", Shadowed)
    Shadowed.compared = Shadowed.counted = 0
    for seed in SEEDS:
        try:
            simulated(drawn_world(seed), drawn_balancer(seed), drawn_parameters(seed))
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    assert Shadowed.compared > 100 * len(SEEDS)
    assert Shadowed.counted > 100 * len(SEEDS)


def test_many_equal_samples_are_as_many_updates() -> None:
    random = np.random.default_rng(0)
    for samples_max in (10, 1000):
        average = Average(samples_max, 1)
        short, samples = np.array([50.0, 50.0]), 0
        for _ in range(60):
            count = int(random.choice([0, 1, 3, 40, 700]))
            sample = random.uniform(0.0, 1e4, 2)
            average.feed(slice(None), np.array([count]), sample[:1], sample[1:])
            for _ in range(count):
                samples = min(samples + 1, samples_max)
                short = averaged(short, samples, sample)
            found = [average.rate_in[0], average.rate_out[0]]
            np.testing.assert_allclose(found, short, rtol=1e-9)
            assert average.samples[0] == samples


@pytest.mark.parametrize("release", ["3.0.7", "4.0.8"])
def test_brokers_write_when_the_load_manager_says(release: str) -> None:
    # One thing at a time is measured; each is a stretch of its own.
    random = np.random.default_rng(1)
    settings = load_manager_settings({}, release)
    weights = ResourceWeights(1.0, None, 0.5, 0.7, 1.2)
    count, measuring = 5, Measuring()
    made = gate(settings, weights, release, measuring)
    reports, nobody = Reports(made, count), np.full(count, -1)
    update = report_gate.need_broker_data_update
    if release == "3.0.7":
        update = report_gate.need_broker_data_update_2_10
    written = np.zeros(count)
    asked = wrote = 0
    for tick in range(3, 3000, 3):
        usage = random.uniform(0.0, 3.0) * 10.0 + random.uniform(0.0, 8.0, (count, 3))
        totals = random.choice([0.0, 1000.0, 1050.0, 2000.0], (count, 4))
        bundles: Ints = random.integers(8, 13, count)
        whole = np.full(count, tick)
        is_host = bool(random.integers(2))
        sampled = Sampled(whole if is_host else nobody, usage)
        counted = _counted(nobody if is_host else whole)
        before = _gated(reports, made, written=True)
        writes = reports.stretch(
            Measured(sampled, counted, totals, bundles), np.ones(count, np.bool_), tick + 1
        )
        now = _gated(reports, made, written=False)
        late = made.ticks_max + 1 + written < tick
        age_s = np.where(late, 1e9, (tick - written) * measuring.tick_s)
        wanted = np.flatnonzero(update(before, now, age_s, settings))
        # What is overdue is written at its own tick, before anything new is measured.
        assert np.setdiff1d(wanted, writes.broker).size == 0
        assert set(writes.broker[writes.tick == tick].tolist()) <= set(wanted.tolist())
        written[writes.broker] = writes.tick
        asked, wrote = asked + count, wrote + writes.broker.size
    assert 0.05 * asked < wrote < 0.95 * asked


def _counted(tick: Ints) -> Counted:
    nothing = np.empty(0)
    return Counted(tick, nothing.astype(np.int64), nothing.astype(np.bool_), nothing, nothing)


def _gated(reports: Reports, made: object, *, written: bool) -> report_gate.Measured:
    if written:
        arrays = (reports.written_totals, reports.written_bundles, reports.written_usage)
    else:
        arrays = (reports.totals, reports.bundles, reports.usage)
    totals, bundles, usage = (array.copy() for array in arrays)
    return report_gate.Measured(totals, bundles, reports.gate.usage(usage))
