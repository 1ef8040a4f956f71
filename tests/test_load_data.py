"""The leader's bookkeeping: each part as a text file, and what holds for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from tests.test_properties import FEW
from trimtab.pulsar.leader import LOAD_DATA, LoadData, load_data
from trimtab.pulsar.leader.affinity import ask_for, take
from trimtab.pulsar.leader.broker_averages import time_average_broker_data
from trimtab.pulsar.leader.bundle_averages import (
    BundleAverages,
    Reported,
    bundle_data,
    meet,
    no_averages,
    update_bundle_data,
    with_quotas,
)
from trimtab.pulsar.leader.preallocations import (
    Preallocated,
    clean_up,
    drop_brokers,
    in_order,
    preallocate,
    reap,
)
from trimtab.pulsar.leader.recently_unloaded import is_recently_unloaded
from trimtab.pulsar.leader.report_gate import (
    Measured,
    need_broker_data_update,
    need_broker_data_update_2_10,
)
from trimtab.pulsar.leader.served_bundles import (
    group_bundles,
    group_namespaces,
    namespace_bundles,
    served_bundles,
)
from trimtab.pulsar.map_order import concurrent_hash_map_order
from trimtab.pulsar.settings import load_manager_settings

ROOM = Path(__file__).parent / "testdata" / "load_data"
FILES = sorted(ROOM.glob("*.txt"))
MODULAR = "ModularLoadManagerImpl"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_load_data(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, Bench()),
        encoding="utf-8",
        fullpath=path,
        obtained_filename=tmp_path / path.name,
    )


class Bench:
    """A leader and what it is told; a method is a command."""

    #: All that there are, so that both have positions.
    BROKERS = ("b1", "b2", "b3")
    BUNDLES = ("a", "b", "c", "d")

    def __init__(self) -> None:
        self.release = "4.0"
        self.affinity: Mapping[str, str] = {}
        self.elect()

    def elect(self, *, release: str = "4.0") -> str:
        """Begin with a leader that knows nothing and has nothing in its store."""
        self.release = release
        self.told: dict[str, dict[str, float]] = {}
        self.averages = self.stored = no_averages(len(self.BUNDLES))
        self.given = Preallocated()
        return "knows nothing"

    def gate(
        self,
        lines: tuple[str, ...],
        *,
        release: str = "4.0",
        age_s: str = "60",
        threshold: str = "10",
    ) -> str:
        """Tell which brokers write: `broker rate=before>now throughput=… bundles=… usage=…`."""
        rows = [dict(word.split("=") for word in line.split()[1:]) for line in lines]
        conf = {"loadBalancerReportUpdateThresholdPercentage": threshold}
        written, current = (
            Measured(
                totals=np.array([_totals(row, i) for row in rows]),
                bundle_count=np.array([int(_value(row, "bundles", i)) for row in rows]),
                usage=np.array([_value(row, "usage", i) for row in rows]),
            )
            for i in (0, 1)
        )
        needs = self._parts(release).need_broker_data_update(
            written,
            current,
            np.full(len(rows), float(age_s)),
            load_manager_settings(conf, release),
        )
        return "\n".join(
            f"{line.split()[0]} {'writes' if writes else 'waits'}"
            for line, writes in zip(lines, needs.tolist(), strict=True)
        )

    def report(self, lines: tuple[str, ...]) -> str:
        """Set what brokers report: `broker bundle=messages/s …`; a broker alone reports nothing."""
        for line in lines:
            broker, *words = line.split()
            self.told[broker] = {w.split("=")[0]: float(w.split("=")[1]) for w in words}
        return f"{len(self.told)} brokers report"

    def gone(self, *, broker: str) -> str:
        """Let a broker leave."""
        del self.told[broker]
        present = np.array([b in self.told for b in self.BROKERS])
        self.given = drop_brokers(self.given, present)
        return self._on_their_way()

    def look(self, *, own: str = "", looks: str = "1", shown: str = "all") -> str:
        """Look at the reports, a number of times; `own` are the leader's own bundles."""
        lines = []
        for _ in range(int(looks)):
            reported = self._reported()
            parts = self._parts(self.release)
            looked = parts.update_bundle_data(self.averages, reported, self.stored)
            self.averages, self.stored = looked.averages, looked.stored
            is_own = np.array([bundle in own.split(",") for bundle in self.BUNDLES])
            self.given = clean_up(self.given, reported, is_own, self.averages)
            lines.append(self.recall() if shown == "all" else self._short(shown))
        if shown != "all":
            return " ".join(lines)
        return "\n".join([*lines[-1:], *self._sums(looked.long, reported)])

    def recall(self) -> str:
        """Show what the leader knows of bundles."""
        a = self.averages
        lines = [
            f"{self.BUNDLES[i]} short {a.short[i, 0]:.6g} of {a.short_samples[i]}, "
            f"long {a.long[i, 0]:.6g} of {a.long_samples[i]}"
            for i in np.flatnonzero(a.is_known)
        ]
        return "\n".join(lines or ["knows no bundle"])

    def store(self) -> str:
        """Store all averages."""
        self.stored = self.averages
        return self.in_store()

    def in_store(self) -> str:
        names = [self.BUNDLES[i] for i in np.flatnonzero(self.stored.is_known)]
        return "stored: " + (", ".join(names) or "nothing")

    def restart(self) -> str:
        """Start the leader again: what is in the store is all there is."""
        self.averages = no_averages(len(self.BUNDLES))
        return self.recall()

    def quota(self, *, bundle: str, rate: str) -> str:
        """Set a bundle's resource quota."""
        quota = np.full((1, 4), float(rate))
        self.stored = with_quotas(self.stored, self._at(bundle), quota)
        return self.in_store()

    def meet(self, *, bundle: str) -> str:
        """Select a broker for a bundle, for which its averages are wanted."""
        self.averages = meet(self.averages, self._at(bundle), self.stored)
        return self.recall()

    def give(self, *, bundle: str, broker: str) -> str:
        """Give a bundle to a broker after a lookup."""
        self.averages = meet(self.averages, self._at(bundle), self.stored)
        at, to = self.BUNDLES.index(bundle), self.BROKERS.index(broker)
        self.given = preallocate(self.given, at, to, self.averages)
        return self._on_their_way()

    def ahead(self) -> str:
        """Show what is on its way."""
        return self._on_their_way()

    def registered(self, *, brokers: str) -> str:
        """Tell which brokers are registered."""
        alive = np.array([broker in brokers.split(",") for broker in self.BROKERS])
        self.given = reap(self.given, alive)
        return self._on_their_way()

    def round(
        self, lines: tuple[str, ...], *, now_s: str = "3600", grace_period_s: str = "1800"
    ) -> str:
        """Tell who is recent: `bundle time of its unload`, or `never`."""
        times = np.array([float(line.split()[1].replace("never", "nan")) for line in lines])
        recent = is_recently_unloaded(times, float(now_s), float(grace_period_s)).tolist()
        names = [
            line.split()[0] for line, is_recent in zip(lines, recent, strict=True) if is_recent
        ]
        return "recent: " + (", ".join(names) or "none")

    def ask_for(self, *, bundle: str, broker: str = "", release: str = "4.0") -> str:
        """Ask for a bundle's destination."""
        key = self._parts(release).affinity_key
        if key is None:
            return "cannot be asked for"
        self.affinity = ask_for(self.affinity, key(bundle), broker)
        return self._asked_for()

    def look_up(self, *, bundle: str, release: str = "4.0") -> str:
        """Look a bundle up that has no owner."""
        key = self._parts(release).affinity_key
        assert key is not None
        broker, self.affinity = take(self.affinity, key(bundle))
        return f"{broker or 'selected'}; {self._asked_for()}"

    def served(self, lines: tuple[str, ...], *, namespace: str, group: str) -> str:
        """Count what brokers serve: `broker namespace/range …`."""
        pairs = [(i, word) for i, line in enumerate(lines) for word in line.split()[1:]]
        names = sorted({word for _, word in pairs})
        namespaces = sorted({name.rpartition("/")[0] for name in names} | {namespace})
        of = np.array([namespaces.index(name.rpartition("/")[0]) for name in names], np.int64)
        found = served_bundles(
            np.array([i for i, _ in pairs], np.int64),
            np.array([names.index(word) for _, word in pairs], np.int64),
        )
        in_group = np.array([name in group.split(",") for name in namespaces])
        counts = (
            namespace_bundles(found, of, namespaces.index(namespace), len(lines)),
            group_namespaces(found, of, in_group, len(lines)),
            group_bundles(found, of, in_group, len(lines)),
        )
        return "\n".join(
            f"{line.split()[0]} {row[0]} of the namespace; {row[1]} namespaces, {row[2]} bundles "
            "of the group"
            for line, row in zip(lines, np.array(counts).T.tolist(), strict=True)
        )

    def _parts(self, release: str) -> LoadData:
        found = load_data(MODULAR, release)
        assert found is not None
        return found

    def _at(self, bundle: str) -> Any:
        return np.array([self.BUNDLES.index(bundle)])

    def _reported(self) -> Reported:
        walk = concurrent_hash_map_order(self.told)
        rows = [(broker, bundle) for broker in walk for bundle in self.told[broker]]
        return _reported(
            [self.BROKERS.index(broker) for broker in walk],
            [(self.BROKERS.index(broker), self.BUNDLES.index(bundle)) for broker, bundle in rows],
            [self.told[broker][bundle] for broker, bundle in rows],
        )

    def _short(self, bundle: str) -> str:
        return f"{self.averages.short[self.BUNDLES.index(bundle), 0]:.6g}"

    def _sums(self, long: Any, reported: Reported) -> list[str]:
        sums = time_average_broker_data(long, reported.broker, len(self.BROKERS))
        return [f"{b} long {sums[self.BROKERS.index(b), 0]:.6g}" for b in sorted(self.told)]

    def _on_their_way(self) -> str:
        given = in_order(self.given, np.arange(self.given.broker.size))
        entries = [
            f"{self.BROKERS[to]} +{rate:.6g}"
            for to, rate in zip(given.broker.tolist(), given.rate_in.tolist(), strict=True)
        ]
        sent = [f"{self.BUNDLES[b]} to {self.BROKERS[to]}" for b, to in self.given.assigned.items()]
        return f"{', '.join(entries) or 'nothing'}; {', '.join(sent) or 'nothing'} if looked up"

    def _asked_for(self) -> str:
        asked = [f"{key} to {broker}" for key, broker in self.affinity.items()]
        return "asked for: " + (", ".join(asked) or "nothing")


def _value(row: Mapping[str, str], name: str, which: int) -> float:
    """Read `before>now`, or one number that stands for both."""
    parts = row.get(name, "0").split(">")
    return float(parts[min(which, len(parts) - 1)])


def _totals(row: Mapping[str, str], which: int) -> list[float]:
    """Read rates in and out; `rate=` and `throughput=` alone are in."""
    names = ("rate", "rate_out", "throughput", "throughput_out")
    return [_value(row, name, which) for name in names]


def _reported(walk: list[int], pairs: list[tuple[int, int]], rates: Iterable[float]) -> Reported:
    sample = np.array(list(rates), dtype=np.float64)[:, None].repeat(4, axis=1).reshape(-1, 4)
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Reported(
        walk=np.array(walk, dtype=np.int64),
        broker=table[:, 0],
        bundle=table[:, 1],
        sample=sample,
        topics=np.ones(len(table), dtype=np.int64),
    )


# --------------------------------------------------------------------- reports


numbers = st.one_of(st.floats(0, 1e6), st.sampled_from([0.0, 1.0, 100.0, 110.0]))
CONF = load_manager_settings({}, "4.0")


@st.composite
def measurements(draw: st.DrawFn, count: int = 5) -> Measured:
    return Measured(
        draw(arrays(np.float64, (count, 4), elements=numbers)),
        draw(arrays(np.int64, count, elements=st.integers(0, 20))),
        draw(arrays(np.float64, count, elements=st.floats(0, 1.5))),
    )


@given(one=measurements(), other=measurements(), factor=st.floats(1, 100))
def test_what_changed_more_is_written_if_what_changed_less_is(
    one: Measured, other: Measured, factor: float
) -> None:
    age = np.zeros(5)
    is_written = need_broker_data_update(one, other, age, CONF)
    further = dataclasses.replace(other, usage=one.usage + factor * (other.usage - one.usage))

    assert (need_broker_data_update(one, further, age, CONF) >= is_written).all()
    assert (need_broker_data_update(one, other, age + 1e6, CONF)).all()
    assert not need_broker_data_update(one, one, age, CONF).any()


@given(one=measurements(), other=measurements())
def test_releases_write_the_same_numbers_alike(one: Measured, other: Measured) -> None:
    age = np.array([0.0, 1.0, 899.0, 900.0, 901.0])
    new, old = (
        need(one, other, age, CONF)
        for need in (need_broker_data_update, need_broker_data_update_2_10)
    )

    assert new.tolist() == old.tolist()


def test_reports_that_are_not_numbers_are_told_apart() -> None:
    before = Measured(np.full((1, 4), np.nan), np.array([1]), np.array([0.1]))
    after = dataclasses.replace(before, usage=np.array([0.9]))

    assert need_broker_data_update(before, after, np.zeros(1), CONF).tolist() == [True]
    assert need_broker_data_update_2_10(before, after, np.zeros(1), CONF).tolist() == [False]


# -------------------------------------------------------------------- averages


@st.composite
def looks(draw: st.DrawFn) -> list[Reported]:
    found = []
    for _ in range(draw(st.integers(1, 14))):
        walk = draw(st.permutations(range(3)))
        pairs = [(b, x) for b in walk for x in sorted(draw(st.sets(st.integers(0, 4), max_size=3)))]
        rates = draw(st.lists(numbers, min_size=len(pairs), max_size=len(pairs)))
        found.append(_reported(list(walk), pairs, rates))
    return found


@FEW
@given(found=looks())
def test_averages_equal_a_loop_over_objects(found: list[Reported]) -> None:
    averages = stored = no_averages(5)
    objects: dict[int, list[float]] = {}
    for look in found:
        looked = update_bundle_data(averages, look, stored)
        averages = looked.averages
        sums = [0.0, 0.0, 0.0]
        for broker in look.walk.tolist():
            mine = np.flatnonzero(look.broker == broker).tolist()
            for i in mine:
                short, n, long, m = objects.setdefault(int(look.bundle[i]), [50.0, 0, 50.0, 0])
                n, m = min(n + 1, 10), min(m + 1, 1000)
                sample = float(look.sample[i, 0])
                after = [((n - 1) * short + sample) / n, n, ((m - 1) * long + sample) / m, m]
                objects[int(look.bundle[i])] = after
            sums[broker] = 0.0
            for i in mine:
                sums[broker] += objects[int(look.bundle[i])][2]
        objects = {bundle: row for bundle, row in objects.items() if bundle in look.bundle}
        found_sums = time_average_broker_data(looked.long, look.broker, 3)

        assert {i: _row(averages, i) for i in np.flatnonzero(averages.is_known)} == objects
        assert found_sums[:, 0].tolist() == sums


def _row(averages: BundleAverages, i: int) -> list[float]:
    short, long = float(averages.short[i, 0]), float(averages.long[i, 0])
    return [short, int(averages.short_samples[i]), long, int(averages.long_samples[i])]


@FEW
@given(found=looks())
def test_looking_changes_no_argument_and_numbers_objects_anew(found: list[Reported]) -> None:
    averages = no_averages(5)
    for field in dataclasses.fields(averages):
        if isinstance(value := getattr(averages, field.name), np.ndarray):
            value.flags.writeable = False
    seen: set[int] = set()
    for look in found:
        before = averages
        averages = update_bundle_data(averages, look, no_averages(5)).averages
        known = averages.is_known & before.is_known
        new = averages.is_known & ~before.is_known

        assert (averages.numbers[known] == before.numbers[known]).all()
        assert seen.isdisjoint(averages.numbers[new].tolist())
        seen |= set(averages.numbers[new].tolist())


def test_averages_are_laid_out_as_strategies_read_them() -> None:
    look = _reported([0], [(0, 2), (0, 0)], [30.0, 10.0])
    averages = update_bundle_data(no_averages(3), look, no_averages(3)).averages
    data = bundle_data(averages, ("x", "y", "z"))

    assert dict(data.rows) == {"x": 0, "z": 1}
    assert data.numbers.tolist() == [2, 1]
    assert data.values.tolist() == [[v] * 4 + [1] + [v] * 4 + [1, 1] for v in (10.0, 30.0)]


# ----------------------------------------------------------------------- the rest


@given(
    times=arrays(np.float64, 6, elements=st.one_of(st.just(np.nan), st.integers(0, 9000))),
    now=st.integers(0, 9000),
    earlier=st.integers(0, 9000),
)
def test_recent_ones_were_recent_before(times: Any, now: int, earlier: int) -> None:
    later = is_recently_unloaded(times, float(max(now, earlier)), 1800.0)
    before = is_recently_unloaded(times, float(min(now, earlier)), 1800.0)

    assert (before >= later).all()


@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12))
def test_what_is_served_is_counted_once(pairs: list[tuple[int, int]]) -> None:
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    found = served_bundles(table[:, 0], table[:, 1])
    of = np.array([0, 0, 1, 1, 2, 2])
    total = sum(namespace_bundles(found, of, n, 4) for n in range(3))
    everything = np.ones(3, dtype=np.bool_)

    assert total.tolist() == [len({x for b, x in pairs if b == i}) for i in range(4)]
    assert group_bundles(found, of, everything, 4).tolist() == total.tolist()
    assert group_namespaces(found, of, everything, 4).tolist() == [
        len({x // 2 for b, x in pairs if b == i}) for i in range(4)
    ]


@pytest.mark.parametrize(
    ("release", "since"),
    [
        ("2.10", "2.10.0"),
        ("3.0.1", "3.0.0"),
        ("3.0", "3.0.2"),
        ("3.1.0", "3.1.0"),
        ("3.3", "3.2.3"),
        ("4.0", "4.0.0"),
        ("5.0", "5.0.0-M1"),
    ],
)
def test_bookkeeping_is_the_newest_that_is_not_newer(release: str, since: str) -> None:
    assert load_data(MODULAR, release) is LOAD_DATA[MODULAR, since]
    assert load_data("SimpleLoadManagerImpl", release) is None


@pytest.mark.parametrize(("release", "looks"), [("2.10", True), ("3.0", True), ("3.1.0", False)])
def test_a_leader_from_3_1_on_is_deaf_while_it_unloads(release: str, looks: bool) -> None:
    found = load_data(MODULAR, release)
    assert found is not None
    assert found.looks_while_unloading is looks
