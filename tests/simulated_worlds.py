"""Small worlds for tests: drawn at random, or written down line by line."""

from __future__ import annotations

import numpy as np

from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.parameters import Clients, Parameters, Physics
from trimtab.lab.simulate.world import Bundles, Change, Event, Kind, Machines, World

PAIRS = (
    ("ThresholdShedder", "LeastResourceUsageWithWeight"),
    ("ThresholdShedder", "LeastLongTermMessageRate"),
    ("OverloadShedder", "LeastLongTermMessageRate"),
    ("UniformLoadShedder", "RoundRobinBrokerSelector"),
    ("UniformLoadShedder", "LeastLongTermMessageRate"),
    ("AvgShedder", "AvgShedder"),
    (None, "LeastLongTermMessageRate"),
)
RELEASES = ("3.0.0", "3.0.7", "3.3.5", "4.0.0", "4.0.8", "5.0.0-M1")


def machines(count: int, up: int | None = None, **columns: object) -> Machines:
    """Make brokers b0, b1 …, of which the first `up` run; all alike, without noise."""
    given = {
        "capacity": np.ones(count),
        "nic": np.full(count, 1.25e9),
        "background": np.full(count, 5.0),
        "background_deviation": np.zeros(count),
        "spikes_per_hour": np.zeros(count),
    }
    is_up = np.arange(count) < (count if up is None else up)
    names = tuple(f"b{i}:8080" for i in range(count))
    return Machines(names=names, is_up=is_up, **{**given, **columns})


def bundle_names(count: int, namespaces: int = 1) -> tuple[str, ...]:
    """Name bundles, in turn of one namespace after the other."""
    each = -(-count // namespaces)
    width = 2**32 // max(1, each)
    names = []
    for i in range(count):
        at = i // namespaces
        names.append(f"lab/n{i % namespaces}/0x{at * width:08x}_0x{(at + 1) * width - 1:08x}")
    return tuple(names)


def bundles(owner: np.ndarray, rate: np.ndarray, namespaces: int = 1, **columns: object) -> Bundles:
    """Make bundles of messages of 1 KiB with a consumer each; all alike, without noise."""
    count = owner.size
    given = {
        "message_bytes": np.full(count, 1024.0),
        "fan_out": np.ones(count),
        "topics": np.ones(count),
        "entries_limit": np.full(count, 1000.0),
        "cost": np.ones(count),
        "jitter": np.zeros(count),
        "group": np.zeros(count, np.int64),
        "wave": np.zeros(count),
        "wave_phase": np.zeros(count),
        "grace_until_s": np.zeros(count),
    }
    names = bundle_names(count, namespaces)
    return Bundles(names=names, owner=owner.astype(np.int64), rate=rate, **{**given, **columns})


def drawn_world(seed: int) -> World:
    """Draw a world of up to 8 brokers, 60 bundles and 20 minutes, with things that happen."""
    random = np.random.default_rng(seed)
    brokers, count = int(random.integers(1, 9)), int(random.integers(0, 61))
    up = int(random.integers(1, brokers + 1))
    duration_s = float(random.integers(300, 1200))
    rate = random.lognormal(0.0, 1.2, count)
    rate *= random.uniform(10.0, 120.0) * brokers / max(rate.sum(), 1e-9) / 0.0025
    owner = random.integers(-1 if random.random() < 0.2 else 0, up, count)
    if random.random() < 0.3:
        owner = np.zeros(count, np.int64)
    return World(
        machines=machines(
            brokers,
            up,
            capacity=random.uniform(0.5, 2.0, brokers),
            nic=random.choice([2.0e7, 1.25e8, 1.25e9], brokers),
            background=random.uniform(0.0, 20.0, brokers),
            background_deviation=random.uniform(0.0, 3.0, brokers),
            spikes_per_hour=random.choice([0.0, 5.0], brokers),
        ),
        bundles=bundles(
            owner,
            rate,
            int(random.integers(1, 4)),
            fan_out=random.choice([0.0, 0.5, 1.0, 3.0], count),
            topics=random.integers(0, 20, count).astype(np.float64),
            jitter=np.full(count, random.choice([0.0, 0.08, 0.3])),
            group=random.integers(0, 3, count),
            wave=np.full(count, random.choice([0.0, 0.6])),
        ),
        changes=tuple(_change(random, count, duration_s) for _ in range(random.integers(0, 3))),
        events=_events(random, brokers, count, duration_s),
        duration_s=duration_s,
        event_s=60.0,
        seed=seed,
    )


def _change(random: np.random.Generator, count: int, duration_s: float) -> Change:
    from_s = float(random.uniform(0.0, duration_s))
    return Change(
        bundles=np.flatnonzero(random.random(count) < 0.3),
        from_s=from_s,
        to_s=float(random.choice([np.inf, from_s + 120.0])),
        factor_in=float(random.choice([0.0, 1.0, 3.0])),
        factor_out=float(random.choice([0.0, 1.0, 3.0])),
        ramp_s=float(random.choice([0.0, 100.0])),
        period_s=float(random.choice([0.0, 120.0])),
        duty=0.5,
        off_in=0.5,
        off_out=0.0,
    )


def _events(
    random: np.random.Generator, brokers: int, count: int, duration_s: float
) -> tuple[Event, ...]:
    found = []
    for _ in range(int(random.integers(0, 7))):
        # Unloads by hand have tests of their own, with what was recorded.
        kind = Kind(random.choice([kind.value for kind in Kind if kind is not Kind.UNLOAD]))
        if kind is Kind.SPLIT:
            parts = random.permutation(count)[: random.integers(0, 3)]
            subjects = tuple(int(i) for i in parts)
        else:
            subjects = (int(random.integers(brokers)),)
        value = float(random.choice([0.0, 1.0, 30.0])) if kind is not Kind.CAPACITY else 0.5
        found.append(Event(float(random.uniform(0.0, duration_s)), kind, subjects, value))
    return tuple(sorted(found, key=lambda event: event.time_s))


def drawn_balancer(seed: int) -> Balancer:
    """Draw strategies that act quickly, of any release that has them."""
    random = np.random.default_rng((seed, 1))
    release = str(random.choice(RELEASES))
    has_avg = release not in ("3.0.0",)
    pairs = [pair for pair in PAIRS if has_avg or pair[0] != "AvgShedder"]
    shedder, placer = pairs[random.integers(len(pairs))]
    conf = {
        "loadBalancerSheddingGracePeriodMinutes": str(random.choice([0, 1, 30])),
        "loadBalancerDistributeBundlesEvenlyEnabled": str(random.choice(["true", "false"])),
        "loadBalancerBundleUnloadMinThroughputThreshold": "0.1",
        "minUnloadMessage": "1",
        "minUnloadMessageThroughput": "1",
        "loadBalancerAvgShedderHitCountLowThreshold": "2",
        "loadBalancerReportUpdateThresholdPercentage": str(random.choice([2, 10, 50])),
        "loadBalancerReportUpdateMaxIntervalMinutes": str(random.choice([1, 2, 15])),
    }
    return Balancer(shedder, placer, release, conf)


def drawn_parameters(seed: int) -> Parameters:
    """Draw parameters that let rare things happen often."""
    random = np.random.default_rng((seed, 2))
    clients = Clients(
        astray_share=float(random.choice([0.0, 0.5])),
        unload_s=(0.03, float(random.choice([0.16, 4.0]))),
    )
    physics = Physics(work_exponent=float(random.choice([1.0, 0.7])))
    return Parameters(physics=physics, clients=clients)
