"""A watch beside a simulated cluster, with its page, in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.fake_pulsar import FakePulsar
from trimtab.live.apply import Where
from trimtab.live.control.throttle import Bars
from trimtab.live.gather import GatherRequest, read_access
from trimtab.live.watch.actor import ActingRequest
from trimtab.live.watch.desk import Desk
from trimtab.live.watch.loop import KeptMemory, WatchRequest, watch
from trimtab.live.watch.page.server import Page, opened
from trimtab.live.watch.shadow import beside
from trimtab.live.watch.steering.kept import read_kept, write_kept

#: s between two rounds.
INTERVAL_S = 2.0
STRATEGY = "ThresholdShedder"
_QUICK = {"settle_s": 0.5, "broker_age_min_s": 1.0, "verify_s": 2.0, "look_up_s": 0.2}


@dataclass
class AskingWatch:
    """A watch that asks, and where."""

    page: Page
    recording: Path
    is_over: threading.Event

    @property
    def desk(self) -> Desk:
        return self.page.desk


def _kept(memory: Path | None, strategy: str) -> KeptMemory:
    if memory is None:
        return KeptMemory()
    return KeptMemory(read_kept(memory, strategy), partial(write_kept, memory))


@contextmanager
def asking_watch(
    cluster: FakePulsar,
    folder: Path,
    *,
    asks: bool = True,
    strategy: str = STRATEGY,
    memory: Path | None = None,
    **limits: float,
) -> Iterator[AskingWatch]:
    """Run a watch that acts on a cluster whose first broker has everything."""
    cluster.bundle_percent = 5.0
    for broker in cluster.brokers:
        broker.usage_percent = 10.0
    admin, access = f"http://{cluster.brokers[0].id}", read_access(None)
    where = Where(admin, access, folder / "state", is_lock_here=True, pause_s=0.05)
    acting = ActingRequest(where, _QUICK | limits, Bars(1.0, 2.0), is_asking=asks)
    sensitive = ["loadBalancerBundleUnloadMinThroughputThreshold=0.1"]
    request = WatchRequest(
        GatherRequest(admin, duration_s=600.0, every_s=0.5),
        access,
        folder / "recording",
        beside(strategy, sensitive, INTERVAL_S),
        acting,
        memory=_kept(memory, strategy),
    )
    is_over = threading.Event()
    with opened("0", acting.desk, is_asking=asks) as page:

        def followed() -> None:
            for _ in page.followed(watch(request, is_over)):
                pass

        thread = threading.Thread(target=followed, name="watch")
        thread.start()
        try:
            yield AskingWatch(page, request.output, is_over)
        finally:
            is_over.set()
            thread.join()
