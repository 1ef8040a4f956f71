"""A recording's settings → the strategies and settings that are tried on its load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trimtab.files.fields import Field, FieldError
from trimtab.lab.simulate.balancer import Balancer
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.settings import setting
from trimtab.trials.sweep.grid import (
    JOINT,
    Strategy,
    axes,
    pair,
    settings_by_key,
    strategies,
    usual,
)
from trimtab.trials.sweep.task import NOBODY

#: What is tried of each shedder where nobody says what: a key that decides when it sheds, and
#: values from eager to patient.  Its recorded settings are tried in any case.
TRIED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ThresholdShedder": {"loadBalancerBrokerThresholdShedderPercentage": ("5", "10", "20")},
    "OverloadShedder": {"loadBalancerBrokerOverloadedThresholdPercentage": ("70", "85")},
    "UniformLoadShedder": {"loadBalancerMsgRateDifferenceShedderThreshold": ("20", "50")},
    "AvgShedder": {"loadBalancerAvgShedderHitCountLowThreshold": ("2", "8")},
}
#: What cannot be replayed, and why.
NOT_COVERED: Mapping[str, str] = {
    "TransferShedder": "it needs ExtensibleLoadManagerImpl, which moves bundles by other means "
    "than those that are simulated here",
}


def variants(
    balancer: Balancer, pairs: Sequence[str], settings: Sequence[str], release: str | None
) -> tuple[Strategy, ...]:
    """Return what is tried, each once; what really steered is not among them.

    Pairs are such as `AvgShedder` or `ThresholdShedder+LeastResourceUsageWithWeight`, none
    for the usual ones; settings are `key=value` each, tried with every pair, and a key may
    come again with another value: none for those of `TRIED`.

    Raises:
        FieldError: there is no such strategy, release or key.
    """
    releases = [release] if release else None
    field = None if releases is None else Field(releases, ("--release",))
    chosen = pairs or usual([release or balancer.release])
    of_key = {}
    for name in chosen:
        refuse_uncovered(name)
        for each in _of_pair(name, field, settings, balancer):
            each.check(each.release or balancer.release)
            of_key[each.key(balancer.release)] = each
    of_key.pop(real(balancer).key(balancer.release), None)
    return tuple(of_key.values())


def refuse_unknown(pairs: Sequence[str], settings: Sequence[str]) -> None:
    """Refuse what no recording has an answer to, before one is read.

    Raises:
        FieldError: there is no such strategy or key, or it cannot be replayed.
    """
    for name in pairs:
        refuse_uncovered(name)
        pair(Field(name, ("--strategies",)))
    axes(settings_by_key(settings))


def real(balancer: Balancer) -> Strategy:
    """Return what really steered."""
    where = Field("the recording")
    return Strategy(balancer.shedder or NOBODY, balancer.placer, balancer.release, {}, where)


def refuse_uncovered(name: str) -> None:
    """Refuse a strategy that cannot be replayed.

    Raises:
        FieldError: it is one of `NOT_COVERED`.
    """
    shedder = name.partition(JOINT)[0].strip()
    if shedder in NOT_COVERED:
        raise FieldError("--strategies", shedder, f"another: {NOT_COVERED[shedder]}")


def _of_pair(
    name: str, release: Field | None, settings: Sequence[str], balancer: Balancer
) -> Iterator[Strategy]:
    field = Field(name, ("--strategies",))
    if settings:
        yield from strategies(field, release, settings_by_key(settings))
        return
    plain = strategies(field, release, None)
    yield from plain
    for key, values in TRIED.get(plain[0].shedder, {}).items():
        for value in values:
            if _differs(balancer, key, value):
                yield from strategies(field, release, Field({key: value}, ("--set",)))


def _differs(balancer: Balancer, key: str, value: str) -> bool:
    """Return whether a value is another one than the recording has, and the release has the key."""
    release = balancer.release
    if KEYS[key].default(release) is None:
        return False
    return setting(balancer.conf, key, release) != setting({key: value}, key, release)
