"""Prometheus metrics: scrapes of the brokers, and exports of query_range."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from trimtab.ingest.entries import Entry, MalformedError, Row, decode
from trimtab.ingest.outcome import OTHER, Origin, Outcome, Rejected, Rows

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The value as Go prints it: 12, 1.5e+09, NaN, +Inf.
_VALUE = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NaN|Inf)"
#: pulsar_lb_cpu_usage{cluster="a", broker="10.0.0.1", metric="loadBalancing"} 24.70339
_SAMPLE = re.compile(rf"([a-zA-Z_:][\w:]*)\s*(?:\{{(.*)\}})?\s+({_VALUE})(?:\s+(-?\d{{1,15}}))?\s*")
_LABEL = re.compile(r'\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")
#: What the balancer says of itself, of bundles, and the traffic of a broker.  `brk_` is
#: what a name starts with before the exporter replaces it by `pulsar_`.
_KEPT = re.compile(
    r"(?:pulsar|brk)_(?:lb_|bundle_|broker_load_manager_"
    r"|(?:broker_)?(?:rate|throughput)_(?:in|out)$)"
)
#: 2026-11-21T06-41-25.663Z, as a file's name can hold a time; also with colons or without.
_NAME_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)T(\d\d)[-:]?(\d\d)[-:]?(\d\d)(?:[.,](\d{1,6}))?(Z|[+-]\d\d[-:]?\d\d)?"
)
#: Epoch seconds or milliseconds.
_NAME_EPOCH = re.compile(r"(?<!\d)(\d{10})(\d{3})?(?!\d)")


def prom_line(text: str, origin: Origin) -> Outcome:
    """Read one line of a scrape in Prometheus' text format.

    The time is that of the sample where one is printed, otherwise that of the file's name.

    Quirks:
        Metrics of single topics are not needed: their sums are there too.
    """
    if not text.strip() or text.startswith("#"):
        return OTHER
    found = _SAMPLE.fullmatch(text)
    if found is None:
        return Rejected(f'found {text[:80]!r}, expected a sample such as name{{label="a"}} 1.5')
    name, labelling, value, printed = found.groups()
    if _KEPT.match(name) is None:
        return OTHER
    labels = _labels(labelling or "")
    if labels is None:
        return Rejected(f'found labels {labelling[:80]!r}, expected name="value", …')
    if "topic" in labels:
        return OTHER
    time = _EPOCH + timedelta(milliseconds=int(printed)) if printed else None
    time = time or scrape_time(origin.file, origin.zone)
    if time is None:
        return Rejected(
            "no time: the sample has none, and neither has the file's name; "
            "expected a name such as 2026-11-21T06-41-25.663Z.prom"
        )
    row = _sample(time, float(value), name=name, labels=labels, log_broker=origin.log_broker)
    return Rows((row,))


def query_range(text: str, origin: Origin) -> Outcome:
    """Read a whole answer of Prometheus' query_range, or of query.

    Every series is kept, whatever its name: somebody asked for exactly these.  A series
    without a name, as functions leave it, is named after the file.
    """
    try:
        found = decode(text)
        if not isinstance(found, dict):
            raise MalformedError("expected the object that query_range answers")
        rows = tuple(_series_rows(Entry(found), PurePosixPath(origin.file).name.split(".")[0]))
    except MalformedError as error:
        return Rejected(str(error))
    return Rows(rows) if rows else OTHER


@lru_cache(maxsize=1024)
def scrape_time(file: str, zone: tzinfo) -> datetime | None:
    """Return the time that a scrape's file name tells; None if it tells none."""
    name = PurePosixPath(file).name
    if found := _NAME_TIME.search(name):
        day, hour, minute, second, fraction, offset = found.groups()
        offset = "" if offset is None else offset.replace("Z", "+00:00")
        # Behind the sign, `-` stands for the colon that file names cannot have.
        offset = offset[:1] + offset[1:].replace("-", ":")
        text = f"{day}T{hour}:{minute}:{second}.{(fraction or '0').ljust(6, '0')}{offset}"
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            return None
        return (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(UTC)
    if found := _NAME_EPOCH.search(name):
        return _EPOCH + timedelta(seconds=int(found[1]), milliseconds=int(found[2] or 0))
    return None


def _series_rows(answer: Entry, file_name: str) -> Iterator[Row]:
    results = answer.entry("data")
    listed = results.values.get("result")
    if not isinstance(listed, list):
        raise results.wrong("result", listed, "a list of series")
    for i, found in enumerate(listed):
        if not isinstance(found, dict):
            raise results.wrong(f"result.{i}", found, "a series")
        series = Entry(found, f"data.result.{i}.")
        labels = {key: series.entry("metric").text(key) for key in series.entry("metric").values}
        name = labels.pop("__name__", file_name)
        samples = found.get("values", [found.get("value")])
        for sample in samples if isinstance(samples, list) else [samples]:
            yield _sample(*_exported(series, sample), name=name, labels=labels)


def _exported(series: Entry, sample: object) -> tuple[datetime, float]:
    """Read one sample of an export: `[1718091222.642, "24.7"]`, in epoch seconds."""
    match sample:
        case [int() | float() as seconds, str() as value] if re.fullmatch(_VALUE, value):
            try:
                return _EPOCH + timedelta(seconds=seconds), float(value)
            except (ValueError, OverflowError):
                pass
    raise series.wrong("values", sample, 'samples such as [1718091222.642, "24.7"]')


def _labels(text: str) -> dict[str, str] | None:
    """Read what stands between the braces; None if it is not labels."""
    labels = {}
    place = 0
    while text[place:].strip():
        found = _LABEL.match(text, place)
        if found is None:
            return None
        labels[found[1]] = _ESCAPE.sub(lambda it: "\n" if it[1] == "n" else it[1], found[2])
        place = found.end()
    return labels


def _sample(
    time: datetime,
    value: float,
    *,
    name: str,
    labels: dict[str, str],
    log_broker: str | None = None,
) -> Row:
    row: dict[str, Any] = {"time": time, "name": name, "labels": labels, "value": value}
    return "metrics", row | {"log_broker": log_broker}
