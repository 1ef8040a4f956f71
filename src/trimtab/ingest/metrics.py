"""Scrapes of the brokers' Prometheus metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from trimtab.ingest.outcome import OTHER, Origin, Outcome, Rejected, Rows

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The value as Go prints it: 12, 1.5e+09, NaN, +Inf.
NUMBER = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NaN|Inf)"
#: pulsar_lb_cpu_usage{cluster="a", broker="10.0.0.1", metric="loadBalancing"} 24.70339
_SAMPLE = re.compile(rf"([a-zA-Z_:][\w:]*)\s*(?:\{{(.*)\}})?\s+({NUMBER})(?:\s+(-?\d{{1,15}}))?\s*")
_LABEL = re.compile(r'\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")
#: What the balancer says of itself, of bundles, the traffic of a broker, and the CPU of its
#: process.  `brk_` is what a name starts with before the exporter replaces it by `pulsar_`.
_KEPT = re.compile(
    r"(?:pulsar|brk)_(?:lb_|bundle_|broker_load_manager_"
    r"|(?:broker_)?(?:rate|throughput)_(?:in|out)$)|process_cpu_seconds_total$"
)
#: 2026-11-21T06-41-25.663Z, as a file's name can hold a time; also with colons or without.
_NAME_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)T(\d\d)[-:]?(\d\d)[-:]?(\d\d)(?:[.,](\d{1,6}))?(Z|[+-]\d\d[-:]?\d\d)?"
)
#: Epoch seconds or milliseconds.
_NAME_EPOCH = re.compile(r"(?<!\d)(\d{10})(\d{3})?(?!\d)")


def prom_line(text: str, origin: Origin) -> Outcome:
    """Return the sample in one line of a scrape in Prometheus' text format.

    The time is that of the sample where one is printed, otherwise that of the file's name.

    Quirks:
        Metrics of single topics are not needed: their sums are there too.
    """
    if not text.strip() or text.startswith("#"):
        return OTHER
    match = _SAMPLE.fullmatch(text)
    if match is None:
        return Rejected(f'found {text[:80]!r}, expected a sample such as name{{label="a"}} 1.5')
    name, labelling, value, printed = match.groups()
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
    row = {"time": time, "name": name, "labels": labels, "value": float(value)}
    return Rows((("metrics", row | {"log_broker": origin.log_broker}),))


@lru_cache(maxsize=1024)
def scrape_time(file: str, zone: tzinfo) -> datetime | None:
    """Return the time in the name of a scrape's file; None if there is none."""
    name = file.rpartition("/")[2]
    if match := _NAME_TIME.search(name):
        day, hour, minute, second, fraction, offset = match.groups()
        offset = "" if offset is None else offset.replace("Z", "+00:00")
        # Behind the sign, `-` stands for the colon that file names cannot have.
        offset = offset[:1] + offset[1:].replace("-", ":")
        text = f"{day}T{hour}:{minute}:{second}.{(fraction or '0').ljust(6, '0')}{offset}"
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            return None
        return (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(UTC)
    if match := _NAME_EPOCH.search(name):
        return _EPOCH + timedelta(seconds=int(match[1]), milliseconds=int(match[2] or 0))
    return None


@lru_cache(maxsize=1 << 14)
def _labels(text: str) -> Mapping[str, str] | None:
    """Return the labels between the braces; None if there is something else.

    A broker prints the same ones in each of its scrapes.
    """
    labels = {}
    place = 0
    while text[place:].strip():
        match = _LABEL.match(text, place)
        if match is None:
            return None
        labels[match[1]] = _ESCAPE.sub(lambda it: "\n" if it[1] == "n" else it[1], match[2])
        place = match.end()
    return labels
