"""A watch looks at reports when the leader does, which looks at none while it unloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.watched_nights import recorded_night, watched
from trimtab.diagnose.replay.busy_leader import looks as looks_of_a_night
from trimtab.diagnose.replay.timeline import OWNED, UNLOAD
from trimtab.live.watch.deaf import Unloading, doubts, followed, is_deaf, is_done, looks
from trimtab.live.watch.events import write_time
from trimtab.live.watch.nouns import Decided, Row

BEGAN = datetime(2026, 11, 21, tzinfo=UTC)


def at(s: float) -> datetime:
    return BEGAN + timedelta(seconds=s)


def unloading(*waiting: tuple[float, str], left_s: float | None) -> Unloading:
    """Give a round that logs its only unload after half a second."""
    of = Unloading(BEGAN)
    followed(of, (at(0.5), UNLOAD, "shop/a/0x0_0x1"))
    if left_s is not None:
        followed(of, (at(left_s), OWNED, {"bundle": "shop/a/0x0_0x1", "broker": None}))
    of.waiting += [(at(s), {"broker": broker}) for s, broker in waiting]
    return of


def looked(of: Unloading) -> list[tuple[float, list[str]]]:
    return [
        ((time - BEGAN).total_seconds(), [row["broker"] for row in rows])
        for time, rows in looks(of)
    ]


def test_what_is_written_meanwhile_is_looked_at_together_and_the_rest_alone() -> None:
    of = unloading((0.1, "b1"), (0.4, "b2"), (0.9, "b3"), (1.5, "b1"), left_s=1.01)

    assert looked(of) == [(1.0, ["b1", "b2", "b3"]), (1.5, ["b1"])]


def test_it_is_as_a_whole_night_is_looked_at() -> None:
    of = unloading((0.1, "b1"), (0.4, "b2"), (1.5, "b1"), left_s=None)

    of_a_night = looks_of_a_night(of.waiting, [(BEGAN, of.until)])
    assert sorted(looks(of), key=lambda look: look[0]) == sorted(of_a_night, key=lambda it: it[0])


def test_whoever_unloads_nothing_is_not_deaf() -> None:
    of = Unloading(BEGAN, waiting=[(at(0.2), {"broker": "b1"}), (at(0.3), {"broker": "b2"})])

    assert looked(of) == [(0.2, ["b1"]), (0.3, ["b2"])]
    assert doubts(of) == ()


def test_it_is_done_when_the_last_bundle_has_left_and_no_other_is_unloaded() -> None:
    assert not is_done(unloading(left_s=None), at(20))
    assert is_done(unloading(left_s=None), at(31))
    of = unloading(left_s=1.0)
    assert not is_done(of, at(1.9))
    assert is_done(of, at(2.1))
    followed(of, (at(1.2), UNLOAD, "shop/a/0x1_0x2"))
    assert not is_done(of, at(2.1))


def test_who_has_it_next_does_not_tell_when_it_left() -> None:
    of = unloading((0.1, "b1"), (0.8, "b2"), left_s=None)
    followed(of, (at(4.0), OWNED, {"bundle": "shop/a/0x0_0x1", "broker": "b2"}))
    # Nor does whoever has it after that, or another bundle.
    followed(of, (at(5.0), OWNED, {"bundle": "shop/a/0x0_0x1", "broker": None}))

    assert looked(of) == [(0.5, ["b1"]), (0.8, ["b2"])]


@pytest.mark.parametrize(
    ("waiting", "doubtful"),
    [
        # The last unload ended between its line and when that was heard.
        (((0.1, "b1"), (0.9, "b2")), ["b2"]),
        (((0.7, "b1"), (0.9, "b2")), ["b1", "b2"]),
        # One that is looked at alone is looked at alone.
        (((0.9, "b2"),), []),
        (((0.1, "b1"), (0.2, "b2"), (1.3, "b3")), []),
    ],
)
def test_what_hangs_on_milliseconds_is_doubtful(
    waiting: tuple[tuple[float, str], ...], doubtful: list[str]
) -> None:
    found = doubts(unloading(*waiting, left_s=1.0))

    assert [broker for broker, *_ in found] == doubtful
    assert all("hangs on milliseconds" in why for *_, why in found)


Heard = tuple[datetime, Sequence[Row]]


def written(rows: Sequence[Heard], moved: Mapping[datetime, datetime]) -> list[Heard]:
    """Give what was heard, with some writes of reports at other times."""
    return sorted(
        (
            (
                moved.get(heard, heard),
                [
                    (table, {**row, "written": moved.get(row["written"], row["written"])})
                    if table == "load_reports"
                    else (table, row)
                    for table, row in each
                ],
            )
            for heard, each in rows
        ),
        key=lambda each: each[0],
    )


def test_in_which_order_brokers_write_meanwhile_changes_nothing() -> None:
    night = recorded_night("uniform")
    assert is_deaf(night.settings)
    every = [each for _, rows in night.rows for each in rows]
    lines = sorted(
        row["time"] for table, row in every if table == "log_events" and row["kind"] == "unload"
    )
    # The first round of several unloads, and what two brokers of several bundles write after it.
    began, *_, ended = [time for time in lines if time < lines[0] + timedelta(seconds=20)]
    writes = {
        row["broker"]: row["written"]
        for table, row in reversed(every)
        if table == "load_reports" and write_time(row) > ended and len(row["bundles"] or ()) > 3
    }
    one, other = sorted(writes.values())[:2]
    third = (ended - began) / 3

    def rounds(first: datetime, second: datetime) -> list[object]:
        moved = written(night.rows, {first: began + third, second: ended - third})
        said = watched(replace(night, rows=moved), 1.0, night.settings)
        return [(each.time, each.pulsar) for each in said if isinstance(each, Decided)]

    assert rounds(one, other) == rounds(other, one)
