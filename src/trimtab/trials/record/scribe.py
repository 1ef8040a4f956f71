"""Writes down what a simulation tells, as brokers and recorders would have left it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.simulation import Simulation
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.model import Floats, Reason
from trimtab.trials.record import documents
from trimtab.trials.record.files import Files, Logs, Noise, iso
from trimtab.trials.record.leader import RecordedLeader
from trimtab.trials.record.lines import SHEDDING, Shed, log_lines, shedder_lines
from trimtab.trials.record.listener import Listener, Selection, Unloading, Write
from trimtab.trials.record.metrics import Exports, Scraped, Scrapes, broker_metrics

#: When a night begins, where nothing else is said.
START = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
# Lines are held back for so long, and then written in order.
_WINDOW_MS = 300_000
# Before the simulation begins, s: processes start, and the first reports are written.
STARTED_S = -75.0
_REGISTERED_S = -61.0
_READY_S = -55.0


def as_measured(broker: int, time_s: float, report: Report) -> Report:
    """Return a broker's report as it was measured."""
    del broker, time_s
    return report


@dataclass(frozen=True, slots=True)
class Options:
    """What a recording is to hold, beside what must be in it."""

    #: The cluster's name.
    cluster: str = "lab"
    #: When the night begins: a simulation has no date of its own.
    begin: datetime = START
    #: Lines an hour that each broker logs of other things than its balancer's.
    noise_per_hour: float = 600.0
    #: s from one scrape of a broker's metrics to the next, and from one load report asked
    #: for over REST; 0 for none.
    metrics_s: float = 60.0
    rest_s: float = 60.0
    #: Metrics come as Prometheus exports them, not as files of one scrape.
    are_exported: bool = False
    #: Everything but recording.toml and settings is packed.
    is_packed: bool = False
    #: What becomes of each broker's reports before they are written: a host may measure
    #: itself wrongly.  The leader goes by what is written.
    reported: Callable[[int, float, Report], Report] = as_measured
    #: Who hears everything besides, as it happens.
    witnesses: tuple[Listener, ...] = ()


@dataclass(slots=True)
class _Reported:
    """What a broker wrote last."""

    time_ms: int
    version: int
    report: Report


@dataclass(slots=True)
class Scribe:
    """The listener that writes a recording."""

    simulation: Simulation
    options: Options
    files: Files
    start_ms: int
    #: Number of a round → broker → why it shed, for the truth.
    reasons: dict[int, dict[str, str]] = field(default_factory=dict)
    #: (round, bundle, broker that was named) of the unloads, for the truth.
    targets: list[tuple[int, int, int | None]] = field(default_factory=list)
    folders: tuple[str, ...] = field(init=False)
    _brokers: tuple[str, ...] = field(init=False)
    _bundles: tuple[str, ...] = field(init=False)
    logs: Logs = field(init=False)
    _noise: Noise = field(init=False)
    _metrics: Scrapes | Exports = field(init=False)
    _last: dict[int, _Reported] = field(default_factory=dict)
    _started_ms: dict[int, int] = field(default_factory=dict)
    #: Bundle → the broker that sheds it, of the round that goes on.
    _sources: dict[str, str] = field(default_factory=dict)
    _leader: int = -1
    _flushed_ms: int = 0
    _due_ms: dict[str, int] = field(default_factory=dict)
    _is_up: np.ndarray[tuple[int], np.dtype[np.bool_]] = field(init=False)

    def __post_init__(self) -> None:
        """Have everything started, and all bundles owned."""
        world, options = self.simulation.world, self.options
        self._brokers = names = world.machines.names
        self._bundles = world.bundles.names
        hosts = tuple(name.rpartition(":")[0] for name in names)
        self.folders = hosts if len(set(hosts)) == len(hosts) else names
        self.logs = Logs(self.files, self.folders)
        self._noise = Noise(generator(world.seed, "log lines"), options.noise_per_hour)
        self._metrics = (
            Exports(self.files, names, options.cluster)
            if options.are_exported
            else Scrapes(self.files, names, self.folders, options.cluster)
        )
        self._flushed_ms = self.ms(STARTED_S)
        intervals = {"metrics": options.metrics_s, "rest": options.rest_s}
        self._due_ms = {k: self.start_ms for k, every_s in intervals.items() if every_s > 0}
        self._is_up = self.simulation.cluster.is_up.copy()
        for broker in np.flatnonzero(self._is_up).tolist():
            self._start(broker, self.ms(STARTED_S))
        owner = self.simulation.cluster.owner.tolist()
        owners = {b: names[o] for b, o in zip(world.bundles.names, owner, strict=True) if o >= 0}
        row = {"time": iso(self.ms(_READY_S)), "full": True, "change": owners}
        self.files.hold("store/ownership.jsonl", documents.lines(row))

    def ms(self, time_s: float) -> int:
        """Return s of the simulation as epoch milliseconds."""
        return self.start_ms + round(time_s * 1000.0)

    # -------------------------------------------------------------- what is heard

    def wrote(self, write: Write) -> None:
        """Write a report down, and the line that says so."""
        broker, name, time_ms = write.broker, write.report.broker, write.time_ms
        last = self._last.get(broker)
        version = 0 if last is None else last.version + 1
        if last is not None:
            self.logs.say(broker, time_ms, self._why_written(last, write))
        self._last[broker] = _Reported(time_ms, version, write.report)
        text = self._report_text(broker, write.report, time_ms)
        head = f'{{"time":"{iso(time_ms)}","broker":"{name}","version":{version}'
        line = f'{head},"mtime":{time_ms},"report":{text}}}\n'
        self.files.hold("store/brokers.jsonl", line)

    def left(self, time_ms: int, broker: int) -> None:
        """Write down that a broker's node is gone."""
        self._last.pop(broker, None)
        row = {"time": iso(time_ms), "broker": self._brokers[broker], "report": None}
        self.files.hold("store/brokers.jsonl", documents.lines(row))

    def elected(self, time_ms: int, broker: int) -> None:
        """Write down who leads."""
        self._leader, name = broker, self._brokers[broker]
        self.logs.say(broker, time_ms, log_lines("elected", broker=name))
        leader = {"brokerId": name, "serviceUrl": f"http://{name}"}
        row = {"time": iso(time_ms), "version": 0, "mtime": time_ms, "leader": leader}
        self.files.hold("store/leader.jsonl", documents.lines(row))

    def flushed(self, time_ms: int, view: LeaderView) -> None:
        """Write down what the leader stores."""
        most = self.simulation.settings.bundles_stored_max
        most = None if most is None else most * len(view.reports)
        self.files.hold("store/bundles.jsonl", documents.averages(time_ms, view, most))

    def decided(self, time_ms: int, shed: Shed) -> None:
        """Write down what a shedder says while it decides."""
        self.logs.say(self._leader, time_ms, shedder_lines(shed))
        decision = shed.decision
        self._sources = {unload.bundle: unload.source for unload in decision.unloads}
        shows = Reason.OVERLOADED, Reason.UNDERLOADED
        number = len(self.simulation.records.rounds)
        if decision.unloads:
            pairs = zip(shed.load.brokers, decision.reasons, strict=True)
            self.reasons[number] = {b: str(reason) for b, reason in pairs if reason in shows}

    def selected(self, selection: Selection) -> None:
        """Write down among whom a broker was selected."""

        def log(event: str, **values: object) -> None:
            lines = log_lines(event, bundle=bundle, **values)
            self.logs.say(self._leader, selection.time_ms, lines)

        balancer, bundle = self.simulation.balancer, self._bundles[selection.bundle]
        thread = "pulsar-2-3" if selection.is_lookup else SHEDDING
        for i, (count, is_fallback) in enumerate(selection.draws):
            if i == 0:
                log("candidates", count=count, thread=thread)
            if is_fallback and balancer.placer == "LeastResourceUsageWithWeight":
                log("drawn_among_all", count=count, thread=thread)
        if selection.is_lookup:
            return
        source = self._sources.get(bundle, "")
        if selection.broker is None:
            log("no_broker", shedder=balancer.shedder, source=source)
        elif self._brokers[selection.broker] == source:
            log("same_broker", shedder=balancer.shedder, source=source)

    def unloading(self, unloading: Unloading) -> None:
        """Write down that a bundle is unloaded, where it is decided and where it is done."""
        source, time_ms, bundle = unloading.source, unloading.time_ms, unloading.bundle
        name = self._bundles[bundle]
        target = None if unloading.target is None else self._brokers[unloading.target]
        lines = log_lines(
            "unloading",
            shedder=self.simulation.balancer.shedder,
            bundle=name,
            source=self._sources.get(name, self._brokers[source]),
            towards="" if target is None else f" to dest broker {target}",
        )
        self.logs.say(self._leader, time_ms, lines)
        self.targets.append((len(self.simulation.records.rounds), bundle, unloading.target))
        if source >= 0:
            self.logs.say(source, time_ms, log_lines("unload_by_rest", bundle=name))
            took_ms = round(unloading.took_s * 1000.0, 1)
            lines = log_lines(
                "given_up",
                bundle=name,
                topics=int(self.simulation.world.bundles.topics[bundle]),
                took_ms=str(took_ms),
                range=name.rpartition("/")[2],
            )
            self.logs.say(source, time_ms + round(took_ms), lines)

    def owned(self, time_ms: int, bundle: int, source: int, target: int) -> None:
        """Record that a bundle changes its owner."""
        del source
        name = self._bundles[bundle]
        owner = self._brokers[target] if target >= 0 else None
        row = {"time": iso(time_ms), "full": False, "change": {name: owner}}
        self.files.hold("store/ownership.jsonl", documents.lines(row))
        if target >= 0:
            self.logs.say(target, time_ms, log_lines("taken", bundle=name))

    # -------------------------------------------------------------- what time brings

    def passed(self, time_s: float) -> None:
        """Write what is due at a time: logs, metrics, reports over REST."""
        now_ms = self.ms(time_s)
        self._look_who_is_up(now_ms)
        every = {"metrics": self.options.metrics_s, "rest": self.options.rest_s}
        for what, ask in (("metrics", self._scrape), ("rest", self._ask)):
            if now_ms >= self._due_ms.get(what, now_ms + 1):
                ask(now_ms)
                self._due_ms[what] += round(every[what] * 1000.0)
        if now_ms - self._flushed_ms >= _WINDOW_MS:
            # What the leader does may be stamped a little later, never sooner.
            self._flush(now_ms - 60_000)

    def close(self, time_s: float) -> None:
        """Write what is left."""
        end_ms = self.ms(time_s)
        self._look_who_is_up(end_ms)
        self._flush(end_ms)
        self._metrics.close()
        self.files.flush()

    def _flush(self, until_ms: int) -> None:
        up = np.flatnonzero(self._is_up)
        self.logs.flush(until_ms, self._noise.between(self._flushed_ms, until_ms, up))
        self._flushed_ms = until_ms

    def _look_who_is_up(self, now_ms: int) -> None:
        is_up = self.simulation.cluster.is_up
        changed = np.flatnonzero(is_up != self._is_up)
        if changed.size == 0:
            return
        # Those that were up until now have logged until now.
        self._flush(max(self._flushed_ms + 1, now_ms - 60_000))
        for broker in changed.tolist():
            if is_up[broker]:
                self._start(broker, self._started_ms.get(broker, now_ms))
            elif not self.simulation.cluster.is_registered[broker]:
                self.logs.say(broker, now_ms, log_lines("closed"))
        self._is_up = is_up.copy()

    def _start(self, broker: int, time_ms: int) -> None:
        """Have a broker's process start."""
        self._started_ms[broker] = time_ms
        name = self._brokers[broker]
        lines = log_lines(
            "started",
            release=self.simulation.balancer.release,
            broker=name,
            host=name.rpartition(":")[0],
            cluster=self.options.cluster,
        )
        self.logs.say(broker, time_ms, lines)

    def _scrape(self, now_ms: int) -> None:
        reports = self.simulation.reports
        up = np.flatnonzero(self.simulation.cluster.reports)
        values = broker_metrics(self._percent(reports.usage[up]), reports.totals[up])
        self._metrics.take(Scraped(now_ms, up, values))

    def _ask(self, now_ms: int) -> None:
        """Write down every broker's report, as REST gives it."""
        leader = self.simulation.leader
        assert isinstance(leader, RecordedLeader)
        reports = self.simulation.reports
        answers = []
        for broker in np.flatnonzero(self.simulation.cluster.reports).tolist():
            usage, totals = reports.usage[broker], reports.totals[broker]
            report = self.options.reported(
                broker, (now_ms - self.start_ms) / 1000.0, leader.report(broker, usage, totals)
            )
            text = self._report_text(broker, report, self._last[broker].time_ms)
            answers.append(
                f'{{"time":"{iso(now_ms)}","broker":"{report.broker}","report":{text}}}\n'
            )
        self.files.hold("load-reports.jsonl", "".join(answers))

    def _percent(self, usage: Floats) -> Floats:
        measuring = self.simulation.parameters.measuring
        memory = np.full(len(usage), measuring.memory_percent)
        direct = np.full(len(usage), measuring.direct_memory_percent)
        return np.stack((usage[:, 0], memory, direct, usage[:, 1], usage[:, 2]), axis=1)

    def _report_text(self, broker: int, report: Report, updated_ms: int) -> str:
        started_ms = self._started_ms.setdefault(broker, updated_ms - 1)
        return documents.load_report(
            report, self.simulation.balancer.release, started_ms, updated_ms
        )

    def _why_written(self, last: _Reported, write: Write) -> list[str]:
        settings = self.simulation.settings
        before, now = last.report, write.report
        changes = [100.0 * float(np.abs(_shares(now) - _shares(before)).max())]
        for was, is_ in (
            (before.totals[:2].sum(), now.totals[:2].sum()),
            (before.totals[2:].sum(), now.totals[2:].sum()),
            (len(before.bundles), len(now.bundles)),
        ):
            if was == 0:
                changes.append(0.0 if is_ == 0 else float("inf"))
            else:
                changes.append(100.0 * abs(float(was - is_) / float(was)))
        threshold = round(settings.report_threshold * 100)
        if max(changes) > threshold:
            since_s = (write.time_ms - last.time_ms) / 1000.0
            values = {"change": max(changes), "threshold": threshold, "since": since_s}
            return log_lines("report_of_change", **values)
        return log_lines("report_of_age", threshold=round(settings.report_interval_s_max / 60.0))


def _shares(report: Report) -> Floats:
    """Return the used fraction of each resource; nothing of one without a limit."""
    limit = np.where(report.limit > 0, report.limit, np.inf)
    return np.asarray(report.usage / limit)
