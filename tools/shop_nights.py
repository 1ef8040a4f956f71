"""Write three nights of one simulated cluster, as its operator would have recorded them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tools.run_reports import left_by
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.scenario import scenario
from trimtab.trials.record import Options, record

NIGHTS = ("monday", "tuesday", "wednesday")
#: One bundle has much more than its share, and traffic rises for ten minutes.
SHOP = {
    "run": {"minutes": 30, "release": "4.0"},
    "machines": [{"count": 6}],
    "bundles": [
        {"count": 40, "sigma": 0.8, "cost_sigma": 0.3, "heaviest_cpu_percent": 38.0},
    ],
    "traffic": {"cpu_percent": 50.0},
    "events": [
        {"what": "traffic", "at_min": 13, "until_min": 24, "factor": 1.3, "ramp_min": 1},
    ],
}
_BALANCER = Balancer("ThresholdShedder", "LeastResourceUsageWithWeight", "4.0")
_SEED = 1


def write(folder: Path) -> None:
    """Write each night into a folder of its name; each begins as the one before it ended."""
    cluster = scenario(SHOP, "shop")
    world, options = drawn(cluster, _SEED), Options(cluster="shop", noise_per_hour=0.0)
    for number, name in enumerate(NIGHTS):
        night = replace(world, seed=_SEED + number)
        begin = options.begin + timedelta(days=number)
        run = record(
            night, _BALANCER, cluster.parameters, folder / name, replace(options, begin=begin)
        )
        world = left_by(run, world)
