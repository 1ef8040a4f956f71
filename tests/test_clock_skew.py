"""Clocks are measured by what must come before what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.diagnose.clock_pairs import pairs_of
from trimtab.diagnose.clock_skew import STORE, Pair, measured
from trimtab.diagnose.clocks import backward_warnings
from trimtab.diagnose.night import Event
from trimtab.files.tables import INGESTED

START = datetime(2026, 11, 21, 7, tzinfo=UTC)
NAMES = {"one": "b1", "two": "b2"}


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def around(broker: str, second: float, ahead_s: float, took_s: float = 0.02) -> list[Pair]:
    """A broker writes to the store: it says so before and after, by its own clock."""
    stored = at(second)
    before, after = (at(second + ahead_s + by) for by in (-took_s / 2, took_s / 2))
    return [Pair(broker, before, STORE, stored), Pair(STORE, stored, broker, after)]


# ------------------------------------------------------------------ how it is measured


def test_a_clock_is_measured_to_half_of_what_passes_between_two_of_its_lines() -> None:
    clocks = measured([*around("b1", 0, 3.7), *around("b1", 60, 3.7, 0.01), *around("b2", 9, 0)])

    assert clocks.reference == STORE
    one, two = clocks.skews
    assert (one.broker, one.pairs, one.is_off) == ("b1", 4, True)
    assert one.ahead_s == pytest.approx(3.7)
    assert one.bound_s == pytest.approx(0.007)
    assert two.ahead_s == pytest.approx(0.0)
    assert not two.is_off
    assert clocks.ahead() == {"b1": timedelta(seconds=one.ahead_s or 0.0)}


def test_without_the_store_clocks_are_held_against_the_busiest() -> None:
    pairs = [
        Pair("b1", at(0), "b2", at(5.1)),
        Pair("b2", at(5.3), "b1", at(0.4)),
        Pair("b1", at(9), "b3", at(9)),
        Pair("b3", at(7), STORE, at(10)),
    ]
    clocks = measured(pairs)

    assert clocks.reference == "b1"
    two, three = clocks.skews
    assert two.ahead_s == pytest.approx(5.0)
    assert two.bound_s == pytest.approx(0.102)
    assert (three.broker, three.ahead_s, three.bound_s) == ("b3", None, None)


def test_a_clock_that_was_set_is_named_and_not_corrected() -> None:
    clocks = measured([*around("b1", 0, 0.0), *around("b1", 60, -2.0), *around("b2", 9, 1.0)])

    assert clocks.jumps == (
        "the clock of b1 jumped: it was ahead of that of the metadata store by at least -0.010 s "
        "at 2026-11-21T07:00:00.000Z, and by at most -1.990 s at 2026-11-21T07:01:00.000Z; its "
        "lines are ordered as they are printed",
    )
    assert [skew.ahead_s for skew in clocks.skews] == [None, pytest.approx(1.0)]


def test_a_clock_that_drifts_is_measured_with_a_wider_bound() -> None:
    (skew,) = measured([*around("b1", 0, 3.0), *around("b1", 60, 3.05)]).skews

    assert skew.ahead_s == pytest.approx(3.025)
    assert skew.bound_s == pytest.approx(0.005, abs=0.0001)
    assert skew.is_off
    (close,) = measured(around("b1", 0, 0.012)).skews
    assert not close.is_off


def test_clocks_that_contradict_each_other_in_a_circle_are_not_measured() -> None:
    circle = [Pair(*two) for two in (("b1", at(2), "b2", at(1)), ("b2", at(2), "b1", at(1)))]
    clocks = measured(circle)

    assert "the clocks of b1, b2 contradict each other" in clocks.jumps[0]
    assert clocks.ahead() == {}
    assert measured([]).skews == ()


@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=5),
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(0, 9), st.floats(0, 3)),
        max_size=40,
    ),
)
def test_the_truth_is_within_the_bound(
    ahead_s: list[float], told: Sequence[tuple[int, int, float, float]]
) -> None:
    n = len(ahead_s)
    clocks = [STORE, *(f"b{i}" for i in range(1, n))]
    pairs = [
        Pair(clocks[a % n], at(t + ahead_s[a % n]), clocks[b % n], at(t + took + ahead_s[b % n]))
        for a, b, t, took in told
    ]
    found = measured(pairs)

    assert found.jumps == ()
    assert found.reference in clocks
    right = dict(zip(clocks, ahead_s, strict=True))
    for skew in found.skews:
        if skew.ahead_s is not None and skew.bound_s is not None:
            error_s = right[skew.broker] - right[found.reference] - skew.ahead_s
            assert abs(error_s) <= skew.bound_s + 1e-6


def test_a_log_whose_times_go_back_is_named_with_its_line() -> None:
    def events(file: str, *seconds: float) -> list[Event]:
        lines = enumerate(seconds, start=1)
        return [Event(at(second), "b1", file, 10 * i, "unload", "") for i, second in lines]

    mixed = events("a.log", 0, 5, 4.5, 6)
    once, twice = events("b.log", 0, 5, 2.5, 6), events("c.log", 9, 5, 7, 2, 8)

    assert backward_warnings([*mixed, *reversed(once), *twice]) == [
        "b.log: its times go back once by 2.500 s, at line 30: its clock was set, or the file was "
        "put together out of order; lines are ordered by time",
        "c.log: its times go back 2 times, most by 5.000 s, at line 40: its clock was set, or the "
        "file was put together out of order; lines are ordered by time",
    ]


# ------------------------------------------------------------------- what is in order


def line(second: float, log: str, kind: str, source: str | None = None) -> dict[str, Any]:
    return {
        "time": at(second),
        "log_broker": log,
        "kind": kind,
        "bundle": "t/n/a",
        "broker": source,
    }


def owned(second: float, broker: str | None) -> dict[str, Any]:
    return {"time": at(second), "bundle": "t/n/a", "broker": broker}


def stamped(*rows: dict[str, Any]) -> pa.Table:
    kept = [INGESTED["load_reports"].field(name) for name in ("broker", "updated", "written")]
    return pa.Table.from_pylist(list(rows), pa.schema(kept))


#: The leader b1 unloads a bundle of b2, takes it, and unloads another.
TOLD = (
    line(10, "one", "unload", "b2"),
    line(10.1, "two", "ownership-disabled"),
    line(10.3, "two", "bundle-lock-released"),
    line(10.4, "two", "bundle-unloaded"),
    line(10.6, "one", "ownership-tried"),
    line(10.7, "one", "ownership-tried"),
    line(10.9, "one", "ownership-acquired"),
    line(11, "one", "unload", "b3") | {"bundle": "t/n/other"},
)
STORED = (owned(0, "b2"), owned(10.2, None), owned(10.8, "b1"))


def test_an_unload_is_seen_from_all_sides() -> None:
    # Of a broker's reports the one that came soonest tells most.
    reports = [
        {"broker": "b2", "updated": at(15), "written": at(15.3)},
        {"broker": "b2", "updated": at(20), "written": at(20.1)},
        {"broker": "b3", "updated": at(20), "written": at(20.2)},
    ]
    found = set(pairs_of(reversed(TOLD), STORED, stamped(*reports), NAMES))

    assert found == {
        Pair("b1", at(10), "b2", at(10.1)),
        Pair("b2", at(10.1), STORE, at(10.2)),
        Pair(STORE, at(10.2), "b2", at(10.3)),
        Pair("b2", at(10.4), "b1", at(11)),
        Pair("b1", at(10.7), STORE, at(10.8)),
        Pair(STORE, at(10.8), "b1", at(10.9)),
        Pair("b2", at(20), STORE, at(20.1), pairs=2),
        Pair("b3", at(20), STORE, at(20.2)),
    }


def test_what_is_not_told_as_often_on_both_sides_does_not_count() -> None:
    nothing = {"broker": "b2", "updated": None, "written": at(20.1)}
    again = [owned(30, None), owned(31, "b1")]
    kinds = ("ownership-disabled", "bundle-lock-released", "bundle-unloaded")
    by_hand = [line(50, "two", kind) for kind in kinds]

    assert list(pairs_of([*TOLD, *by_hand], [*STORED, *again], stamped(nothing), NAMES)) == []
    assert list(pairs_of(TOLD, STORED, stamped(), {})) == []
