"""What is drawn is what a scenario asks for, whatever it asks for."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.draw import REFERENCE_CORES, drawn
from trimtab.lab.simulate.draw_scale import loads, usages, works
from trimtab.lab.simulate.scenario import ScenarioError, scenario
from trimtab.lab.simulate.scenario_tables import OWNERS, RATES, Scenario
from trimtab.lab.simulate.world import Event, Kind, World
from trimtab.pulsar.model import MEBIBYTE, Floats


def small(**tables: Any) -> Scenario:
    base = {"run": {"minutes": 30}, "machines": [{"count": 3}], "bundles": [{"count": 24}]}
    return scenario(base | tables, "a test")


def cpus(found: Scenario, world: World) -> Floats:
    """Where CPUs stand by what is drawn, without noise."""
    physics = found.parameters.physics
    work = works(world.bundles, physics)
    return usages(np.bincount(world.bundles.owner, work, found.n_machines), world.machines, physics)


TASKS = [{"partitions": 20, "mib_per_s": 50.0}, {"name": "other", "partitions": 7, "mib_per_s": 9}]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw small scenarios of every kind of machines, rates and owners."""
    owners = draw(st.sampled_from(OWNERS))
    machines = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "count": st.integers(1, 4),
                    "cores": st.sampled_from([8, 16, [4, 32]]),
                    "speed_deviation": st.sampled_from([0, 0.1]),
                    "background_percent": st.sampled_from([0, 3, [2, 9]]),
                    "is_up": st.booleans(),
                }
            ),
            min_size=1,
            max_size=3,
        )
    )
    machines[0]["is_up"] = True
    count = sum(group["count"] for group in machines)
    up = np.repeat([g["is_up"] for g in machines], [g["count"] for g in machines])
    bundles = [
        {
            "count": draw(st.integers(1, 40)),
            "namespace": f"tenant/{i}",
            "rates": rates,
            "tasks": TASKS if rates == "tasks" else [],
        }
        for i, rates in enumerate(draw(st.lists(st.sampled_from(RATES), min_size=1, max_size=3)))
    ]
    n = sum(group["count"] for group in bundles)
    start: dict[str, Any] = {"owners": owners}
    traffic: dict[str, Any] = {}
    if owners == "usage":
        share = st.integers(20, 90)
        start["usage_percent"] = [draw(share) if is_up else 0 for is_up in up]
    elif draw(st.booleans()):
        traffic = {"cpu_percent": draw(st.integers(15, 80))}
        traffic["scaled_by"] = draw(st.sampled_from(["rate", "cost"]))
    if owners == "counts":
        parts = np.bincount(
            draw(st.lists(st.sampled_from(np.flatnonzero(up)), min_size=n, max_size=n))
        )
        start["counts"] = [int(c) for c in np.pad(parts, (0, count - len(parts)))]
    if owners == "explicit":
        one = st.sampled_from([int(i) for i in np.flatnonzero(up)])
        start["explicit"] = draw(st.lists(one, min_size=n, max_size=n))
    return small(machines=machines, bundles=bundles, start=start, traffic=traffic)


@settings(max_examples=80, deadline=None)
@given(scenarios(), st.integers(0, 2**31))
def test_what_is_drawn_is_of_the_shape_and_within_the_bounds_that_are_asked(
    found: Scenario, seed: int
) -> None:
    world = drawn(found, seed)
    bundles, machines = world.bundles, world.machines

    assert bundles.owner.shape == (found.n_bundles,)
    assert machines.capacity.shape == (found.n_machines,)
    assert machines.is_up[bundles.owner].all()
    assert len(set(bundles.names)) == found.n_bundles
    for positive in (bundles.rate, bundles.cost, bundles.topics, bundles.entries_limit):
        assert (positive > 0).all()
        assert np.isfinite(positive).all()
    for group, first in zip(
        found.machines, np.cumsum([0, *(g.count for g in found.machines)]), strict=False
    ):
        mine = slice(first, first + group.count)
        assert (machines.background[mine] >= group.background_percent[0]).all()
        assert (machines.background[mine] <= group.background_percent[1]).all()


@settings(max_examples=80, deadline=None)
@given(scenarios(), st.integers(0, 2**31))
def test_there_is_as_much_work_as_is_asked(found: Scenario, seed: int) -> None:
    world = drawn(found, seed)
    physics = found.parameters.physics
    total = works(world.bundles, physics).sum()
    idle = dataclasses.replace(world.bundles, rate=np.full_like(world.bundles.rate, 1e-9))

    if found.start.owners == "usage":
        wanted = loads(np.array(found.start.usage_percent), world.machines, physics).sum()
    elif found.traffic.cpu_percent is not None:
        level = np.full(found.n_machines, found.traffic.cpu_percent)
        wanted = loads(level, world.machines, physics)[world.machines.is_up].sum()
    else:
        return
    # Topics cost something even if nothing is sent, so there may be more than was asked.
    assert total == pytest.approx(max(wanted, works(idle, physics).sum()), rel=1e-6)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=6),
    st.floats(0, 30),
    st.sampled_from([0.0, 0.001, 0.01]),
    st.sampled_from([0.7, 1.0]),
)
def test_loads_and_usages_undo_each_other(
    usage: list[float], background: float, convexity: float, exponent: float
) -> None:
    found = small(
        machines=[{"count": len(usage), "background_percent": background}],
        physics={"cpu_convexity": convexity, "work_exponent": exponent},
    )
    machines, physics = drawn(found, 0).machines, found.parameters.physics
    asked = np.array(usage)

    back = usages(loads(asked, machines, physics), machines, physics)

    idle = usages(np.zeros(len(usage)), machines, physics)
    assert back == pytest.approx(np.maximum(asked, idle), abs=1e-6)


# ------------------------------------------------------------------ machines and bundles


def test_capacity_is_cores_and_speed() -> None:
    world = drawn(small(machines=[{"count": 2, "cores": 32, "speed": 0.5}, {"count": 1}]), 0)

    assert list(world.machines.capacity) == [32 / REFERENCE_CORES * 0.5] * 2 + [1.0]
    assert world.machines.names == ("broker-0:8080", "broker-1:8080", "broker-2:8080")


def test_bundles_are_named_as_pulsar_names_them() -> None:
    world = drawn(small(bundles=[{"count": 9, "namespace": "a/b", "namespaces": 2}]), 0)

    assert world.bundles.names[0] == "a/b-0/0x00000000_0x33333333"
    assert world.bundles.names[4] == "a/b-0/0xcccccccc_0xffffffff"
    assert world.bundles.names[5] == "a/b-1/0x00000000_0x40000000"


def test_tasks_are_all_there_whatever_they_are_hashed_to() -> None:
    bundles = [{"count": 40, "rates": "tasks", "tasks": TASKS, "fan_out": 1}]
    world = drawn(small(bundles=bundles), 5)
    traffic = world.bundles.rate * world.bundles.message_bytes / MEBIBYTE

    assert traffic.sum() == pytest.approx(59.0 + 40 * 0.01)
    is_used = traffic > 0.011
    assert world.bundles.topics[is_used].sum() == 20 + 7
    assert (~is_used).any()


def test_rates_are_distributed_as_is_said() -> None:
    def rates(name: str, **keys: Any) -> Floats:
        group = {"count": 20_000, "rates": name, "message_sigma": 0, "rate_per_s": 100, **keys}
        return drawn(small(bundles=[group]), 1).bundles.rate

    lognormal, zipf, exponential = rates("lognormal"), rates("zipf"), rates("exponential")

    assert [r.mean() for r in (lognormal, zipf, exponential)] == pytest.approx([100] * 3)
    assert np.log(rates("lognormal", clipped_at=1e9)).std() == pytest.approx(1.1, abs=0.02)
    # Clipping lowers the mean a little, which is then made what was asked.
    assert 900 <= lognormal.max() <= 980
    assert zipf.max() / np.sort(zipf)[-2] == pytest.approx(2**0.9)
    assert exponential.std() == pytest.approx(100, rel=0.03)
    assert (rates("equal") == 100).all()


def test_large_messages_are_fewer() -> None:
    bundles = drawn(small(bundles=[{"count": 4000}]), 2).bundles
    correlation = np.corrcoef(np.log(bundles.rate), np.log(bundles.message_bytes))[0, 1]

    assert -0.5 < correlation < -0.15
    assert bundles.message_bytes.max() / bundles.message_bytes.min() <= 25.001
    assert set(bundles.fan_out) == {0.0, 0.5, 1.0, 2.0, 3.0}


def test_a_giant_is_as_heavy_as_is_said() -> None:
    found = small(
        bundles=[{"count": 50}, {"count": 50, "namespace": "a/b", "heaviest_cpu_percent": 70}],
        traffic={"cpu_percent": 30},
    )
    work = works(drawn(found, 0).bundles, found.parameters.physics)

    assert work.max() == pytest.approx(70)
    assert work.argmax() >= 50


def test_nics_are_fitted_to_the_traffic() -> None:
    found = small(traffic={"cpu_percent": 40, "nic_out_percent": 60})
    world = drawn(found, 0)
    bundles, copies = world.bundles, found.parameters.physics.write_quorum
    sent = (bundles.rate * bundles.message_bytes * (copies + bundles.fan_out)).sum()

    assert sent / world.machines.nic.sum() == pytest.approx(0.6)


# ------------------------------------------------------------------ owners


def test_owners_are_balanced_but_for_noise() -> None:
    for noise, most in ((0.0, 2.0), (0.15, 12.0)):
        start = {"owners": "balanced", "noise": noise}
        bundles = [{"count": 300}]
        found = small(bundles=bundles, start=start, traffic={"cpu_percent": 50})

        assert np.ptp(cpus(found, drawn(found, 0))) <= most


def test_usages_come_out_as_asked() -> None:
    asked = [80, 10, 45]
    start = {"owners": "usage", "usage_percent": asked}
    found = small(bundles=[{"count": 300}], start=start)

    assert cpus(found, drawn(found, 0)) == pytest.approx(asked, abs=1.5)


def test_counts_are_equal_or_as_asked() -> None:
    equal = drawn(small(start={"owners": "count"}), 0).bundles.owner
    asked = drawn(small(start={"owners": "counts", "counts": [20, 0, 4]}), 0).bundles.owner

    assert list(np.bincount(equal)) == [8, 8, 8]
    assert list(np.bincount(asked)) == [20, 0, 4]


def test_slopes_rise_along_the_machines() -> None:
    def counts(owners: str) -> Floats:
        found = small(
            machines=[{"count": 4}], bundles=[{"count": 16_000}], start={"owners": owners}
        )
        return np.bincount(drawn(found, 0).bundles.owner) / 1000

    assert counts("random") == pytest.approx([4, 4, 4, 4], abs=0.2)
    assert counts("linear") == pytest.approx([1.6, 3.2, 4.8, 6.4], abs=0.2)
    assert counts("square") == pytest.approx([1, 3, 5, 7], abs=0.2)


def test_rates_are_equal_where_owners_go_by_rate() -> None:
    world = drawn(small(bundles=[{"count": 300}], start={"owners": "rate"}), 0)
    bundles = world.bundles
    rate = np.bincount(bundles.owner, bundles.rate * (1 + bundles.fan_out))

    assert rate.max() / rate.min() < 1.01


def test_owners_are_drawn_until_they_are_as_far_apart_as_asked() -> None:
    start = {"owners": "random", "spread_percent": [20, 30], "usage_percent_max": 70}
    found = small(start=start, traffic={"cpu_percent": 40})
    spreads = [np.ptp(cpus(found, drawn(found, seed))) for seed in range(5)]

    assert all(20 <= spread <= 30 for spread in spreads)
    with pytest.raises(ScenarioError, match=r"a test: start\.spread_percent: found \[90, 99\]"):
        drawn(small(start={"owners": "count", "spread_percent": [90, 99]}), 0)


def test_the_hottest_comes_first() -> None:
    start = {"owners": "count", "is_hottest_first": True}
    found = small(start=start, traffic={"cpu_percent": 40})

    assert [cpus(found, drawn(found, seed)).argmax() for seed in range(6)] == [0] * 6


def test_what_is_gathered_is_on_the_first_machine_and_nothing_else_of_it() -> None:
    found = small(
        bundles=[{"count": 40, "rates": "tasks", "tasks": TASKS, "fan_out": 1}],
        start={"owners": "rate", "gathered": 3, "gathered_task": "other"},
        events=[{"at_min": 5, "what": "traffic", "task": "other", "factor": 2}],
    )
    world = drawn(found, 3)
    of_task = np.concatenate([change.bundles for change in world.changes])
    rate = np.bincount(world.bundles.owner, world.bundles.rate)

    assert len(of_task) > 3
    assert (world.bundles.owner[of_task] == 0).sum() == 3
    # The others are filled up around them.
    assert rate.max() / rate.min() < 1.3


def test_bundles_may_be_kept_to_some_machines() -> None:
    bundles = [{"count": 10, "starts_on": [1]}, {"count": 10, "namespace": "a/b"}]
    for owners in ("balanced", "count", "rate", "random", "linear"):
        world = drawn(small(bundles=bundles, start={"owners": owners}), 0)

        assert set(world.bundles.owner[:10]) == {1}
        assert len(set(world.bundles.owner[10:])) > 1


# ------------------------------------------------------------------ what happens


def test_traffic_begins_when_it_should() -> None:
    machines = [{"count": 1}, {"count": 2, "traffic_delay_min": [1, 3]}]
    found = small(machines=machines, traffic={"from_min": 10, "ramp_s": 50})
    world = drawn(found, 0)
    silent = [change for change in world.changes if change.factor_in == 0.0]
    first = [change for change in silent if 0 in world.bundles.owner[change.bundles]]

    assert sorted(np.concatenate([change.bundles for change in silent])) == list(range(24))
    assert [change.to_s for change in first] == [600.0]
    assert all(660 <= change.to_s <= 780 for change in silent if change is not first[0])
    steps = sorted(
        (change.from_s, change.factor_in, change.factor_out)
        for change in world.changes
        if change.factor_in > 0 and 0 in world.bundles.owner[change.bundles]
    )
    assert steps == [(600.0 + 10 * i, (i + 0.5) / 5, (i + 0.5) / 5) for i in range(5)]


def test_a_task_fluctuates_as_far_as_a_bundle_is_its() -> None:
    bundles = [{"count": 6, "rates": "tasks", "tasks": TASKS}]
    event = {"at_min": 5, "what": "traffic", "task": "other", "factor_out": 2, "off_factor_out": 0}
    found = small(bundles=bundles, events=[{**event, "period_min": 2, "duty": 0.5}])
    changes = drawn(found, 0).changes

    assert changes
    for change in changes:
        share = change.factor_out - 1
        assert 0 < share <= 1
        assert change.off_out == pytest.approx(1 - share)
        assert (change.factor_in, change.off_in, change.period_s) == (1.0, 1.0, 120.0)


def test_bundles_are_chosen_in_every_way() -> None:
    def changed(**which: Any) -> set[int]:
        event = {"at_min": 5, "what": "traffic", "factor": 3, **which}
        found = small(bundles=[{"count": 12}, {"count": 12, "namespace": "a/b"}], events=[event])
        (change,) = drawn(found, 0).changes
        assert (change.factor_in, change.factor_out) == (3.0, 3.0)
        return set(change.bundles)

    world = drawn(small(bundles=[{"count": 12}, {"count": 12, "namespace": "a/b"}]), 0)
    work = works(world.bundles, small().parameters.physics)

    assert changed() == set(range(24))
    assert changed(namespace="a/b") == set(range(12, 24))
    assert changed(of_brokers=1) == set(np.flatnonzero(world.bundles.owner == 1))
    assert changed(heaviest=3) == set(np.argsort(-work)[:3])
    assert len(changed(at_random=5)) == 5


def test_bursts_add_what_they_should() -> None:
    event = {"at_min": 2, "until_min": 28, "what": "bursts", "cpu_percent": 30, "bundles": 2}
    found = small(events=[event], traffic={"cpu_percent": 40})
    world = drawn(found, 0)
    work = works(world.bundles, found.parameters.physics)

    assert 4 <= len(world.changes) <= 9
    for change in world.changes:
        assert len(set(world.bundles.owner[change.bundles])) == 1
        added = (change.factor_in - 1) * work[change.bundles].sum()
        assert added == pytest.approx(30) or change.factor_in == 40
        assert 45 <= change.to_s - change.from_s <= 120


def test_what_happens_is_in_order_and_ends_what_it_began() -> None:
    found = small(
        events=[
            {"at_min": 20, "what": "leader"},
            {"at_min": 3, "until_min": 9, "what": "background", "brokers": [0, 2], "percent": 30},
            {"at_min": 4, "until_min": 8, "what": "capacity", "brokers": 1, "factor": 0.5},
            {"at_min": 10, "what": "rolling restart", "brokers": [2, 0], "every_min": 5},
            {"at_min": 1, "what": "shedding", "is_on": False},
            {"at_min": 2, "what": "split", "heaviest": 2, "every_min": 0.5},
        ]
    )
    world = drawn(found, 0)
    heaviest = np.argsort(-works(world.bundles, found.parameters.physics))

    assert world.events == (
        Event(60.0, Kind.SHEDDING, (), 0.0),
        Event(120.0, Kind.SPLIT, (int(heaviest[0]),)),
        Event(150.0, Kind.SPLIT, (int(heaviest[1]),)),
        Event(180.0, Kind.BACKGROUND, (0, 2), 30.0),
        Event(240.0, Kind.CAPACITY, (1,), 0.5),
        Event(480.0, Kind.CAPACITY, (1,), 2.0),
        Event(540.0, Kind.BACKGROUND, (0, 2), -30.0),
        Event(600.0, Kind.LEAVE, (2,)),
        Event(690.0, Kind.JOIN, (2,)),
        Event(900.0, Kind.LEAVE, (0,)),
        Event(990.0, Kind.JOIN, (0,)),
        Event(1200.0, Kind.LEADER),
    )


def test_a_change_of_one_table_leaves_what_the_others_draw() -> None:
    one = drawn(small(), 7)
    other = drawn(small(machines=[{"count": 5, "speed_deviation": 0.1}]), 7)
    third = drawn(small(start={"owners": "random"}), 7)

    assert (one.bundles.rate == other.bundles.rate).all()
    assert (one.bundles.cost == third.bundles.cost).all()
    assert (one.bundles.owner != third.bundles.owner).any()


def test_the_traffic_of_a_built_in_scenario_is_the_published_one() -> None:
    found = scenario_of("S01")
    bundles = drawn(found, 0).bundles

    published = 235.0 + 72.4 + 36.1
    assert (bundles.rate * bundles.message_bytes).sum() / MEBIBYTE == pytest.approx(
        published, abs=0.01 * 32
    )
    assert np.ptp(cpus(found, drawn(found, 0))) == pytest.approx(32, abs=10)
