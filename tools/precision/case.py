"""One recording of the corpus: what its cluster is, and what goes wrong in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tools.precision.truth import Planted
from trimtab.pulsar.leader.reports import Report
from trimtab.trials.record.scribe import as_measured

Table = dict[str, Any]
#: What a host makes of a report: broker, s of the simulation, what was measured.
Reported = Callable[[int, float, Report], Report]

_USUAL = "LeastResourceUsageWithWeight"


@dataclass(slots=True)
class Case:
    """A night, before it is simulated."""

    code: str
    seed: int
    #: The tables of a scenario.
    scenario: Table
    shedder: str | None = "ThresholdShedder"
    placer: str = _USUAL
    release: str = "4.0.8"
    reported: Reported = as_measured
    #: Names of what is planted once it is recorded, and their parameters.
    plants: dict[str, Table] = field(default_factory=dict)
    noise_per_hour: float = 300.0
    #: How often brokers are asked over REST; 0: never.
    rest_s: float = 0.0
    #: Writes it, where no laboratory plays its manager, and returns what is true of it.
    written: Callable[[Path], tuple[Planted, ...]] | None = None

    @property
    def name(self) -> str:
        """Name the recording."""
        return f"{self.code}-{self.seed}"

    @property
    def count(self) -> int:
        """Count the brokers."""
        return sum(int(machines["count"]) for machines in self.scenario["machines"])

    def happens(self, what: str, at_min: float, **more: object) -> None:
        """Let something happen."""
        self.scenario.setdefault("events", []).append({"what": what, "at_min": at_min, **more})

    def set(self, **conf: object) -> None:
        """Set keys of broker.conf."""
        self.scenario["settings"] |= conf


def drawn_night(code: str, seed: int, random: np.random.Generator) -> Case:
    """Draw a cluster of four to twelve brokers that has nothing the matter with it."""
    brokers = int(random.integers(4, 13))
    scenario: Table = {
        "run": {"minutes": int(random.integers(24, 46))},
        "machines": [{"count": brokers, "spikes_per_hour": 0}],
        "bundles": [
            {
                "count": brokers * int(random.integers(8, 17)),
                "rates": "lognormal",
                "sigma": float(random.uniform(0.3, 0.6)),
                "jitter": float(random.uniform(0.02, 0.06)),
                "message_sigma": 0.3,
                "cost_sigma": 0.1,
                "fan_out": 1,
                "topics": int(random.integers(4, 13)),
            }
        ],
        "settings": {
            "loadBalancerDistributeBundlesEvenlyEnabled": False,
            "loadBalancerReportUpdateThresholdPercentage": int(random.integers(3, 6)),
        },
        "traffic": {"cpu_percent": int(random.integers(30, 51))},
        "start": {"owners": "balanced", "noise": 0.05},
        "clients": {"astray_share": 0.0},
    }
    case = Case(code, seed, scenario)
    case.noise_per_hour = float(random.integers(60, 900))
    return case


def hot(case: Case, random: np.random.Generator, at_min: float, factor: float) -> int:
    """Let the traffic of one broker's bundles grow, so that it must be relieved."""
    broker = int(random.integers(case.count))
    case.happens("traffic", at_min, of_brokers=broker, factor=factor, ramp_min=0)
    return broker


Family = Callable[[np.random.Generator, Case], Mapping[str, Any] | None]
