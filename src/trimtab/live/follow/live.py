"""What a person who follows a cluster reads: a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from trimtab.live.follow.batches import Batches, Stored
from trimtab.live.follow.broker_totals import Running
from trimtab.live.follow.pipeline import leader_followed
from trimtab.live.follow.state import read_state
from trimtab.pulsar.scores import mean_in_order

_EVERY_S = 60.0


@dataclass(slots=True)
class Since:
    """What has been stored since the last line was printed."""

    lines: int = 0
    rejected: int = 0
    batches: int = 0
    tables: dict[str, int] = field(default_factory=dict)

    def add(self, batch: Stored) -> None:
        """Take in a batch."""
        self.batches += 1
        for file in batch.files.values():
            self.lines += file["lines"]
            self.rejected += file["rejected"]
        for table, rows in batch.tables.items():
            self.tables[table] = self.tables.get(table, 0) + rows


class Live:
    """Prints a line a minute, as far as there is something new."""

    def __init__(self, batches: Batches, say: Callable[[str], object]) -> None:
        """Take whose batches they are, and what prints a line."""
        self.batches = batches
        self.say = say
        self.threshold = leader_followed(batches).threshold
        self.since = Since()
        self.before = read_state(batches)
        self.said_s = time.monotonic()

    def stored(self, batch: Stored) -> None:
        """Take in a batch; print a line if the last one is a minute old."""
        self.since.add(batch)
        if time.monotonic() - self.said_s >= _EVERY_S:
            self.finish()

    def finish(self) -> None:
        """Print what is new, if anything is."""
        self.said_s = time.monotonic()
        if not self.since.batches:
            return
        now = read_state(self.batches)
        bar = over_the_bar(now, self.threshold)
        clock = datetime.now(tz=UTC).strftime("%H:%M:%SZ")
        self.say(f"{clock} {news(self.since, self.before, now)}{bar and '; '}{bar}")
        self.since, self.before = Since(), now


def news(since: Since, before: Mapping[str, Running], now: Mapping[str, Running]) -> str:
    """Return in a line what is new, without the time."""
    parts = [_many(since.lines, "line")]
    if since.rejected:
        parts.append(f"{since.rejected:,} rejected")
    for table, word in (("log_events", "event"), ("load_reports", "load report")):
        if rows := since.tables.get(table, 0):
            parts.append(_many(rows, word))
    unloads = _sum(now, "unloads") - _sum(before, "unloads")
    if unloads:
        parts.append(_many(unloads, "unload"))
    rounds = _most(now, "rounds") - _most(before, "rounds")
    if rounds:
        parts.append(_many(rounds, "printed round"))
    return ", ".join(parts)


def over_the_bar(now: Mapping[str, Running], threshold: float) -> str:
    """Return which brokers are above the mean by more than a fraction; nothing if none is known."""
    smoothed = {
        broker: it.smoothed for broker, it in sorted(now.items()) if it.smoothed is not None
    }
    if not smoothed:
        return ""
    average = mean_in_order(np.array(list(smoothed.values())))
    bar = average + threshold
    above = {broker: value for broker, value in smoothed.items() if value > bar}
    sentence = f"smoothed usage {100 * average:.1f} % on average, "
    sentence += f"{len(above)} of {_many(len(smoothed), 'broker')} above {100 * bar:.1f} %"
    worst = sorted(above.items(), key=lambda it: -it[1])[:3]
    brokers = ", ".join(f"{broker} {100 * value:.1f} %" for broker, value in worst)
    return f"{sentence}: {brokers}" if above else sentence


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def _sum(states: Mapping[str, Running], name: str) -> int:
    return sum(getattr(it, name) for it in states.values())


def _most(states: Mapping[str, Running], name: str) -> int:
    return max((getattr(it, name) for it in states.values()), default=0)
