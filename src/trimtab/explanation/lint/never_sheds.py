"""Settings by which nothing can ever be shed, or nothing be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trimtab.explanation.lint.conf import SHEDDER_KEY, Conf
from trimtab.explanation.lint.rule import Case, Match, Rule, Severity
from trimtab.pulsar.keys import KEYS

_WEIGHTS = (
    "loadBalancerCPUResourceWeight",
    "loadBalancerDirectMemoryResourceWeight",
    "loadBalancerBandwidthInResourceWeight",
    "loadBalancerBandwidthOutResourceWeight",
    "loadBalancerBandwithInResourceWeight",
    "loadBalancerBandwithOutResourceWeight",
    "loadBalancerMemoryResourceWeight",
)
#: Shedders that go by usage as it is weighed.
_BY_USAGE = ("ThresholdShedder", "AvgShedder", "TransferShedder")


@dataclass(frozen=True, slots=True)
class _Never:
    """Values with which a shedder never acts."""

    shedders: tuple[str, ...]
    key: str
    is_never: Callable[[float], bool]
    #: The same in words.
    when: str
    #: Why; ends without a full stop.
    why: str
    evidence: tuple[str, ...]


_NEVERS = (
    _Never(
        ("ThresholdShedder",),
        "loadBalancerBrokerThresholdShedderPercentage",
        lambda value: value >= 100,
        "100 or more",
        "it is added to the average, and usage passes 100 % only where a limit is misread",
        ("#6772", "#15905"),
    ),
    _Never(
        ("ThresholdShedder",),
        "loadBalancerHistoryResourcePercentage",
        lambda value: value == 1,
        "1",
        "each score stays at the first usage that was seen, whatever happens",
        ("#13119",),
    ),
    _Never(
        ("OverloadShedder",),
        "loadBalancerBrokerOverloadedThresholdPercentage",
        lambda value: value > 100,
        "above 100",
        "usage passes 100 % only where a limit is misread",
        ("#6772",),
    ),
    _Never(
        ("AvgShedder",),
        "loadBalancerAvgShedderLowThreshold",
        lambda value: value > 100,
        "above 100",
        "scores are usage in percent, which passes 100 only where a limit is misread",
        ("PIP-364",),
    ),
    _Never(
        ("UniformLoadShedder", "AvgShedder"),
        "maxUnloadPercentage",
        lambda value: value <= 0,
        "0 or less",
        "that is the share of the difference that may be moved",
        ("#13915",),
    ),
    _Never(
        ("UniformLoadShedder",),
        "maxUnloadBundleNumPerShedding",
        lambda value: value == 0 or value < -1,
        "0, or below -1",
        "-1 alone is no limit; with 0, and any other number below, no bundle goes",
        ("#16409",),
    ),
    _Never(
        ("TransferShedder",),
        "loadBalancerMaxNumberOfBrokerSheddingPerCycle",
        lambda value: value <= 0,
        "0 or less",
        "that is how many brokers may be relieved in a round",
        ("#19813",),
    ),
    _Never(
        ("TransferShedder",),
        "loadBalancerMaxNumberOfBundlesInBundleLoadReport",
        lambda value: value == 1,
        "1",
        "a broker that publishes a single bundle is passed over: one always has to stay",
        ("PIP-220", "#19813"),
    ),
)


def _never_sheds(conf: Conf) -> Iterator[Match]:
    for row in _NEVERS:
        value = conf.number(row.key) if conf.shedder in row.shedders else None
        if value is not None and row.is_never(value):
            yield Match(
                f"{conf.fact(row.key)}: with that {conf.shedder} never sheds",
                conf.at(row.key),
                row.key,
                f"{row.key}={KEYS[row.key].default(conf.release)}, the default",
                f"{row.why[:1].upper()}{row.why[1:]}.",
                row.evidence,
            )


def _both_switched_off(conf: Conf) -> Iterator[Match]:
    keys = (
        "loadBalancerMsgRateDifferenceShedderThreshold",
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
    )
    values = [conf.number(key) for key in keys]
    if conf.shedder == "UniformLoadShedder" and all(it is not None and it <= 0 for it in values):
        yield Match(
            f"{conf.fact(keys[0])}, and {conf.fact(keys[1])}: both tests are off",
            conf.at(*keys),
            keys[0],
        )


def _nothing_counts(conf: Conf) -> Iterator[Match]:
    weights = [value for key in _weights(conf) if (value := conf.number(key)) is not None]
    if conf.shedder in _BY_USAGE and weights and not any(weights):
        yield Match(
            "every resource weighs 0, so that every broker's usage is 0",
            conf.at(*_WEIGHTS),
            _WEIGHTS[0],
        )


def _weights(conf: Conf) -> tuple[str, ...]:
    """Return the weights that count; a bandwidth counts in that spelling which is not 1.0."""
    is_heap = conf.shedder == "TransferShedder" or not conf.is_from("3.0.0")
    names = [*_WEIGHTS[:2], *(_WEIGHTS[6:] if is_heap else ())]
    for new, old in zip(_WEIGHTS[2:4], _WEIGHTS[4:6], strict=True):
        is_new = conf.number(new) not in (None, 1.0)
        names.append(new if is_new else old)
    return tuple(names)


def _switched_off(conf: Conf) -> Iterator[Match]:
    for key in ("loadBalancerEnabled", "loadBalancerSheddingEnabled"):
        if not conf.is_on(key) and conf.is_changed(SHEDDER_KEY):
            yield Match(
                f"{conf.fact(key)}, and so {conf.fact(SHEDDER_KEY)} is idle", conf.at(key), key
            )


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "never-sheds",
        Severity.ERROR,
        "a threshold, share or limit with which the shedder can never act",
        "Nothing is shed, whatever the load, and nothing says why.",
        ("#15905",),
        "the default, or a value that can be reached",
        _never_sheds,
        cases=tuple(
            Case(row.key, f"{row.when}, {' and '.join(row.shedders)}: {row.why}", row.evidence)
            for row in _NEVERS
        ),
    ),
    Rule(
        "uniform-both-off",
        Severity.ERROR,
        "UniformLoadShedder with both of its tests switched off",
        "A threshold of 0 or less switches its test off; with both off nothing is ever shed.",
        ("#21299",),
        "50 and 4, the defaults, or one of them",
        _both_switched_off,
    ),
    Rule(
        "nothing-counts",
        Severity.ERROR,
        "weights of 0 for every resource",
        "Usage is the largest of the weighed resources; if none weighs anything all brokers look "
        "idle and alike.",
        ("PIP-357", "#21168"),
        "1.0 for CPU and for the bandwidths",
        _nothing_counts,
    ),
    Rule(
        "shedding-off",
        Severity.NOTE,
        "a shedder that is chosen, and shedding that is switched off",
        "Bundles are placed when they have no owner, and never moved after that.",
        ("#857", "ModularLoadManagerImpl"),
        "true, or no shedder",
        _switched_off,
    ),
)
