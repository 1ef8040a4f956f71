"""What the leader keeps and what is replayed of it, tried on either side of each bound."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.cluster_text import cluster
from tests.watched_nights import seen
from trimtab.diagnose.replay.busy_leader import unloading
from trimtab.diagnose.replay.lookups import answer
from trimtab.diagnose.replay.missed_writes import missed_write, write_time
from trimtab.diagnose.replay.replay import Replaying, decided
from trimtab.diagnose.replay.round_columns import too_large
from trimtab.pulsar.leader.averages import Average, LeaderAverages
from trimtab.pulsar.leader.bundle_rows import BundleRows
from trimtab.pulsar.leader.report_gate import Measured, need_broker_data_update
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.samples import Waiting
from trimtab.pulsar.leader.time_average import averaged, left_of_average
from trimtab.pulsar.leader.top_bundles import BundleStats, top_bundles
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.map_order import spreads
from trimtab.pulsar.model import MEBIBYTE, Decision, Reason
from trimtab.pulsar.settings import load_manager_settings

START = datetime(2026, 11, 21, 6, 37, tzinfo=UTC)


def report(broker: str, *bundles: str) -> Report:
    samples = np.array([[1.0, 2.0, 30.0, 40.0, 3.0]] * len(bundles)).reshape(-1, 5)
    totals = samples[:, :4].sum(axis=0)
    five = np.full(5, 10.0)
    return Report(broker, five, 10.0 * five, totals, bundles, bundles, samples)


# ------------------------------------------------------------------ what it keeps


def test_no_two_sets_of_known_bundles_have_the_same_version() -> None:
    rows = BundleRows()
    some = rows.rows(["t/n/a", "t/n/b", "t/n/c"])
    versions = [rows.version]
    for change in (
        *(lambda: rows.know(some[:2]), lambda: rows.forget(some[:1]), lambda: rows.know(some[2:])),
        *(lambda: rows.forget(some[1:]), rows.forget_all, lambda: rows.know(some)),
    ):
        change()
        versions.append(rows.version)
    assert all(before < after for before, after in pairwise(versions))


def test_what_is_known_of_a_row_stays_with_it_when_room_is_made() -> None:
    rows, named = BundleRows(), [f"t/n{i % 3}/b{i}" for i in range(70)]
    for at in (0, 1, 2, 3, 5, 9, 40):
        rows.know(rows.rows(named[:at])[rows.version :])
    rows.rows(named)

    assert rows.named(np.arange(70)) == tuple(named)
    assert rows.spread[:70].tolist() == spreads(named).tolist()
    assert np.flatnonzero(rows.is_known[:70]).tolist() == sorted(rows.known.values())
    assert np.flatnonzero(rows.of_namespace("t/n1")).tolist() == [*range(1, 70, 3)]


def test_who_knows_nothing_new_has_changed_nothing() -> None:
    rows = BundleRows()
    rows.know(rows.rows(["t/n/a"]))
    before = rows.version, rows.made
    rows.know(np.array([], np.int64))
    rows.forget(rows.rows(["t/n/b"]))
    assert (rows.version, rows.made) == before


def test_a_bundle_that_is_no_more_is_out_of_every_report() -> None:
    view = LeaderView()
    view.take(report("b1:8080", "t/n/a", "t/n/b"))
    view.take(report("b2:8080", "t/n/b", "t/n/c"))

    view.forget("t/n/b")

    assert view.reports["b1:8080"].bundles == ("t/n/a",)
    assert view.reports["b2:8080"].measured == ("t/n/c",)
    assert view.reports["b2:8080"].samples.shape == (1, 5)
    assert set(view.averages.bundles.known) == {"t/n/a", "t/n/c"}


def test_a_bundle_that_was_not_measured_yet_is_out_of_reports_too() -> None:
    view = LeaderView()
    known = report("b1:8080", "t/n/a")
    view.take(known._replace(bundles=("t/n/a", "t/n/b")))

    view.forget("t/n/b")

    assert view.reports["b1:8080"].bundles == ("t/n/a",)


def averages_of_two(room: int) -> Average:
    """Return averages of ten bundles that are fed before sixty others come and after that."""
    first, others = [f"t/n/a{i}" for i in range(10)], [f"t/n/b{i}" for i in range(60)]
    view = LeaderView()
    for i in range(room):
        view.averages.meet(f"t/n/x{i}")
    for broker, bundles in (("b1:8080", first), ("b2:8080", others)):
        view.take(report(broker, *bundles))
        view.recompute()
        view.averages.of(view.averages.rows(first))
        view.recompute()
    return view.averages.of(view.averages.rows([*first, *others]))


def test_room_that_is_made_between_two_feedings_changes_no_average() -> None:
    made, there = averages_of_two(0), averages_of_two(100)

    for name in ("short", "short_samples", "long", "long_samples", "topics"):
        np.testing.assert_array_equal(getattr(made, name), getattr(there, name))
    assert made.long_samples.max() > made.long_samples.min()


def test_what_strategies_read_is_put_together_once_until_it_changes() -> None:
    view = LeaderView()
    view.take(report("b1:8080", "t/n/a"))
    before = view.averages.bundle_data()
    assert view.averages.bundle_data() is before
    view.take(report("b1:8080", "t/n/a", "t/n/b"))
    view.recompute()
    assert view.averages.bundle_data() is not before


def test_averages_of_a_release_without_the_long_ones_have_room_for_four_numbers() -> None:
    averages = LeaderAverages(keeps_long=False)
    rows = np.array([averages.meet("t/n/a"), averages.meet("t/n/b")])
    assert averages.of(rows).short.shape == averages.of(rows).long.shape == (2, 4)


def test_what_was_taken_does_not_wait() -> None:
    waiting = Waiting()
    for at, size in ((1, 3), (2, 2), (5, 4)):
        waiting.tell(at, np.arange(size), np.zeros((size, 5)))
    assert waiting.size == 9
    taken = [samples.rows.size for samples, _ in waiting.take(5)]
    assert (sum(taken), waiting.size) == (5, 4)


def test_what_is_taken_in_parts_says_of_each_how_often_all_were_fed_by_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trimtab.pulsar.leader.samples._TOGETHER", 4)
    waiting = Waiting()
    for at in (1, 2, 3, 7):
        waiting.tell(at, np.arange(3), np.zeros((3, 5)))

    parts = [(sorted(set(part.at.tolist())), until) for part, until in waiting.take(8)]

    assert [at for part, _ in parts for at in part] == [1, 2, 3, 7]
    assert [until for _, until in parts[:-1]] == [part[0] for part, _ in parts[1:]]
    assert parts[-1][1] == 8


@pytest.mark.parametrize("times", [1, 9, 10, 11, 799, 800, 801, 10_000])
def test_many_equal_samples_are_one_after_the_other(times: int) -> None:
    average, sample = np.array([[7.0, 5.0, 3.0, 1.0]]), np.array([[1.0, 2.0, 30.0, 40.0]])
    one, count = average, 4
    for _ in range(times):
        count = min(count + 1, 10)
        one = averaged(one, count, sample)
    after, left = left_of_average(np.array([4]), np.array([times]), 10)
    assert after.tolist() == [count]
    np.testing.assert_allclose(sample + (average - sample) * left[:, None], one, rtol=1e-12)


# ------------------------------------------------------------------ what a broker publishes


def stats(bundle: int, throughput: float) -> BundleStats:
    return BundleStats(bundle, throughput, 0.0, 0.0, 0)


@pytest.mark.parametrize("release", ["4.0.0", "4.0.8"])
@pytest.mark.parametrize("seed", range(20))
def test_of_bundles_that_differ_the_heaviest_are_published(release: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 30))
    loads = (random.permutation(size) * 3e5).tolist()
    count = int(random.integers(0, size + 3))

    published = top_bundles([stats(i, load) for i, load in enumerate(loads)], count, release)

    assert sorted(it.throughput_in for it in published) == sorted(loads)[size - min(count, size) :]


@pytest.mark.parametrize(
    ("release", "more", "is_equal"),
    [
        *(("4.0.0", 1e5, True), ("4.0.0", 1e5 + 1, False)),
        *(("4.0.8", 49_999, True), ("4.0.8", 50_000, False)),
    ],
)
def test_how_far_apart_two_bundles_are_equal(release: str, more: float, is_equal: bool) -> None:
    """Of two equal ones the order of the broker's map decides, and of others the weight."""
    light, heavy = stats(0, 1e6), stats(1, 1e6 + more)
    orders = [[light, heavy], [heavy, light]]
    first = {top_bundles(order, 1, release)[0].bundle for order in orders}
    assert first == ({0, 1} if is_equal else {1})


# ------------------------------------------------------------------ what did not fit

STUCK = cluster(("a cpu:0.9 x=3 y=1 z=0 w=0.5:recent", "b cpu:0.8 u=1.5", "c cpu:0.1 v=0.1"))


def decided_for(reason: Reason, offload_mib_s: float, rate: float | None = None) -> Decision:
    """Return a decision in which two brokers keep all they have."""
    offload = np.array([offload_mib_s * MEBIBYTE, 2.0 * MEBIBYTE, np.nan])
    is_rate = None if rate is None else np.array([True, False, False])
    if rate is not None:
        offload[0] = rate
    reasons = (reason, Reason.NO_BUNDLES, Reason.BALANCED)
    return Decision((), reasons, np.zeros(3), 0.0, offload, is_rate)


def lightest(decision: Decision) -> list[tuple[str, str, float, bool]]:
    return [
        (row["source"], row["bundle"], row["carried"] / MEBIBYTE, row["is_rate"])
        for row in too_large(STUCK, decision)
    ]


def test_the_lightest_bundle_that_may_go_and_carries_anything_was_too_large() -> None:
    assert lightest(decided_for(Reason.NO_BUNDLES, 0.9)) == [("a", "y", 1.0, False)]
    assert lightest(decided_for(Reason.SOLE_BUNDLE, 0.9)) == [("a", "y", 1.0, False)]
    # It would have fitted, or nothing was asked of anybody.
    assert lightest(decided_for(Reason.NO_BUNDLES, 1.0)) == []
    assert lightest(decided_for(Reason.NO_BUNDLES, 0.0)) == []
    assert lightest(decided_for(Reason.BALANCED, 0.9)) == []
    # Less than a byte a second is something, and what is asked may be less still.
    load = cluster(("a 0.9 x=0B y=0.5B", "b 0.1"))
    asked = replace(decided_for(Reason.NO_BUNDLES, 0.0), offload=np.array([0.25, 0.0]))
    assert [it["bundle"] for it in too_large(load, asked)] == ["y"]


def test_what_is_asked_in_messages_is_compared_in_messages() -> None:
    (row,) = too_large(STUCK, decided_for(Reason.NO_BUNDLES, 0.0, rate=10.0))
    assert (row["bundle"], row["carried"], row["offload"]) == ("y", MEBIBYTE / 1024, 10.0)
    assert row["is_rate"]
    assert too_large(STUCK, decided_for(Reason.NO_BUNDLES, 0.0, rate=2000.0)) == []


# ------------------------------------------------------------------ what was written and missed


def row(version: int | None, written: datetime | None, *, is_gone: bool = False) -> dict[str, Any]:
    later = START + timedelta(seconds=1)
    return {
        **{"broker": "b1", "time": later, "written": written},
        **{"version": version, "is_gone": is_gone},
    }


def test_the_leader_hears_of_a_write_when_it_is_written_if_that_is_known() -> None:
    later = START + timedelta(seconds=1)
    assert write_time(row(1, START)) == START
    assert write_time(row(1, None)) == later
    assert write_time(row(1, START, is_gone=True)) == later


def test_who_has_gone_or_is_of_no_known_version_missed_nothing() -> None:
    before = row(3, START)
    assert missed_write(before, row(9, START, is_gone=True)) == ()
    assert missed_write(before, row(None, START)) == ()
    assert missed_write(before, row(4, START)) == ()
    assert len(missed_write(before, row(5, START))) == 1


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def freed(bundle: str | None, second: float, broker: str | None = None) -> dict[str, Any]:
    return {"bundle": bundle, "broker": broker, "time": at(second)}


@pytest.mark.parametrize(
    ("ownership", "end"),
    [
        ([], 11.0),
        ([freed("b", 12.0)], 12.0),
        # Of the bundle that came last, and after it was ordered.
        ([freed("a", 12.0)], 11.0),
        ([freed("b", 10.0), freed("b", 13.0)], 13.0),
        ([freed("b", 12.0, "b2:8080"), freed(None, 12.0)], 11.0),
        ([freed("b", 41.0)], 41.0),
        ([freed("b", 41.1)], 11.0),
    ],
)
def test_the_leader_unloads_until_its_last_unload_is_done(
    ownership: list[dict[str, Any]], end: float
) -> None:
    ticks = [(at(0.0), 1), (at(10.0), 2), (at(20.0), None), (at(30.0), 3)]
    unloads = [(at(10.5), "a"), (at(11.0), "b"), (at(21.0), "c")]
    assert unloading(ticks, unloads, ownership) == [(at(10.0), at(end))]


# ------------------------------------------------------------------ what a round hangs on


def leader() -> tuple[Replaying, datetime]:
    """Return a leader that is known whole, in the middle of a night, and a time to decide at."""
    term = seen("uniform").memory.term
    assert term is not None
    own = deepcopy(term.own)
    own.gaps, own.averages_doubt, own.departures = (), None, ()
    own.view.recently_unloaded = {}
    return own, term.last_round + timedelta(minutes=5)


@pytest.mark.parametrize(("ago_s", "is_open"), [(5.0, True), (5.001, False), (0.0, True)])
def test_no_unload_takes_longer_than_five_seconds(ago_s: float, is_open: bool) -> None:
    own, time = leader()
    bundle = next(iter(own.view.averages.bundles.known))
    over_s = time.timestamp() - own.leading.manager.grace_period_s
    own.view.recently_unloaded = {bundle: over_s - ago_s}

    ((_, decision),) = decided(own, time, 1)

    assert (decision["bundle_doubt"] is not None) is is_open


@pytest.mark.parametrize(
    ("after_s", "is_open"), [(0.0, False), (0.001, True), (29.9, True), (30.0, False)]
)
def test_who_leaves_within_half_a_minute_may_have_left_before_the_round(
    after_s: float, is_open: bool
) -> None:
    own, time = leader()
    own.departures = ({"broker": "b9:8080", "time": time + timedelta(seconds=after_s)},)

    ((_, decision),) = decided(own, time, 1)

    assert ("b9:8080 left about then" in (decision["doubt"] or "")) is is_open


def test_with_one_broker_no_shedder_is_asked() -> None:
    own, time = leader()
    while len(own.view.reports) > 2:
        own.view.drop(next(iter(own.view.reports)))
    assert len([*decided(own, time, 1)]) == 1
    own.view.drop(next(iter(own.view.reports)))
    assert [*decided(own, time, 1)] == []


# ------------------------------------------------------------------ what was answered


@pytest.mark.parametrize(
    ("later_s", "answered"), [(-0.001, None), (0.0, "b2"), (0.001, "b2"), (600.0, None)]
)
def test_who_owns_the_bundle_from_the_lookup_on_was_named(
    later_s: float, answered: str | None
) -> None:
    selection = {"bundle": "t/n/a", "time": START}
    owned = {"t/n/a": [(START + timedelta(seconds=later_s), "b2")]}

    assert answer(selection, ["b1", "b2"], owned) == answered
    assert answer(selection, ["b3", "b4"], owned) is None
    assert answer(selection, ["b1"], owned) == "b1"


@pytest.mark.parametrize(("change_percent", "is_written"), [(90, False), (91, True)])
def test_a_large_threshold_of_reports_is_that_many_percent(
    change_percent: float, is_written: bool
) -> None:
    none = np.zeros(1, np.int64)
    before = Measured(np.array([[100.0, 0, 0, 0]]), none, np.zeros(1))
    after = Measured(np.array([[100.0 - change_percent, 0, 0, 0]]), none, np.zeros(1))
    conf = {"loadBalancerReportUpdateThresholdPercentage": "90"}
    settings = load_manager_settings(conf, "4.0.8")

    assert need_broker_data_update(before, after, np.zeros(1), settings).tolist() == [is_written]
