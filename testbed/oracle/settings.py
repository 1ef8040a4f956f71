"""Draws settings for a strategy: defaults, usual values, and values at which code breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

Setting = int | float | bool
Choices = Mapping[str, Sequence[Setting]]

_WEIGHTS = (0.0, 0.1, 0.3333333333333333, 0.5, 1.0, 1.0, 1.5, 2.0)
_SHARES = (0.0, 0.0, 0.1, 0.5, 0.6, 0.9, 0.9, 0.99, 1.0)

#: Names of the weights by which brokers are compared.
WEIGHTS = (
    "loadBalancerCPUResourceWeight",
    "loadBalancerMemoryResourceWeight",
    "loadBalancerDirectMemoryResourceWeight",
    "loadBalancerBandwidthInResourceWeight",
    "loadBalancerBandwidthOutResourceWeight",
)
#: As Pulsar first spelt them; both spellings are heeded from 4.0 on.
MISSPELT = ("loadBalancerBandwithInResourceWeight", "loadBalancerBandwithOutResourceWeight")

_UNLOADING: Choices = {
    "maxUnloadPercentage": (0.0, 0.1, 0.2, 0.5, 0.3333333333333333, 1.0),
    "minUnloadMessage": (0, 1, 100, 1000, 5000),
    "minUnloadMessageThroughput": (0, 1, 1024, 1048576, 10485760),
}
_OVERLOADED: Choices = {
    "loadBalancerBrokerOverloadedThresholdPercentage": (0, 20, 50, 60, 70, 80, 85, 95, 100),
}

#: Class → its settings with the values to draw from.
CHOICES: Mapping[str, Choices] = {
    "ThresholdShedder": {
        "loadBalancerHistoryResourcePercentage": _SHARES,
        "loadBalancerBrokerThresholdShedderPercentage": (0, 1, 5, 10, 15, 20, 25, 50),
        "loadBalancerBundleUnloadMinThroughputThreshold": (0.0, 0.01, 0.1, 1.0, 10.0, 20.0),
        "lowerBoundarySheddingEnabled": (True, True, False),
    },
    "OverloadShedder": _OVERLOADED,
    "UniformLoadShedder": {
        **_UNLOADING,
        "loadBalancerMsgRateDifferenceShedderThreshold": (-1.0, 0.0, 10.0, 50.0, 100.0, 300.0),
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": (
            *(-1.0, 0.0, 1.0, 1.5, 2.0, 4.0),
        ),
        "maxUnloadBundleNumPerShedding": (-1, 0, 1, 2, 5),
    },
    "AvgShedder": {
        **_UNLOADING,
        "loadBalancerAvgShedderLowThreshold": (0, 5, 10, 15, 20),
        "loadBalancerAvgShedderHighThreshold": (0, 10, 15, 20, 40),
        "loadBalancerAvgShedderHitCountLowThreshold": (0, 1, 1, 2, 3, 8),
        "loadBalancerAvgShedderHitCountHighThreshold": (0, 1, 1, 2, 3),
    },
    "LeastLongTermMessageRate": _OVERLOADED,
    "LeastResourceUsageWithWeight": {
        "loadBalancerHistoryResourcePercentage": _SHARES,
        "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": (0, 1, 5, 10, 20, 50),
    },
    "RoundRobinBrokerSelector": {},
}


def draw(dice: Random, strategy: str, tags: list[str]) -> dict[str, Setting]:
    """Draw settings for a strategy; what is not drawn has the default of the release.

    Args:
        dice: all chance comes from here.
        strategy: simple name of Pulsar's class.
        tags: `misspelt-weights` is added where it holds.
    """
    conf: dict[str, Setting] = {}
    choices = CHOICES[strategy]
    # Every setting now and then, and mostly a few: what a default hides must show too.
    share = dice.choice((0.0, 0.4, 0.7, 1.0))
    for name, values in choices.items():
        if dice.random() < share:
            conf[name] = dice.choice(values)
    is_weighed = strategy not in ("UniformLoadShedder", "RoundRobinBrokerSelector")
    if is_weighed and dice.random() < 0.4:
        conf.update({name: dice.choice(_WEIGHTS) for name in WEIGHTS if dice.random() < 0.7})
        if dice.random() < 0.25:
            conf.update({name: dice.choice(_WEIGHTS) for name in MISSPELT})
            tags.append("misspelt-weights")
    return conf
