"""A selector and a time → the lines that Loki has, the oldest first, as logcli prints them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from trimtab.live.gather.access import GatherError
from trimtab.live.gather.stores.store import LogQuery, RefusalError, Store, wrong_selector

_PATH = "/loki/api/v1/query_range"
#: Lines of an answer; what Loki gives at most unless it is configured otherwise.
PAGE = 5_000
#: `max entries limit per query exceeded, limit > max_entries_limit_per_query (5000 > 1000)`
_FEWER_LINES = re.compile(r"max entries limit.*\(\d+ > (\d+)\)")
#: What a shorter time may help against.
_SHORTER_TIME = re.compile(
    r"time range exceeds|too many bytes|reduce the time range|deadline exceeded|timed? ?out"
)
#: A time is not cut any shorter, ns.
_SHORTEST_NS = 1_000_000_000


class _Entry(NamedTuple):
    """A line that Loki has."""

    time_ns: int
    #: As JSON.
    labels: str
    line: str

    @property
    def record(self) -> bytes:
        fields = f'"line":{json.dumps(self.line)},"timestamp":"{self.time_ns}"'
        return f'{{"labels":{self.labels},{fields}}}'.encode()


def loki(store: Store, query: LogQuery) -> Iterator[list[bytes]]:
    """Yield the lines page by page, each as an object of JSON with its labels and its time.

    A page begins at the last moment of the one before: Loki gives as many lines as it is
    asked for, and a moment may have more of them than fitted.

    Raises:
        GatherError: Loki does not answer, refuses, or has more lines of one moment than it
            gives in an answer.
    """
    limit, span_ns, begin_ns = PAGE, query.end_ns - query.begin_ns, query.begin_ns
    before: Counter[_Entry] = Counter()
    while begin_ns < query.end_ns:
        stop_ns = min(query.end_ns, begin_ns + span_ns)
        try:
            entries = _asked(store, query.selector, begin_ns, stop_ns, limit)
        except RefusalError as refusal:
            limit, span_ns = _smaller(refusal, query.selector, limit, stop_ns - begin_ns)
            continue
        is_full = len(entries) >= limit
        last_ns = entries[-1].time_ns if is_full else stop_ns
        if is_full and last_ns == begin_ns:
            raise store.fault(
                f"has {limit} or more lines of one moment, {begin_ns} ns, and gives no more of "
                "them in an answer; expected a --selector that takes fewer, such as one broker's"
            )
        new = _without(before, entries)
        if new:
            yield [entry.record for entry in new]
        # Whatever of the last moment is known comes again.
        known = [*(before.elements() if last_ns == begin_ns else ()), *new]
        before = Counter(entry for entry in known if entry.time_ns == last_ns)
        begin_ns = last_ns


def _without(before: Counter[_Entry], entries: list[_Entry]) -> list[_Entry]:
    """Return entries without those that an answer before has given, as often as it has."""
    left = before.copy()
    new = []
    for entry in entries:
        if left[entry] > 0:
            left[entry] -= 1
        else:
            new.append(entry)
    return new


def _asked(store: Store, selector: str, begin_ns: int, end_ns: int, limit: int) -> list[_Entry]:
    """Return the first lines of a time, the oldest first."""
    query = {
        "query": selector,
        "start": begin_ns,
        "end": end_ns,
        "limit": limit,
        "direction": "forward",
    }
    answer = store.json(store.get(_PATH, query))
    data = answer.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    if kind != "streams":
        if kind is not None:
            raise GatherError(
                f"--selector: found {selector!r}, which Loki answers with a {kind}; "
                'expected one of lines, such as {app="pulsar"}'
            )
        raise store.fault("found an answer without lines, expected one of query_range")
    try:
        entries = [
            _Entry(int(time_ns), labels, line)
            for stream in data["result"]
            for labels in [json.dumps(stream["stream"], separators=(",", ":"))]
            for time_ns, line, *_ in stream["values"]
        ]
    except (KeyError, TypeError, ValueError):
        raise store.fault("found lines in another form than query_range's") from None
    return sorted(entries, key=lambda entry: entry.time_ns)


def _smaller(refusal: RefusalError, selector: str, limit: int, span_ns: int) -> tuple[int, int]:
    """Return how many lines and how long a time to ask for instead.

    Raises:
        GatherError: it is something else that Loki refuses, or nothing smaller can be asked.
    """
    if (match := _FEWER_LINES.search(refusal.text)) and 1 < int(match[1]) < limit:
        return int(match[1]), span_ns
    if _SHORTER_TIME.search(refusal.text) and span_ns > _SHORTEST_NS:
        return limit, span_ns // 2
    raise wrong_selector(refusal, selector)
