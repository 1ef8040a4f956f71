"""One act at a time: what is decided, what is remembered, and what a plan and a journal are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

import datadriven
from trimtab.files.fields import FieldError
from trimtab.live.control.entries import (
    Answered,
    Asked,
    Astray,
    Begun,
    Done,
    Effect,
    Entry,
    LookedUp,
    Skipped,
    Stopped,
    Verified,
    entry_line,
    read_entry,
)
from trimtab.live.control.limits import Limits
from trimtab.live.control.memory import Memory, after, remembered
from trimtab.live.control.plan import Expected, Plan, PlannedMove, plan_text, read_plan
from trimtab.live.control.step import LookUp, Record, Unload, step
from trimtab.live.control.view import BrokerView, View

FIXTURES = Path(__file__).parent / "testdata" / "control"
_FLAGS = {"on": True, "off": False, "?": None}


class Bench:
    """A plan that is carried out step by step; times are s."""

    def __init__(self) -> None:
        self._plan = Plan("demo", 0.0, ())
        self._memory = Memory()

    def plan(
        self, lines: tuple[str, ...], because: str = "", made: str = "0", **limits: str
    ) -> str:
        """Plan moves: `bundle source destination traffic before after`, the last two for both."""
        moves = []
        for line in lines:
            bundle, source, destination, *more = line.split()
            traffic, before, after_ = (*more, *("-",) * (3 - len(more)))
            moves.append(
                PlannedMove(
                    bundle,
                    source,
                    destination,
                    "",
                    0.0 if traffic == "-" else float(traffic),
                    _expected(before),
                    _expected(after_),
                )
            )
        bounds = Limits(**{name: float(value) for name, value in limits.items()})
        self._plan = Plan("demo", float(made), tuple(moves), bounds, because)
        self._memory = remembered([Begun(float(made), self._plan.digest, 1)])
        return f"{len(moves)} planned"

    def see(self, at: str, owner: str = "", **seen: str) -> str:
        """See the cluster at a time and act once.

        Brokers are named with `usage,measured,started`, each of which may be left out; one that
        is `gone` does not answer.  `owner` is that of the current move's bundle, `none` and `?`
        for none and one that cannot be read; it is its source if it is not said.  `now` is what
        has the range of that bundle, which is no more; `nothing` if its namespace is gone.
        """
        time_s = float(at)
        flags = {
            name: _FLAGS[seen.pop(name, default)]
            for name, default in (("shedding", "off"), ("lock", "on"), ("kill", "off"))
        }
        owners: dict[str, str | None] = {}
        if self._memory.move < len(self._plan.moves) and owner != "?":
            move = self._plan.moves[self._memory.move]
            owners[move.bundle] = None if owner == "none" else owner or move.source
        replacements: dict[str, tuple[str, ...]] = {}
        if "now" in seen:
            now = seen.pop("now")
            halves = () if now == "nothing" else tuple(now.split(","))
            replacements[self._plan.moves[self._memory.move].bundle] = halves
        view = View(
            time_s=time_s,
            brokers={
                name: _broker(seen.get(name.replace("-", "_"), ""), time_s)
                for name in ("b-1", "b-2", "b-3")
            },
            owners=owners,
            is_shedding=flags["shedding"],
            is_lock_ours=bool(flags["lock"]),
            is_killed=bool(flags["kill"]),
            replacements=replacements,
        )
        act = step(self._plan, view, self._memory)
        if isinstance(act, Record | Unload | LookUp):
            self._memory = after(self._memory, act.entry)
            return f"{type(act).__name__} {entry_line(act.entry)}"
        return f"{type(act).__name__} {act.why}".rstrip()

    def answered(self, at: str, status: str, text: str = "") -> str:
        """Take the answer of a call."""
        answer = Answered(float(at), self._memory.move, status, text)
        self._memory = after(self._memory, answer)
        return entry_line(answer)

    def again(self, at: str) -> str:
        """Take the run up again."""
        self._memory = after(self._memory, Begun(float(at), self._plan.digest, 2))
        return f"move {self._memory.move}, {self._memory.phase}"


def _expected(text: str) -> Expected:
    if text == "-":
        return Expected()
    low, _, high = text.partition("..")
    return Expected((float(low), float(high)), (float(low), float(high)))


def _broker(text: str, time_s: float) -> BrokerView:
    is_gone, is_draining = text == "gone", text == "draining"
    numbers = "" if is_gone or is_draining else text
    usage, measured, started = (*numbers.split(","), "", "", "")[:3]
    return BrokerView(
        usage_percent=float(usage or 50),
        measured_s=float(measured or time_s),
        started_s=float(started or -100_000),
        is_answering=not is_gone,
        is_draining=is_draining,
    )


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.txt")), ids=lambda path: path.stem)
def test_control(path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(datadriven.run(path, Bench()), fullpath=path)


# ------------------------------------------------------------------------- files

numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=0, max_value=1e15)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
entries = st.one_of(
    st.builds(Begun, numbers, names, st.integers(0, 2**40)),
    st.builds(Asked, numbers, st.integers(0, 99), names, names, names),
    st.builds(Answered, numbers, st.integers(0, 99), names, names),
    st.builds(LookedUp, numbers, st.integers(0, 99)),
    st.builds(Verified, numbers, st.integers(0, 99)),
    st.builds(Astray, numbers, st.integers(0, 99), names),
    st.builds(Skipped, numbers, st.integers(0, 99), names),
    st.builds(Effect, numbers, st.integers(0, 99), numbers, numbers, names),
    st.builds(Stopped, numbers, names),
    st.builds(Done, numbers),
)
intervals = st.one_of(st.none(), st.tuples(numbers, numbers).map(lambda two: (min(two), max(two))))
expectations = st.builds(Expected, intervals, intervals)
moves = st.lists(
    st.builds(
        PlannedMove, names, st.just("b-1"), st.just("b-2"), names, numbers, expectations,
        expectations,
    ),
    max_size=5,
    unique_by=lambda move: move.bundle,
)  # fmt: skip
plans = st.builds(
    Plan, names, numbers, moves.map(tuple), st.builds(Limits, grace_s=st.floats(1, 1e6)), names
)


@given(entries)
def test_an_entry_is_read_as_it_was_written(entry: Entry) -> None:
    line = entry_line(entry)

    assert "\n" not in line
    assert entry == read_entry(line)


@given(plans)
def test_a_plan_is_read_as_it_was_written(plan: Plan) -> None:
    assert plan == read_plan(plan_text(plan))
    assert plan.digest != replace(plan, made_s=plan.made_s + 1e15).digest


SCHEMA = json.loads((Path(__file__).parent.parent / "docs" / "plan.schema.json").read_text("utf-8"))


@given(plans)
def test_a_plan_is_as_its_schema_says(plan: Plan) -> None:
    jsonschema.validate(json.loads(plan_text(plan)), SCHEMA)


def test_the_plan_of_the_docs_is_one() -> None:
    page = (Path(__file__).parent.parent / "docs" / "apply.md").read_text("utf-8")
    _, _, rest = page.partition("```json\n")
    text, _, _ = rest.partition("```")

    assert len(read_plan(text).moves) == 1
    jsonschema.validate(json.loads(text), SCHEMA)


_MOVE = {"bundle": "t/n/0x00000000_0x80000000", "source": "b-1", "destination": "b-2", "reason": ""}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{", "the plan: found no JSON, expected a plan (Expecting property name"),
        ({"moves": []}, "cluster: found nothing, expected a value"),
        ({"mvoes": []}, "mvoes: found 'mvoes', expected 'moves'"),
        ({"moves": [_MOVE, _MOVE]}, "moves[1].bundle: found 't/n/0x00000000_0x80000000', expected"),
        (
            {"moves": [_MOVE | {"destination": "b-1"}]},
            "moves[0].destination: found 'b-1', expected a broker other than the source",
        ),
        (
            {"moves": [_MOVE | {"before": {"source": [3, 1]}}]},
            "moves[0].before.source: found a list of 2, expected a lowest and a highest number",
        ),
        ({"limits": {"grace": 1}}, "limits.grace: found 'grace', expected 'grace_s'"),
        ({"limits": {"grace_s": 0}}, "limits.grace_s: found 0, expected a number above 0"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(given: str | dict[str, object], message: str) -> None:
    sound: dict[str, object] = {"cluster": "demo", "made_s": 0, "moves": []}
    if isinstance(given, dict):
        is_partial = list(given) == ["moves"] and given["moves"] == []
        given = json.dumps(given if is_partial else sound | given)

    with pytest.raises(FieldError) as wrong:
        read_plan(given)

    assert str(wrong.value).startswith(message)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        '{"entry": "finished", "time_s": 1}',
        '{"entry": "done"}',
        '{"entry": "done", "x": 1}',
    ],
)
def test_what_is_no_entry_is_said(line: str) -> None:
    with pytest.raises(FieldError):
        read_entry(line)
