"""The running state: a fold that may be cut anywhere, and the line that a person reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from trimtab.files.tables import INGESTED
from trimtab.live.follow import Stored
from trimtab.live.follow.broker_totals import Fact, Rhythm, Running, folded
from trimtab.live.follow.facts import facts_of
from trimtab.live.follow.live import Since, news, over_the_bar
from trimtab.pulsar.model import History
from trimtab.pulsar.scores import smoothed
from trimtab.pulsar.settings import ResourceWeights

MINUTE_US = 60_000_000
RHYTHM = Rhythm(0.9, MINUTE_US)
WEIGHTS = ResourceWeights(1.0, None, 1.0, 1.0, 1.0)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

FACTS = st.lists(
    st.builds(
        Fact,
        st.sampled_from(["lines", "event", "unload", "printed", "store", "rest", "gone"]),
        st.integers(0, 100 * MINUTE_US),
        st.floats(0, 2),
    ),
    max_size=30,
)


def of_usages(kind: str, *usages: tuple[float, float]) -> Running:
    """Fold usages, each with its minute."""
    facts = [Fact(kind, round(minute * MINUTE_US), usage) for minute, usage in usages]
    return folded(Running(), facts, RHYTHM)


@given(facts=FACTS, cut=st.integers(0, 30))
def test_it_does_not_matter_where_it_is_cut(facts: list[Fact], cut: int) -> None:
    before = folded(Running(), facts[:cut], RHYTHM)

    assert folded(Running(), facts, RHYTHM) == folded(before, facts[cut:], RHYTHM)


@given(usages=st.lists(st.floats(0, 2), min_size=1, max_size=20))
def test_printed_rounds_are_smoothed_as_threshold_shedder_does(usages: list[float]) -> None:
    history = History((), np.empty(0))
    for usage in usages:
        after = smoothed(history, ("b",), np.array([usage]), 0.9)
        history = History(("b",), after)
    found = of_usages("printed", *((0, usage) for usage in usages))

    assert (len(usages), float(history.usage[0])) == (found.rounds, found.printed)


def test_every_round_sees_the_last_report_before_it() -> None:
    # Rounds at minutes 1, 2 and 3 see 0.2, the one at minute 4 sees 0.8.
    found = of_usages("store", (0, 0.2), (3.5, 0.8), (4.5, 0.4))
    expected = 0.2
    for usage in (0.2, 0.2, 0.2, 0.8):
        expected = expected * 0.9 + (1 - 0.9) * usage

    assert expected == found.smoothed
    assert (0.4, 3, 4 * MINUTE_US) == (found.usage, found.reports, found.round_us)


def test_silence_for_years_ends_in_the_last_usage() -> None:
    found = of_usages("store", (0, 0.25), (1, 0.5), (1e7, 0.75))

    assert 0.5 == round(found.smoothed or 0, 12)
    assert 10_000_000 * MINUTE_US == found.round_us


def test_what_a_broker_says_when_asked_counts_only_without_the_store() -> None:
    assert 0.5 == of_usages("rest", (0, 0.5)).usage
    facts = [Fact("store", 0, 0.5), Fact("rest", MINUTE_US, 0.9)]
    found = folded(Running(), facts, RHYTHM)

    assert (0.5, 0.5, 2) == (found.usage, found.smoothed, found.reports)


def test_a_broker_that_is_gone_begins_anew() -> None:
    facts = [Fact("store", 0, 0.5), Fact("gone", 1, 0.0), Fact("store", MINUTE_US, 0.75)]
    found = folded(Running(), facts[:2], RHYTHM)

    assert (None, None) == (found.usage, found.smoothed)
    assert 0.75 == folded(found, facts[2:], RHYTHM).smoothed


def test_reports_are_weighed_as_the_shedder_does() -> None:
    schema = INGESTED["load_reports"]
    row = {column.name: None for column in schema}
    row |= {"broker": "b:1", "origin": "store", "is_gone": False, "time": NOON}
    row |= {"cpu_usage": 30.0, "cpu_limit": 100.0, "memory_usage": 9.0, "memory_limit": 10.0}
    written = row | {"written": NOON + timedelta(seconds=1), "cpu_usage": 60.0}
    gone = row | {"is_gone": True, "cpu_usage": None}
    extensible = row | {"cpu_usage": None}
    rows = pa.Table.from_pylist([row, written, gone, extensible], schema)
    found = list(facts_of("load_reports", rows, WEIGHTS))

    assert ["store", "store", "gone"] == [it["kind"] for it in found]
    # 30 of 100 as a 32-bit percentage, see the quirks of `weighted_usage`.
    assert [0.30000001907348633, 0.6000000381469727] == [it["value"] for it in found[:2]]
    assert 1_000_000 == found[1]["time_us"] - found[0]["time_us"]


def test_events_count_for_the_log_and_printed_usages_for_the_broker() -> None:
    schema = INGESTED["log_events"]
    row = {column.name: None for column in schema} | {"time": NOON, "log_broker": "broker1"}
    unload = row | {"kind": "unload"}
    printed = row | {"kind": "usage-unsmoothed", "scores": [("b1:1", 0.5), ("b2:1", 0.25)]}
    rows = pa.Table.from_pylist([unload, printed], schema)
    found = [(it["broker"], it["kind"]) for it in facts_of("log_events", rows, WEIGHTS)]

    assert [
        ("broker1", "event"),
        ("broker1", "unload"),
        ("broker1", "event"),
        ("b1:1", "printed"),
        ("b2:1", "printed"),
    ] == found


def test_other_tables_mean_nothing() -> None:
    assert [] == list(facts_of("actions", INGESTED["actions"].empty_table(), WEIGHTS))


def test_line_says_what_is_new_and_who_is_above_the_bar() -> None:
    since = Since()
    file = {"lines": 1200, "rejected": 2}
    since.add(Stored(0, {"a.log": file}, {"log_events": 1, "load_reports": 4}, ()))
    since.add(Stored(1, {"a.log": {"lines": 34, "rejected": 0}}, {}, ()))
    before = {"a": Running(unloads=3, rounds=4)}
    now = {"a": Running(unloads=5, rounds=7), "x:1": Running(smoothed=0.5)}

    expected = "1,234 lines, 2 rejected, 1 event, 4 load reports, 2 unloads, 3 printed rounds"
    assert expected == news(since, before, now)
    assert "smoothed usage 50.0 % on average, 0 of 1 broker above 60.0 %" == over_the_bar(now, 0.1)
    now |= {"y:1": Running(smoothed=0.9)}
    expected = "smoothed usage 70.0 % on average, 1 of 2 brokers above 80.0 %: y:1 90.0 %"
    assert expected == over_the_bar(now, 0.1)
    assert "" == over_the_bar(before, 0.1)
