"""Recorded nights as a watch would have heard them, line by line, in order of time."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from pathlib import Path

from tools.heard_nights import RecordedNight, heard_night
from trimtab.live.watch.memory import Memory, learned
from trimtab.live.watch.nouns import Action, Arrivals, Relearn, Row, Settings
from trimtab.live.watch.step import step
from trimtab.live.watch.tally import Tally, View

__all__ = ["RecordedNight", "recorded_night", "seen", "watched"]

ROOT = Path(__file__).parent.parent


@cache
def recorded_night(name: str) -> RecordedNight:
    """Read a recording of the demo."""
    return heard_night(ROOT / "recordings" / name)


def watched(
    night: RecordedNight, step_s: float, settings: Settings | None = None, misread: int = 0
) -> list[Action]:
    """Run a watch over a night, in steps of so many seconds with misread lines in each log."""
    if settings is not None or night is not recorded_night(night.name):
        return _watched(night, step_s, settings or night.settings, misread)[0]
    return list(_at_its_own(night.name, step_s)[0])


@cache
def _at_its_own(name: str, step_s: float) -> tuple[list[Action], Memory]:
    """Run a watch by the night's own settings, once for all tests that ask for it."""
    return _watched(recorded_night(name), step_s, recorded_night(name).settings)


@cache
def seen(name: str) -> View:
    """Give the last step of a watch over a night."""
    night = recorded_night(name)
    said, memory = _at_its_own(name, 1.0)
    tally = Tally()
    tally.add(said)
    return View(night.settings, memory, said, tally)


def _watched(
    night: RecordedNight, step_s: float, settings: Settings, misread: int = 0
) -> tuple[list[Action], Memory]:
    unread = dict.fromkeys(settings.logs, misread)
    memory = Memory(began=night.began)
    said: list[Action] = []
    given: list[Row] = []
    now, i = night.began, 0
    while now < night.ended + timedelta(minutes=2):
        now += timedelta(seconds=step_s)
        new: list[Row] = []
        while i < len(night.rows) and night.rows[i][0] <= now:
            new += night.rows[i][1]
            i += 1
        given += [row for row in new if row[0] != "log_events"]
        actions, memory = step(Arrivals(now, new, misread=unread), memory, settings)
        for action in actions:
            if isinstance(action, Relearn):
                memory = learned(memory, settings, action, given)
        said += actions
    return said, memory
