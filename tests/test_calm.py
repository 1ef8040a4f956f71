"""Reports that a gate lets through: which are believed at once, which wait, which are dropped."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from trimtab.lab.costs import Look, Windows, nothing_known
from trimtab.lab.costs.knowledge import with_brokers
from trimtab.lab.steering import Network, View
from trimtab.lab.steering.foresight.calm import Waiting, bounded, calm

NEVER = np.array([-np.inf])


def view(time_s: float, cpu: float | None, bytes_: float = 1e6) -> View:
    """Make a view of one broker that has just written, or nothing."""
    n = 0 if cpu is None else 1
    rate = bytes_ / 2
    look = Look(
        time_s=time_s,
        broker=np.zeros(n, np.int64),
        written_s=np.full(n, time_s),
        started_s=np.full(n, np.nan),
        cpu=np.full(n, cpu or 0.0),
        others=np.full(n, np.nan),
        cores=np.full(n, 16.0),
        report=np.zeros(n, np.int64),
        bundle=np.zeros(n, np.int64),
        counts=np.array([[100.0, 100.0, rate, rate, 1.0, np.nan, np.nan]] * n).reshape(n, 7),
        moved=np.empty(0, np.int64),
        moved_from=np.empty(0, np.int64),
        moved_to=np.empty(0, np.int64),
        moved_s=np.empty(0),
    )
    return View(
        brokers=("b1",),
        bundles=("a",),
        look=look,
        network=Network(np.full((n, 2), 5.0), np.full(n, 1e9)),
        windows=Windows(),
        is_there=np.ones(1, np.bool_),
        members=(),
        fates=(),
        is_movable=np.ones(1, np.bool_),
    )


def believed(views: list[View], touched_s: float = -np.inf) -> list[list[float]]:
    """Return what CPU is believed after each view."""
    waiting: Waiting | None = None
    heard = []
    for each in views:
        calmed, waiting = calm(each, waiting, np.array([touched_s]))
        heard.append(calmed.look.cpu.tolist())
    return heard


def test_what_agrees_with_the_report_before_is_believed_at_once() -> None:
    assert believed([view(60, 40.0), view(120, 43.0)]) == [[40.0], [43.0]]


def test_a_contradiction_waits_until_the_next_report_agrees() -> None:
    heard = believed([view(60, 40.0), view(80, 55.0), view(100, 70.0), view(120, 71.0)])

    # 55 is half of before, and dropped when 70 comes.
    assert heard == [[40.0], [], [], [71.0]]


def test_silence_confirms_a_contradiction() -> None:
    views = [view(60, 40.0), view(80, 70.0), view(100, None), view(140, None), view(160, None)]

    assert believed(views) == [[40.0], [], [], [70.0], []]


def test_other_traffic_is_a_contradiction_as_well() -> None:
    assert believed([view(60, 40.0), view(80, 40.0, bytes_=2e6)]) == [[40.0], []]


def test_what_was_written_while_bundles_came_or_went_is_never_believed() -> None:
    views = [view(60, 40.0), view(120, 55.0), view(200, None), view(400, None)]

    assert believed(views, touched_s=100.0) == [[40.0], [], [], []]


@pytest.mark.parametrize(("level", "then"), [(30.0, 48.0), (50.0, 50.0), (80.0, 62.0)])
def test_silence_bounds_the_level_by_what_was_written_halfway(level: float, then: float) -> None:
    _, waiting = calm(view(60, 40.0), None, NEVER)
    _, waiting = calm(view(120, 55.0), waiting, np.array([100.0]))
    known = nothing_known(("b1",), ("a",))
    known = with_brokers(known, level=np.array([level]))

    def after(time_s: float) -> float:
        known_then = bounded(dataclasses.replace(known, time_s=time_s), waiting, Windows())
        return float(known_then.brokers.level[0])

    assert after(140.0) == level
    assert after(260.0) == pytest.approx(then)
