"""Plans on a cluster that answers as a real one: rehearsed, carried out, killed, taken up."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fake_pulsar import FakePulsar, fake_pulsar
from trimtab.live.apply.admin import Admin, topic_of
from trimtab.live.apply.journal import FileJournal, journal_entries
from trimtab.live.apply.lock import FileLock, file_lock, stop_file
from trimtab.live.apply.post import LockError
from trimtab.live.apply.run import Watching, Where, carried_out, connected_cluster, rehearsed
from trimtab.live.control.account import Account, account
from trimtab.live.control.entries import Asked, Begun
from trimtab.live.control.plan import Plan
from trimtab.live.gather.access import GatherError, read_access


@pytest.fixture
def cluster() -> Iterator[FakePulsar]:
    with fake_pulsar() as running:
        yield running


@dataclass
class Desk:
    """Where a plan is carried out from."""

    cluster: FakePulsar
    folder: Path

    def where(self) -> Where:
        alive = next(each for each in self.cluster.brokers if each.killed_s is None)
        access = read_access(None)
        folder = self.folder / "state"
        return Where(f"http://{alive.id}", access, folder, is_lock_here=True, pause_s=0.05)

    @property
    def journal(self) -> Path:
        return self.folder / "plan.json.journal"

    def run(self, plan: Plan, tell: Callable[[Any], None] = lambda entry: None) -> Account:
        """Carry a plan out."""
        with connected_cluster(self.where()) as there:
            watching = Watching(tell, lambda why: None, threading.Event())
            return carried_out(plan, there, self.journal, watching)


@pytest.fixture
def desk(cluster: FakePulsar, tmp_path: Path) -> Desk:
    return Desk(cluster, tmp_path)


def states(done: Account) -> list[str]:
    return [move.state for move in done.moves]


def check(desk: Desk, plan: Plan, done: Account) -> None:
    """What must be so whatever happened."""
    cluster = desk.cluster
    asked = [each for each in journal_entries(desk.journal, plan.digest) if isinstance(each, Asked)]
    assert cluster.doubles == []
    for move, told in zip(plan.moves, done.moves, strict=True):
        count = cluster.unloads[move.bundle]
        assert count <= sum(each.bundle == move.bundle for each in asked)
        assert count <= 2
        if told.state == "verified":
            assert cluster.owners[move.bundle] == move.destination
        if told.state == "astray":
            assert told.owner == cluster.owners[move.bundle] != move.destination
        if cluster.owners[move.bundle] is None:
            assert told.state == "under way"
            assert move.bundle in str(done.ended)


# ------------------------------------------------------------------------- sound


def test_each_bundle_is_moved_once_and_verified(desk: Desk) -> None:
    plan = desk.cluster.plan(5)

    done = desk.run(plan)

    assert done.is_done
    assert states(done) == ["verified"] * 5
    assert desk.cluster.unloads == {move.bundle: 1 for move in plan.moves}
    check(desk, plan, done)
    # Done is done: nothing is asked for again.
    assert desk.run(plan).is_done
    assert desk.cluster.unloads.total() == 5


def test_a_bundle_that_is_no_more_is_skipped_and_the_next_is_moved(desk: Desk) -> None:
    cluster = desk.cluster
    plan = cluster.plan(3)
    split, deleted, _ = (move.bundle for move in plan.moves)
    low, high = split.rpartition("/")[2].split("_")
    middle = f"0x{(int(low, 16) + int(high, 16)) // 2:08x}"
    cluster.busy.discard(split)
    owner = cluster.owners.pop(split)
    halves = [f"t/n/{low}_{middle}", f"t/n/{middle}_{high}"]
    cluster.owners |= dict.fromkeys(halves, owner)
    gone = deleted.replace("t/n/", "t/old/")
    moves = (plan.moves[0], replace(plan.moves[1], bundle=gone), plan.moves[2])
    plan = replace(plan, moves=moves)

    done = desk.run(plan)

    assert done.is_done
    assert states(done) == ["skipped", "skipped", "verified"]
    assert [each.remark for each in done.moves[:2]] == [
        f"{split} was split into {halves[0]} and {halves[1]}: plan again to move these",
        f"{gone} no longer exists: its namespace was deleted, so there is nothing to move",
    ]
    assert cluster.unloads == {plan.moves[2].bundle: 1}


def test_a_rehearsal_leaves_no_trace(desk: Desk) -> None:
    plan = desk.cluster.plan(2)
    with connected_cluster(desk.where()) as there:
        found = rehearsed(plan, there, desk.journal)

    assert found.may_go
    assert [each.objections for each in found.standings] == [(), ()]
    assert desk.cluster.unloads == {}
    assert list(desk.folder.iterdir()) == []


def test_every_guard_that_objects_is_named(desk: Desk) -> None:
    cluster = desk.cluster
    cluster.is_shedding = True
    plan = cluster.plan(2, report_age_max_s=60)
    taker = cluster.broker(plan.moves[0].destination)
    taker.usage_percent = 99.0
    taker.started_s = time.time()
    cluster.owners[plan.moves[1].bundle] = plan.moves[1].destination
    with connected_cluster(desk.where()) as there:
        found = rehearsed(plan, there, desk.journal)

    told = [
        [(name, type(said).__name__) for name, said in each.objections] for each in found.standings
    ]
    assert told == [
        [("shedding", "Refusal"), ("destination", "Hold")],
        [("owner", "Needless"), ("shedding", "Refusal")],
    ]
    assert [each.may_go for each in found.standings] == [False, True]
    assert not found.may_go


def test_without_load_reports_the_metrics_tell(desk: Desk) -> None:
    cluster = desk.cluster
    cluster.is_extensible = True
    cluster.brokers[1].usage_percent = 90.0
    plan = cluster.plan(3)
    with connected_cluster(desk.where()) as there:
        found = rehearsed(plan, there, desk.journal)

    usages = [found.view.brokers[each.id].usage_percent for each in cluster.brokers]
    assert usages == pytest.approx([40.0, 90.0, 40.0])
    assert {each.started_s for each in found.view.brokers.values()} == {1_000_000.0}
    assert [each.may_go for each in found.standings] == [False, True, False]
    cluster.brokers[1].usage_percent = 50.0
    assert desk.run(plan).is_done


def test_a_release_that_does_not_tell_itself_is_read_from_a_report(desk: Desk) -> None:
    desk.cluster.tells_release = False
    with connected_cluster(desk.where()) as there:
        assert there.admin.release == "2.10.4"
    assert desk.run(desk.cluster.plan(1)).is_done


def test_a_plan_of_another_cluster_is_refused(desk: Desk) -> None:
    plan = replace(desk.cluster.plan(1), cluster="another")

    with pytest.raises(GatherError, match="found cluster 'fake', expected 'another'"):
        desk.run(plan)


# ----------------------------------------------------------------- one run at a time


def test_two_runs_never_act_at_once(desk: Desk) -> None:
    plan = desk.cluster.plan(3)
    other = Desk(desk.cluster, desk.folder / "other")
    other.folder.mkdir()
    where = desk.where()
    with (
        file_lock(where.folder, "fake"),
        pytest.raises(LockError, match="another run holds the lock of fake"),
    ):
        desk.run(plan)
    refused: list[str] = []

    def tell(entry: object) -> None:
        # In the middle of one run another one with another plan and journal is tried.
        with connected_cluster(where) as there, pytest.raises(LockError):
            watching = Watching(lambda entry: None, lambda why: None, threading.Event())
            carried_out(desk.cluster.plan(1), there, other.journal, watching)
        refused.append(str(entry))

    assert desk.run(plan, tell).is_done
    assert len(refused) > 10
    assert desk.cluster.unloads.total() == 3


def test_another_plan_waits_until_an_unload_of_a_killed_run_is_over(desk: Desk) -> None:
    cluster = desk.cluster
    plan = cluster.plan(1, grace_s=0.1)
    slow_s = 0.3
    cluster.fault = lambda moment, bundle: time.sleep(slow_s) if moment == "before" else None
    killed(desk, plan, lambda: at_unload(1, "during", slow_s / 3))
    again = replace(
        plan, moves=tuple(replace(each, destination=cluster.brokers[2].id) for each in plan.moves)
    )
    other = Desk(cluster, desk.folder)
    journal = desk.journal
    journal.rename(journal.with_name("killed.journal"))

    done = other.run(again)

    # It waits in_flight_s, and then finds the bundle where the killed run brought it.
    assert cluster.doubles == []
    assert done.ended == (
        f"{plan.moves[0].bundle} is at {plan.moves[0].destination}, not at "
        f"{plan.moves[0].source}: it was moved since, not by this run; plan again"
    )
    assert cluster.unloads.total() == 1


def test_the_lock_that_is_lost_in_the_last_moment_stops_the_unload(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = desk.cluster.plan(2)
    note = FileLock.note

    def taken_over(self: FileLock, asked: Asked) -> None:
        if asked.move == 1:
            self.path.write_text(f"{self.token + 1:020d}\n")
        note(self, asked)

    monkeypatch.setattr(FileLock, "note", taken_over)
    done = desk.run(plan)

    assert states(done) == ["verified", "open"]
    assert "no longer holds the lock" in str(done.ended)
    assert desk.cluster.unloads.total() == 1


def test_the_kill_switch_stops_before_the_next_move(desk: Desk) -> None:
    plan = desk.cluster.plan(3)
    where = desk.where()

    def tell(entry: object) -> None:
        if isinstance(entry, Asked) and entry.move == 1:
            stop_file(where.folder, "fake").touch()

    done = desk.run(plan, tell)

    assert str(done.ended).startswith("asked to stop: ")
    assert states(done) == ["verified", "verified", "open"]
    stop_file(where.folder, "fake").unlink()
    assert desk.run(plan).is_done
    assert desk.cluster.unloads.total() == 3


# ----------------------------------------------------------------------------- faults


def test_a_destination_that_was_killed_and_is_still_registered_is_refused(desk: Desk) -> None:
    plan = desk.cluster.plan(2)
    desk.cluster.kill(plan.moves[0].destination)

    done = desk.run(plan)

    assert str(done.ended).startswith(f"{plan.moves[0].destination} does not answer, so ")
    assert desk.cluster.unloads.total() == 0


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_destination_that_dies_during_the_unload(desk: Desk, moment: str) -> None:
    cluster = desk.cluster
    plan = cluster.plan(1)
    gone = plan.moves[0].destination

    def fault(when: str, bundle: str) -> None:
        if when == moment and cluster.broker(gone).killed_s is None:
            cluster.kill(gone)

    cluster.fault = fault
    done = desk.run(plan)

    assert not done.is_done
    assert states(done) == ["astray"]
    assert cluster.unloads.total() == 1
    assert str(done.ended).startswith(f"{gone} does not answer, so nothing is moved there")
    check(desk, plan, done)


def test_a_leader_that_dies_in_the_middle_of_a_plan(desk: Desk) -> None:
    cluster = desk.cluster
    cluster.leader = 2
    plan = cluster.plan(4)
    # Off the first broker to the second alone: the third leads and is killed.
    taker = cluster.brokers[1].id
    plan = replace(plan, moves=tuple(replace(each, destination=taker) for each in plan.moves))

    def tell(entry: object) -> None:
        if isinstance(entry, Asked) and entry.move == 1:
            cluster.kill(cluster.brokers[2].id)

    done = desk.run(plan, tell)

    # The call that went to the dead leader did nothing: it is made again, once.
    assert done.is_done
    assert states(done) == ["verified"] * 4
    assert set(cluster.unloads.values()) == {1}
    check(desk, plan, done)


@pytest.mark.slow
@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_error_of_somebody_on_the_way(desk: Desk, moment: str, status: int) -> None:
    cluster = desk.cluster
    plan = cluster.plan(2)
    once = [status]
    cluster.fault = lambda when, bundle: once.pop() if when == moment and once else None

    done = desk.run(plan)

    # Whether it was done is seen, not guessed.
    assert done.is_done
    assert set(cluster.unloads.values()) == {1}
    assert [move.unloads for move in done.moves] == [2 if moment == "before" else 1, 1]
    check(desk, plan, done)


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 404, 409, 412])
def test_a_refusal_stops_and_may_be_asked_for_again(desk: Desk, status: int) -> None:
    cluster = desk.cluster
    plan = cluster.plan(1)
    cluster.fault = lambda when, bundle: status if when == "before" else None

    done = desk.run(plan)

    assert str(status) in str(done.ended)
    assert states(done) == ["open"]
    cluster.fault = lambda when, bundle: None
    assert desk.run(plan).is_done
    assert cluster.unloads.total() == 1


def test_no_answer_in_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from trimtab.live.gather.calls import Limits

    cluster = desk.cluster
    plan = cluster.plan(2)
    slow = [0.4]

    def fault(when: str, bundle: str) -> None:
        if when == "after" and slow:
            time.sleep(slow.pop())

    cluster.fault = fault
    monkeypatch.setattr("trimtab.live.apply.admin.UNLOADING", Limits(1.0, 0.1, 0.2))
    done = desk.run(plan)

    assert done.is_done
    assert [move.unloads for move in done.moves] == [1, 1]
    check(desk, plan, done)


def test_a_bundle_that_lands_elsewhere_is_tried_once_more_and_then_left(desk: Desk) -> None:
    cluster = desk.cluster
    plan = cluster.plan(2)

    def lost(when: str, bundle: str) -> None:
        if when == "after":
            cluster.meant.pop(bundle, None)

    cluster.fault = lost
    done = desk.run(plan)

    name = plan.moves[0].bundle
    assert done.ended == (
        f"{name} did not arrive at {plan.moves[0].destination} in 2 attempts; "
        f"{cluster.brokers[0].id} serves it: see in the leader's log why, then plan again"
    )
    assert cluster.unloads == {name: 2}
    check(desk, plan, done)


# ------------------------------------------------------------------------ killed -9


@contextmanager
def at_step(number: int) -> Iterator[None]:
    """Kill this process at the given one of all the moments at which something is done.

    Each write of the journal has one before and one after it, so has each note beside the
    lock and each unload.
    """
    done = [0]

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def around(*given: Any) -> Any:
            _die_if(done, number)
            result = function(*given)
            _die_if(done, number)
            return result

        return around

    before = FileJournal.write, FileLock.note, Admin.unload
    FileJournal.write, FileLock.note, Admin.unload = map(counted, before)  # type: ignore[method-assign,assignment]  # put back below
    try:
        yield
    finally:
        FileJournal.write, FileLock.note, Admin.unload = before  # type: ignore[method-assign]  # as they were


def _die_if(done: list[int], number: int) -> None:
    done[0] += 1
    if done[0] == number:
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def at_unload(number: int, moment: str, after_s: float) -> Iterator[None]:
    """Kill this process so long after an unload was asked for."""
    before = Admin.unload
    calls = [0]

    def killing(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            threading.Timer(after_s, _die).start()
        return before(*given)

    Admin.unload = killing  # type: ignore[method-assign,assignment]  # put back below
    try:
        yield
    finally:
        Admin.unload = before  # type: ignore[method-assign]  # as it was


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(desk: Desk, plan: Plan, when: Callable[[], Any]) -> bool:
    """Carry a plan out in a process of its own that kills itself; say whether it did."""
    child = os.fork()
    if child == 0:
        try:
            with when():
                desk.run(plan)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_step_goes_on(tmp_path: Path, is_exhaustive: bool) -> None:
    n_killed = 0
    n_moves = 2 if is_exhaustive else 1
    for step in range(1, 99):
        folder = tmp_path / str(step)
        folder.mkdir()
        with fake_pulsar() as cluster:
            desk = Desk(cluster, folder)
            # One with clients, and one that nobody looks up.
            owned = sorted(cluster.owners)
            plan = cluster.plan(6)
            plan = replace(plan, moves=(plan.moves[0], plan.moves[-1])[-n_moves:])
            assert owned[0] in cluster.busy
            assert owned[-1] not in cluster.busy
            is_killed = killed(desk, plan, lambda step=step: at_step(step))
            if not is_killed:
                break
            n_killed += 1
            held = desk.journal.read_bytes() if desk.journal.exists() else b""
            before = account(plan, journal_entries(desk.journal, plan.digest))
            done = desk.run(plan)
            # What was written stays as it was written.
            assert desk.journal.read_bytes().startswith(held[: held.rfind(b"\n") + 1])
            assert done.is_done, (step, done.ended)
            assert states(done) == ["verified"] * n_moves, step
            assert done.runs == before.runs + (not before.is_done)
            assert set(cluster.unloads.values()) == {1}, (step, cluster.unloads)
            check(desk, plan, done)
    # Begun and Done once, and of each move: asked, noted, unloaded, answered, verified, effect.
    assert n_killed >= 2 * (2 + n_moves * 6)


def test_the_journal_of_a_killed_run_tells_where_it_stood(desk: Desk) -> None:
    plan = desk.cluster.plan(2)
    # Begun, asked, noted: six moments; the unload is made, and the answer is not written.
    assert killed(desk, plan, lambda: at_step(8))

    with connected_cluster(desk.where()) as there:
        found = rehearsed(plan, there, desk.journal)

    assert [each.is_begun for each in found.standings] == [True, False]
    assert states(found.before) == ["under way", "open"]
    assert found.before.ended is None
    assert [type(each) for each in journal_entries(desk.journal, plan.digest)] == [Begun, Asked]
    assert desk.run(plan).is_done


# ----------------------------------------------------------------------------- names


@pytest.mark.parametrize("range_", ["0x00000000_0x10000000", "0xfffff000_0xffffffff"])
def test_a_topic_of_a_bundle_falls_into_it(range_: str) -> None:
    import zlib

    low, high = (int(each, 16) for each in range_.split("_"))
    name = topic_of(f"t/n/{range_}").replace("persistent/", "persistent://", 1)

    assert low <= zlib.crc32(name.encode()) <= high
    assert re.fullmatch(r"persistent://t/n/trimtab-\d+", name)


def test_a_topic_that_is_there_is_taken_first() -> None:
    import zlib

    topics = tuple(f"persistent://t/n/orders-{i}" for i in range(500))
    wanted = next(each for each in topics if zlib.crc32(each.encode()) < 0x10000000)

    assert topic_of("t/n/0x00000000_0x10000000", topics) == wanted.replace("://", "/")


def test_what_is_written_beside_the_lock_is_for_its_owner_alone(desk: Desk) -> None:
    desk.run(desk.cluster.plan(1))

    written = sorted((desk.folder / "state").iterdir())
    assert [each.name for each in written] == ["fake.lock", "fake.unloads"]
    assert {each.stat().st_mode & 0o077 for each in [*written, desk.journal]} == {0}
    ((at_s, bundle, *_),) = json.loads(written[1].read_text())
    assert bundle in desk.cluster.unloads
    assert at_s > 0
