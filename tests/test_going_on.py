"""What is not known of the time behind a recording: drawn of what was recorded, and no narrower."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from test_recorded_traffic import MEASURED, two_brokers
from tools import beginnings as along
from trimtab.lab.reconstruct.cluster import Rebuilt, rebuilt
from trimtab.lab.reconstruct.costs import Costs, likeliest
from trimtab.lab.rehearsal.beginnings import beginnings
from trimtab.lab.rehearsal.going_on import (
    Besides,
    Experience,
    drawn_overhead,
    drawn_traffic,
    experience,
    planned_begins,
)
from trimtab.lab.rehearsal.likely_costs import likely_costs
from trimtab.lab.rehearsal.processes import Process, at_ticks, course, of_age, processes
from trimtab.lab.rehearsal.prolonged import prolonged
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.surroundings import Begin
from trimtab.lab.simulate.world import Event, Kind

YOUNG = tuple(Process(0, 50.0, (20.0 + i, 5.0, 1.0, -1.0, -1.0)) for i in range(4))
OLD = Process(10, 60.0, (0.5, -0.5))


@pytest.fixture(scope="module")
def again() -> Rebuilt:
    return rebuilt(two_brokers().told(), MEASURED, seed=0)


def besides(again: Rebuilt, first: int | None = None, at_s: float = 120.0) -> Besides:
    tick_s = again.grid.tick_s
    events = (Event(at_s, Kind.JOIN, (1,)),)
    return Besides(
        first=first,
        begins=tuple(again.surroundings.begins),
        planned=planned_begins(events, tick_s),
        like=YOUNG,
        spans=again.used.spans,
        by_cores=np.array([16.0, 8.0]),
        tick_s=tick_s,
        host_ticks=round(60.0 / tick_s),
        seed=3,
    )


def test_each_process_of_a_recording_has_a_course(again: Rebuilt) -> None:
    found = processes(again)
    assert len(found) == len(again.surroundings.begins)
    # These brokers take what their traffic costs, as far as that could be learned.
    told = [point for each in found for point in each.points]
    assert len(told) == len(again.used.spans)
    assert np.isfinite(told).all()


def test_a_course_is_that_of_some_process_of_that_age() -> None:
    for seed in range(20):
        points = course(YOUNG, 0, 3, generator(seed, "a test"))
        assert points.tolist() in [list(each.points[:3]) for each in YOUNG]
        assert course((*YOUNG, OLD), 2, 2, generator(seed, "a test")).tolist() == [1.0, -1.0]
    # So old has nobody become: those that became oldest stand for it, again and again.
    assert course(YOUNG, 9, 4, generator(0, "a test")).tolist() == [-1.0] * 4
    assert course((), 0, 2, generator(0, "a test")).tolist() == [0.0, 0.0]


def test_mean_and_spread_are_those_of_an_age() -> None:
    assert of_age(YOUNG, 0) == (21.5, 1.25)
    assert of_age(YOUNG, 99) == (-1.0, 0.0)
    assert of_age((), 0) == (0.0, 0.0)


def test_a_course_by_tick_has_its_first_window_and_then_minutes() -> None:
    ticks = at_ticks(np.array([3.0, 2.0, 1.0]), 30.0, 15.0, 12)
    assert ticks.tolist() == [3.0] * 2 + [2.0] * 4 + [1.0] * 6


def test_a_process_that_begins_takes_what_some_process_took(again: Rebuilt) -> None:
    costs = likeliest(again.used.known, 1.0)
    percent = again.surroundings.others.percent
    more = besides(again).others(percent, costs)
    begin = round(120.0 / again.grid.tick_s)
    assert more[:, :begin].tobytes() == percent[:, :begin].tobytes()
    assert more[:, :, 0].tobytes() == percent[:, :, 0].tobytes()
    # Points of one core are half as many percent of two.
    extra = more[0, begin:, 1] - percent[0, begin:, 1]
    # It was there before: what it takes beside is what it takes anyway, once it is warm.
    assert any(extra[0] == pytest.approx((each.points[0] + 1.0) / 2) for each in YOUNG)
    warm = round((50.0 + 2 * 60.0) / again.grid.tick_s)
    assert extra[warm - 1] == pytest.approx((1.0 + 1.0) / 2)
    assert extra[warm:].size
    assert np.allclose(extra[warm:], 0.0)
    (timed,) = besides(again).timed()
    first = round(50.0 / again.grid.tick_s)
    assert timed == Begin(1, begin, ((begin - 1 + first) % round(60.0 / again.grid.tick_s), -1))


def test_a_broker_that_never_was_there_takes_all_that_some_process_took(again: Rebuilt) -> None:
    costs = likeliest(again.used.known, 1.0)
    percent = again.surroundings.others.percent
    added = np.concatenate((percent, percent[:, :, :1]), axis=2)
    begin = round(120.0 / again.grid.tick_s)
    new = replace(besides(again), planned=(Begin(2, begin, (-1, -1)),))
    more = new.others(added, costs)
    extra = float(more[0, begin, 2] - costs.rest.mean())
    # Of its cores nothing is known: it is like the median of the others.
    assert any(extra == pytest.approx(each.points[0] * 12.0 / 16.0) for each in YOUNG)


def test_where_no_process_was_recorded_those_that_begin_are_warm(again: Rebuilt) -> None:
    percent = again.surroundings.others.percent
    cold = replace(besides(again), like=())
    assert cold.others(percent, again.used.costs).tobytes() == percent.tobytes()


def test_what_comes_along_are_processes_that_were_young() -> None:
    every = beginnings()
    assert sum(each.is_whole for each in every) >= 10
    assert len(beginnings(but="uniform")) < len(every)
    assert beginnings(but="nothing of the kind") == every
    # Most of what it takes to begin is gone after three minutes.
    ages = [of_age(every, age)[0] for age in range(4)]
    assert ages[0] > 10.0
    assert max(ages[2:]) < ages[0] / 3


def test_a_process_goes_into_a_file_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(along, "PLACE", tmp_path / "beginnings.toml")
    along.write({"some night": (*YOUNG, OLD)})
    read = tomllib.loads((tmp_path / "beginnings.toml").read_text(encoding="utf-8"))["process"]
    assert [each["recording"] for each in read] == ["some night"] * 5
    assert [tuple(each["points"]) for each in read] == [it.points for it in (*YOUNG, OLD)]
    assert [each["begins_at"] for each in read] == [0, 0, 0, 0, 10]


def test_a_process_that_goes_on_changes_behind_what_is_known_alone(again: Rebuilt) -> None:
    longer, first = prolonged(again, 300.0), again.grid.n_ticks
    costs = likeliest(again.used.known, 1.0)
    percent = longer.surroundings.others.percent
    late = besides(again, first, 1e6)
    found = replace(late, planned=()).others(percent, costs)
    assert found[:, :first].tobytes() == percent[:, :first].tobytes()
    assert found[1:].tobytes() == percent[1:].tobytes()
    assert not np.allclose(found[0, first:], percent[0, first:])
    again_found = replace(late, planned=()).others(percent, costs)
    assert again_found.tobytes() == found.tobytes()


def test_traffic_to_come_is_that_of_before_times_what_came_elsewhere(again: Rebuilt) -> None:
    longer, first = prolonged(again, 120.0), again.grid.n_ticks
    double = Experience(courses=(np.full((20, 1), 2.0),))
    plain, twice = (drawn_traffic(longer, first, each, 5) for each in (Experience(), double))
    for name in ("rate_in", "rate_out", "size"):
        ours, known = getattr(plain.served, name), getattr(again.served, name)
        assert ours[:first].tobytes() == known.tobytes()
    assert twice.served.rate_in[first:] == pytest.approx(2.0 * plain.served.rate_in[first:])
    assert twice.served.size.tobytes() == plain.served.size.tobytes()
    other = drawn_traffic(longer, first, Experience(), 6)
    assert other.served.rate_in[:first].tobytes() == plain.served.rate_in[:first].tobytes()
    assert drawn_traffic(again, first, double, 5) is again


def test_a_recording_tells_how_traffic_went_on(again: Rebuilt) -> None:
    found = experience(again)
    assert found.courses
    assert all(each.shape[0] == 20 for each in found.courses)
    assert (found + found).processes == found.processes * 2


def test_the_wire_is_drawn_where_too_little_tells_of_it(again: Rebuilt) -> None:
    costs = likeliest(again.used.known, 1.0)
    like = Experience(overheads=(1.05, 1.15))
    assert drawn_overhead(costs, again, like, 1) == costs
    short = replace(again, used=replace(again.used, warm=again.used.warm[:2]))
    drawn = [drawn_overhead(costs, short, like, seed).overhead for seed in range(50)]
    assert min(drawn) >= 1.05
    assert max(drawn) <= 1.15
    assert max(drawn) - min(drawn) > 0.05
    assert drawn_overhead(costs, short, Experience(), 1) == costs


def test_costs_that_what_was_told_speaks_against_are_not_drawn(again: Rebuilt) -> None:
    # What was told is three times as much as it was.
    told = replace(again, used=replace(again.used, usage=again.used.usage * 3.0))
    quiet, loud = (likely_costs(each, (), 20) for each in (again, told))
    assert len(quiet) == len(loud) == 20

    def usage(costs: Costs) -> float:
        return float(again.served.cpu(costs).mean() + costs.rest.mean())

    more, less = (np.median([usage(each) for each in costs]) for costs in (loud, quiet))
    assert more > less
    assert likely_costs(again, (), 20)[3].shared.tobytes() == quiet[3].shared.tobytes()
