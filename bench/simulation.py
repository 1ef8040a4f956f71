"""How long it takes to simulate a day."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

import numpy as np

from bench.table import Table
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.world import Bundles, Machines, World

_SEED = 3
_SIZES = ((10, 1_000), (100, 10_000), (1_000, 50_000))
_HOURS = 24.0
_BALANCER = Balancer("AvgShedder", "AvgShedder", "4.0.8")

_TEXT = f"""\
A day ({_HOURS:g} h) of one cluster with a round of AvgShedder a minute, on one core.
Bundles are of very different weights (lognormal), dealt out at random, at 50 % CPU on average; \
their traffic is noisy and goes up and down with the day.
The peak of memory is that of the process so far.
"""
_HEADINGS = ("brokers", "bundles", "CPU, s", "moves", "reports written", "peak of memory, MiB")


def simulation() -> Table:
    """Measure days of clusters of several sizes."""
    return Table(_TEXT, (), _HEADINGS, tuple(_rows()))


def _rows() -> Iterator[tuple[str, ...]]:
    for brokers, bundles in _SIZES:
        made = world(brokers, bundles)
        began = time.process_time()
        run = simulated(made, _BALANCER, Parameters())
        took_s = time.process_time() - began
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        moves, reports = run.moves.time_s.size, run.counts["reports"]
        figures = f"{took_s:.3g}", f"{moves:,}", f"{reports:,}", f"{peak_mib:,.0f}"
        yield (f"{brokers:,}", f"{bundles:,}", *figures)


def world(brokers: int, bundles: int) -> World:
    """Make a cluster whose bundles are of very different weights, dealt out at random."""
    random = np.random.default_rng(_SEED)
    rate = np.minimum(random.lognormal(0.0, 1.1, bundles), 9.0)
    # A thousand messages/s of 1 KiB with a consumer are about 1.3 points of CPU.
    rate *= 45.0 * brokers / 0.0013 / rate.sum()
    ones, nobody = np.ones(bundles), np.zeros(bundles, np.int64)
    width = 2**32 // 64
    names = tuple(
        f"lab/n{i // 64}/0x{i % 64 * width:08x}_0x{(i % 64 + 1) * width - 1:08x}"
        for i in range(bundles)
    )
    return World(
        machines=Machines(
            names=tuple(f"broker-{i}:8080" for i in range(brokers)),
            capacity=np.ones(brokers),
            nic=np.full(brokers, 1.25e9),
            background=np.full(brokers, 4.0),
            background_deviation=np.full(brokers, 1.5),
            spikes_per_hour=np.full(brokers, 0.5),
            is_up=np.ones(brokers, np.bool_),
        ),
        bundles=Bundles(
            names=names,
            owner=random.integers(0, brokers, bundles),
            rate=rate,
            message_bytes=1024.0 * ones,
            fan_out=ones,
            topics=4.0 * ones,
            entries_limit=1e9 * ones,
            cost=random.lognormal(-0.03, 0.25, bundles),
            jitter=0.08 * ones,
            group=nobody,
            wave=0.3 * ones,
            wave_phase=0.0 * ones,
            grace_until_s=0.0 * ones,
        ),
        changes=(),
        events=(),
        duration_s=_HOURS * 3600.0,
        event_s=0.0,
        seed=_SEED,
    )
