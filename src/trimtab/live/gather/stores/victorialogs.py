"""A selector and a time → the lines that VictoriaLogs has, the oldest first, counted beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.ingest.wrapped.times import nanoseconds
from trimtab.live.gather.stores.store import LogQuery, RefusalError, Store, iso_text, wrong_selector

#: Lines that are asked for at a time, unless a single step has more.
PAGE = 50_000
#: Of these steps the store says how many lines each has.
_STEP_NS = 60_000_000_000
#: Steps that are asked for at a time.
_STEPS_MAX = 1_000


def victorialogs(store: Store, query: LogQuery) -> Iterator[list[bytes]]:
    """Yield the lines stretch by stretch, each an object of JSON as the store gives it.

    The store gives all that there is of a time, in no order.  It is asked beforehand how many
    lines each minute has, so that an answer that was cut short does not pass for a whole one.

    Raises:
        GatherError: the store does not answer or refuses, or gives fewer than it has counted.
    """
    for begin_ns, end_ns, n_counted in _stretches(_counts(store, query)):
        times = {
            "start": iso_text(max(begin_ns, query.begin_ns)),
            "end": iso_text(min(end_ns, query.end_ns)),
        }
        content = _answer(store, query, "query", times)
        lines = [line for line in content.split(b"\n") if line]
        if len(lines) < n_counted:
            raise store.fault(
                f"found {len(lines)} lines from {times['start']} to {times['end']}, "
                f"expected the {n_counted} that it has counted"
            )
        yield sorted(lines, key=lambda line: _time(store, line))


def _counts(store: Store, query: LogQuery) -> Iterator[tuple[int, int]]:
    """Yield the steps that have lines, by their begin, with how many."""
    begin_ns = query.begin_ns - query.begin_ns % _STEP_NS
    while begin_ns < query.end_ns:
        stop_ns = begin_ns + _STEP_NS * _STEPS_MAX
        times = {
            "start": iso_text(max(begin_ns, query.begin_ns)),
            "end": iso_text(min(stop_ns, query.end_ns)),
            "step": f"{_STEP_NS // 1_000_000_000}s",
        }
        answer = store.json(_answer(store, query, "hits", times))
        counts: dict[int, int] = {}
        try:
            for each in answer["hits"]:
                for text, count in zip(each["timestamps"], each["values"], strict=True):
                    time_ns = nanoseconds(text) or 0
                    counts[time_ns] = counts.get(time_ns, 0) + int(count)
        except (KeyError, TypeError, ValueError):
            raise store.fault("found no counts, expected the answer of hits") from None
        yield from sorted((time_ns, count) for time_ns, count in counts.items() if count)
        begin_ns = stop_ns


def _stretches(counts: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield stretches of steps with about a page of lines: begin, end and lines."""
    begin_ns, end_ns, n_lines = 0, 0, 0
    for time_ns, count in counts:
        if n_lines and n_lines + count > PAGE:
            yield begin_ns, end_ns, n_lines
            n_lines = 0
        begin_ns = begin_ns if n_lines else time_ns
        end_ns, n_lines = time_ns + _STEP_NS, n_lines + count
    if n_lines:
        yield begin_ns, end_ns, n_lines


def _answer(store: Store, query: LogQuery, what: str, times: dict[str, str]) -> bytes:
    try:
        return store.get(f"/select/logsql/{what}", {"query": query.selector} | times)
    except RefusalError as refusal:
        raise wrong_selector(refusal, query.selector) from None


def _time(store: Store, line: bytes) -> int:
    record = store.json(line)
    time: Any = record.get("_time")
    time_ns = nanoseconds(time)
    if time_ns is None:
        raise store.fault("found a line without _time, expected a --selector that keeps it")
    return time_ns
