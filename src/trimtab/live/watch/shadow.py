"""Who decides beside Pulsar, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.diagnose.deployment import Deployment
from trimtab.lab.steering import Named, Sight, StrategyError, own
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
    #: What a name of trimtab's own names; None where one of Pulsar's classes decides.
    own: Named | None = None
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
    return Beside(strategy, overrides, _own(strategy), interval_s)


def _own(strategy: str) -> Named | None:
    """Return what a text names if it is a strategy of trimtab's own.

    Raises:
        GatherError: it is one, with a sight or a setting that there is not here.
    """
    try:
        named = own(strategy)
    except StrategyError as error:
        raise GatherError(f"--strategy: {error}") from None
    if named is not None and named.sight is Sight.POLLED:
        raise GatherError(
            f"--strategy: found {strategy}, expected @{Sight.REPORTS} or @{Sight.STORE}: "
            "a watch asks brokers for reports, and reads no counters of them and their hosts"
        )
    return named


def goes_by_answers(who: Beside) -> bool:
    """Return whether a strategy of trimtab's own goes by what brokers answer when asked."""
    return who.own is not None and who.own.sight is Sight.REPORTS


def reads_store(who: Beside, *, sees_writes: bool) -> bool:
    """Return whether a strategy of trimtab's own goes by what brokers write to the store.

    Raises:
        GatherError: it does, and nobody sees that.
    """
    is_store = who.own is not None and who.own.sight is Sight.STORE
    if is_store and not sees_writes:
        raise GatherError(
            f"--strategy: found {who.strategy} without --metadata, expected with it: it goes by "
            "what brokers write to the store"
        )
    return is_store


def chosen(who: Beside, ran: Deployment) -> tuple[str, str, Mapping[str, str]]:
    """Return who sheds, who places, and by which keys, in the cluster's release.

    Raises:
        GatherError: it does not know the class, or a setting cannot be read.
    """
    # Beside a strategy of trimtab's own Pulsar's classes decide their rounds as they do.
    shed, _, place = (ran.shedder, "", "") if who.own else who.strategy.partition("+")
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
    return who.strategy if who.own else shed, place, conf


def _unknown(name: str, names: set[str], ran: Deployment) -> GatherError:
    expected = f"expected one of {', '.join(sorted(names))} in {ran.release}"
    return GatherError(f"--strategy: found {name!r}, {expected}")
