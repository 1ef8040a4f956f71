"""What a watch shows at one of its steps → what the page shows, as one JSON document.

Pure; all text of others is made visible, and the page takes it as text alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from trimtab.files.visible import visible, visible_name
from trimtab.live.apply.text import entry_words, wait_words
from trimtab.live.control.account import account
from trimtab.live.control.expected import forecast
from trimtab.live.control.plan import Interval, Plan
from trimtab.live.watch.desk import PlanProgress
from trimtab.live.watch.document import missing, moves, words
from trimtab.live.watch.nouns import Steered
from trimtab.live.watch.page.course import Course
from trimtab.live.watch.page.moves import OwnerChanges
from trimtab.live.watch.tally import PULSAR, SHADOW, BrokerStanding, View, standings
from trimtab.live.watch.targets import moves_of

_MOVES_SHOWN = 100
_LINES_KEPT = 100
_THRESHOLD = "ThresholdShedder"
_UNKNOWN: Interval = (math.nan, math.nan)
#: What lies on the page is worked out anew after so long, s: forecasts change once a window.
_FORECAST_EVERY_S = 15.0


@dataclass(slots=True)
class Shown:
    """What the page goes by from step to step; never grows."""

    course: Course = field(default_factory=Course)
    changes: OwnerChanges = field(default_factory=OwnerChanges)
    #: The last lines, the newest last.
    lines: list[str] = field(default_factory=list)
    forecast: Mapping[str, Interval] = field(default_factory=dict)
    _forecast_s: float = -math.inf

    def hear(self, view: View, now: datetime) -> None:
        """Take what was said and what changed hands at a step."""
        self.changes.take(view.memory, view.actions, now)
        texts = (words(action, view.settings) for action in view.actions)
        self.lines += [visible(text) for text in texts if text]
        del self.lines[:-_LINES_KEPT]

    def look(self, view: View, now: datetime) -> dict[str, Any]:
        """Return the page of a step."""
        brokers = standings(view.memory)
        now_s = now.timestamp()
        self.course.take(now_s, {each.broker: 100.0 * each.usage for each in brokers})
        if view.costs is not None and now_s >= self._forecast_s + _FORECAST_EVERY_S:
            names = [each.broker for each in brokers]
            self.forecast = forecast(view.costs, names, view.settings.interval_s)
            self._forecast_s = now_s
        return {
            "now": now_s,
            "head": _head(view),
            "brokers": [self._row(each, now_s) for each in brokers],
            "band": _band(view, brokers),
            "course": [[round(it, 1) for it in point] for point in self.course.points],
            "ahead": _ahead(view),
            "moves": {"count": self.changes.count, "rows": self._moves()},
            "beside": _beside(view),
            "acting": _acting(view),
            "unread": _unread(view),
            "lines": self.lines[::-1],
        }

    def _row(self, each: BrokerStanding, now_s: float) -> list[Any]:
        ahead = self.forecast.get(each.broker, _UNKNOWN)
        numbers = (100.0 * each.usage, *self.course.recent(each.broker), *ahead)
        return [
            visible_name(each.broker),
            *[None if math.isnan(it) else round(it, 1) for it in numbers],
            *(round(each.rate), round(each.throughput / 1e6, 2), each.bundles),
            round(now_s - each.reported.timestamp()),
        ]

    def _moves(self) -> list[dict[str, Any]]:
        return [
            {
                "time": each.time.timestamp(),
                "bundle": visible_name(each.bundle),
                "source": visible_name(each.source),
                "target": visible_name(each.target),
                "by": visible(each.by),
                "verdict": each.verdict,
                "tone": each.tone,
            }
            for each in self.changes.newest[:_MOVES_SHOWN]
        ]


def plan_state(progress: PlanProgress | None, now_s: float) -> dict[str, Any] | None:
    """Return how the last plan stands; None before the first."""
    if progress is None:
        return None
    plan = progress.plan
    left_s = None
    if progress.is_waiting and progress.until_s is not None:
        left_s = max(0.0, progress.until_s - now_s)
    return {
        "digest": plan.digest,
        "round": progress.number,
        "made": plan.made_s,
        "waits": progress.is_waiting,
        "left_s": left_s,
        "answer": progress.answer.value if progress.answer else None,
        "ended": None if progress.ended is None else visible(progress.ended),
        "wait": visible(wait_words(progress.wait)) if progress.wait else None,
        "moves": _planned_moves(plan, progress),
        "entries": [visible(entry_words(plan, each)) for each in progress.entries],
    }


def _planned_moves(plan: Plan, progress: PlanProgress) -> list[dict[str, Any]]:
    done = account(plan, progress.entries)
    return [
        {
            "bundle": visible_name(move.bundle),
            "source": visible_name(move.source),
            "target": visible_name(move.destination),
            "reason": visible(move.reason),
            "traffic": round(move.traffic_bytes_s / 1e6, 2),
            "expected": [
                [move.before.source, move.after.source],
                [move.before.destination, move.after.destination],
            ],
            "state": outcome.state,
            "came": [_number(outcome.source_percent), _number(outcome.destination_percent)],
            "remark": visible(outcome.remark),
        }
        for move, outcome in zip(plan.moves, done.moves, strict=True)
    ]


def _head(view: View) -> dict[str, Any]:
    settings, term = view.settings, view.memory.term
    return {
        "release": settings.ran.release,
        "pulsar": settings.ran.shedder,
        "beside": settings.shedder,
        "placer": settings.placer,
        "leader": visible_name(term.leader) if term else None,
        "interval_s": settings.interval_s,
        "rounds": view.tally.rounds,
    }


def _ahead(view: View) -> str:
    """Return of what time the forecast is, or why there is none."""
    if view.costs is None:
        return "no forecast yet: what traffic costs is still being learned"
    return f"in {view.settings.interval_s:.0f} s if nothing is moved, 99 % sure"


def _band(view: View, brokers: Sequence[BrokerStanding]) -> dict[str, Any] | None:
    """Return the mean usage, and the bar above it where whoever decides has one of usage."""
    if not brokers:
        return None
    mean = 100.0 * math.fsum(each.usage for each in brokers) / len(brokers)
    has_bar = _THRESHOLD in {view.settings.ran.shedder, view.settings.shedder}
    bar = mean + 100.0 * view.settings.ran.threshold_shedder.threshold if has_bar else None
    return {"mean": round(mean, 1), "bar": None if bar is None else round(bar, 1)}


def _beside(view: View) -> dict[str, Any]:
    tally, decided = view.tally, view.tally.decided
    scores = []
    for measure in sorted({name for _, name in tally.scores}):
        pulsar, shadow = (tally.scores.get((who, measure)) for who in (PULSAR, SHADOW))
        ends = [_number(each) for each in tally.between.get(measure, ())]
        scores.append([measure, _number(pulsar), _number(shadow), ends])
    return {
        "round": decided.number if decided else None,
        "time": decided.time.timestamp() if decided else None,
        "guessed": decided.guessed if decided else "",
        "would": visible(moves(moves_of(decided.shadow))) if decided else None,
        "reasons": [*_reasons(decided.shadow if decided else None), *_turn(tally.steered)],
        "scores": scores,
        "unloads": [tally.unloads[PULSAR], tally.unloads[SHADOW]],
        "verdicts": tally.verdicts,
    }


def _reasons(row: Mapping[str, Any] | None) -> list[str]:
    doubts = [row["doubt"], row["bundle_doubt"]] if row else []
    return [visible(each) for each in doubts if each]


def _turn(turn: Steered | None) -> list[str]:
    """Return what a strategy of trimtab's own said in its last turn, and what it advises."""
    if turn is None:
        return []
    return [visible(f"turn {turn.number}: {turn.reason}"), *map(visible, turn.advice)]


def _acting(view: View) -> dict[str, Any] | None:
    acted = view.tally.acted
    if acted is None:
        return None
    return {
        "allowed": round(acted.allowed, 2),
        "signs": list(acted.signs),
        "why": visible(acted.why),
        "moved": view.tally.moved,
    }


def _unread(view: View) -> list[str]:
    """Return what could not be read, a sentence each."""
    memory, term = view.memory, view.memory.term
    texts = [*view.unanswered]
    if term is None:
        texts.append("nobody is known to lead yet, so nothing is decided")
    elif not term.log:
        texts.append("the leader's log is not read (--logs), so its rounds are not compared")
    elif term.misread:
        texts.append(
            f"{term.misread} lines of the leader's log are not understood, so rounds and moves may "
            "be missing here"
        )
    if not view.settings.sees_writes:
        texts.append("ZooKeeper is not watched (--metadata): reports between two looks are missed")
    texts += missing(view.tally.unexplained, memory.n_late, view.n_rejected, view.rejected_because)
    return [visible(each) for each in texts]


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 2)
