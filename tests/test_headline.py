"""The sentence that stands first claims no more than the recording can tell."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from trimtab.diagnose.advice import headline
from trimtab.diagnose.gravity import by_gravity
from trimtab.diagnose.night import Draw, Event, Finding, Move, Night, Recomputed, Round
from trimtab.diagnose.usages import usages_of
from trimtab.diagnose.verdicts import Verdict

TIME = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
NOTHING = ("The balancer moved nothing.", "")
UNKNOWN = (
    "No move is known.",
    "Only a leader's log tells of moves, and none of these is known to be one.",
)
IDLE = Round(1, 1, TIME, TIME, "b1", "ThresholdShedder", (), (), {})
NAMES = {"b1": "b1:8080", "b2": "b2:8080"}
LED = ((TIME, "b1:8080"), (TIME, None))


def night(rounds: tuple[Round, ...] = (), **known: Any) -> Night:
    return Night(rounds, usages_of(()), 0.1, 0.1, 1800.0, 60.0, **known)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        pytest.param(night(), NOTHING, id="nobody asked which logs there are"),
        pytest.param(
            night(names=NAMES, leaders=LED, logs=frozenset({"b1"})), NOTHING, id="the leader's log"
        ),
        pytest.param(night((IDLE,), logs=frozenset({"b1"})), NOTHING, id="a round that was idle"),
        pytest.param(night(elected={1: TIME}, logs=frozenset({"b1"})), NOTHING, id="an election"),
        pytest.param(night(logs=frozenset({"b1"})), UNKNOWN, id="some broker's log"),
        pytest.param(
            night(logs=frozenset()),
            ("No move is known.", "No log of the leader is in the recording."),
            id="no log",
        ),
        pytest.param(
            night(names=NAMES, leaders=LED, logs=frozenset({"b2"})),
            ("No move is known.", "No log of b1:8080 is in the recording."),
            id="another one's log",
        ),
        pytest.param(
            night(names=NAMES, leaders=LED, logs=frozenset(), unread=frozenset({"b1"})),
            ("No move is known.", "No line of the log of b1:8080 could be read."),
            id="the leader's log cannot be read",
        ),
        pytest.param(
            night(logs=frozenset(), unread=frozenset({"b1"})),
            ("No move is known.", "No line of a log could be read."),
            id="a log cannot be read, and nobody says who led",
        ),
    ],
)
def test_nothing_was_moved_only_where_the_leader_would_have_told(
    told: Night, said: tuple[str, str]
) -> None:
    assert headline(told, {}) == said


def drawn(bundle: str) -> Move:
    """A move whose destination was drawn of three brokers, since none passed the bar."""
    moved = (bundle, TIME, 1, bundle, "b1", "b2", "ThresholdShedder", ())
    return Move(*moved, draw=Draw(3, is_fallback=True), recomputed=Recomputed(True, ""))


_USELESS = "Useless: drawn by lot onto a broker hotter than the average."


@pytest.mark.parametrize(
    ("useless", "said"),
    [
        (0, ("3 bundles were moved in 1 round, all lucky.", "")),
        (1, ("3 bundles were moved in 1 round: 1 useless, 2 lucky.", _USELESS)),
        (2, ("3 bundles were moved in 1 round: 2 useless, 1 lucky.", _USELESS)),
        (3, ("3 bundles were moved in 1 round, all useless.", _USELESS)),
    ],
)
def test_moves_are_counted_by_what_they_were_worth(useless: int, said: tuple[str, str]) -> None:
    moves = tuple(drawn(f"t/n/{i}") for i in range(3))
    told = night((Round(1, 1, TIME, TIME, "b1", "ThresholdShedder", (), moves, {}),))
    given = {
        move.id: Verdict("random-placement" if i < useless else "sound", i < useless, None, ())
        for i, move in enumerate(moves)
    }

    assert headline(told, given) == said


def found(code: str, severity: str, *brokers: str, **values: Any) -> Finding:
    return Finding(code, severity, TIME, 1, brokers=brokers, values=values)


@pytest.mark.parametrize(
    ("findings", "codes"),
    [
        pytest.param(
            [
                found("over-placement", "high", "b1"),
                found("shedding-aborted", "high", log="b1"),
            ],
            ["shedding-aborted", "over-placement"],
            id="a fault before what was moved badly",
        ),
        pytest.param(
            [found("over-placement", "high", "b1"), found("emptied-broker", "medium", "b1")],
            ["emptied-broker", "over-placement"],
            id="a cause before what it explains",
        ),
        pytest.param(
            [found("over-placement", "high", "b1"), found("emptied-broker", "low", "b1")],
            ["over-placement", "emptied-broker"],
            id="what is low explains nothing high",
        ),
        pytest.param(
            [found("over-placement", "high", "b1"), found("emptied-broker", "medium", "b2")],
            ["over-placement", "emptied-broker"],
            id="another broker explains nothing",
        ),
    ],
)
def test_causes_stand_by_gravity_and_before_what_they_explain(
    findings: list[Finding], codes: list[str]
) -> None:
    assert [cause.code for cause in by_gravity(findings, {})] == codes


def test_chosen_bundles_are_not_called_nothing() -> None:
    line = Event(TIME, "b1", "logs/b1.log", 1, "uniform-shed-rate", "")
    logged = Round(1, 1, TIME, TIME, "b1", "UniformLoadShedder", (line,), (), {})
    said = ("Bundles were chosen in 1 round, and no line says that one moved.", "")
    assert headline(night((logged,), logs=frozenset({"b1"})), {}) == said


def test_an_election_alone_is_no_idle_balancer() -> None:
    told = night(elected={1: TIME}, logs=frozenset({"b1"}), end=TIME)
    assert headline(told, {})[0] == "No round of the balancer is known."
