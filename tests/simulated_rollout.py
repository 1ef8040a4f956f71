"""A rolling restart of simulated brokers: where it is conducted from, and who restarts them."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fake_pulsar import NAME, FakePulsar
from trimtab.live.apply.rollout.hook import Hook
from trimtab.live.apply.rollout.making import write_rollout
from trimtab.live.apply.rollout.run import Onlooker, Rollout, conducted
from trimtab.live.apply.run import Watching, Where, connected_cluster
from trimtab.live.control.drain import emptying_limits
from trimtab.live.control.limits import Limits
from trimtab.live.control.rollout.account import RolloutAccount
from trimtab.live.control.rollout.entries import RolloutEntry
from trimtab.live.control.rollout.plan import RolloutPlan
from trimtab.live.gather.access import read_access

#: Asks a simulated broker to restart itself, as a real command would.
RESTART = (
    "import http.client, sys; name = sys.argv[1]; there = http.client.HTTPConnection(name); "
    "there.request('POST', '/restart/' + name); sys.exit(there.getresponse().status != 204)"
)
HOOK = Hook((sys.executable, "-S", "-c", RESTART, "{broker}"))


def hurried(bar_percent: float, every_s: float, warm_s: float) -> Limits:
    """Let bundles be moved again at once: here no unload takes long."""
    limits = emptying_limits(bar_percent, every_s, warm_s)
    return replace(limits, in_flight_s=0.4, verify_s=0.3, look_up_s=0.1)


def hurry(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("trimtab.live.control.rollout.plan.emptying_limits", hurried)


def spread(cluster: FakePulsar) -> None:
    """Give every broker as many bundles, of which each takes a few points of CPU."""
    cluster.bundle_percent = 8.0
    for i, name in enumerate(sorted(cluster.owners)):
        cluster.owners[name] = cluster.brokers[i % len(cluster.brokers)].id
    for each in cluster.brokers:
        each.usage_percent = 5.0


def nothing(entry: RolloutEntry, done: RolloutAccount) -> None:
    """Look on and do nothing."""


@dataclass
class Yard:
    """Where a restart is conducted from."""

    cluster: FakePulsar
    folder: Path
    give_back: str = "level"
    #: Long, as a machine with much to do is slow; short where somebody is not to come back.
    back_s: float = 15.0
    #: So many brokers of the cluster.
    n_brokers: int = 3

    @property
    def path(self) -> Path:
        return self.folder / "rollout.json"

    def where(self) -> Where:
        alive = next(each for each in self.cluster.brokers if each.is_registered)
        state = self.folder / "state"
        return Where(f"http://{alive.id}", read_access(None), state, None, True, 0.02)

    def plan(self) -> RolloutPlan:
        """Name the brokers from the last to the first, which leads."""
        brokers = tuple(each.id for each in reversed(self.cluster.brokers))[: self.n_brokers]
        return RolloutPlan(
            cluster=NAME,
            made_s=time.time(),
            brokers=brokers,
            rule="a test",
            give_back=self.give_back,
            bar_percent=85.0,
            every_s=0.01,
            warm_s=0.01,
            back_s=self.back_s,
        )

    def run(
        self,
        plan: RolloutPlan,
        hook: Hook = HOOK,
        tell: Callable[[RolloutEntry, RolloutAccount], None] = nothing,
        again: str = "",
        turns: int | None = None,
    ) -> RolloutAccount:
        """Carry a restart out, or go on with it."""
        write_rollout(self.path, plan)
        count = len(plan.brokers) if turns is None else turns
        over = threading.Event()
        watching = Watching(lambda entry: None, lambda wait: None, over)
        onlooker = Onlooker(tell, lambda plan: watching, lambda wait: None, over)
        with connected_cluster(self.where()) as there:
            rollout = Rollout(plan, self.path, hook, count, again)
            return conducted(rollout, there, onlooker)
