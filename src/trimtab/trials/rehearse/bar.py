"""What a user calls safe: by the command line, else by a file, else by the cluster's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from trimtab.lab.rehearsal.measures import Bar
from trimtab.lab.simulate.balancer import Balancer
from trimtab.pulsar.settings.reader import Reader
from trimtab.trials.sweep.task import NOBODY, StrategyKey

# Shedding intervals in which a leader may see an overload, end it and be seen to have.
_INTERVALS = 3.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that are given; None for the usual ones."""

    peak_percent: float | None = None
    over_min: float | None = None
    topics: float | None = None
    ownerless_s: float | None = None

    def options(self) -> dict[str, object]:
        """Return them as the command line has them."""
        return {
            "--peak": self.peak_percent,
            "--minutes-over": self.over_min,
            "--topics": self.topics,
            "--ownerless": self.ownerless_s,
        }


def bar_of(limits: Limits, file: Mapping[str, float], balancer: Balancer) -> Bar:
    """Return the bar of a cluster.

    A peak is what OverloadShedder calls overloaded; it may last for three intervals of
    shedding, in which a leader can see it, end it and be seen to have; and a bundle may be
    without an owner for as long as an unload may take.
    """
    reader = Reader(balancer.conf, balancer.release)
    usual = {
        "peak_percent": reader.number("loadBalancerBrokerOverloadedThresholdPercentage"),
        "over_min": _INTERVALS * reader.number("loadBalancerSheddingIntervalMinutes"),
        "topics": None,
        "ownerless_s": reader.number("namespaceBundleUnloadingTimeoutMs") / 1000.0,
    }
    given = {name: limit for name, limit in asdict(limits).items() if limit is not None}
    return Bar(**{**usual, **file, **given})


def bar_text(bar: Bar) -> str:
    """Return a bar in words."""
    parts = [
        f"no broker over {bar.peak_percent:g} % for more than {bar.over_min:g} min in all",
        f"no bundle without an owner for more than {bar.ownerless_s:g} s",
    ]
    if bar.topics is not None:
        parts.append(f"at most {bar.topics:g} topics disconnected")
    return "; ".join(parts)


def strategy_of(balancer: Balancer) -> str:
    """Return who balances, in words."""
    key = StrategyKey(balancer.shedder or NOBODY, balancer.placer, balancer.release, "{}")
    return key.label
