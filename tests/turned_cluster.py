"""A small cluster in which nothing is random, as a watch hears of it, and a strategy's turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tools.heard_nights import heard_night
from trimtab.lab.steering import named
from trimtab.live.watch.nouns import Foretold, Row, Settings, Steered
from trimtab.live.watch.steering.kept import Kept
from trimtab.live.watch.steering.turns import Turns, turns

BEGAN = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
#: s between two looks of the watch, and of a window of a broker.
LOOK_S, WINDOW_S = 10, 60
# Points of CPU at rest and for 1,000 messages/s in and out, bytes a message, kbit/s of a card.
REST, POINTS, SIZE, CARD = 3.0, 1.0, 1024.0, 1e7
_RECORDED = heard_night(Path(__file__).parent.parent / "recordings" / "uniform").settings
#: As a real cluster of 4.0.8 has them, but for windows of a minute.
SETTINGS = replace(
    _RECORDED,
    ran=replace(
        _RECORDED.ran,
        manager=replace(_RECORDED.ran.manager, stats_interval_s=WINDOW_S),
        conf={**_RECORDED.ran.conf, "loadBalancerHostUsageCheckIntervalMinutes": "1"},
    ),
)


def bundle(name: str) -> str:
    """Give the name of a bundle as Pulsar would."""
    return f"t/{name}/0x00000000_0xffffffff"


class Turned:
    """Brokers with bundles of so many thousands of messages/s, and a watch beside them."""

    def __init__(
        self, strategy: str, owned: Mapping[str, Mapping[str, float]], *, answers_only: bool = True
    ) -> None:
        self.strategy = strategy
        self.rate = {name: rate for of in owned.values() for name, rate in of.items()}
        self.owner: dict[str, str | None] = {
            name: broker for broker, of in owned.items() for name in of
        }
        self.started = dict.fromkeys(owned, BEGAN - timedelta(hours=5))
        self.there = set(owned)
        self.others = dict.fromkeys(owned, 0.0)
        self.now = BEGAN
        self.settings: Settings = SETTINGS
        self.turns: Turns = turns(strategy, named(strategy), self.settings, BEGAN, None)
        self.measured: dict[str, list[Row]] = {}
        self.rows: list[Row] = [self._owned(name, is_full=True) for name in self.rate]

    def usage(self, broker: str) -> float:
        """Give what a broker uses, percent."""
        carried = sum(rate for name, rate in self.rate.items() if self.owner[name] == broker)
        return min(REST + self.others[broker] + POINTS * carried, 100.0)

    def move(self, name: str, to: str | None) -> None:
        """Let a bundle change hands."""
        self.owner[name] = to
        self.rows.append(self._owned(name))

    def leave(self, broker: str) -> list[str]:
        """Let a broker go; return the bundles that nobody owns then."""
        self.there.discard(broker)
        self.measured.pop(broker, None)
        gone = {"broker": broker, "time": self.now, "written": None, "is_gone": True}
        self.rows.append(("load_reports", gone))
        orphans = [name for name, owner in self.owner.items() if owner == broker]
        for name in orphans:
            self.move(name, None)
        return orphans

    def join(self, broker: str) -> None:
        """Let a broker come, or come back."""
        self.there.add(broker)
        self.started[broker] = self.now
        self.others.setdefault(broker, 0.0)

    def restart_program(self, kept: Kept | None) -> None:
        """Begin the watch anew, with what it has kept."""
        named_ = named(self.strategy)
        self.turns = turns(self.strategy, named_, self.settings, self.now, kept)
        self.rows = [self._owned(name, is_full=True) for name in self.rate]

    def look(self, *, is_busy: bool = False) -> list[Steered | Foretold]:
        """Let ten seconds pass, and the watch look."""
        self.now += timedelta(seconds=LOOK_S)
        if (self.now - BEGAN).total_seconds() % WINDOW_S == 0 or not self.measured:
            self.measured = {broker: self._measure(broker) for broker in sorted(self.there)}
        for broker in sorted(self.there - self.measured.keys()):
            self.measured[broker] = self._measure(broker)
        rows, self.rows = self.rows, []
        for broker in sorted(self.there):
            rows += [(table, {**row, "time": self.now}) for table, row in self.measured[broker]]
        self.turns.take(rows)
        return self.turns.turn(self.now, is_busy=is_busy)

    def _owned(self, name: str, *, is_full: bool = False) -> Row:
        row = {"bundle": bundle(name), "broker": self.owner[name], "time": self.now}
        return "ownership", {**row, "is_full": is_full}

    def _measure(self, broker: str) -> list[Row]:
        mine = [name for name, owner in self.owner.items() if owner == broker]
        # A thousandth more each minute: two windows are never quite the same.
        grown = 1.0 + 1e-5 * (self.now - BEGAN).total_seconds() / WINDOW_S
        rates = {name: 1000.0 * self.rate[name] * grown for name in mine}
        card = sum(rates.values()) * SIZE * 8 / 1000
        report: dict[str, Any] = {
            "broker": broker,
            "written": None,
            "is_gone": False,
            "started": self.started[broker],
            "cpu_usage": 16.0 * self.usage(broker),
            "cpu_limit": 1600.0,
            "bandwidth_in_usage": card,
            "bandwidth_in_limit": CARD,
            "bandwidth_out_usage": card,
            "bandwidth_out_limit": CARD,
        }
        lines = [self._line(name, rate) for name, rate in rates.items()]
        return [("load_reports", report), *lines]

    def _line(self, name: str, rate: float) -> Row:
        traffic = {"rate_in": rate, "rate_out": rate}
        traffic |= {"throughput_in": rate * SIZE, "throughput_out": rate * SIZE}
        counts = {"topics": 1, "producers": 1, "consumers": 1}
        return "bundle_reports", {"bundle": bundle(name), **traffic, **counts}
