"""What happens in a stretch, whether reports stand there one by one or those between together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from trimtab.diagnose.replay.busy_leader import looks
from trimtab.diagnose.replay.missed_writes import write_time
from trimtab.diagnose.replay.store_columns import Names, StoredAverages, StoredReports, likes_of
from trimtab.diagnose.replay.stretches import Outline, Stretch
from trimtab.diagnose.replay.timeline import LEFT, REPORT, REPORTS, ROUND, Script, timeline
from trimtab.files.tables import INGESTED
from trimtab.pulsar.leader.averages import Average
from trimtab.pulsar.leader.reports import Report

BEGIN = datetime(2026, 11, 2, tzinfo=UTC)
#: Few, so that much happens at one time.
SECONDS = st.integers(0, 9)
NOTHING = np.empty(0)


def at(second: int) -> datetime:
    """Return a time of the stretch."""
    return BEGIN + timedelta(seconds=second)


def stored(writes: Sequence[tuple[int, bool, bool]]) -> StoredReports:
    """Return writes as columns: when, whether the broker is gone, and whether it was polled."""
    schema = INGESTED["load_reports"]
    rows = [
        {
            "time": at(second) + timedelta(microseconds=1),
            "broker": f"b{i % 3}",
            "version": i,
            "written": None if is_polled else at(second),
            "is_gone": is_gone,
            "file": "store/log.1",
        }
        for i, (second, is_gone, is_polled) in enumerate(writes)
    ]
    table = pa.Table.from_pylist(rows, pa.schema([schema.field(name) for name in rows[0]]))
    names = Names([], np.empty(0, np.int64))
    brokers = Names(["b0", "b1", "b2"], np.arange(len(rows), dtype=np.int64) % 3)
    # The first is not asked for.
    asked = np.arange(1, len(rows))
    none = np.empty(0, np.int64)
    return StoredReports(
        writes=table,
        asked=asked,
        brokers=brokers,
        likes=np.zeros(len(rows), np.int64),
        usage=NOTHING,
        limit=NOTHING,
        totals=NOTHING,
        offsets=none,
        bundles=names,
        starts=none,
        ends=none,
        measured=names,
        samples=NOTHING,
    )


def script(
    reports: StoredReports, rounds: Sequence[int], busy: Sequence[tuple[int, int]]
) -> Script:
    """Return a stretch with rounds in which the leader is busy at times."""
    ticks = [(at(second), None) for second in sorted(rounds)]
    spans = [(at(begin), at(end)) for begin, end in busy]
    stretch = Stretch(None, None, {}, None, ticks, (), (), ())
    none = np.empty(0, np.int64)
    average = Average(none, NOTHING, none, NOTHING, NOTHING, none)
    flushes = StoredAverages(
        none.astype("datetime64[us]"), Names([], np.empty(0, np.int64)), average
    )
    outline = Outline([stretch], spans, (), (), None, lacks_averages=False)
    leading: Any = None
    return Script(leading, outline, stretch, reports, flushes)


@given(
    writes=st.lists(st.tuples(SECONDS, st.booleans(), st.booleans()), min_size=1, max_size=12),
    rounds=st.lists(SECONDS, max_size=4),
    edges=st.lists(SECONDS, max_size=6, unique=True),
)
def test_reports_between_two_events_are_those_that_are_looked_at_one_by_one(
    writes: list[tuple[int, bool, bool]], rounds: list[int], edges: list[int]
) -> None:
    ordered = sorted(edges)
    busy = list(zip(ordered[::2], ordered[1::2], strict=False))
    reports = stored(writes)
    of = script(reports, rounds, busy)

    rows = reports.rows(reports.asked)
    each = sorted(((write_time(row), row) for row in rows), key=itemgetter(0))
    expected: list[tuple[datetime, int, Any]] = []
    for time, some in looks(each, of.outline.busy):
        expected.append((time, REPORT, some))
        left = [row for row in some if row["is_gone"] and write_time(row) < time]
        expected += [(write_time(row), LEFT, row["broker"]) for row in left]
    expected += [(time, ROUND, None) for time, _ in of.stretch.ticks]

    events = timeline(of)

    together = [thing for _, what, thing in events if what == REPORTS]
    assert [] == [
        row for row in reports.rows(np.array([*chain(*together)], np.int64)) if row["is_gone"]
    ]
    alone = [
        [(write_time(row), REPORT, [row]) for row in reports.rows(thing)]
        if what == REPORTS
        else [(time, what, thing)]
        for time, what, thing in events
    ]
    assert sorted(expected, key=itemgetter(0, 1)) == [*chain(*alone)]


@given(
    reports=st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.integers(0, 3), max_size=3)), max_size=12
    )
)
def test_reports_of_a_broker_are_alike_if_they_list_the_same(
    reports: list[tuple[int, list[int]]],
) -> None:
    sizes = [len(codes) for _, codes in reports]
    edges = np.append(0, np.cumsum(sizes)).astype(np.int64)
    codes = np.array([*chain(*(codes for _, codes in reports))], np.int64)
    brokers = np.array([broker for broker, _ in reports], np.int64)

    likes = likes_of(brokers, [(edges[:-1], edges[1:], codes)] * 2)

    for i, (broker, mine) in enumerate(reports):
        before = [j for j in range(i) if reports[j][0] == broker]
        if before:
            assert (likes[i] == likes[before[-1]]) == (mine == reports[before[-1]][1])
        for j in range(i):
            if likes[i] == likes[j]:
                assert reports[i] == reports[j]


def test_a_broker_goes_on_if_its_first_report_lists_what_it_listed_before() -> None:
    # b0 and b1 list x and y, b2 and then b0 only y; each gives numbers of what it lists.
    names = Names(["x", "y"], np.array([0, 1, 0, 1, 1, 1]))
    starts, ends = np.array([0, 2, 4, 5]), np.array([2, 4, 5, 6])
    reports = replace(
        stored([(0, False, False)] * 4),
        likes=np.array([7, 9, 3, 8]),
        usage=np.zeros((4, 5)),
        limit=np.zeros((4, 5)),
        totals=np.zeros((4, 4)),
        offsets=np.append(starts, 6),
        starts=starts,
        ends=ends,
        bundles=names,
        measured=names,
        samples=np.zeros((6, 5)),
    )

    def before(broker: str, bundles: tuple[str, ...], measured: tuple[str, ...]) -> Report:
        return Report(broker, NOTHING, NOTHING, NOTHING, bundles, measured, NOTHING)

    both, one = ("x", "y"), ("y",)
    same, other = before("b0", both, both), before("b1", both, one)
    last = before("b2", one, one)
    assert reports.going_on({"b0": same, "b1": other, "b2": last}).tolist() == [7, -1, 3]
    assert reports.going_on({"b0": before("b0", one, one), "gone": same}).tolist() == [-1, -1, -1]
