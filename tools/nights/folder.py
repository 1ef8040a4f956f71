"""Writes a night down as its brokers and a recorder would leave it."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from tools.nights.logbook import Line
from tools.nights.night import LOGS, METRICS, NO_REST, NO_STORE, REPORTS, ZOOKEEPER, Night
from tools.nights.report import document
from tools.nights.zookeeper import transaction_log

_PLAIN_THREADS = (
    "pulsar-io-3-1",
    "pulsar-web-38-6",
    "bookkeeper-ml-scheduler-OrderedScheduler-1-0",
)


def write_night(night: Night, folder: Path) -> Path:
    """Write the recording of a night that has been played; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "recording.toml", _toml(night))
    for broker in night.cluster.brokers.values():
        if night.form != LOGS or broker.id == night.leader_id:
            if night.seed % 2:
                conf = "".join(f"{key}={value}\n" for key, value in night.conf.items())
                _write(folder / "conf" / f"{broker.name}.conf", conf)
            else:
                told = json.dumps(night.conf, indent=0)
                _write(folder / "runtime-config" / f"{broker.name}.json", told)
    if night.form != REPORTS:
        _logs(night, folder)
    if night.form == ZOOKEEPER:
        path = folder / "store" / "zookeeper" / "log.1.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(transaction_log(night), mtime=0))
    elif night.form not in {LOGS, NO_STORE, METRICS}:
        _lines(folder / "store" / "brokers.jsonl.gz", _records(night))
        _lines(folder / "store" / "leader.jsonl.gz", _leaders(night))
        _lines(folder / "store" / "ownership.jsonl.gz", _owners(night))
    if night.form == METRICS:
        _scrapes(night, folder)
    elif night.form not in {LOGS, NO_REST, ZOOKEEPER}:
        _lines(folder / "load-reports.jsonl.gz", _answers(night))
    if night.cluster.actions:
        _lines(folder / "actions.jsonl", _actions(night))
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text, encoding="utf-8")


def stamp(time_ms: int) -> str:
    """Return a time as ISO 8601 has it."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _toml(night: Night) -> str:
    zone = f"{night.zone[:3]}:{night.zone[3:]}"
    head = [
        f'cluster = "{night.family}"',
        f'pulsar = "{night.release}"',
        f'time_zone = "{zone}"',
        f'from = "{stamp(night.from_ms)}"',
        f'to = "{stamp(night.to_ms)}"',
    ]
    for broker in night.cluster.brokers.values():
        head += ["", f"[brokers.{broker.name}]", f'id = "{broker.id}"']
    return "\n".join(head) + "\n"


# --- logs


def _logs(night: Night, folder: Path) -> None:
    by_broker: defaultdict[str, list[Line]] = defaultdict(list)
    for line in night.cluster.log.lines:
        if not night.keeps_elections and "lead" in line.text.lower():
            continue
        if night.from_ms <= line.time_ms <= night.to_ms and line.density <= night.density:
            by_broker[line.broker].append(line)
    leaders = {night.cluster.brokers[term.leader].name for term in night.terms}
    # Whatever was kept of a log, something stands in it.
    often = night.minutes * 12 if night.density == 2 else 3
    for broker in night.cluster.brokers.values():
        by_broker[broker.name] += _chatter(night, broker.name, often)
    for name, lines in by_broker.items():
        if night.form == LOGS and name not in leaders:
            continue
        lines.sort(key=lambda line: line.time_ms)
        text = "".join(_printed(night, line) for line in lines)
        _write(folder / "logs" / name / "pulsar-broker.log", text)


def _chatter(night: Night, name: str, often: int) -> list[Line]:
    """Return so many lines about clients and ledgers."""
    rng = np.random.default_rng([night.seed, crc32(name.encode())])
    lines = []
    for _ in range(often):
        time_ms = night.from_ms + int(rng.integers(night.minutes * 60_000))
        topic = f"persistent://shop/ns-0/t-{int(rng.integers(500))}"
        port = int(rng.integers(30000, 60000))
        logger, text = (
            (
                "org.apache.pulsar.broker.service.ServerCnx",
                f"[/10.1.2.{port % 250}:{port}] Created new producer: Producer{{topic={topic}}}",
            ),
            (
                "org.apache.bookkeeper.mledger.impl.ManagedLedgerImpl",
                f"[{topic[13:]}] Ledger {port} has been closed after {port % 977} entries",
            ),
            (
                "org.apache.pulsar.broker.service.ServerCnx",
                f"New connection from /10.1.2.{port % 250}:{port}",
            ),
        )[int(rng.integers(3))]
        thread = _PLAIN_THREADS[int(rng.integers(len(_PLAIN_THREADS)))]
        lines.append(Line(time_ms, name, "INFO", thread, logger, text, 2))
    return lines


def _printed(night: Night, line: Line) -> str:
    sign = -1 if night.zone[0] == "-" else 1
    ahead = sign * timedelta(hours=int(night.zone[1:3]), minutes=int(night.zone[3:]))
    local = datetime.fromtimestamp(line.time_ms / 1000, UTC) + ahead
    when = local.strftime("%Y-%m-%dT%H:%M:%S,") + f"{line.time_ms % 1000:03d}"
    zone = night.zone if night.prints_zone else ""
    return f"{when}{zone} [{line.thread}] {line.level:<5} {line.logger} - {line.text}\n"


# --- what a recorder keeps


def _records(night: Night) -> Iterable[dict[str, Any]]:
    """Yield the brokers' records as a recorder that looks every second sees them change."""
    last = {}
    for write in sorted(night.cluster.writes, key=lambda it: it.time_ms):
        if write.time_ms <= night.from_ms:
            last[write.broker] = write
    later = [w for w in night.cluster.writes if night.from_ms < w.time_ms <= night.to_ms]
    first = [(night.from_ms + 5, w) for w in last.values() if w.report is not None]
    rows = first + [(w.time_ms + 40 + (w.time_ms * 7919) % 900, w) for w in later]
    for time_ms, write in sorted(rows, key=lambda row: row[0]):
        report = write.report
        yield {
            "time": stamp(time_ms),
            "broker": write.broker,
            "version": write.version if report else None,
            "mtime": write.time_ms if report else None,
            "report": document(report, write.gains, write.losses) if report else None,
        }


def _leaders(night: Night) -> Iterable[dict[str, Any]]:
    before = [it for it in night.cluster.led if it[0] <= night.from_ms][-1:]
    during = [it for it in night.cluster.led if night.from_ms < it[0] <= night.to_ms]
    for time_ms, broker in before + during:
        row: dict[str, Any] = {"time": stamp(max(time_ms + 300, night.from_ms)), "version": 0}
        row["mtime"] = time_ms
        row["leader"] = broker and {"brokerId": broker, "serviceUrl": f"http://{broker}"}
        if broker is None:
            row |= {"version": None, "mtime": None}
        yield row


def _owners(night: Night) -> Iterable[dict[str, Any]]:
    full: dict[str, str] = {}
    for it in night.cluster.owners:
        if it.time_ms <= night.from_ms:
            if it.broker is None:
                full.pop(it.bundle, None)
            else:
                full[it.bundle] = it.broker
    yield {"time": stamp(night.from_ms + 30), "full": True, "change": full}
    changes: dict[int, dict[str, str | None]] = {}
    for it in night.cluster.owners:
        if night.from_ms < it.time_ms <= night.to_ms:
            look = (it.time_ms // 2000 + 1) * 2000
            changes.setdefault(look, {})[it.bundle] = it.broker
    for look, change in sorted(changes.items()):
        yield {"time": stamp(look), "full": False, "change": change}


def _answers(night: Night) -> Iterable[dict[str, Any]]:
    for time_ms, report in zip(night.cluster.answered_ms, night.cluster.answers, strict=True):
        if night.from_ms <= time_ms <= night.to_ms:
            yield {
                "time": stamp(time_ms),
                "broker": report.broker,
                "report": document(report, (), ()),
            }


#: What a broker exports of its resources, in the order of a report's.
_GAUGES = (
    "pulsar_lb_cpu_usage",
    "pulsar_lb_memory_usage",
    "pulsar_lb_directMemory_usage",
    "pulsar_lb_bandwidth_in_usage",
    "pulsar_lb_bandwidth_out_usage",
)


def _scrapes(night: Night, folder: Path) -> None:
    """Write what Prometheus scraped, a file a broker and look."""
    for time_ms, report in zip(night.cluster.answered_ms, night.cluster.answers, strict=True):
        if not night.from_ms <= time_ms <= night.to_ms:
            continue
        host = report.broker.rpartition(":")[0]
        labels = f'cluster="{night.family}", broker="{host}", metric="loadBalancing"'
        text = "".join(
            f"# TYPE {name} gauge\n{name}{{{labels}}} {percent}\n"
            for name, percent in zip(_GAUGES, report.percent().tolist(), strict=True)
        )
        name = night.cluster.brokers[report.broker].name
        _write(folder / "metrics" / name / f"{stamp(time_ms).replace(':', '-')}.prom", text)


def _actions(night: Night) -> Iterable[dict[str, Any]]:
    for time_ms, action in night.cluster.actions:
        if night.from_ms <= time_ms <= night.to_ms:
            yield {"time": stamp(time_ms), **action}
