"""The extensible load manager in the laboratory: its clocks, its load data, its rounds.

That its rounds are the class's is held against the class itself by `make oracle-simulated`.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.extensible.load_data import LoadData
from trimtab.lab.simulate.extensible.manager import ExtensibleManager
from trimtab.lab.simulate.run import passing, simulated
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Event, Kind, Run
from trimtab.lab.steering import StrategyError
from trimtab.pulsar.leader.top_bundles import BundleStats, top_bundles
from trimtab.trials.record import Options
from trimtab.trials.record import record as recorded

EAGER = {
    "loadBalancerBrokerLoadTargetStd": "0.05",
    "loadBalancerSheddingConditionHitCountThreshold": "1",
}


def simulation(name: str = "S05", events: tuple[Event, ...] = (), **conf: str) -> Simulation:
    import dataclasses

    scenario = scenario_of(name)
    balancer = Balancer(
        "TransferShedder",
        "LeastResourceUsageWithWeight",
        "4.0.8",
        {**scenario.settings, **EAGER, **conf},
    )
    world = drawn(scenario, 3)
    world = dataclasses.replace(world, duration_s=1800.0, events=(*world.events, *events))
    return Simulation(world, balancer, scenario.parameters)


@lru_cache(maxsize=1)
def walked() -> tuple[Simulation, tuple[tuple[float, np.ndarray], ...], Run]:
    """Return a run of half an hour, with who had load data at the end of each round."""
    whole = simulation()
    rounds, run = [], None
    walk = passing(whole)
    while True:
        try:
            record = next(walk)
        except StopIteration as end:
            run = end.value
            break
        rounds.append((record.time_s, manager(whole).loads.has_load.copy()))
    return whole, tuple(rounds), run


def manager(of: Simulation) -> ExtensibleManager:
    assert isinstance(of.steering, ExtensibleManager)
    return of.steering


def test_rounds_begin_at_a_fixed_rate() -> None:
    times = [time for time, _ in walked()[1]]
    assert len(times) == 29
    assert {round(b - a, 6) for a, b in pairwise(times)} == {60.0}


def test_a_round_pairs_brokers_and_each_source_has_one_target() -> None:
    _, _, run = walked()
    by_round = run.moves.round >= 0
    assert by_round.sum() >= 5
    assert not run.moves.is_fallback[by_round].any()
    for number in np.unique(run.moves.round[by_round]):
        mine = run.moves.round == number
        pairs = set(
            zip(run.moves.source[mine].tolist(), run.moves.target[mine].tolist(), strict=True)
        )
        sources, targets = ({pair[i] for pair in pairs} for i in (0, 1))
        assert len(pairs) == len(sources) == len(targets)


def test_a_broker_rests_after_it_has_given_bundles_up() -> None:
    """Its load data are too new in the next rounds, and the whole round is skipped."""
    _, _, run = walked()
    moved = np.flatnonzero(run.rounds.moved > 0)
    following = moved[moved + 1 < len(run.rounds.reason)] + 1
    assert {run.rounds.reason[i] for i in following} == {"CoolDown"}


def test_the_same_gives_the_same() -> None:
    one, other = (simulated_moves() for _ in range(2))
    assert one == other


def simulated_moves() -> list[tuple[float, int, int]]:
    whole = simulation()
    run = simulated(whole.world, whole.balancer, whole.parameters)
    moves = run.moves
    return list(
        zip(moves.time_s.tolist(), moves.bundle.tolist(), moves.target.tolist(), strict=True)
    )


def test_a_new_leader_remembers_nothing_and_is_told_all_at_once() -> None:
    whole = simulation(events=(Event(900.0, Kind.LEADER, ()),))
    hits = []
    for record in passing(whole):
        memory = manager(whole).memory
        hits.append((record.time_s, memory.term, memory.hits, len(memory.brokers)))
    terms = {term for _, term, *_ in hits}
    assert terms == {1, 2}
    first = next(row for row in hits if row[1] == 2)
    assert first[2] <= 1
    assert manager(whole).loads.has_load[whole.cluster.is_registered].all()


def test_a_broker_that_gives_a_bundle_up_takes_back_what_it_published() -> None:
    whole = simulation()
    walk = passing(whole)
    loads: LoadData | None = None
    for record in walk:
        loads = manager(whole).loads
        if record.moved:
            break
    assert loads is not None
    had = loads.has_load.copy()
    tick = whole.tick
    whole.pass_until(record.time_s + 10.0)
    whole.cluster.give(0, int(whole.cluster.owner[0]), 0.0)  # nothing changes hands
    loads.members_changed(whole.tick)
    assert (loads.has_load == had).all() or whole.tick > tick
    owner = int(whole.cluster.owner[1])
    target = next(i for i in np.flatnonzero(whole.cluster.is_registered) if i != owner)
    loads.taken_back_s[:] = -np.inf
    whole.cluster.give(1, int(target), 0.0)
    loads.members_changed(whole.tick)
    assert not loads.has_load[owner]
    assert not loads.has_load[target]
    assert owner not in loads.tops
    whole.pass_until((whole.tick + 1) * 5.0)
    assert loads.has_load[owner]
    assert owner not in loads.tops


def test_it_cannot_be_recorded(tmp_path: Path) -> None:
    whole = simulation()
    with pytest.raises(StrategyError, match="a shedder of the modular load manager"):
        recorded(whole.world, whole.balancer, whole.parameters, tmp_path / "r", Options())
    assert not (tmp_path / "r").exists()


def stats(bundle: int, throughput: float) -> BundleStats:
    return BundleStats(bundle, throughput, 0.0, 0.0, 0)


def test_of_bundles_that_count_as_equal_not_the_heaviest_are_published() -> None:
    """49 kB/s and 1 kB/s are the same to a broker; 151 kB/s are more."""
    small = [stats(i, 1_000.0 * (i + 1)) for i in range(49)]
    assert len(top_bundles(small, 10)) == 10
    assert [each.bundle for each in top_bundles(small, 10)] != list(range(39, 49))
    large = [stats(i, 100_000.0 * (i + 1)) for i in range(20)]
    assert [each.bundle for each in top_bundles(large, 3)] == [17, 18, 19]
    assert top_bundles([], 10) == []
