"""Recorded nights as a watch would have heard them, line by line, in order of time."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from trimtab.diagnose.deployment import deployment
from trimtab.ingest.averages import store_bundles
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.confs import runtime_config
from trimtab.ingest.entries import Entry
from trimtab.ingest.load_reports import load_report, store_broker
from trimtab.ingest.outcome import Origin, Rows
from trimtab.ingest.store import store_leader, store_ownership
from trimtab.live.watch.events import write_time
from trimtab.live.watch.nouns import Row, Settings

STORE = {
    "brokers": store_broker,
    "leader": store_leader,
    "bundles": store_bundles,
    "ownership": store_ownership,
}


@dataclass(frozen=True)
class RecordedNight:
    """A recorded night."""

    name: str
    settings: Settings
    began: datetime
    ended: datetime
    #: When each was heard, and what.
    rows: Sequence[tuple[datetime, Sequence[Row]]]
    #: The same of what brokers answered of their load.
    answers: Sequence[tuple[datetime, Sequence[Row]]] = ()


def heard_night(folder: Path) -> RecordedNight:
    """Read a recording that has what a watched store has."""
    meta = tomllib.loads((folder / "recording.toml").read_text())
    brokers = {key: table["id"] for key, table in meta["brokers"].items()}
    heard = [*_store(folder), *_logs(folder)]
    settings = _settings(folder, meta, brokers)
    began, ended = (datetime.fromisoformat(meta[key]).astimezone(UTC) for key in ("from", "to"))
    return RecordedNight(
        folder.name,
        settings,
        began,
        ended,
        sorted(heard, key=lambda each: each[0]),
        sorted(_answers(folder), key=lambda each: each[0]),
    )


def _answers(folder: Path) -> Iterator[tuple[datetime, Sequence[Row]]]:
    path = folder / "load-reports.jsonl.gz"
    for text in _lines(path) if path.exists() else ():
        outcome = load_report(text, Origin(path.name, "", UTC, None))
        if isinstance(outcome, Rows):
            yield Entry(json.loads(text)).moment("time"), outcome.rows


def _settings(folder: Path, meta: dict[str, Any], brokers: dict[str, str]) -> Settings:
    rows: list[dict[str, Any]] = []
    for path in sorted((folder / "runtime-config").iterdir()):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        outcome = runtime_config(text.decode(), Origin(path.name, path.stem, UTC, None))
        assert isinstance(outcome, Rows)
        rows += [{**row, "file": path.name} for _, row in outcome.rows]
    ran = deployment({"pulsar": meta["pulsar"]}, rows, (), ((), ()))
    interval_s = ran.manager.shedding_interval_s
    return Settings(ran, ran.shedder, ran.placer, ran.conf, interval_s, brokers, sees_writes=True)


def _store(folder: Path) -> Iterator[tuple[datetime, Sequence[Row]]]:
    for name, parse in STORE.items():
        for text in _lines(folder / "store" / f"{name}.jsonl.gz"):
            outcome = parse(text, Origin(name, "", UTC, None))
            if isinstance(outcome, Rows):
                seen = Entry(json.loads(text)).moment("time")
                yield from _at_once(seen, outcome.rows)


def _at_once(seen: datetime, rows: Sequence[Row]) -> Iterator[tuple[datetime, Sequence[Row]]]:
    """Say when a watch would have heard of what a recorder may have polled later."""
    averages = [row for row in rows if row[0] == "bundle_averages"]
    if averages:
        yield from ((write_time(row), [(table, row)]) for table, row in averages)
    else:
        yield write_time(rows[0][1]) if rows[0][1].get("written") else seen, rows


def _logs(folder: Path) -> Iterator[tuple[datetime, Sequence[Row]]]:
    for path in sorted(folder.glob("logs/*/*.log.gz")):
        file, log = path.relative_to(folder).as_posix(), path.parent.name
        for number, text in enumerate(_lines(path), start=1):
            outcome = broker_log(text, Origin(file, log, UTC, None))
            if isinstance(outcome, Rows):
                for table, row in outcome.rows:
                    # On the disk a little after its time.
                    heard = row["time"] + timedelta(milliseconds=100)
                    yield heard, [(table, {**row, "file": file, "line": number})]


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()
