"""The page of rehearsals beside what came: which events it takes, and what it counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from test_recorded_traffic import MEASURED, THRESHOLD, two_brokers
from tools import foretold
from trimtab.lab.outcomes.intervals import Summary
from trimtab.lab.reconstruct.cluster import rebuilt
from trimtab.lab.rehearsal.going_on import Experience
from trimtab.lab.simulate.world import Event, Kind


def figure(name: str, real: float) -> foretold.Foretold:
    return foretold.Foretold("night", "b1 joins", name, real, Summary(5.0, 4.0, 6.0, 20))


def test_what_came_is_inside_up_to_the_ends_of_the_range() -> None:
    assert [figure("peak", real).is_inside for real in (3.9, 4.0, 6.0, 6.1)] == [
        False,
        True,
        True,
        False,
    ]


def test_the_page_counts_by_figure_and_in_all() -> None:
    figures = [figure("peak", 5.0), figure("moves", 9.0)]
    known = [figure("peak", 7.0), figure("moves", 6.0)]
    text = foretold.page(figures, known)
    assert "| peak | 1 of 1 (100 %) | 0 | 0 of 1 (0 %) | 2 |" in text
    assert "| moves | 0 of 1 (0 %) | 4 | 1 of 1 (100 %) | 1 |" in text
    assert "| all | 1 of 2 (50 %) | 2 | 1 of 2 (50 %) | 1.5 |" in text
    assert "| all that came at all | 1 of 2 (50 %) | 2 | 1 of 2 (50 %) | 1.5 |" in text
    never = [*figures, figure("minutes", 0.0)]
    said = foretold.page(never, [*known, figure("minutes", 0.0)])
    assert "| all | 1 of 3 (33 %) |" in said
    assert "| all that came at all | 1 of 2 (50 %) |" in said


def test_events_that_are_close_are_one_plan_and_are_followed_until_the_next() -> None:
    told = two_brokers(until_s=900.0).told()
    again = rebuilt(told, MEASURED, seed=0)
    events = (
        Event(60.0, Kind.JOIN, (1,)),  # too early
        Event(200.0, Kind.LEAVE, (1,)),
        Event(240.0, Kind.JOIN, (1,)),
        Event(250.0, Kind.LEADER, (0,)),
        Event(400.0, Kind.KILL, (1,)),
        Event(860.0, Kind.JOIN, (1,)),  # too late
    )
    whole = replace(again, world=replace(again.world, events=events))
    night = foretold.Night("night", told, MEASURED, whole, THRESHOLD)
    shown = [(each.title, each.at_s, each.to_s) for each in foretold.happenings(night)]
    assert shown == [("b1 is stopped, b1 joins", 200.0, 400.0), ("b1 is killed", 400.0, 580.0)]


@pytest.mark.slow
def test_of_what_comes_later_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    told = two_brokers(until_s=600.0).told()
    again = rebuilt(told, MEASURED, seed=0)
    event = Event(200.0, Kind.LEAVE, (1,))
    whole = replace(again, world=replace(again.world, events=(event,)))
    night = foretold.Night("night", told, MEASURED, whole, THRESHOLD)
    (happening,) = foretold.happenings(night)
    monkeypatch.setattr(foretold, "SEEDS", 5)
    before = foretold.foretold(night, happening, Experience())
    # From 300 s on there is twice as much; nobody knew.
    later = replace(told.lines, rates=told.lines.rates.copy())
    later.rates[told.lines.time_s > told.lines.time_s[0] + 260.0] *= 3.0
    other = night._replace(evidence=replace(told, lines=later))
    assert [each.foretold for each in foretold.foretold(other, happening, Experience())] == [
        each.foretold for each in before
    ]
