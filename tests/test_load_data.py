"""The leader's bookkeeping: each part as a text file, and what holds for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pytest_regressions.file_regression import FileRegressionFixture

from tests.both_leaders import assert_same, assert_same_sums, reports
from tests.datadriven import run
from tests.plain_leader.load_manager import LoadManager
from tests.plain_leader.served_bundles import group_bundles, group_namespaces, namespace_bundles
from tests.test_properties import FEW
from trimtab.pulsar.leader import LOAD_DATA, LoadData, load_data
from trimtab.pulsar.leader.report_gate import (
    Measured,
    need_broker_data_update,
    need_broker_data_update_2_10,
)
from trimtab.pulsar.leader.view import LeaderView
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
    """A leader and what it is told; a method is a command.

    The plain leader answers.  The one that runs is told the same and must know the same, as long
    as the text asks for the newest bookkeeping and nobody changes the store behind its back.
    """

    BROKERS = ("b1", "b2", "b3")

    def __init__(self) -> None:
        self.asked = LoadManager()
        self.elect()

    def elect(self, *, release: str = "4.0") -> str:
        """Begin with a leader that knows nothing and has nothing in its store."""
        self.plain = LoadManager(release)
        self.fast = LeaderView() if release == "4.0" else None
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
            rates = {w.split("=")[0]: float(w.split("=")[1]) for w in words}
            self._write(broker, {bundle: [rate] * 4 + [1.0] for bundle, rate in rates.items()})
        return f"{len(self.plain.broker_data)} brokers report"

    def gone(self, *, broker: str) -> str:
        """Let a broker leave."""
        self.plain.leave(broker)
        if self.fast is not None:
            self.fast.remove(broker)
        return self._on_their_way()

    def look(self, *, own: str = "", looks: str = "1", shown: str = "all") -> str:
        """Look at the reports, a number of times; `own` are the leader's own bundles."""
        lines = []
        for _ in range(int(looks)):
            self.plain.own = set(own.split(","))
            self.plain.update_bundle_data()
            if self.fast is not None:
                self.fast.own = self.plain.own
                self.fast.recompute()
                assert_same(self.fast, self.plain)
                assert_same_sums(self.fast, self.plain)
            lines.append(self.recall() if shown == "all" else self._short(shown))
        if shown != "all":
            return " ".join(lines)
        return "\n".join([*lines[-1:], *self._sums()])

    def recall(self) -> str:
        """Show what the leader knows of bundles."""
        lines = [
            f"{bundle} short {data.short.values[0]:.6g} of {data.short.num_samples}, "
            f"long {data.long.values[0]:.6g} of {data.long.num_samples}"
            for bundle, data in sorted(self.plain.bundle_data.items())
        ]
        return "\n".join(lines or ["knows no bundle"])

    def store(self) -> str:
        """Store all averages."""
        self.plain.write_bundle_data()
        return self.in_store()

    def in_store(self) -> str:
        names = sorted({*self.plain.stored, *self.plain.quotas})
        return "stored: " + (", ".join(names) or "nothing")

    def restart(self) -> str:
        """Start the leader again: what is in the store is all there is."""
        self.plain.restart()
        self.fast = None
        return self.recall()

    def quota(self, *, bundle: str, rate: str) -> str:
        """Set a bundle's resource quota."""
        self.plain.quotas[bundle] = [float(rate)] * 4
        self.fast = None
        return self.in_store()

    def meet(self, *, bundle: str) -> str:
        """Select a broker for a bundle, for which its averages are wanted."""
        self.plain.get_bundle_data_or_default(bundle)
        if self.fast is not None:
            self.fast.meet(bundle)
            assert_same(self.fast, self.plain)
        return self.recall()

    def give(self, *, bundle: str, broker: str) -> str:
        """Give a bundle to a broker after a lookup."""
        self.plain.preallocate_bundle(bundle, broker)
        if self.fast is not None:
            self.fast.give(bundle, broker)
            assert_same(self.fast, self.plain)
        return self._on_their_way()

    def ahead(self) -> str:
        """Show what is on its way."""
        return self._on_their_way()

    def registered(self, *, brokers: str) -> str:
        """Tell which brokers are registered."""
        self.plain.reap_dead_broker_preallocations(brokers.split(","))
        return self._on_their_way()

    def round(
        self, lines: tuple[str, ...], *, now_s: str = "3600", grace_period_s: str = "1800"
    ) -> str:
        """Tell who is recent: `bundle time of its unload`, or `never`."""
        words = [line.split() for line in lines]
        unloads = {bundle: float(time_s) for bundle, time_s in words if time_s != "never"}
        plain, fast = LoadManager(), LeaderView()
        plain.recently_unloaded_bundles, fast.recently_unloaded = dict(unloads), unloads
        plain.forget_unloads(float(now_s), float(grace_period_s))
        fast.forget_unloads_before(float(now_s) - float(grace_period_s))
        assert fast.recently_unloaded == plain.recently_unloaded_bundles
        return "recent: " + (", ".join(plain.recently_unloaded_bundles) or "none")

    def ask_for(self, *, bundle: str, broker: str = "", release: str = "4.0") -> str:
        """Ask for a bundle's destination."""
        self.asked.release = release
        if self.asked.affinity_key(bundle) is None:
            return "cannot be asked for"
        self.asked.set_namespace_bundle_affinity(bundle, broker)
        return self._asked_for()

    def look_up(self, *, bundle: str, release: str = "4.0") -> str:
        """Look a bundle up that has no owner."""
        self.asked.release = release
        broker = self.asked.get_least_loaded(bundle)
        return f"{broker or 'selected'}; {self._asked_for()}"

    def served(self, lines: tuple[str, ...], *, namespace: str, group: str) -> str:
        """Count what brokers serve: `broker namespace/range …`."""
        served = {words[0]: words[1:] for words in map(str.split, lines)}
        counts = namespace_bundles(served, namespace)
        namespaces = group_namespaces(served, group.split(","))
        bundles = group_bundles(served, group.split(","))
        fast = LeaderView()
        for broker, mine in served.items():
            fast.take(reports(broker, {bundle: [0.0] * 5 for bundle in mine})[0])
        # What stands twice is reported and on its way, too.
        for broker, mine in served.items():
            for bundle in {bundle for bundle in mine if mine.count(bundle) > 1}:
                fast.give(bundle, broker)
        fewest = {broker for broker in served if counts[broker] == min(counts.values())}
        assert set(fast.brokers_with_fewest(namespace)) == fewest
        return "\n".join(
            f"{broker} {counts[broker]} of the namespace; {namespaces[broker]} namespaces, "
            f"{bundles[broker]} bundles of the group"
            for broker in served
        )

    def _parts(self, release: str) -> LoadData:
        found = load_data(MODULAR, release)
        assert found is not None
        return found

    def _write(self, broker: str, stats: Mapping[str, list[float]]) -> None:
        fast, plain = reports(broker, stats)
        self.plain.write(plain)
        if self.fast is not None:
            self.fast.put(fast)

    def _short(self, bundle: str) -> str:
        return f"{self.plain.bundle_data[bundle].short.values[0]:.6g}"

    def _sums(self) -> list[str]:
        brokers = sorted(self.plain.broker_data.items())
        return [f"{broker} long {data.long_term[0]:.6g}" for broker, data in brokers]

    def _on_their_way(self) -> str:
        given = self.plain.preallocated_bundle_data
        entries = [
            f"{broker} +{data.long.values[0]:.6g}"
            for broker in self.BROKERS
            for data in given.get(broker, {}).values()
        ]
        sent = [f"{b} to {to}" for b, to in self.plain.preallocated_bundle_to_broker.items()]
        return f"{', '.join(entries) or 'nothing'}; {', '.join(sent) or 'nothing'} if looked up"

    def _asked_for(self) -> str:
        asked = [f"{key} to {to}" for key, to in self.asked.bundle_broker_affinity_map.items()]
        return "asked for: " + (", ".join(asked) or "nothing")


def _value(row: Mapping[str, str], name: str, which: int) -> float:
    """Read `before>now`, or one number that stands for both."""
    parts = row.get(name, "0").split(">")
    return float(parts[min(which, len(parts) - 1)])


def _totals(row: Mapping[str, str], which: int) -> list[float]:
    """Read rates in and out; `rate=` and `throughput=` alone are in."""
    names = ("rate", "rate_out", "throughput", "throughput_out")
    return [_value(row, name, which) for name in names]


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
def looks(draw: st.DrawFn) -> list[dict[str, dict[str, list[float]]]]:
    """Draw what three brokers report of five bundles at each of some looks."""
    stats = st.lists(numbers, min_size=4, max_size=4).map(lambda rates: [*rates, 1.0])
    reported = st.dictionaries(st.sampled_from("vwxyz"), stats, max_size=3)
    brokers = st.fixed_dictionaries({f"b{i}": reported for i in range(3)})
    return draw(st.lists(brokers, min_size=1, max_size=14))


def _told(
    fast: LeaderView, plain: LoadManager, look: Mapping[str, Mapping[str, list[float]]]
) -> None:
    """Let both leaders look at these reports once."""
    for broker, stats in look.items():
        report, same = reports(broker, stats)
        report.samples.flags.writeable = False
        fast.put(report)
        plain.write(same)
    fast.recompute()
    plain.update_bundle_data()


@pytest.mark.slow
@FEW
@given(drawn=looks())
def test_averages_equal_a_loop_over_objects(
    drawn: list[dict[str, dict[str, list[float]]]],
) -> None:
    fast, plain = LeaderView(), LoadManager()
    for look in drawn:
        _told(fast, plain, look)

        assert_same(fast, plain)
        assert_same_sums(fast, plain)


@pytest.mark.slow
@FEW
@given(drawn=looks())
def test_looking_numbers_objects_anew(drawn: list[dict[str, dict[str, list[float]]]]) -> None:
    fast, plain = LeaderView(), LoadManager()
    before: dict[str, int] = {}
    ever: set[int] = set()
    for look in drawn:
        _told(fast, plain, look)
        data = fast.averages.bundle_data()
        assert data is not None
        now = dict(zip(data.rows, data.numbers.tolist(), strict=True))
        new = {number for bundle, number in now.items() if bundle not in before}

        assert all(now[bundle] == before[bundle] for bundle in now.keys() & before.keys())
        assert ever.isdisjoint(new)
        before, ever = now, ever | new


def test_averages_are_laid_out_as_strategies_read_them() -> None:
    fast = LeaderView()
    _told(fast, LoadManager(), {"b1": {"z": [30.0] * 4 + [1.0], "x": [10.0] * 4 + [1.0]}})
    data = fast.averages.bundle_data()

    assert data is not None
    assert dict(data.rows) == {"z": 0, "x": 1}
    assert data.numbers.tolist() == [1, 2]
    assert data.values.tolist() == [[v] * 4 + [1] + [v] * 4 + [1, 1] for v in (30.0, 10.0)]


# ----------------------------------------------------------------------- the rest


@given(
    times=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9000).map(float)),
    now=st.integers(0, 9000),
    earlier=st.integers(0, 9000),
)
def test_recent_ones_were_recent_before(times: dict[str, float], now: int, earlier: int) -> None:
    found = []
    for now_s in sorted((now, earlier)):
        fast, plain = LeaderView(), LoadManager()
        fast.recently_unloaded, plain.recently_unloaded_bundles = dict(times), dict(times)
        fast.forget_unloads_before(now_s - 1800.0)
        plain.forget_unloads(float(now_s), 1800.0)
        assert fast.recently_unloaded == plain.recently_unloaded_bundles
        found.append(set(fast.recently_unloaded))
    before, later = found

    assert later <= before


@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12))
def test_what_is_served_is_counted_once(pairs: list[tuple[int, int]]) -> None:
    served: dict[str, list[str]] = {f"b{i}": [] for i in range(4)}
    for broker, bundle in pairs:
        served[f"b{broker}"].append(f"t/n{bundle // 2}/x{bundle}")
    everything = [f"t/n{n}" for n in range(3)]
    counts = [namespace_bundles(served, name) for name in everything]
    total = {broker: sum(count[broker] for count in counts) for broker in served}

    assert total == {broker: len(set(bundles)) for broker, bundles in served.items()}
    assert group_bundles(served, everything) == total
    assert group_namespaces(served, everything) == {
        broker: len({bundle[:4] for bundle in bundles}) for broker, bundles in served.items()
    }


@pytest.mark.parametrize(
    ("release", "since"),
    [
        ("2.10", "2.10.0"),
        ("3.0.1", "2.10.0"),
        ("3.0", "3.0.2"),
        ("3.1.0", "3.1.0"),
        ("3.3", "3.1.0"),
        ("4.0", "4.0.0"),
        ("5.0", "4.0.0"),
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
