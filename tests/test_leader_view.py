"""The leader's maps: what a write does to them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain_leader import load as plain_load
from tests.plain_leader import objects
from tests.plain_leader.load_manager import LoadManager
from trimtab.diagnose.replay.missed_writes import missed_writes
from trimtab.pulsar.leader import samples as samples_module
from trimtab.pulsar.leader.averages import Average, LeaderAverages
from trimtab.pulsar.leader.feed import Feedings, decisive, feed, turns
from trimtab.pulsar.leader.load import broker_load, cluster_load
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.samples import Waiting
from trimtab.pulsar.leader.time_average import averaged
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.model import ClusterLoad, Floats, Ints

START = datetime(2026, 11, 21, 6, 37, tzinfo=UTC)


def report(broker: str, **throughputs: float) -> Report:
    names = tuple(f"t/n/{name}" for name in throughputs)
    samples = [[1.0, 1.0, value, value, 3.0] for value in throughputs.values()]
    return Report(
        broker=broker,
        usage=np.full(5, 10.0),
        limit=np.full(5, 100.0),
        totals=np.full(4, sum(throughputs.values())),
        bundles=names,
        measured=names,
        samples=np.array(samples).reshape(-1, 5),
    )


def average(view: LeaderView, bundle: str) -> Average:
    return view.averages.of(np.array([view.averages.bundles.known[bundle]]))


def stored(*, short: float, long: float) -> Average:
    ten, twenty, number = (np.array([count]) for count in (10, 20, 0))
    return Average(ten, np.full((1, 4), short), twenty, np.full((1, 4), long), number, number)


def averages(view: LeaderView) -> dict[str, float]:
    return {
        bundle: float(average(view, bundle).short[0, 2]) for bundle in view.averages.bundles.known
    }


def test_a_new_broker_notifies_twice_and_a_write_once() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0))
    assert average(view, "t/n/a").short_samples[0] == 2
    view.take(report("b1:8080", a=400.0))
    assert average(view, "t/n/a").short_samples[0] == 3
    assert averages(view) == {"t/n/a": (100.0 + 100.0 + 400.0) / 3}


def test_any_brokers_write_feeds_every_bundle() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0))
    view.take(report("b2:8080", b=7.0))
    assert average(view, "t/n/a").short_samples[0] == 4


def test_brokers_that_measure_nothing_leave_nothing_to_wait_for() -> None:
    waiting = Waiting()
    for at in range(1000):
        waiting.tell(at, np.empty(0, np.int64), np.empty((0, 5)))

    assert pickle.dumps(waiting) == pickle.dumps(Waiting())


def test_a_bundle_that_nobody_reports_loses_its_average() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0, b=50.0))
    view.take(report("b1:8080", b=50.0))
    assert set(view.averages.bundles.known) == {"t/n/b"}


def test_short_averages_forget_after_ten_samples() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=0.0))
    for _ in range(20):
        view.take(report("b1:8080", a=1000.0))
    assert average(view, "t/n/a").short_samples[0] == 10
    assert 800.0 < averages(view)["t/n/a"] < 1000.0


def test_a_restarted_leader_begins_with_the_stored_averages() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0))
    view.store(("t/n/a",), stored(short=500.0, long=400.0))
    for _ in range(5):
        view.take(report("b1:8080", a=100.0))
    view.start()
    assert averages(view) == {"t/n/a": (9 * 500.0 + 100.0) / 10}
    assert average(view, "t/n/a").long[0, 2] == (20 * 400.0 + 100.0) / 21


def test_a_bundle_forgotten_and_met_again_is_another_object() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0, b=50.0))
    before = average(view, "t/n/a").number[0]
    view.take(report("b1:8080", b=50.0))
    view.take(report("b1:8080", a=100.0, b=50.0))
    assert average(view, "t/n/a").number[0] > before
    assert average(view, "t/n/a").short_samples[0] == 1


def test_long_rates_of_a_broker_are_those_of_its_bundles() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0, b=50.0))
    load = broker_load(view)
    assert load.long_rate_in is not None
    assert load.long_rate_in.tolist() == [2.0]
    assert load.bundle_data is not None
    assert load.bundle_data.values[:].shape == (2, 11)


def test_a_bundle_placed_before_anyone_reports_it_has_the_defaults() -> None:
    view = LeaderView()
    view.meet("t/n/new")
    assert average(view, "t/n/new").short.tolist() == [[50.0, 50.0, 50_000.0, 50_000.0]]
    assert average(view, "t/n/new").short_samples[0] == 0


def test_a_bundle_reported_twice_stands_twice_in_the_load() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0))
    view.take(report("b2:8080", a=90.0))
    load = cluster_load(view, lambda bundle: False)
    assert load.bundles == ("t/n/a", "t/n/a")
    assert sorted(load.bundle_broker.tolist()) == [0, 1]
    assert broker_load(view).bundles == ()


def test_a_load_does_not_pass_later_averages_off_as_its_own() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0))
    asked, unasked = (cluster_load(view, lambda bundle: False) for _ in range(2))
    traffic = asked.bundle_traffic()
    assert traffic.throughput_in.tolist() == [100.0]
    view.take(report("b1:8080", a=400.0))
    assert traffic.rate_in.tolist() == [1.0]
    with pytest.raises(RuntimeError, match="bundle_traffic was asked for when"):
        unasked.bundle_traffic()


def test_unloads_of_one_grace_period_ago_still_count() -> None:
    view = LeaderView()
    view.take(report("b1:8080", a=100.0, b=50.0))
    view.recently_unloaded = {"t/n/a": 100.0, "t/n/b": 99.0}
    view.forget_unloads_before(100.0)
    load = cluster_load(view, lambda bundle: False)
    sheddable = dict(zip(load.bundles, load.bundle_is_sheddable.tolist(), strict=True))
    assert sheddable == {"t/n/a": False, "t/n/b": True}


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 5), min_size=1))
def test_the_filter_keeps_exactly_the_brokers_with_the_fewest(counts: dict[str, int]) -> None:
    view = LeaderView()
    for broker, count in counts.items():
        view.take(report(broker, **{f"{broker}{i}": 1.0 for i in range(count)}))
    fewest = min(counts.values())
    kept = view.brokers_with_fewest("t/n")
    assert set(kept) == {broker for broker, count in counts.items() if count == fewest}

    others = {broker: count for broker, count in counts.items() if broker != kept[0]}
    left = view.brokers_with_fewest("t/n", {kept[0]})
    assert set(left) == {b for b, count in others.items() if count == min(others.values())}


# ------------------------------------------- the same as one bundle after the other


def _report(random: np.random.Generator, broker: str) -> tuple[Report, objects.Report]:
    count = int(random.integers(0, 12))
    names = [f"t/n{i % 3}/x{i}" for i in random.permutation(60)[:count].tolist()]
    usage, totals, samples = random.random(5), random.random(4), random.random((count, 5))
    listed = tuple(names[: count - int(random.integers(2))])
    args = (broker, usage, np.full(5, 100.0), totals, listed)
    stats = dict(zip(names, samples.tolist(), strict=True))
    return Report(*args, tuple(names), samples), objects.Report(*args, stats)


def _stored(view: LeaderView, plain: LoadManager, bundle: str, values: Any) -> objects.BundleData:
    """Let both take what the leader itself wrote of a bundle's averages; return that."""
    seven, seventy, nothing = np.array([7]), np.array([70]), np.zeros(1)
    short, long = values
    kept = Average(seven, short, seventy, long, nothing, nothing.astype(np.int64))
    view.store((bundle,), kept)
    # The leader wrote an object that it goes on with: whoever was given it has it still.
    data = plain.get_bundle_data_or_default(bundle)
    data.short.num_samples, data.short.values = 7, tuple(short[0].tolist())
    data.long.num_samples, data.long.values = 70, tuple(long[0].tolist())
    data.topics = 0.0
    return data.copy(0)


def _started(plain: LoadManager, stored: Mapping[str, objects.BundleData]) -> None:
    """Let the plain leader begin with all that was ever stored, as a recording has it."""
    plain.restart()
    for bundle, data in stored.items():
        plain.made += 1
        plain.bundle_data[bundle] = data.copy(plain.made)
    plain.update_bundle_data()


def _both(
    random: np.random.Generator, steps: int, averages: LeaderAverages
) -> Iterator[tuple[LeaderView, LoadManager]]:
    """Let random things happen to both leaders."""
    view, plain = LeaderView(averages), LoadManager()
    stored: dict[str, objects.BundleData] = {}
    for _ in range(steps):
        what = random.choice(
            ["take"] * 6 + ["look", "drop", "recompute", "store", "start", "give", "own"]
        )
        broker, bundle = (f"{x}{random.integers(9)}" for x in ("b", "t/n0/x"))
        if what == "take":
            report, same = _report(random, broker)
            view.take(report)
            plain.look([same])
        elif what == "look":
            three = [f"b{i}" for i in random.permutation(9)[:3].tolist()]
            written = [_report(random, one) for one in three]
            view.look([*(report for report, _ in written), broker])
            plain.look([*(same for _, same in written), broker])
        elif what == "store":
            stored[bundle] = _stored(view, plain, bundle, random.random((2, 1, 4)))
        elif what == "own":
            view.own ^= {bundle}
            plain.own ^= {bundle}
            view.recently_unloaded[bundle] = plain.recently_unloaded_bundles[bundle] = 1.0
        elif what == "start":
            view.start()
            _started(plain, stored)
        elif what == "drop":
            view.drop(broker)
            plain.look([broker])
        elif what == "give":
            view.give(bundle, broker)
            plain.preallocate_bundle(bundle, broker)
        else:
            view.recompute()
            plain.update_bundle_data()
        yield view, plain


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_arrays_hold_what_one_sample_at_a_time_gives(seed: int) -> None:
    compared = 0
    for view, plain in _both(np.random.default_rng(seed), 150, LeaderAverages()):
        loads = cluster_load(view, _is_system), plain_load.cluster_load(plain, _is_system)
        for column in fields(ClusterLoad):
            mine, other = (_column(load, column.name) for load in loads)
            if is_dataclass(mine):
                mine, other = asdict(mine), asdict(other)
            np.testing.assert_equal(mine, other, err_msg=column.name)
        for wanted in ("t/n0", "t/n1", "t/other"):
            assert view.brokers_with_fewest(wanted) == plain_load.brokers_with_fewest(plain, wanted)
        compared += len(loads[0].bundles)
    assert compared > 1000


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "every"), [(3, 7), (4, 7), (5, 40), (6, 40)])
def test_who_looks_seldom_sees_the_same_averages(seed: int, every: int) -> None:
    # Many samples wait by then, of bundles that came, went and came again.
    compared = 0
    both = _both(np.random.default_rng(seed), 100 * every, LeaderAverages())
    for view, plain in islice(both, every - 1, None, every):
        load, other = (
            cluster_load(view, _is_system),
            plain_load.cluster_load(plain, _is_system),
        )
        assert load.bundle_data is not None and other.bundle_data is not None
        np.testing.assert_equal(asdict(load.bundle_data), asdict(other.bundle_data))
        mine, whole = (_column(it, "bundle_traffic").throughput_out for it in (load, other))
        np.testing.assert_equal(mine, whole)
        np.testing.assert_equal(load.long_rate_in, other.long_rate_in)
        np.testing.assert_equal(asdict(load.preallocations), asdict(other.preallocations))
        compared += len(load.bundles)
    assert compared > 1000


def test_feeding_at_once_is_feeding_one_after_the_other() -> None:
    # Some come to rest before their turn is over, some are not fed at all.
    random, n = np.random.default_rng(9), 60
    fed, sample = random.random((2, 4, n)) * 1e6
    taken, times = random.integers(0, 11, n), random.choice([0, 1, 5, 64, 65, 130, 900], n)
    expected, counts = fed.copy(), taken.copy()
    for number in range(times.max()):
        mine = np.flatnonzero(times > number)
        counts[mine] = np.minimum(counts[mine] + 1, 10)
        after = averaged(expected[:, mine].T, counts[mine, None], sample[:, mine].T)
        expected[:, mine] = after.T
    feed(fed, taken, 10, sample, times)
    np.testing.assert_array_equal(fed, expected)
    np.testing.assert_array_equal(taken, counts)


@pytest.mark.parametrize("most", [10, 100])
def test_what_is_fed_for_long_rests_where_each_feeding_leads(most: int) -> None:
    # Far above, far below, within the last bits, at nothing, and too large or small to be skipped.
    random, n = np.random.default_rng(most), 400
    sample = 10.0 ** random.uniform(-3, 9, (4, n))
    above = random.choice([1e-16, 3e-16, 1e-15, 1e-13, 1e-9, 1.0, 1e6], (4, n))
    fed = sample * (1.0 + random.choice([-1.0, 1.0], (4, n)) * above * random.random((4, n)))
    fed[:, :9] = random.choice([0.0, -1.0, 1e-300, 1e300, 5e-324], (4, 9))
    sample[:, 5:14] = random.choice([0.0, -1.0, 1e-300, 1e300, 5e-324], (4, 9))
    times = random.choice(np.array([15, 16, 17, 40, 60, 90]) * most, n)
    expected, rests = fed.copy(), np.zeros(n, np.int64)
    for number in range(times.max()):
        mine = np.flatnonzero(times > number)
        before = expected[:, mine]
        expected[:, mine] = averaged(before.T, most, sample[:, mine].T).T
        rests[mine] = np.where((expected[:, mine] == before).all(axis=0), rests[mine], number)
    assert np.mean(rests + 1 < times) > 0.3
    feed(fed, np.full(n, most), most, sample, times)
    np.testing.assert_array_equal(fed, expected)


def test_what_came_before_a_decisive_sample_need_not_be_fed() -> None:
    # Samples are equal, differ in the last bits or by far, and are nothing or next to it.
    random, n_rows, most = np.random.default_rng(4), 600, 10
    rows = np.sort(random.integers(0, n_rows, 6 * n_rows))
    gaps = [0.0, 1e-16, 1e-15, 4e-15, 7e-15, 1e-14, 2e-14, 1e-13, 1e-9, 0.3, 5.0]
    base = 10.0 ** random.uniform(-2, 8, (n_rows, 4))[rows]
    side = random.choice([-0.1, 1.0], base.shape)
    samples = base * (1.0 + side * random.choice(gaps, (rows.size, 1)))
    is_odd = random.random(base.shape) < 0.01
    samples[is_odd] = random.choice([0.0, -1.0, 1e-300, 5e-324], is_odd.sum())
    times = random.choice([1, 60, 300, 600, 900, 2000, 2000], rows.size)
    fed = Feedings(rows, np.pad(samples, ((0, 0), (0, 1))), times)
    average, counts = 10.0 ** random.uniform(-4, 9, (4, n_rows)), random.integers(0, 11, n_rows)
    greatest = np.maximum(average.max(axis=1), np.abs(samples).max(axis=0))

    left, stand_in = decisive(fed, greatest, most)
    short, few = average.copy(), counts.copy()
    short[:, stand_in.rows], few[stand_in.rows] = stand_in.samples[:, :4].T, most
    _fed(short, few, left)
    _fed(average, counts, fed)
    np.testing.assert_array_equal(short, average)
    np.testing.assert_array_equal(few, counts)
    assert n_rows / 5 < stand_in.rows.size < n_rows
    assert left.rows.size < 0.8 * rows.size


def _fed(average: Floats, counts: Ints, fed: Feedings) -> None:
    for turn in turns(fed):
        values, taken = average[:, turn.rows], counts[turn.rows]
        feed(values, taken, 10, turn.samples[:, :4].T.copy(), turn.times)
        average[:, turn.rows], counts[turn.rows] = values, taken


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 3])
def test_what_waits_is_fed_in_parts_if_it_is_much(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A report has some six samples: parts end within looks, and some hold one report alone.
    monkeypatch.setattr(samples_module, "_TOGETHER", 9)
    compared = 0
    both = _both(np.random.default_rng(8), 2000, LeaderAverages(waiting_max=90, few_max=few))
    for view, plain in islice(both, 39, None, 40):
        load, other = (
            cluster_load(view, _is_system),
            plain_load.cluster_load(plain, _is_system),
        )
        assert load.bundle_data is not None and other.bundle_data is not None
        np.testing.assert_equal(asdict(load.bundle_data), asdict(other.bundle_data))
        mine, whole = (_column(it, "bundle_traffic").rate_in for it in (load, other))
        np.testing.assert_equal(mine, whole)
        compared += len(load.bundles)
    assert compared > 1000


def test_short_averages_are_the_same_without_the_long_ones() -> None:
    compared = 0
    both = zip(
        _both(np.random.default_rng(7), 150, LeaderAverages(keeps_long=False)),
        _both(np.random.default_rng(7), 150, LeaderAverages()),
        strict=True,
    )
    for (view, _), (fuller, _) in both:
        load, other = cluster_load(view, _is_system), cluster_load(fuller, _is_system)
        assert load.long_rate_in is load.long_rate_out is load.bundle_data is None
        for column in fields(ClusterLoad):
            if column.name not in {"long_rate_in", "long_rate_out", "bundle_data"}:
                mine, whole = (_column(it, column.name) for it in (load, other))
                if column.name == "preallocations":
                    mine, whole = mine.broker, whole.broker
                elif column.name in {"bundle_traffic", "few_traffic"}:
                    mine, whole = asdict(mine), asdict(whole)
                np.testing.assert_equal(mine, whole, err_msg=column.name)
        compared += len(load.bundles)
    assert compared > 1000


def _column(load: ClusterLoad, name: str) -> Any:
    if name == "few_traffic":
        return load.traffic_of(np.arange(0, len(load.bundles), 3))
    return load.bundle_traffic() if name == "bundle_traffic" else getattr(load, name)


def _is_system(bundle: str) -> bool:
    return bundle.endswith("5")


def row(second: int, version: int | None, *, is_gone: bool = False) -> dict[str, Any]:
    at = START + timedelta(seconds=second)
    return {"broker": "b1", "time": at, "written": at, "version": version, "is_gone": is_gone}


def test_a_gap_in_versions_is_a_missed_write() -> None:
    ((broker, after, before, why),) = missed_writes([row(0, 0), row(10, 1), row(40, 3)])
    assert broker == "b1"
    assert (before - after).total_seconds() == 30
    assert "version 2 was expected and 3 found" in why


def test_a_new_life_counts_from_nought() -> None:
    assert missed_writes([row(0, 0), row(10, None, is_gone=True), row(20, 0)]) == ()
    assert len(missed_writes([row(0, 0), row(10, None, is_gone=True), row(20, 1)])) == 1


def test_a_recording_that_begins_late_misses_what_was_before() -> None:
    ((_, after, before, _),) = missed_writes([row(0, 7), row(10, 8)])
    assert after < START
    assert before == START
