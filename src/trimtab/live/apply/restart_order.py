"""A live cluster → the order in which to restart its brokers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from trimtab.lab.restarts.orders import Order, RestartForecast, Timing, foretold, orders
from trimtab.lab.restarts.snapshot import BundleLoad, ClusterNow
from trimtab.lab.simulate.balancer import Balancer
from trimtab.live.apply.live import each_of
from trimtab.live.apply.run import ConnectedCluster
from trimtab.live.apply.usage import bundle_loads, of_report
from trimtab.live.gather.access import GatherError
from trimtab.pulsar.bundles import is_system_bundle
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.sequences.wording import aligned_rows
from trimtab.pulsar.settings import SettingError, load_manager_settings

#: What the laboratory takes for granted here.
ASSUMED = (
    "traffic stays as it is now, but for its noise",
    "all machines are equal, and a bundle costs elsewhere what it costs where it is",
    "usage is taken for CPU, whichever resource it is",
    "a broker that restarts gives its bundles up one by one and comes back with none",
)


_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """Orders of a cluster's restart, the best one first."""

    cluster: str
    release: str
    made_s: float
    leader: str | None
    timing: Timing
    balancer: Balancer
    orders: tuple[RestartForecast, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """A live cluster, looked at once."""

    made_s: float
    now: ClusterNow
    leader: str | None
    balancer: Balancer


def standing(cluster: ConnectedCluster, changed: Mapping[str, str] = _NOTHING) -> Standing:
    """Return how a live cluster stands, and who steers it.

    Raises:
        GatherError: a broker does not answer, or what steers the cluster cannot be simulated.
    """
    made_s = time.time()
    names, leader = cluster.admin.brokers(), cluster.admin.leader()
    settings = {**cluster.admin.settings(leader if leader in names else None), **changed}
    reports = each_of(names, cluster.admin.report)
    if len(names) < 2:
        raise GatherError(f"found {len(names)} brokers, expected two at least")
    now = cluster_now(reports, cluster.admin.release)
    try:
        balancer = _balancer(settings, cluster.admin.release)
    except (LookupError, SettingError) as error:
        raise _unsteered(error) from None
    return Standing(made_s, now, leader, balancer)


def _unsteered(error: Exception) -> GatherError:
    return GatherError(f"what steers this cluster cannot be simulated: {error}")


def restart_plan(
    cluster: ConnectedCluster, timing: Timing, n_seeds: int, changed: Mapping[str, str] = _NOTHING
) -> RestartPlan:
    """Return the forecast of a rolling restart in each order that is worth a try.

    Args:
        cluster: that answers.
        timing: how brokers are restarted.
        n_seeds: runs of each order.
        changed: settings that will be others than now.

    Raises:
        GatherError: a broker does not answer, or what steers the cluster cannot be simulated.
    """
    at = standing(cluster, changed)
    try:
        forecasts = [
            foretold(at.now, Order(*order), timing, at.balancer, range(n_seeds))
            for order in orders(at.now, at.leader).items()
        ]
    except (LookupError, SettingError) as error:
        raise _unsteered(error) from None
    forecasts.sort(key=lambda each: (round(each.peak_percent.p90), each.moves.median))
    name, release = cluster.admin.cluster, cluster.admin.release
    return RestartPlan(name, release, at.made_s, at.leader, timing, at.balancer, tuple(forecasts))


def lines(plan: RestartPlan) -> Iterator[str]:
    """Return a plan as lines for a person."""
    best, *others = plan.orders
    steering = f"{plan.balancer.shedder or 'nobody sheds'}, {plan.balancer.placer}"
    yield f"{plan.cluster}, Pulsar {plan.release}: {steering}; {plan.leader or 'nobody'} leads"
    yield f"Best order: {best.rule}, the leader last"
    yield from aligned_rows(
        [
            ("restart", [each.broker for each in best.restarts]),
            ("peak", [f"{each.peak_percent.median:.0f} %" for each in best.restarts]),
            ("9 of 10 up to", [f"{each.peak_percent.p90:.0f} %" for each in best.restarts]),
            ("mostly at", [each.peak_at for each in best.restarts]),
        ]
    )
    yield f"{best.moves.median:.0f} changes of owners in all"
    for each in others:
        yield (
            f"{each.rule}: peak {each.peak_percent.median:.0f} %, 9 of 10 up to "
            f"{each.peak_percent.p90:.0f} %; {each.moves.median:.0f} changes of owners"
        )
    yield f"If {'; '.join(ASSUMED)}."


def as_json(plan: RestartPlan) -> str:
    """Return a plan as JSON for a program."""
    document: dict[str, Any] = asdict(plan) | {"assumed": ASSUMED}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def cluster_now(reports: Mapping[str, Mapping[str, Any]], release: str) -> ClusterNow:
    """Return how a cluster stands by its brokers' load reports, by broker id.

    Properties:
        A bundle stands at one broker.  Where two report it, since it went from one to the
        other meanwhile, it is at the one that reported later.
    """
    usages = {name: of_report(report) for name, report in reports.items()}
    loads = {name: bundle_loads(report) for name, report in reports.items()}
    by_time = sorted(reports, key=lambda name: usages[name].published_s)
    owner = {bundle: name for name in by_time for bundle in loads[name]}
    bundles = {
        name: {
            bundle: BundleLoad(*load)
            for bundle, load in loads[name].items()
            if owner[bundle] == name and not is_system_bundle(bundle, release)
        }
        for name in reports
    }
    return ClusterNow({name: usage.percent for name, usage in usages.items()}, bundles)


def _balancer(settings: Mapping[str, str], release: str) -> Balancer:
    conf = {key: text for key, text in settings.items() if key in KEYS and text.strip()}
    steered = load_manager_settings(conf, release)
    sheds = steered.is_enabled and steered.is_shedding_enabled
    shedder = steered.shedding_strategy if sheds else None
    return Balancer(shedder, steered.placement_strategy, release, conf)
