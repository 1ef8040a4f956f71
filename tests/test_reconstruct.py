"""A rebuilt cluster: unloads by hand, splits, other balancers, and what was not told."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from recorded_clusters import HOST_S, STATS_S, ZERO_S, Recorder
from trimtab.lab.reconstruct import cluster
from trimtab.lab.reconstruct.cluster import Measured, NothingToSimulateError, Rebuilt, rebuilt
from trimtab.lab.reconstruct.evidence import Evidence, Stop
from trimtab.lab.reconstruct.leadership import continuation
from trimtab.lab.reconstruct.splits import Split, splits
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.world import Event, Kind

MEASURED = Measured(host_s=HOST_S, stats_s=STATS_S, write_quorum=2.0)
PLACER = "LeastLongTermMessageRate"
NOTHING_SHED = Balancer(None, PLACER, "4.0.8")
MOVED_S = 330.0


def steady(bundle: int, time_s: float) -> float:
    del time_s
    return 20.0 + 10.0 * bundle


def moved_once(**changes: object) -> Evidence:
    """Two brokers; bundle 0 goes from the first to the second at 330 s."""
    owned = [(0.0, 0, 0), (0.0, 1, 0), (0.0, 2, 0), (0.0, 3, 1), (MOVED_S, 0, 1)]
    return replace(Recorder(2, 4, steady, owned), **changes).told()


def unloads(again: Rebuilt) -> list[Event]:
    return [event for event in again.world.events if event.kind == Kind.UNLOAD]


# ---------------------------------------------------------------- unloads by hand


def test_a_bundle_that_nobody_shed_was_unloaded_by_hand_and_is_so_again() -> None:
    again = rebuilt(moved_once(), MEASURED)
    (event,) = unloads(again)
    assert event.time_s == pytest.approx(ZERO_S + MOVED_S - again.grid.from_s)
    assert (event.subjects, event.value) == ((0,), 1.0)
    found = continuation(again, NOTHING_SHED, 0.0, seed=4)
    (move,) = np.flatnonzero(found.run.moves.bundle == 0).tolist()
    moves = found.run.moves
    assert (moves.round[move], moves.source[move], moves.target[move]) == (-1, 0, 1)
    tick = int(event.time_s // again.grid.tick_s)
    assert found.owner[tick - 2, 0] == 0
    assert found.owner[-1].tolist() == [1, 0, 0, 1]


def test_held_to_what_happened_it_is_not_moved_twice() -> None:
    again = rebuilt(moved_once(), MEASURED)
    after_s = ZERO_S + MOVED_S + 60 - again.grid.from_s
    found = continuation(again, NOTHING_SHED, after_s, seed=4)
    assert 0 not in found.run.moves.bundle.tolist()
    assert found.owner[-1].tolist() == [1, 0, 0, 1]
    assert found.run.served + found.run.lost == pytest.approx(found.run.offered)


def test_what_the_leader_shed_or_may_have_shed_is_not_by_hand() -> None:
    told = moved_once()
    shed = replace(told, owners=replace(told.owners, is_shed=told.owners.time_s > ZERO_S))
    assert unloads(rebuilt(shed, MEASURED)) == []
    unknown = rebuilt(replace(told, is_attributed=False), MEASURED)
    assert unloads(unknown) == []
    assert any("who unloaded bundles (1 change of owners)" in said for said in unknown.untold)


def test_what_a_broker_gives_up_as_it_goes_is_not_by_hand() -> None:
    stop = Stop(ZERO_S + MOVED_S - 2, 0, is_kill=False)
    assert unloads(rebuilt(moved_once(stops=(stop,)), MEASURED)) == []
    gone = moved_once(alive={0: (0.0, MOVED_S + 20)})
    assert unloads(rebuilt(gone, MEASURED)) == []


# ---------------------------------------------------------------- splits


def test_a_bundle_whose_range_holds_others_was_split() -> None:
    whole, left, right = (
        "t/n/0x00000000_0x80000000",
        "t/n/0x00000000_0x40000000",
        "t/n/0x40000000_0x80000000",
    )
    rest, quarter = "t/n/0x80000000_0xffffffff", "t/n/0x00000000_0x20000000"
    other = "t/other/0x00000000_0x40000000"
    assert splits([left, rest, whole, other, right]) == (Split(2, (0, 4)),)
    assert set(splits([quarter, left, rest, whole, right])) == {
        Split(3, (1, 0, 4)),
        Split(1, (0,)),
    }
    assert splits([left, right, rest, "nonsense", "t/n/all"]) == ()


def test_a_split_bundle_and_its_pieces_never_count_twice() -> None:
    names = (
        "t/n/0x00000000_0x80000000",
        "t/n/0x00000000_0x40000000",
        "t/n/0x40000000_0x80000000",
        "t/n/0x80000000_0xffffffff",
    )
    told = replace(moved_once(), bundles=names)
    lines, owners, split_s = told.lines, told.owners, ZERO_S + 300.0
    kept = (lines.bundle == 3) | ((lines.bundle == 0) == (lines.time_s < split_s))
    there = (owners.bundle == 3) | (owners.bundle == 0)
    told = replace(
        told,
        lines=replace(
            lines,
            **{
                name: getattr(lines, name)[kept]
                for name in (
                    "time_s",
                    "broker",
                    "bundle",
                    "rates",
                    "topics",
                    "producers",
                    "is_prompt",
                )
            },
        ),
        owners=replace(
            owners,
            **{
                field.name: getattr(owners, field.name)[there & (owners.time_s == ZERO_S)]
                for field in fields(owners)
            },
        ),
    )
    again = rebuilt(told, MEASURED)
    rate = again.surroundings.traffic.rate_in
    at = again.grid.ended(split_s)
    assert rate[at - 2].tolist() == pytest.approx([20, 0, 0, 50])
    assert rate[at + 1].tolist() == pytest.approx([0, 30, 40, 50])
    assert any("who split 1 bundle" in said for said in again.untold)
    assert any("who owned 2 bundles: placed" in said for said in again.untold)


# ---------------------------------------------------------------- any balancer


@pytest.mark.parametrize(
    "shedder", ["ThresholdShedder", "UniformLoadShedder", "AvgShedder", "OverloadShedder", None]
)
def test_any_balancer_meets_the_same_traffic(shedder: str | None) -> None:
    again = rebuilt(moved_once(until_s=400.0), MEASURED)
    placer = "AvgShedder" if shedder == "AvgShedder" else PLACER
    balancer = Balancer(shedder, placer, "4.0.8")
    found, twice = (continuation(again, balancer, 0.0, seed=2) for _ in range(2))
    traffic = again.surroundings.traffic
    bytes_ = ((traffic.rate_in + traffic.rate_out) * traffic.message_bytes).sum(axis=1)
    bytes_ *= again.grid.tick_s
    assert found.run.offered == pytest.approx(bytes_, rel=1e-5)
    assert found.run.served + found.run.lost == pytest.approx(found.run.offered)
    for name in ("usage", "served", "lost"):
        assert getattr(found.run, name).tobytes() == getattr(twice.run, name).tobytes()
    assert found.owner.tobytes() == twice.owner.tobytes()


# ---------------------------------------------------------------- how finely, and what not


def test_what_is_too_much_for_fine_ticks_gets_coarse_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    told = moved_once()
    assert rebuilt(told, MEASURED).grid.tick_s == 0.25
    # 4 bundles for ten minutes.
    ticks_s = [tick_s for tick_s, _ in cluster._TICKS]
    for cells_max, tick_s in ((9599, 1.0), (2399, 5.0), (479, 10.0)):
        monkeypatch.setattr(cluster, "_TICKS", [(each, cells_max) for each in ticks_s])
        assert rebuilt(told, MEASURED).grid.tick_s == tick_s
    monkeypatch.setattr(cluster, "_TICKS", [(each, 100) for each in ticks_s])
    with pytest.raises(NothingToSimulateError, match=r"found 4 bundles over 0\.2 hours, expected"):
        rebuilt(told, MEASURED)


def test_what_is_not_told_is_said_with_what_is_taken_instead() -> None:
    told = moved_once(alive={1: (0.0, 400.0)})
    # All 600 s of two bundles and 390 s of the others, but for two windows in which one of
    # these changed hands: 1950 s of 2400.
    assert rebuilt(told, MEASURED).untold == (
        "traffic: windows of 15 s tell of 81 % of the bundles' time; between them what was told "
        "last, or a line",
        "why 1 broker went: stopped in good order",
    )
    less = replace(told, leaders=(), bundles=(*told.bundles, "t/n/0xf0000000_0xffffffff"))
    said = rebuilt(less, MEASURED).untold
    assert "1 bundle of 5 in no load report: no traffic" in said
    assert "who led at the beginning: the first broker" in said
    assert "who owned 1 bundle: placed at the beginning" in said
