"""What a run says and leaves when the machine, and not the cluster, fails it."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fake_pulsar import fake_pulsar
from test_apply import Desk, check, states
from trimtab.live.apply import connected_cluster, rehearsed
from trimtab.live.apply.journal import FileJournal, journal_entries
from trimtab.live.apply.lock import FileLock
from trimtab.live.apply.post import Unloaded, noted, time_by_now, unloads_in
from trimtab.live.control.entries import Answered, Asked, Begun, Entry
from trimtab.live.control.guards import Pace, Refusal, outdated
from trimtab.live.control.limits import Limits
from trimtab.live.control.memory import Memory, remembered
from trimtab.live.control.plan import Plan
from trimtab.live.control.view import View


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with fake_pulsar(busy=6) as running:
        yield Desk(running, tmp_path)


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
def test_a_clock_that_is_set_meanwhile_changes_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    plan = desk.cluster.plan(2)
    wall = time.time

    def set_it(entry: object) -> None:
        if isinstance(entry, Asked):
            monkeypatch.setattr("time.time", lambda: wall() + jump_s)

    began = time.monotonic()
    done = desk.run(plan, set_it)

    assert done.is_done, done.ended
    assert time.monotonic() - began < abs(jump_s)
    check(desk, plan, done)


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0, 200_000.0])
def test_a_clock_that_is_set_between_two_plans_cuts_no_rest_short(
    desk: Desk, jump_s: float
) -> None:
    first = desk.cluster.plan(1)
    assert desk.run(first).is_done
    # As it would stand there, had the clock been set since.
    notes = desk.folder / "state" / "fake.unloads"
    ((at_s, *rest),) = json.loads(notes.read_text())
    notes.write_text(json.dumps([[at_s - jump_s, *rest]]))
    (moved,) = first.moves
    back = replace(moved, source=moved.destination, destination=moved.source)
    then = replace(desk.cluster.plan(0, grace_s=1800.0), moves=(back,))

    with connected_cluster(desk.where()) as there:
        (status,) = rehearsed(then, there, desk.folder / "then.journal").standings

    (grace,) = [each for name, each in status.objections if name == "grace"]
    assert isinstance(grace, Pace)
    assert 1700.0 < grace.left_s <= 1800.0


def test_what_another_machine_noted_goes_by_the_clock() -> None:
    here = noted(Asked(50.0, 0, "t/n/0x0_0x1", "a", "b"))
    assert here.boot
    assert 940.0 < time_by_now(here, 1_000.0) <= 1_000.0
    for note in (here._replace(boot="another"), Unloaded(50.0, "t/n/0x0_0x1")):
        assert time_by_now(note, 1_000.0) == 50.0
    assert unloads_in([[50.0, "x"], list(here)]) == (Unloaded(50.0, "x"), here)


def test_what_a_clock_wrote_that_was_set_back_since_counts_as_written_now() -> None:
    journal: list[Entry] = [Begun(9_000.0, "p", 1), Asked(9_001.0, 0, "t/n/0x0_0x1", "a", "b")]
    memory = remembered(journal, [(9_001.0, "t/n/0x0_0x1"), (9_002.0, "t/n/0x1_0x2")], 1_000.0)

    assert memory.unloads == ((1_000.0, "t/n/0x1_0x2"), (1_000.0, "t/n/0x0_0x1"))
    assert memory.last_s == memory.asked_s == 1_000.0


def test_what_had_no_answer_may_run_for_as_long_from_the_new_beginning() -> None:
    journal: list[Entry] = [Begun(1.0, "p", 1), Asked(2.0, 0, "t/n/0x0_0x1", "a", "b")]
    # An hour later by the clock, which may have been set.
    assert remembered([*journal, Begun(3_602.0, "p", 2)]).asked_s == 3_602.0
    answered = Answered(3.0, 0, "accepted")
    assert remembered([*journal, answered, Begun(3_602.0, "p", 2)]).asked_s == 2.0


def test_a_plan_from_the_future_is_refused() -> None:
    plan = Plan("demo", 10_000.0, (), Limits())
    view = View(1_000.0, {}, {}, None, is_lock_ours=True)

    assert outdated(plan, replace(view, time_s=9_900.0), Memory()) is None
    assert outdated(plan, view, Memory()) == Refusal(
        "the plan was made 9000 s after now by this clock: a clock is wrong, so how old the plan "
        "is cannot be known; check the clocks, and plan again"
    )


@dataclass
class Disk:
    """A disk that is full from one write of a journal on."""

    full_at: int
    writes: int = 0
    real: Callable[[int, bytes], int] = os.write

    def write(self, descriptor: int, content: bytes) -> int:
        self.writes += 1
        if self.writes >= self.full_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.real(descriptor, content)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("full_at", "is_state"),
    [
        (1, ["open", "open"]),
        # Before the unload is asked for, nothing is done.
        (2, ["open", "open"]),
        # Its answer cannot be kept: it is under way all the same.
        (3, ["under way", "open"]),
        (6, ["verified", "open"]),
    ],
)
def test_a_full_disk_ends_the_run_with_its_account(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, full_at: int, is_state: list[str]
) -> None:
    plan = desk.cluster.plan(2)
    disk = Disk(full_at)
    kept = FileJournal.write

    def written(self: FileJournal, entry: Entry) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("os.write", disk.write)
            kept(self, entry)

    with monkeypatch.context() as patched:
        patched.setattr(FileJournal, "write", written)
        done = desk.run(plan)

    assert states(done) == is_state
    assert str(done.ended).endswith("cannot be written: No space left on device")
    assert desk.cluster.unloads.total() == (full_at > 2)
    # With room again it goes on, and nothing is done twice.
    assert desk.run(plan).is_done
    assert set(desk.cluster.unloads.values()) == {1}


def test_why_the_lock_is_lost_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = desk.cluster.plan(2)
    why = "zk://zookeeper-1:2181 has not answered for 10 s"
    lost = False

    def tell(entry: object) -> None:
        nonlocal lost
        lost = lost or isinstance(entry, Answered)

    monkeypatch.setattr(FileLock, "loss", property(lambda self: why if lost else ""))
    done = desk.run(plan, tell)

    assert done.ended == why
    kinds = [type(each).__name__ for each in journal_entries(desk.journal, plan.digest)]
    assert kinds == ["Begun", "Asked", "Answered", "Stopped"]
