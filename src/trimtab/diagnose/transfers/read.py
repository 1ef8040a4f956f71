"""Tables → the night's rounds of TransferShedder beside their recomputations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from trimtab.diagnose.cluster_tables import ClusterTables, among, log_events
from trimtab.diagnose.course import Basis
from trimtab.diagnose.night import Night
from trimtab.diagnose.transfers.again import Again, decided_again
from trimtab.diagnose.transfers.heard import heard, together
from trimtab.diagnose.transfers.published import (
    LINES,
    SMOOTHED,
    LoadData,
    publications,
    samples,
)
from trimtab.diagnose.transfers.reasons import COUNTER, disagreeing, reasons
from trimtab.diagnose.transfers.states import AROUND, By, Sources
from trimtab.diagnose.usage import METRICS
from trimtab.diagnose.wording import iso_time
from trimtab.files.tables import DIAGNOSED, TRACED
from trimtab.pulsar.channel import SHEDDER
from trimtab.pulsar.settings import broker_load_settings
from trimtab.pulsar.shed import extensible_shedder

TABLE = "unload_reasons"
#: Gauge of what the leader made of the brokers' usage.
_STATISTICS = "pulsar_lb_resource_usage_stats"


@dataclass(frozen=True, slots=True)
class Transfers:
    """What came of deciding TransferShedder's rounds again."""

    #: Its rounds say what came of it.
    night: Night
    again: tuple[Again, ...] = ()
    #: Rows of `unload_reasons`.
    reasons: tuple[dict[str, Any], ...] = ()

    def with_reasons(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a document with what leaders count, and warnings where it is otherwise."""
        if not self.reasons:
            return document
        plain = [
            row | {"from": iso_time(row["from"]), "to": iso_time(row["to"])} for row in self.reasons
        ]
        warnings = [*document["warnings"], *disagreeing(self.reasons)]
        return document | {"warnings": warnings, "reasons": plain}

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables to write; the rows of `replayed_rounds` come behind what is there."""
        rows = [_row(each) for each in self.again if each.decided is not None]
        table = pa.Table.from_pylist(rows, DIAGNOSED["replayed_rounds"])
        return {
            "replayed_rounds": table,
            TABLE: pa.Table.from_pylist(list(self.reasons), TRACED[TABLE]),
        }


def transfers(tables: ClusterTables, basis: Basis, night: Night) -> Transfers:
    """Return the rounds of TransferShedder decided again, as far as there are any."""
    ran, channel = basis.ran, night.channel
    shedder = extensible_shedder(SHEDDER, ran.release)
    rounds = [each for each in night.rounds if each.strategy == SHEDDER]
    if not rounds or shedder is None:
        return Transfers(night)
    by = By(
        shedder,
        shedder.settings(ran.conf, ran.release),
        broker_load_settings(ran.conf, ran.release),
        ran.manager.grace_period_s,
    )
    metrics = tables.rows("metrics", among("name", [*METRICS, SMOOTHED, _STATISTICS, COUNTER]))
    lines = log_events(tables, among("kind", LINES | AROUND))
    printed = publications(
        [line for line in lines if line.kind in LINES], samples(metrics), by.loads, basis.names
    )
    ahead = {basis.names.get(log, log): by_s for log, by_s in tables.ahead.items()}
    topics = tables.rows("published_loads"), tables.rows("published_bundles")
    messages, known = heard(*topics, ahead)
    sources = Sources(
        published=together(printed, messages),
        lines=[line for line in lines if line.kind in AROUND],
        transitions=channel.transitions if channel else (),
        gauges=_gauges(metrics),
        names=basis.names,
        heard=known,
        printing=frozenset(each.broker for each in printed if isinstance(each, LoadData)),
    )
    if not any(isinstance(each, LoadData) for each in sources.published):
        return Transfers(night)
    again = tuple(decided_again(rounds, sources, by))
    counters = [row for row in metrics if row["name"] == COUNTER]
    by_number = {each.round.number: each.round for each in again}
    mine = tuple(by_number.get(each.number, each) for each in night.rounds)
    return Transfers(replace(night, rounds=mine), again, tuple(reasons(again, counters)))


def _gauges(
    metrics: Sequence[dict[str, Any]],
) -> dict[str, list[tuple[datetime, dict[str, float]]]]:
    """Return by log folder mean and deviation by the leader's gauges, in order of time."""
    by_time: dict[tuple[str, datetime], dict[str, float]] = {}
    for row in metrics:
        if row["name"] == _STATISTICS:
            stat = dict(row["labels"] or ()).get("stat", "")
            by_time.setdefault((row["log_broker"], row["time"]), {})[stat] = row["value"]
    gauges: dict[str, list[tuple[datetime, dict[str, float]]]] = {}
    for (log, time), values in sorted(by_time.items(), key=lambda each: each[0][1]):
        gauges.setdefault(log, []).append((time, values))
    return gauges


def _row(each: Again) -> dict[str, Any]:
    """Return a round as a row of `replayed_rounds`."""
    assert each.decided is not None
    logged, load, decision = each.round, each.decided.load, each.decided.decision
    by_source = {transfer.source: transfer for transfer in decision.transfers}
    traffic = load.bundle_throughput_in + load.bundle_throughput_out
    carried = {
        (load.brokers[at], name): float(traffic[i])
        for i, (name, at) in enumerate(zip(load.bundles, load.bundle_broker, strict=True))
    }
    return {
        "term": logged.term,
        "time": logged.time,
        "round": logged.number,
        "leader": logged.log_broker,
        "doubt": None if logged.recomputed.equal is not None else logged.recomputed.why,
        "bundle_doubt": None,
        "average": decision.average,
        "is_smoothed": False,
        "brokers": [
            {
                "broker": name,
                "usage": float(load.usage[i]),
                "score": float(load.usage[i]),
                "throughput": float(load.throughput_in[i] + load.throughput_out[i]),
                "rate": None,
                "offload": by_source[i].offload if i in by_source else None,
                "bundles": int((load.bundle_broker == i).sum()),
                "reason": str(by_source[i].cause) if i in by_source else None,
            }
            for i, name in enumerate(load.brokers)
            if load.has_load_data[i]
        ],
        "unloads": [
            {
                "source": unload.source,
                "bundle": unload.bundle,
                "target": unload.target,
                "throughput": carried.get((unload.source, unload.bundle)),
                "rate": None,
            }
            for transfer in decision.transfers
            for unload in transfer.unloads
        ],
        "too_large": [],
        "hits_high": None,
        "hits_low": None,
    }
