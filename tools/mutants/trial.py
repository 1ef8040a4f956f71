"""Tries mutants in copies of one pytest process, each against the tests that reach its function."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import _lru_cache_wrapper
from itertools import starmap, zip_longest
from types import FrameType, FunctionType

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

from tools.mutants.mutations import Mutant

#: Processor seconds of tests that are tried on a mutant, the quickest first, and how many times
#: as long it may take.
TESTS_S, PATIENCE = 20.0, 10.0

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
        for item, follower in zip_longest(session.items, session.items[1:]):
            self._watch(item, follower, files)
        self._leave_out_who_fails_unchanged()
        functions = _functions(files)
        for mutant in self.mutants:
            place = str(mutant.path), mutant.line
            self.tell(mutant, self._verdict(mutant, self.reached[place], functions.get(place, ())))
        return True

    def _watch(self, item: pytest.Item, follower: pytest.Item | None, files: set[str]) -> None:
        """Note which functions of the files a test reaches, if it passes as it is."""
        places: set[Place] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename in files:
                places.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

        begin = time.process_time()
        # Of threads that the test starts, too.
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            has_passed = _has_passed(item, follower)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        self.seconds[item] = time.process_time() - begin
        if not has_passed:
            print(f"mutants: left out, as it does not pass: {item.nodeid}")
            return
        for place in places:
            self.reached[place].append(item)

    def _leave_out_who_fails_unchanged(self) -> None:
        """Forget the tests that fail in a copy of the process whatever is changed.

        Such a test would kill every mutant: it needs a thread, a port or a file of before.
        """
        failing = set()
        for item in {item for each in self.reached.values() for item in each}:
            # Who is watched takes several times as long.
            status, self.seconds[item] = _status_of((), [item], (), self._patience([item]))
            if status != 0:
                failing.add(item)
        for place, each in self.reached.items():
            self.reached[place] = [item for item in each if item not in failing]
        for nodeid in sorted(item.nodeid for item in failing):
            print(f"mutants: left out, as it fails without a change: {nodeid}")

    def _patience(self, items: Sequence[pytest.Item]) -> float:
        return PATIENCE * sum(self.seconds[item] for item in items) + 30

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
        status, _ = _status_of((mutant,), chosen, functions, self._patience(chosen))
        if status is None:
            return Verdict.TIMED_OUT
        return Verdict.SURVIVED if status == 0 else Verdict.KILLED


def _functions(files: set[str]) -> dict[Place, list[FunctionType]]:
    """Return the functions that are made of the code of some files, however they were decorated."""
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    # What a command has frozen, as `watch` does, would not be listed.
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            found[each.__code__.co_filename, each.__code__.co_firstlineno].append(each)
    return found


def _has_passed(item: pytest.Item, follower: pytest.Item | None) -> bool:
    reports = runtestprotocol(item, log=False, nextitem=follower)
    return all(report.passed for report in reports)


def _status_of(
    changes: Sequence[Mutant],
    items: Sequence[pytest.Item],
    functions: Sequence[FunctionType],
    within_s: float,
) -> tuple[int | None, float]:
    """Return 0 where tests pass with some changes in a copy of the process, None if too late.

    Beside it stands how long the copy ran, s of a processor.
    """
    child = os.fork()
    if child == 0:
        _try(changes, items, functions)
    return _ended(child, within_s)


def _try(
    changes: Sequence[Mutant], items: Sequence[pytest.Item], functions: Sequence[FunctionType]
) -> None:
    """Run tests with changes in place until one fails, in a process that is then gone."""
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    status = 1
    try:
        # What the unchanged code has answered already would be taken for what the changed does.
        for cached in [it for it in gc.get_objects() if isinstance(it, _lru_cache_wrapper)]:
            cached.cache_clear()
        for function in functions:
            for mutant in changes:
                function.__code__ = mutant.code
        status = 0 if all(starmap(_has_passed, zip_longest(items, items[1:]))) else 1
    finally:
        os._exit(status)


def _ended(child: int, within_s: float) -> tuple[int | None, float]:
    """Wait for a process, end it and what it started.

    Returns:
        Its status, None if it is too late, and how long it ran, s of a processor.
    """
    last = time.monotonic() + within_s
    status: int | None = None
    while time.monotonic() < last:
        done, code, used = os.wait4(child, os.WNOHANG)
        if done:
            status = code
            break
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        _, _, used = os.wait4(child, 0)
    return status, used.ru_utime + used.ru_stime
