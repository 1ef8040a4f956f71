"""From which values on a number of the cluster is too much, by its own settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trimtab.diagnose.deployment import Deployment
from trimtab.pulsar.settings import avg_shedder_settings

#: Highest usage minus lowest that is too much for a shedder that compares no usage of brokers.
_SPREAD_OF_OTHERS = 0.3


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What alerts compare with, of one cluster."""

    #: Between two rounds, s.
    round_interval_s: float
    #: A broker reports at least so often, s.
    report_interval_s: float
    #: Usage from which on a broker is overloaded, and gets no bundle.
    overloaded: float
    #: Highest usage minus lowest that the shedder may leave.
    spread: float


def thresholds(ran: Deployment) -> Thresholds:
    """Return what is too much for a cluster, by the settings that it runs with."""
    spread = _SPREADS.get(ran.shedder)
    return Thresholds(
        round_interval_s=ran.manager.shedding_interval_s,
        report_interval_s=ran.manager.report_interval_s_max,
        overloaded=ran.manager.overloaded_threshold,
        spread=_SPREAD_OF_OTHERS if spread is None else spread(ran),
    )


def _of_threshold_shedder(ran: Deployment) -> float:
    """Return the spread from which somebody is over the bar: twice the threshold."""
    return 2.0 * ran.threshold_shedder.threshold


def _of_avg_shedder(ran: Deployment) -> float:
    """Return the smaller of its two differences between the busiest and the idlest broker."""
    return avg_shedder_settings(ran.conf, ran.release).low_threshold_points / 100.0


_SPREADS: Mapping[str, Callable[[Deployment], float]] = {
    "ThresholdShedder": _of_threshold_shedder,
    "AvgShedder": _of_avg_shedder,
}
