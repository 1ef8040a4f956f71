"""Rolling restarts of brokers that answer as real ones: carried out, killed, taken up."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fake_pulsar import SHEDDING, FakePulsar, fake_pulsar
from simulated_rollout import HOOK, Yard, hurry, spread
from trimtab.live.apply.admin import Admin
from trimtab.live.apply.journal import FileJournal, entries_of
from trimtab.live.apply.lock import FileLock, lock_state_in
from trimtab.live.apply.rollout.hook import Hook
from trimtab.live.apply.rollout.run import AS_FAR_AS_ASKED
from trimtab.live.control.rollout.account import RolloutAccount
from trimtab.live.control.rollout.entries import (
    Emptied,
    Filled,
    Handed,
    RolloutEntry,
    read_rollout_entry,
)
from trimtab.live.control.rollout.plan import RolloutPlan
from trimtab.live.gather.access import GatherError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    with cluster_of() as cluster:
        yield Yard(cluster, tmp_path)


@contextmanager
def cluster_of(n_brokers: int = 3, n_bundles: int = 6) -> Iterator[FakePulsar]:
    """Run a cluster that sheds, with clients on every bundle, evenly spread."""
    with fake_pulsar(n_brokers, n_bundles, busy=n_bundles) as cluster:
        cluster.is_shedding = True
        spread(cluster)
        yield cluster


def noted(yard: Yard) -> Any:
    return lock_state_in(yard.folder / "state", "fake").pause


def as_before(yard: Yard) -> None:
    """Check that Pulsar's own shedding is as it was, and that nothing is noted."""
    assert yard.cluster.sheds
    assert yard.cluster.overrides == {}
    assert noted(yard) is None
    assert lock_state_in(yard.folder / "state", "fake").draining == frozenset()


def served(cluster: FakePulsar) -> None:
    """Check that every bundle is served by a broker that is up."""
    up = {each.id for each in cluster.brokers if each.is_registered}
    assert set(cluster.owners.values()) <= up
    assert cluster.doubles == []


# ------------------------------------------------------------------------------ sound


@pytest.mark.parametrize(
    ("give_back", "in_the_end"), [("level", [2, 2, 2]), ("all", [2, 2, 2]), ("none", [0, 3, 3])]
)
def test_brokers_are_restarted_in_order_and_empty(
    yard: Yard, give_back: str, in_the_end: list[int]
) -> None:
    yard.give_back = give_back
    cluster, plan = yard.cluster, yard.plan()

    done = yard.run(plan)

    assert done.is_done, done.ended
    assert [each.state for each in done.brokers] == ["restarted"] * 3
    assert cluster.restarts == dict.fromkeys(plan.brokers, 1)
    assert list(cluster.restarts) == list(plan.brokers)
    assert cluster.owned_at_restart == [0, 0, 0]
    assert cluster.shed_at_restart == [False] * 3
    assert cluster.changes == [f"{SHEDDING}=false", f"{SHEDDING}=true", f"{SHEDDING}=None"]
    counts = [list(cluster.owners.values()).count(name) for name in reversed(plan.brokers)]
    assert counts == in_the_end
    as_before(yard)
    served(cluster)
    # What is asked for again is done already.
    assert yard.run(plan).is_done
    assert cluster.restarts.total() == 3


def test_what_is_level_in_the_end_takes_fewer_moves(tmp_path: Path) -> None:
    moves = {}
    for give_back in ("level", "all"):
        with cluster_of() as cluster:
            yard = Yard(cluster, tmp_path / give_back, give_back)
            yard.folder.mkdir()
            assert yard.run(yard.plan()).is_done
            moves[give_back] = cluster.unloads.total()
    assert moves["level"] < moves["all"] == 12


def test_shedding_that_was_off_stays_off(yard: Yard) -> None:
    yard.cluster.is_shedding = False
    plan = yard.plan()
    assert yard.run(plan).is_done
    assert yard.cluster.changes == []


def test_a_dynamic_setting_is_put_back_as_one(yard: Yard) -> None:
    yard.cluster.is_shedding = False
    yard.cluster.overrides[SHEDDING] = "true"
    assert yard.run(yard.plan(), turns=1).ended == AS_FAR_AS_ASKED
    assert yard.cluster.overrides == {SHEDDING: "true"}
    assert yard.cluster.shed_at_restart == [False]


def test_releases_that_do_not_notice_a_removal_shed_again(yard: Yard) -> None:
    yard.cluster.notices_removals = False
    assert yard.run(yard.plan(), turns=1).ended == AS_FAR_AS_ASKED
    as_before(yard)


def test_somebody_elses_setting_is_left(yard: Yard) -> None:
    def meddle(entry: RolloutEntry, done: RolloutAccount) -> None:
        if isinstance(entry, Handed):
            yard.cluster.overrides[SHEDDING] = "True"

    done = yard.run(yard.plan(), tell=meddle, turns=1)

    assert done.ended == AS_FAR_AS_ASKED
    assert yard.cluster.sheds
    assert noted(yard) is None


def test_a_run_goes_as_far_as_is_asked_and_on(yard: Yard) -> None:
    plan = yard.plan()
    first = yard.run(plan, turns=1)
    assert first.ended == AS_FAR_AS_ASKED
    assert [each.state for each in first.brokers] == ["restarted", "open", "open"]
    as_before(yard)
    assert yard.run(plan).is_done
    assert yard.cluster.restarts == dict.fromkeys(plan.brokers, 1)


def test_how_long_it_takes_is_foretold_and_compared(yard: Yard) -> None:
    done = yard.run(yard.plan())
    for each in done.brokers:
        assert each.took_s is not None
        assert each.expected_s is not None
        assert each.away_s is not None
        assert 0 < each.away_s < each.took_s
    whole_s = (done.brokers[-1].done_s or 0.0) - (done.brokers[0].begun_s or 0.0)
    assert done.left_s(4) == pytest.approx(whole_s / 3)


# ------------------------------------------------------------------------ what goes wrong


def entries(yard: Yard, plan: RolloutPlan) -> tuple[RolloutEntry, ...]:
    return entries_of(Path(f"{yard.path}.journal"), plan.digest, read_rollout_entry)


def test_a_command_that_fails_stops_the_run_and_is_not_repeated(yard: Yard) -> None:
    yard.back_s = 1.5
    plan = yard.plan()
    fails = Hook(("false", "{broker}"))

    done = yard.run(plan, fails)

    assert done.ended is not None
    assert "ended with 1, and no new process of it serves" in done.ended
    assert yard.cluster.restarts.total() == 0
    assert yard.cluster.sheds
    assert noted(yard) is None
    # Nobody is handed over again by themselves, whatever the command is now.
    again = yard.run(plan)
    assert again.ended == done.ended
    assert yard.cluster.restarts.total() == 0
    with pytest.raises(GatherError, match=f"--again: found b-9, expected {plan.brokers[0]}"):
        yard.run(plan, again="b-9")
    # But if somebody says so, or has restarted it.
    last = yard.run(plan, again=plan.brokers[0])
    assert last.is_done, last.ended
    assert yard.cluster.restarts == dict.fromkeys(plan.brokers, 1)
    assert [each.hand_overs for each in last.brokers] == [2, 1, 1]


def test_somebody_restarts_them_by_hand(yard: Yard) -> None:
    def by_hand(entry: RolloutEntry, done: RolloutAccount) -> None:
        if isinstance(entry, Handed):
            yard.cluster.restart(entry.broker)

    plan = yard.plan()
    assert yard.run(plan, Hook(), by_hand).is_done
    assert yard.cluster.restarts == dict.fromkeys(plan.brokers, 1)


def test_who_is_not_restarted_in_time_is_left_and_can_be_gone_on_with(yard: Yard) -> None:
    yard.back_s = 1.5
    plan = yard.plan()
    stopped = yard.run(plan, Hook())
    assert stopped.ended is not None
    assert stopped.ended.startswith(
        f"{plan.brokers[0]} was handed over to be restarted, and its process is still the one of "
        "before; it has stayed so for 1.5 s; if it was not restarted: --again"
    )
    yard.cluster.restart(plan.brokers[0])
    assert yard.run(plan).is_done
    assert yard.cluster.restarts == dict.fromkeys(plan.brokers, 1)


def test_nobody_goes_while_another_one_is_ill(yard: Yard) -> None:
    yard.back_s = 1.5
    plan, ill = yard.plan(), yard.cluster.brokers[0]
    ill.health = 500
    stopped = yard.run(plan)
    assert stopped.ended is not None
    assert stopped.ended.startswith(f"{ill.id} is not healthy: its check of itself says 500")
    assert yard.cluster.restarts.total() == 0
    as_before(yard)
    ill.health = 200
    assert yard.run(plan).is_done


def test_who_comes_back_ill_is_not_counted_as_back(yard: Yard) -> None:
    yard.back_s = 1.5
    plan = yard.plan()

    def poison(entry: RolloutEntry, done: RolloutAccount) -> None:
        if isinstance(entry, Handed):
            yard.cluster.broker(entry.broker).health = 503

    stopped = yard.run(plan, tell=poison)
    assert stopped.ended is not None
    assert f"{plan.brokers[0]} is back: its check of itself says 503" in stopped.ended
    yard.cluster.broker(plan.brokers[0]).health = 200
    assert yard.run(plan).is_done
    assert yard.cluster.restarts == dict.fromkeys(plan.brokers, 1)


def test_without_room_nothing_is_begun(yard: Yard) -> None:
    for each in yard.cluster.brokers:
        each.usage_percent = 60.0
    stopped = yard.run(yard.plan())
    assert stopped.ended is not None
    assert "cannot be emptied: more than --bar 85 % in the end" in stopped.ended
    assert yard.cluster.restarts.total() == yard.cluster.unloads.total() == 0
    as_before(yard)


def test_the_stop_file_ends_it_with_shedding_put_back(yard: Yard) -> None:
    plan = yard.plan()
    stop = yard.folder / "state" / "fake.stop"

    def halt(entry: RolloutEntry, done: RolloutAccount) -> None:
        if isinstance(entry, Emptied) and not stop.exists():
            stop.touch()

    stopped = yard.run(plan, tell=halt)
    assert stopped.ended is not None
    assert stopped.ended.startswith("asked to stop")
    assert yard.cluster.restarts.total() == 0
    as_before(yard)
    stop.unlink()
    assert yard.run(plan).is_done


def test_shedding_that_cannot_be_put_back_is_said_and_put_back_next_time(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, override = yard.plan(), Admin.override

    def refused(admin: Admin, key: str, value: str) -> None:
        if value != "false":
            raise GatherError("403 Forbidden")
        override(admin, key, value)

    with monkeypatch.context() as patch:
        patch.setattr(Admin, "override", refused)
        stopped = yard.run(plan, turns=1)
    assert stopped.ended is not None
    assert f"{SHEDDING} is still off: 403 Forbidden; the next run puts it back" in stopped.ended
    assert stopped.is_paused
    assert not yard.cluster.sheds
    assert noted(yard).value == "true"
    assert yard.run(plan).is_done
    as_before(yard)


# ------------------------------------------------------------------------ killed -9


@contextmanager
def at_step(number: int) -> Iterator[None]:
    """Kill this process at the given one of all the moments at which something is done.

    There is one before and one after each write of the restart's own journal, each note and
    mark beside the lock, each change of a setting, and each command that is begun.
    """
    done = [0]
    patched: list[tuple[Any, str, Any]] = []

    def counted(owner: Any, name: str, is_ours: Callable[..., bool] = lambda *given: True) -> None:
        before = getattr(owner, name)

        def around(*given: Any) -> Any:
            if is_ours(*given):
                _die_if(done, number)
            result = before(*given)
            if is_ours(*given):
                _die_if(done, number)
            return result

        patched.append((owner, name, before))
        setattr(owner, name, around)

    # The moves have journals of their own; what kills them is tried in test_apply.py.
    counted(FileJournal, "write", lambda journal, entry: ".moves" not in str(journal.path))
    for owner, names in ((FileLock, ("note_pause", "drain", "take_back")), (Admin, ("override",))):
        for name in names:
            counted(owner, name)
    counted(Hook, "begin")
    try:
        yield
    finally:
        for owner, name, before in patched:
            setattr(owner, name, before)


def _die_if(done: list[int], number: int) -> None:
    done[0] += 1
    if done[0] == number:
        os.kill(os.getpid(), signal.SIGKILL)


def killed(yard: Yard, plan: RolloutPlan, number: int) -> bool:
    """Carry a restart out in a process of its own that kills itself; say whether it did."""
    child = os.fork()
    if child == 0:
        is_done = False
        try:
            with at_step(number):
                is_done = yard.run(plan).is_done
        finally:
            os._exit(0 if is_done else 1)
    _, status = os.waitpid(child, 0)
    # Neither killed nor done: whatever stopped it is no kill.
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, number
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_a_restart_that_is_killed_at_any_step_goes_on(tmp_path: Path, is_exhaustive: bool) -> None:
    """Whatever it was killed at, what must hold holds then, and after it is taken up."""
    n_killed, n_unknown = 0, 0
    n_brokers = 2 if is_exhaustive else 1
    for number in range(1, 199):
        folder = tmp_path / str(number)
        folder.mkdir()
        with cluster_of(2, 2) as cluster:
            # A busy machine takes its time to start a command.
            yard = Yard(cluster, folder, back_s=6.0, n_brokers=n_brokers)
            plan = yard.plan()
            if not killed(yard, plan, number):
                break
            n_killed += 1
            # Shedding is on, or it is noted that it is not.
            assert cluster.sheds or noted(yard) is not None, number
            handed = [each for each in entries(yard, plan) if isinstance(each, Handed)]
            # A command that was begun goes on by itself.
            time.sleep(0.4)
            restarts = cluster.restarts.copy()
            done = yard.run(plan)
            if not done.is_done:
                # Handed over, and killed before the command was begun: that cannot be known.
                n_unknown += 1
                assert handed, number
                assert cluster.restarts == restarts, number
                assert "--again" in str(done.ended), number
                assert cluster.sheds, number
                done = yard.run(plan, again=handed[-1].broker)
            assert done.is_done, (number, done.ended)
            assert cluster.restarts == dict.fromkeys(plan.brokers, 1), number
            assert cluster.shed_at_restart == [False] * n_brokers, number
            assert set(cluster.owned_at_restart) == {0}, number
            as_before(yard)
            served(cluster)
    # Begun, paused, put back and done once, two notes and three changes of the setting; and of
    # each broker: emptying, emptied, handed, back and filled, two marks, and its command.
    assert n_killed >= 2 * (4 + 2 + 3 + n_brokers * (5 + 2 + 1)), n_killed
    # After the entry that it is handed over was written, and before the command is begun.
    assert n_unknown == 2 * n_brokers


def test_the_next_run_of_another_plan_puts_back_what_was_left(yard: Yard) -> None:
    plan = yard.plan()
    # Begun; paused; noted: the setting is next, and after it the run is killed.
    assert killed(yard, plan, 8)
    assert not yard.cluster.sheds
    assert noted(yard).plan == str(yard.path)
    other = Yard(yard.cluster, yard.folder / "other")
    other.folder.mkdir()
    (other.folder / "state").symlink_to(yard.folder / "state")

    assert other.run(other.plan(), turns=1).ended == AS_FAR_AS_ASKED

    as_before(yard)


def test_the_journal_is_true_and_for_its_owner_alone(yard: Yard) -> None:
    plan = yard.plan()
    yard.run(plan)
    told = entries(yard, plan)
    for broker in plan.brokers:
        mine = [type(each).__name__ for each in told if getattr(each, "broker", "") == broker]
        assert mine == ["Emptying", "Emptied", "Handed", "HookEnded", "Back", "Filled"]
    (last,) = [each for each in told if isinstance(each, Filled) and each.moves]
    assert last.broker == plan.brokers[-1]
    for path in yard.folder.rglob("*"):
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0, path
    assert json.loads(yard.path.read_text())["brokers"] == list(plan.brokers)
    assert HOOK.words[0] not in yard.path.read_text()
