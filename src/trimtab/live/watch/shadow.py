"""Who decides beside Pulsar, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.diagnose.deployment import Deployment
from trimtab.live.gather.access import GatherError
from trimtab.pulsar.place import PLACERS, placer
from trimtab.pulsar.settings import (
    SettingError,
    check_intervals,
    load_manager_settings,
    unknown_keys,
)
from trimtab.pulsar.shed import SHEDDERS, shedder


@dataclass(frozen=True, slots=True)
class Beside:
    """Who is to decide beside Pulsar."""

    #: Shedder, or Shedder+Placer; empty for the cluster's own.
    strategy: str = ""
    #: Keys of broker.conf that count for it in place of the cluster's.
    overrides: Mapping[str, str] = field(default_factory=dict)
    #: Between two rounds, s; None: as the cluster's settings have it.
    interval_s: float | None = None


def beside(strategy: str, settings: Sequence[str], interval_s: float | None = None) -> Beside:
    """Return who decides beside Pulsar, by the options.

    Raises:
        GatherError: a setting is none, or no key of the load balancer.
    """
    overrides = {}
    for each in settings:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise GatherError(f"--set: found {each!r}, expected KEY=VALUE")
        overrides[key.strip()] = value.strip()
    for key, similar in unknown_keys(overrides):
        expected = f", expected {similar}" if similar else ", expected a key of the load balancer"
        raise GatherError(f"--set: found {key}{expected}")
    return Beside(strategy, overrides, interval_s)


def chosen(who: Beside, ran: Deployment) -> tuple[str, str, Mapping[str, str]]:
    """Return who sheds, who places, and by which keys, in the cluster's release.

    Raises:
        GatherError: it does not know the class, or a setting cannot be read.
    """
    shed, _, place = who.strategy.partition("+")
    shed = shed or ran.shedder
    shedding = shedder(shed, ran.release)
    if shedding is None:
        raise _unknown(shed, {name for name, _ in SHEDDERS if shedder(name, ran.release)}, ran)
    place = place or (shed if placer(shed, ran.release) is not None else ran.placer)
    placing = placer(place, ran.release)
    if placing is None:
        raise _unknown(place, {name for name, _ in PLACERS if placer(name, ran.release)}, ran)
    conf = {**ran.conf, **who.overrides}
    try:
        load_manager_settings(conf, ran.release)
        check_intervals(conf, ran.release)
        shedding.settings(conf, ran.release)
        placing.settings(conf, ran.release)
    except SettingError as error:
        raise GatherError(f"--set: {error}") from None
    return shed, place, conf


def _unknown(name: str, names: set[str], ran: Deployment) -> GatherError:
    expected = f"expected one of {', '.join(sorted(names))} in {ran.release}"
    return GatherError(f"--strategy: found {name!r}, {expected}")
