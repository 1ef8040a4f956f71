"""The diagnosis from end to end: reads the tables, asks each part, lays the answer out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that every Spark program uses

from trimtab.diagnose.arithmetic import checked_against_print
from trimtab.diagnose.clock_skew import Clocks
from trimtab.diagnose.clocks import (
    backward_warnings,
    clock_warnings,
    clocks_document,
    skew_warnings,
)
from trimtab.diagnose.compare import compared
from trimtab.diagnose.deployment import (
    Deployment,
    deployment,
    logged_releases,
    logged_settings,
)
from trimtab.diagnose.document import findings_document, iso_time, picture
from trimtab.diagnose.findings import found
from trimtab.diagnose.frames import (
    Held,
    acquired,
    clocks_of,
    decided,
    heaviest,
    log_events,
    reports_of,
)
from trimtab.diagnose.lookups import owners
from trimtab.diagnose.night import Event, Night, Recomputed, Round, Undecidable, Usage
from trimtab.diagnose.recompute import Tenure, recompute
from trimtab.diagnose.reported import broker_reports
from trimtab.diagnose.rounds import SHEDDER_LOGGERS, UNLOADING, rounds
from trimtab.diagnose.store_source import Span, best_told, best_told_table, covered
from trimtab.diagnose.terms import Term, terms, ticks, with_elections
from trimtab.diagnose.undecidable import undecidable
from trimtab.diagnose.usage import METRICS, usages_from_metrics, usages_from_reports
from trimtab.diagnose.verdicts import verdicts
from trimtab.diagnose.watched import WATCHED
from trimtab.model import RESOURCES
from trimtab.partitions import write_rows
from trimtab.releases import release_line
from trimtab.shed import shedder
from trimtab.tables import DIAGNOSED

#: Lines that matter besides those of the rounds.
_PLACER_LOGGERS = ("LeastResourceUsageWithWeight", "LeastLongTermMessageRate")
_LEADERSHIP = ("elected-leader", "only-one-broker", "broker-starting")
#: What is asked of every report; the rest of a large night would not fit beside it.
_REPORTED = (
    *("time", "broker", "origin", "version", "written", "is_gone", "file", "line"),
    "updated",
    "started",
    "load_manager",
    "rate_in",
    "rate_out",
    "throughput_in",
    "throughput_out",
    *(f"{resource}_{which}" for resource in RESOURCES for which in ("usage", "limit")),
)
#: Shedders that print what `compared` asks for.
_COMPARED = ("ThresholdShedder", "UniformLoadShedder", "AvgShedder")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a recording says."""

    #: findings.json, but for the accounting, which ingest has.
    findings: dict[str, Any]
    #: Series for the report's picture.
    picture: dict[str, Any]


def diagnose(spark: SparkSession, tables: Path, cluster: str) -> Diagnosis:
    """Explain a night from its tables.

    Args:
        spark: session.
        tables: folder that ingest wrote; the tables of DIAGNOSED are added to it.
        cluster: whose rows to read: those of one recording.
    """
    held = Held(spark, tables, cluster)
    meta = {row["key"]: row["value"] for row in held.rows("recording")}
    names = _ids(meta)
    wanted = F.col("logger").isin(*SHEDDER_LOGGERS) | F.col("kind").isin(*UNLOADING, *_LEADERSHIP)
    spans = covered(held.rows("store_files"))
    reports = best_told_table(_reports(held), spans)
    clocks = clocks_of(held, names, reports)
    held = replace(held, ahead=_ahead(clocks, names))
    logged = log_events(held, wanted)
    leaders = best_told(held.rows("leaders"), spans)
    events = with_elections(logged, leaders, names)
    ran = _deployment(held, meta, events)
    interval_s = ran.manager.shedding_interval_s
    usages = _usages(held, ran, reports, names)
    times = [event.time for event in events] + [usage.time for usage in usages]
    end = max(times, default=datetime.fromtimestamp(0, UTC))
    tenures = terms(rounds(events, interval_s), events, end)
    open_question = _not_covered(ran, reports)
    asked = _tenures(tenures, ran, names, held.ahead) if open_question is None else []
    night = Night(
        rounds=_numbered(each for tenure in tenures for each in tenure.rounds),
        usages=usages,
        threshold=ran.threshold_shedder.threshold,
        margin=ran.least_resource_usage_with_weight.difference_threshold,
        grace_period_s=ran.manager.grace_period_s,
        interval_s=interval_s,
        elected={t.number: t.elected for t in tenures if t.elected is not None},
        history_share=ran.threshold_shedder.history_share,
        leaders=tuple((row["written"] or row["time"], row["broker"]) for row in leaders),
        names=names,
        release=ran.release,
        shedder=ran.shedder,
        placer=ran.placer,
        conf=ran.conf,
        has_settings=bool(ran.conf),
        end=end,
    )
    # A replay is one task that nothing else waits for: what else is asked of Spark runs beside.
    with ThreadPoolExecutor(1) as beside:
        play = inheritable_thread_target(spark)(recompute)
        playing = beside.submit(play, spark, (tables, cluster), asked, spans)
        night = _with_reports(held, night, reports, spans)
        (log_spans, logs), actions = _log_spans(held), held.rows("actions")
        replayed = playing.result()
    write_rows(tables, cluster, f"{meta['name']}-00000", replayed)
    again = _Replayed(replayed)
    night = replace(
        night,
        rounds=_numbered(_known(each, again, ran, open_question) for each in night.rounds),
        decided=decided(replayed["replayed_rounds"]),
        logs=logs,
    )
    causes = found(night)
    document = findings_document(
        night, causes, verdicts(night, causes), undecidable(night, open_question), ran
    )
    document |= _of_clocks(document["warnings"], (log_spans, usages), clocks, logged)
    when = {"from": meta.get("from", _first(events, usages)), "to": meta.get("to", iso_time(end))}
    return Diagnosis(
        findings=_named(meta) | when | document,
        picture=picture(night, replayed["replayed_rounds"], actions),
    )


def _of_clocks(
    warnings: list[str],
    seen: tuple[Mapping[str, tuple[datetime, datetime]], Sequence[Usage]],
    clocks: Clocks,
    logged: Sequence[Event],
) -> dict[str, Any]:
    """Add to the warnings what is odd about the clocks, and lay the clocks out."""
    odd = [*clock_warnings(*seen), *skew_warnings(clocks), *backward_warnings(logged)]
    return {"warnings": [*warnings, *odd], "clocks": clocks_document(clocks)}


def _named(meta: Mapping[str, str]) -> dict[str, str]:
    return {"recording": meta.get("name", meta.get("cluster", "recording"))}


def _ids(meta: Mapping[str, str]) -> dict[str, str]:
    """Read which broker's log lies in which folder."""
    return {
        key.split(".")[1]: value
        for key, value in meta.items()
        if key.startswith("brokers.") and key.endswith(".id")
    }


def _ahead(clocks: Clocks, names: Mapping[str, str]) -> dict[str, timedelta]:
    """Say by log folder what is taken off the times of its lines."""
    ahead = clocks.ahead()
    return {log: ahead[broker] for log, broker in names.items() if broker in ahead}


def _with_reports(held: Held, night: Night, reports: pa.Table, spans: Sequence[Span]) -> Night:
    """Add the lines of no round, and what brokers and the store said."""
    moved = {move.bundle for each in night.rounds for move in each.moves}
    mine = F.col("bundle").isin(*sorted(moved))
    own = F.col("kind") == "ownership-acquired"
    stored = held.rows("ownership", mine) if moved else []
    lines = log_events(held, own & mine) if moved else []
    return replace(
        night,
        events=tuple(log_events(held, F.col("kind").isin(*sorted(WATCHED)))),
        reports=broker_reports(_of_origin(reports, "store")),
        bundles=reports_of(held, moved),
        owners=owners(best_told(stored, spans)),
        acquired=acquired(lines, night.names),
        heaviest=heaviest(held),
    )


def _log_spans(
    held: Held,
) -> tuple[dict[str, tuple[datetime, datetime]], frozenset[str]]:
    """Return the first and the last time in each log, and whose logs there are."""
    spans = held.frame("log_events").groupBy("file", "log_broker").agg(F.min("time"), F.max("time"))
    rows = list(zip(*spans.toArrow().to_pydict().values(), strict=True))
    return {file: (start, end) for file, _, start, end in rows}, frozenset(row[1] for row in rows)


def _numbered(known: Iterable[Round]) -> tuple[Round, ...]:
    return tuple(sorted(known, key=lambda each: each.number))


def _reports(held: Held) -> pa.Table:
    """Read what is asked of every report, as columns."""
    found = held.frame("load_reports").select(*_REPORTED, F.size("bundles").alias("bundle_count"))
    return found.toArrow().sort_by([("file", "ascending"), ("line", "ascending")])


def _of_origin(reports: pa.Table, origin: str) -> pa.Table:
    return reports.filter(pc.equal(reports["origin"], origin))


def _deployment(held: Held, meta: Mapping[str, str], events: Sequence[Event]) -> Deployment:
    releases = [
        row["release"]
        for row in held.frame("load_reports").select("release").distinct().collect()
        if row["release"]
    ]
    settings = held.rows("settings") or logged_settings(
        log_events(held, F.col("kind") == "broker-ready")
    )
    return deployment(
        meta,
        settings,
        sorted(releases, reverse=True) or logged_releases(events),
        (
            [event.strategy for event in events if event.kind == "unload" and event.strategy],
            [event.logger for event in events if event.logger in _PLACER_LOGGERS],
        ),
    )


def _usages(
    held: Held,
    ran: Deployment,
    reports: pa.Table,
    names: Mapping[str, str],
) -> tuple[Usage, ...]:
    """Take the store's reports, else those asked for over REST, else the metrics."""
    weights = ran.threshold_shedder.weights
    for origin in ("store", "rest"):
        usages = usages_from_reports(_of_origin(reports, origin), weights)
        if any(usage.usage is not None for usage in usages):
            return usages
    # Of two samples of one time the later counts: those of an export, which name no log.
    samples = sorted(
        held.rows("metrics", F.col("name").isin(*METRICS)),
        key=lambda row: row["log_broker"] is None,
    )
    return usages_from_metrics(samples, names, weights)


def _not_covered(ran: Deployment, reports: pa.Table) -> Undecidable | None:
    """Say why no round can be recomputed; None if they can."""
    what, line = "recomputation of the rounds", release_line(ran.release)
    if ran.shedder not in _COMPARED or shedder(ran.shedder, ran.release) is None:
        why = f"{ran.shedder} of release line {line} is not among the strategies recomputed"
        return Undecidable(what, why, f"one of: {', '.join(_COMPARED)}")
    if not pc.any(pc.is_valid(_of_origin(reports, "store")["cpu_usage"])).as_py():
        why = "what the leader was told is not in the recording"
        return Undecidable(what, why, "store/zookeeper/ or store/brokers.jsonl")
    return None


def _tenures(
    found: Sequence[Term],
    ran: Deployment,
    names: Mapping[str, str],
    ahead: Mapping[str, timedelta],
) -> list[Tenure]:
    return [
        Tenure(
            term=term.number,
            leader=term.log_broker,
            leader_id=names.get(term.log_broker),
            release=ran.release,
            shedder=ran.shedder,
            placer=ran.placer,
            conf=dict(ran.conf),
            manager=ran.manager,
            weights=ran.threshold_shedder.weights,
            ticks=ticks(term, ran.manager.shedding_interval_s),
            unloads=[(move.time, move.bundle) for each in term.rounds for move in each.moves],
            start=term.elected,
            end=term.end,
            ahead=ahead.get(term.log_broker, timedelta(0)),
            doubt=(
                None
                if term.elected
                else f"the log of {term.log_broker} begins after its election, so its smoothed "
                "usage before the first round is not known"
            ),
        )
        for term in found
    ]


class _Replayed:
    """What was decided again, looked up a row at a time: whole tables would not fit."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        """Note where each row is."""
        self._rounds, self._placements = (tables[name] for name in DIAGNOSED)
        self._round_at = {n: i for i, n in enumerate(self._rounds["round"].to_pylist()) if n}
        lines = zip(
            self._placements["file"].to_pylist(), self._placements["line"].to_pylist(), strict=True
        )
        self._placement_at = {line: i for i, line in enumerate(lines)}

    def round(self, number: int) -> dict[str, Any] | None:
        """Return the row of a round."""
        at = self._round_at.get(number)
        return None if at is None else self._rounds.slice(at, 1).to_pylist()[0]

    def placements(self, events: Sequence[Event]) -> dict[tuple[str, int], dict[str, Any]]:
        """Return the rows of the selections that some lines tell of."""
        lines = [(event.file, event.line) for event in events]
        at = {line: self._placement_at[line] for line in lines if line in self._placement_at}
        return {line: self._placements.slice(i, 1).to_pylist()[0] for line, i in at.items()}


def _known(
    logged: Round,
    replayed: _Replayed,
    ran: Deployment,
    covered: Undecidable | None,
) -> Round:
    """Add what is known of a round: from the replay, or from its own printed numbers."""
    margin = ran.least_resource_usage_with_weight.difference_threshold
    moves = tuple(
        replace(move, draw=replace(move.draw, margin=margin))
        if move.draw is not None and move.draw.margin is None
        else move
        for move in logged.moves
    )
    logged = replace(logged, moves=moves)
    row = replayed.round(logged.number)
    if row is None:
        checked = checked_against_print(logged)
        if checked.recomputed.why or covered is None:
            return checked
        return replace(checked, recomputed=Recomputed(None, covered.why))
    drawn = [e for move in logged.moves if move.draw is not None for e in move.draw.evidence]
    return compared(logged, row, replayed.placements(drawn), ran.threshold_shedder.threshold)


def _first(events: Sequence[Event], usages: Sequence[Usage]) -> str | None:
    times = [e.time for e in events] + [u.time for u in usages]
    return iso_time(min(times)) if times else None
