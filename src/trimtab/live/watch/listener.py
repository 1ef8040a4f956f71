"""What is recorded, as it is recorded: lines of a recording → rows of tables."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from trimtab.ingest.averages import store_bundles
from trimtab.ingest.entries import Entry
from trimtab.ingest.load_reports import load_report, store_broker
from trimtab.ingest.outcome import Origin, Outcome, Rows
from trimtab.ingest.store import store_leader, store_ownership
from trimtab.live.gather.cluster import TROUBLE
from trimtab.live.watch.nouns import Row

_STORE: Mapping[str, Callable[[str, Origin], Outcome]] = {
    "store/brokers.jsonl": store_broker,
    "store/leader.jsonl": store_leader,
    "store/bundles.jsonl": store_bundles,
    "store/ownership.jsonl": store_ownership,
}
#: What brokers answer of their load when they are asked.
_ANSWERS = "load-reports.jsonl"
_POLLED: Mapping[str, Callable[[str, Origin], Outcome]] = {
    _ANSWERS: load_report,
    "store/leader.jsonl": store_leader,
    "store/ownership.jsonl": store_ownership,
}
#: What does not answer is kept up to so many, the last.
_TROUBLES_MAX = 100


class Listening:
    """Hears a recording while it is written, from whichever thread writes it."""

    def __init__(self, recording: Path, *, sees_writes: bool, keeps_answers: bool = False) -> None:
        """Prepare; where writes to the store are seen, what brokers answer is `answers` alone.

        Args:
            recording: its folder.
            sees_writes: writes to the store are recorded.
            keeps_answers: somebody asks for `answers`, too.
        """
        self._recording = recording
        self._keeps_answers = keeps_answers
        self._sources = _STORE if sees_writes else _POLLED
        self._answered: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        #: File → lines that `rows` has given.
        self._given: dict[str, int] = {}
        self._active: frozenset[str] = frozenset()
        #: Lines that could not be read, and why the last of them.
        self.n_rejected = 0
        self.rejected_because = ""
        #: Who was asked and for what → since when and why there is no answer.
        self._troubles: dict[tuple[str, str], str] = {}

    def take(self, name: str, text: str) -> None:
        """Take a line of a file; called by whoever writes it."""
        if name in self._sources or name == TROUBLE:
            self._lines.put((name, text))
        elif self._keeps_answers and name == _ANSWERS:
            self._answered.put(text)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Return what has no answer, a sentence each."""
        return tuple(self._troubles.values())

    def rows(self) -> list[Row]:
        """Return what came since the last call."""
        rows: list[Row] = []
        while not self._lines.empty():
            name, text = self._lines.get()
            self._given[name] = self._given.get(name, 0) + 1
            rows += self._read(name, text)
        return rows

    def answers(self) -> list[Row]:
        """Return what brokers have answered since the last call, where `rows` leaves it out."""
        rows: list[Row] = []
        while not self._answered.empty():
            outcome = load_report(self._answered.get(), Origin(_ANSWERS, "", UTC, None))
            rows += outcome.rows if isinstance(outcome, Rows) else ()
        return rows

    def again(self) -> list[Row]:
        """Return once more all that `rows` has returned."""
        rows: list[Row] = []
        self._active = frozenset()
        for name, count in self._given.items():
            with (self._recording / name).open(encoding="utf-8") as file:
                for _, text in zip(range(count), file, strict=False):
                    rows += self._read(name, text)
        return rows

    def _read(self, name: str, text: str) -> Iterator[Row]:
        if name == TROUBLE:
            trouble = json.loads(text)
            self._note(trouble)
            yield from self._departures(trouble)
            return
        outcome = self._sources[name](text, Origin(name, "", UTC, None))
        if isinstance(outcome, Rows):
            yield from outcome.rows
        else:
            self.n_rejected += 1
            self.rejected_because = f"{name}: {getattr(outcome, 'reason', 'nothing in it')}"

    def _note(self, trouble: Mapping[str, Any]) -> None:
        """Take that something has no answer, or has one again, or is not asked any more."""
        if trouble.get("event") == "store connection":
            # Whatever failed of the store is looked at again after each connection.
            failing = {"error": trouble["said"]} if trouble["said"] != "CONNECTED" else {}
            trouble = {"broker": "ZooKeeper", "asked": "its connection", **trouble, **failing}
        who = trouble.get("broker") or "the cluster"
        key = who, trouble.get("asked") or trouble.get("path") or trouble.get("event", "")
        if "error" in trouble:
            self._troubles.pop(key, None)
            since = str(trouble["time"])[11:19]
            words = f"{who} {key[1]}: {trouble['error']}, since {since}Z"
            self._troubles[key] = words
            for oldest in list(self._troubles)[:-_TROUBLES_MAX]:
                del self._troubles[oldest]
        elif trouble.get("event") in {"answers again", "store connection"}:
            self._troubles.pop(key, None)
        elif trouble.get("event") == "active":
            active = {*trouble["brokers"], "the cluster"}
            self._troubles = {at: it for at, it in self._troubles.items() if at[0] in active}

    def _departures(self, trouble: Mapping[str, Any]) -> Iterator[Row]:
        """Return who is not active any more, where no store tells it."""
        if trouble.get("event") != "active" or _ANSWERS not in self._sources:
            return
        active = frozenset(trouble["brokers"])
        gone, self._active = self._active - active, active
        for broker in sorted(gone):
            row: dict[str, Any] = {"time": Entry(trouble).moment("time"), "broker": broker}
            yield "load_reports", {**row, "origin": "rest", "is_gone": True, "version": None}
