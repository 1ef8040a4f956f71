"""What a day beside 1,000 brokers does to the page of a watch: its memory and its pictures."""

from __future__ import annotations

import gc
import json
import pickle
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

from bench.table import Table
from trimtab.diagnose.deployment import deployment
from trimtab.lab.outcomes.recording import Reported
from trimtab.live.watch.memory import Memory, learned
from trimtab.live.watch.nouns import Acted, Action, Relearn, Settings
from trimtab.live.watch.page.state import Shown
from trimtab.live.watch.tally import Tally, View
from trimtab.pulsar.leader.reports import Report

BROKERS = 1_000
BUNDLES_OF_EACH = 10
MOVES_A_MINUTE = 10
_ROWS = 8
_BEGAN = datetime(2026, 11, 21, tzinfo=UTC)
_NAMES = [f"broker-{i:04d}.pulsar.svc.cluster.local:8080" for i in range(BROKERS)]


def settings() -> Settings:
    """Return a cluster's, as Pulsar ships them."""
    ran = deployment({"pulsar": "4.0.8"}, (), (), ((), ()))
    return Settings(ran, ran.shedder, ran.placer, ran.conf, ran.manager.shedding_interval_s)


def views(minutes: int) -> Iterator[tuple[datetime, View]]:
    """Yield the steps of a watch, with when they are taken."""
    ran, dice = settings(), np.random.default_rng(1)
    memory = learned(Memory(began=_BEGAN), ran, Relearn(_NAMES[0], _BEGAN), ())
    term, tally = memory.term, Tally()
    assert term is not None
    usage = dice.uniform(20.0, 80.0, BROKERS)
    for minute in range(minutes):
        now = _BEGAN + timedelta(minutes=minute)
        usage = np.clip(usage + dice.normal(0.0, 2.0, BROKERS), 1.0, 99.0)
        for i, name in enumerate(_NAMES):
            term.own.view.put(_report(i, usage[i]))
            term.reported[name] = {"time": now, "written": None}
            memory.usages.append(Reported(now.timestamp(), name, float(usage[i])))
        memory.usages = memory.usages[-15 * BROKERS :]
        term.owners.handovers = [
            (now, _bundle(*dice.integers(0, [BROKERS, BUNDLES_OF_EACH])), *dice.choice(_NAMES, 2))
            for _ in range(MOVES_A_MINUTE)
        ] + term.owners.handovers[: 14 * MOVES_A_MINUTE]
        actions: list[Action] = [Acted(minute, now, 1, 1.0, (), "")]
        tally.add(actions)
        yield now, View(ran, memory, actions, tally)


def _bundle(broker: int, number: int) -> str:
    return f"tenant/namespace-{broker:04d}/0x{number:08x}_0x{number + 1:08x}"


def _report(i: int, usage: float) -> Report:
    names = tuple(_bundle(i, number) for number in range(BUNDLES_OF_EACH))
    used = np.array([usage, 0.0, 0.0, 0.0, 0.0])
    return Report(_NAMES[i], used, np.full(5, 100.0), np.full(4, 1e4), names, (), np.empty((0, 5)))


def watch_page(minutes: int = 24 * 60) -> Table:
    """Return how long the page takes to draw 1,000 brokers, and what it keeps, over a day."""
    shown, took_ms, rows, content = Shown(), list[float](), list[tuple[str, ...]](), ""
    # As `trimtab watch` does before its first step.
    gc.freeze()
    for number, (now, view) in enumerate(views(minutes), start=1):
        # Of this thread, so that what else the machine does is not in it.
        begun = time.thread_time()
        shown.hear(view, now)
        content = json.dumps(shown.look(view, now))
        took_ms.append(1000.0 * (time.thread_time() - begun))
        if number % (minutes // _ROWS) == 0:
            kept = len(pickle.dumps(shown))
            figures = [float(np.percentile(took_ms, q)) for q in (50, 99, 100)]
            sizes = [f"{size / 1024:.0f}" for size in (kept, len(content))]
            rows.append((f"{number / 60:g}", *(f"{each:.0f}" for each in figures), *sizes))
            took_ms.clear()
    return Table(
        f"{BROKERS:,} simulated brokers report once a minute, {MOVES_A_MINUTE} bundles a minute "
        "change hands, and the page takes a step a minute of it, for a day.\n"
        "Times are of the processor, of all pictures since the row before; what the page keeps is "
        "what it pickles to.\n",
        (),
        ("hours", "picture, ms", "99 %", "longest", "kept, KiB", "sent, KiB"),
        tuple(rows),
    )
