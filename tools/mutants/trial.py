"""Tries mutants in copies of one pytest process, each against the tests that reach its function."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from types import FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

from tools.mutants.mutations import Mutant

#: Seconds of tests that are tried on a mutant, the quickest first, and how much longer it may take.
TESTS_S, PATIENCE = 20.0, 5.0

#: A function of a file, by its first line.
Place = tuple[str, int]


class Verdict(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    UNREACHED = "reached by no test"


@dataclass
class Trial:
    """A pytest plugin that tries mutants in place of running the tests once."""

    mutants: Sequence[Mutant]
    tell: Callable[[Mutant, Verdict], None]
    #: What each function is reached by, and how long each test takes.
    reached: dict[Place, list[pytest.Item]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[pytest.Item, float] = field(default_factory=dict)

    def pytest_configure(self) -> None:
        """Let Hypothesis draw the same each time, and be content with any failure."""
        few = (Phase.explicit, Phase.generate)
        calm = list(HealthCheck)
        settings.register_profile(
            "mutants",
            derandomize=True,
            database=None,
            deadline=None,
            phases=few,
            suppress_health_check=calm,
        )
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run each test once to see what it reaches, then try the mutants."""
        files = {str(mutant.path) for mutant in self.mutants}
        for item in session.items:
            self._watch(item, files)
        functions = _functions(files)
        for mutant in self.mutants:
            place = str(mutant.path), mutant.line
            self.tell(mutant, self._verdict(mutant, self.reached[place], functions.get(place, ())))
        return True

    def _watch(self, item: pytest.Item, files: set[str]) -> None:
        """Note which functions of the files a test reaches, if it passes as it is."""
        places: set[Place] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename in files:
                places.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

        begin = time.monotonic()
        sys.setprofile(note)
        try:
            has_passed = _has_passed(item)
        finally:
            sys.setprofile(None)
        self.seconds[item] = time.monotonic() - begin
        if not has_passed:
            print(f"mutants: left out, as it does not pass: {item.nodeid}")
            return
        for place in places:
            self.reached[place].append(item)

    def _verdict(
        self, mutant: Mutant, items: Sequence[pytest.Item], functions: Sequence[FunctionType]
    ) -> Verdict:
        if not items or not functions:
            return Verdict.UNREACHED
        chosen: list[pytest.Item] = []
        for item in sorted(items, key=self.seconds.__getitem__):
            if chosen and sum(self.seconds[each] for each in chosen) > TESTS_S:
                break
            chosen.append(item)
        within_s = PATIENCE * sum(self.seconds[item] for item in chosen) + 10
        child = os.fork()
        if child == 0:
            _try(mutant, chosen, functions)
        status = _ended(child, within_s)
        if status is None:
            return Verdict.TIMED_OUT
        return Verdict.SURVIVED if status == 0 else Verdict.KILLED


def _functions(files: set[str]) -> dict[Place, list[FunctionType]]:
    """Return the functions that are made of the code of some files, however they were decorated."""
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            found[each.__code__.co_filename, each.__code__.co_firstlineno].append(each)
    return found


def _has_passed(item: pytest.Item) -> bool:
    # What its file has set up stays for the next.
    follower: Any = item.parent
    reports = runtestprotocol(item, log=False, nextitem=follower)
    return all(report.passed for report in reports)


def _try(mutant: Mutant, items: Sequence[pytest.Item], functions: Sequence[FunctionType]) -> None:
    """Run tests with a mutant in place until one fails, in a process that is then gone."""
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    status = 1
    try:
        for function in functions:
            function.__code__ = mutant.code
        status = 0 if all(_has_passed(item) for item in items) else 1
    finally:
        os._exit(status)


def _ended(child: int, within_s: float) -> int | None:
    """Wait for a process, end it and what it started, and return its status, None if too late."""
    last = time.monotonic() + within_s
    status: int | None = None
    while time.monotonic() < last:
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            status = code
            break
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status
