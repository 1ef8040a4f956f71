"""A watch's own metrics, for Prometheus."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import (
    CollectorRegistry,
    ProcessCollector,
    make_wsgi_app,
    start_http_server,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from trimtab.live.control.trust import coverage, drift
from trimtab.live.gather.access import GatherError
from trimtab.live.watch.autoscale import Recommended, needed, recommended
from trimtab.live.watch.tally import Tally, View, standings
from trimtab.live.watch.thresholds import thresholds

_LOOPBACK = "127.0.0.1"
_PACKAGE = "trimtab.live.watch.prometheus"
#: Where the page of a finding is offered; the alert rules lead there.
_PAGES = "/findings/"


class Metrics(Collector):
    """Gives what was seen at the last step, whenever it is scraped."""

    def __init__(self, *, is_offered: bool) -> None:
        """Begin without anything; what nobody can ask for is not worked out."""
        self._is_offered = is_offered
        self._lock = threading.Lock()
        self._metrics: tuple[Metric, ...] = ()
        self._recommended: Recommended | None = None

    def take(self, view: View, now_s: float) -> None:
        """Take what has been seen; now_s is s since 1970."""
        metrics = (
            *_of_the_watch(view, now_s),
            *_of_the_settings(view),
            *_of_the_turns(view.tally),
            *_of_acting(view.tally),
            *_of_the_brokers(view),
            *self._of_their_number(view, now_s),
        )
        with self._lock:
            self._metrics = metrics

    def _of_their_number(self, view: View, now_s: float) -> Iterator[Metric]:
        """Yield how many brokers there are, are needed and are recommended; nothing of nobody."""
        bars, usages = thresholds(view.settings.ran), [it.usage for it in standings(view.memory)]
        need = needed(usages, bars.overloaded, bars.spread)
        if need is None:
            return
        self._recommended = recommended(self._recommended, need, len(usages), now_s)
        yield GaugeMetricFamily(
            "trimtab_cluster_brokers", "Brokers that report what they use.", len(usages)
        )
        ends = GaugeMetricFamily(
            "trimtab_cluster_brokers_needed",
            "Brokers that carry the load of now and the loss of any one, between two ends.",
            labels=["end"],
        )
        for end, count in (("low", need.low), ("high", need.high)):
            ends.add_metric([end], count)
        yield ends
        if not self._recommended.is_known:
            return
        yield GaugeMetricFamily(
            "trimtab_cluster_brokers_recommended",
            "Brokers to have: what is needed, changed as seldom as that allows.",
            self._recommended.brokers,
        )

    def followed(self, steps: Iterable[View]) -> Iterator[View]:
        """Return the steps, and offer what they show."""
        for view in steps:
            if self._is_offered:
                self.take(view, time.time())
            yield view

    def collect(self) -> Iterator[Metric]:
        """Return the metrics; called by the thread that is scraped."""
        with self._lock:
            yield from self._metrics


@contextmanager
def offered(address: str | None, pages: Mapping[str, str] | None = None) -> Iterator[Metrics]:
    """Offer metrics at [HOST:]PORT, on the loopback interface unless told otherwise.

    Args:
        address: where; None for nowhere.
        pages: code of a finding → its page, which is offered beside the metrics.

    Raises:
        GatherError: it is no such address, or it is taken.
    """
    metrics = Metrics(is_offered=address is not None)
    if address is None:
        yield metrics
        return
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise GatherError(f"--metrics: found {address!r}, expected PORT or HOST:PORT")
    registry = CollectorRegistry()
    registry.register(metrics)
    ProcessCollector(registry=registry)
    try:
        server, thread = start_http_server(
            int(port), (host or _LOOPBACK).strip("[]"), registry=registry
        )
    except OSError as error:
        raise GatherError(f"--metrics: {address}: {error.strerror}") from None
    server.set_app(_with_pages(make_wsgi_app(registry), pages or {}))
    try:
        yield metrics
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _with_pages(metrics: WSGIApplication, pages: Mapping[str, str]) -> WSGIApplication:
    """Return what answers with a finding's page where that is asked for, and else with metrics."""

    def answered(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = str(environ["PATH_INFO"])
        page = pages.get(path.removeprefix(_PAGES)) if path.startswith(_PAGES) else None
        if page is None:
            return metrics(environ, start)
        start("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
        return [page.encode()]

    return answered


def rules() -> str:
    """Return the alert rules, as Prometheus reads them."""
    return _shipped("rules.yaml")


def dashboard() -> str:
    """Return the dashboard, as Grafana imports it."""
    return _shipped("dashboard.json")


def _shipped(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _of_the_watch(view: View, now_s: float) -> Iterator[Metric]:
    settings, tally, memory = view.settings, view.tally, view.memory
    info = {
        "cluster": settings.ran.conf.get("clusterName", ""),
        "release": settings.ran.release,
        "shedder": settings.ran.shedder,
        "shadow": settings.shedder,
    }
    yield InfoMetricFamily("trimtab_watch", "What is watched, and who decides beside.", info)
    yield GaugeMetricFamily(
        "trimtab_watch_last_step_timestamp_seconds", "When the watch last looked.", now_s
    )
    if tally.decided is not None:
        yield GaugeMetricFamily(
            "trimtab_watch_last_round_timestamp_seconds",
            "When the last round was that was decided again.",
            tally.decided.time.timestamp(),
        )
    yield CounterMetricFamily(
        "trimtab_watch_rounds", "Rounds that were decided again.", tally.rounds
    )
    compared = CounterMetricFamily(
        "trimtab_watch_rounds_compared",
        "Rounds of the leader's log beside what was recomputed.",
        labels=["verdict"],
    )
    for name, count in tally.verdicts.items():
        compared.add_metric([name.lower().replace(" ", "_")], count)
    yield compared
    unloads = CounterMetricFamily(
        "trimtab_watch_unloads",
        "Bundles that Pulsar unloaded, and that the strategy beside would have.",
        labels=["by"],
    )
    for who, count in tally.unloads.items():
        unloads.add_metric([who], count)
    yield unloads
    scores = GaugeMetricFamily(
        "trimtab_watch_score",
        "Outcomes of the last round that was scored; lower is better.",
        labels=["by", "measure"],
    )
    for (who, measure), value in sorted(tally.scores.items()):
        scores.add_metric([who, measure], value)
    yield scores
    bounds = GaugeMetricFamily(
        "trimtab_watch_shadow_score_bound",
        "Between which values the projected outcomes of the strategy beside lie.",
        labels=["measure", "end"],
    )
    for measure, ends in sorted(tally.between.items()):
        for end, value in zip(("low", "high"), ends, strict=True):
            bounds.add_metric([measure, end], value)
    yield bounds
    yield CounterMetricFamily(
        "trimtab_watch_unexplained_moves",
        "Changes of owners that the leader's log does not explain.",
        tally.unexplained,
    )
    yield CounterMetricFamily(
        "trimtab_watch_late", "Writes that came too late for their own time.", memory.n_late
    )
    yield CounterMetricFamily(
        "trimtab_watch_rejected_lines", "Lines that could not be read.", view.n_rejected
    )


def _of_the_settings(view: View) -> Iterator[Metric]:
    """Yield what alerts compare with; each has the name of the cluster, which they take over."""
    bars = thresholds(view.settings.ran)
    for name, text, value in (
        ("round_interval_seconds", "Between two rounds of load shedding.", bars.round_interval_s),
        ("report_interval_seconds", "A broker reports at least so often.", bars.report_interval_s),
        ("overloaded_ratio", "Usage from which on a broker is overloaded.", bars.overloaded),
        ("spread_allowed_ratio", "Spread of usage that the shedder may leave.", bars.spread),
    ):
        gauge = GaugeMetricFamily(
            f"trimtab_setting_{name}", f"{text} By the cluster's settings.", labels=["cluster"]
        )
        gauge.add_metric([view.settings.ran.conf.get("clusterName", "")], value)
        yield gauge


def _of_the_turns(tally: Tally) -> Iterator[Metric]:
    """Yield what a strategy of trimtab's own did in its turns, and how right it was."""
    turn = tally.steered
    if turn is None:
        return
    yield CounterMetricFamily("trimtab_steering_turns", "Turns of Foresee.", tally.turns)
    held = CounterMetricFamily(
        "trimtab_steering_predictions",
        "Brokers after moves of whomever, inside or outside of what held four in five.",
        labels=["outcome"],
    )
    held.add_metric(["inside"], tally.inside)
    held.add_metric(["outside"], tally.held - tally.inside)
    yield held
    trust, record = turn.trust, turn.record
    off = drift(record, turn.time.timestamp())
    for name, text, value in (
        ("trust", "How far the last turn's predictions are believed, 0 to 1.", trust.level),
        ("coverage_ratio", "Outcomes of a day inside what held four in five.", coverage(record)),
        ("error_deviations", "What the last were off, in deviations; 1 is as said.", off),
        ("drifts", "1 while they have drifted and nothing is moved.", float(bool(trust.drift))),
    ):
        if not math.isnan(value):
            yield GaugeMetricFamily(f"trimtab_steering_{name}", text, value)


def _of_acting(tally: Tally) -> Iterator[Metric]:
    """Yield what was moved and what keeps more from being moved; nothing while nobody acts."""
    if tally.acted is None:
        return
    moves = CounterMetricFamily(
        "trimtab_acting_moves", "Moves of plans that are over, by what became of them.",
        labels=["state"],
    )  # fmt: skip
    for state, count in tally.moved.items():
        moves.add_metric([state.replace(" ", "_")], count)
    yield moves
    yield GaugeMetricFamily(
        "trimtab_acting_moves_allowed", "Moves that a round may make now.", tally.acted.allowed
    )
    yield GaugeMetricFamily(
        "trimtab_acting_bad_signs", "Signs that keep the throttle closed.", len(tally.acted.signs)
    )
    if tally.acted.why:
        why = {"why": tally.acted.why}
        yield InfoMetricFamily("trimtab_acting_idle", "Why nothing was moved last.", why)


def _of_the_brokers(view: View) -> Iterator[Metric]:
    brokers = standings(view.memory)
    leader = view.memory.term.leader if view.memory.term else None
    gauges = {
        name: GaugeMetricFamily(name, text, labels=["broker"])
        for name, text in (
            ("trimtab_broker_usage_ratio", "Usage as the cluster weighs it; 1 is the limit."),
            ("trimtab_broker_messages_per_second", "Messages in and out."),
            ("trimtab_broker_throughput_bytes_per_second", "Bytes in and out."),
            ("trimtab_broker_bundles", "Bundles that the broker reports."),
            ("trimtab_broker_report_timestamp_seconds", "When the broker last reported."),
            ("trimtab_broker_leads", "1 for the leader of the load manager, 0 for others."),
        )
    }
    for each in brokers:
        values = (
            *(each.usage, each.rate, each.throughput, each.bundles),
            *(each.reported.timestamp(), float(each.broker == leader)),
        )
        for gauge, value in zip(gauges.values(), values, strict=True):
            gauge.add_metric([each.broker], value)
    yield from gauges.values()
    usages = [each.usage for each in brokers]
    if usages:
        yield GaugeMetricFamily(
            "trimtab_cluster_usage_spread_ratio",
            "Highest usage of a broker minus the lowest.",
            max(usages) - min(usages),
        )
