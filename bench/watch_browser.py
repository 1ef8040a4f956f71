"""What a day beside 1,000 brokers does to whoever serves the page of a watch, and to a browser."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import CDPSession, sync_playwright

from bench.table import Table
from bench.watch_page import BROKERS, MOVES_A_MINUTE, views
from trimtab.live.apply.clock import Clock
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Plan, PlannedMove
from trimtab.live.watch.desk import Desk
from trimtab.live.watch.page.server import opened

_ROWS = 8
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Has the page ask for what there is, as it does when somebody comes back to it; over once that
#: has been painted.
_FRAME = """() => new Promise((painted) => {
  const root = document.documentElement;
  const drawn = () => requestAnimationFrame(() => setTimeout(painted));
  new MutationObserver((_, watching) => { watching.disconnect(); drawn(); })
    .observe(root, { attributes: true, attributeFilter: ["data-frame-ms"] });
  document.dispatchEvent(new Event("visibilitychange"));
})"""


def watch_browser(minutes: int = 24 * 60) -> Table:
    """Return what a server and a browser keep of a day of 1,000 brokers, and what frames take."""
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), "")
    rows = []
    with _served(minutes) as (address, step), sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        version = f"Chromium {launched.version}"
        tab = launched.new_page(viewport={"width": 1100, "height": 900})
        tools = tab.context.new_cdp_session(tab)
        tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        step()
        tab.goto(address)
        tab.locator("#brokers tr").first.wait_for()
        took_ms = list[float]()
        for minute in range(1, minutes):
            kept = step()
            before = _metrics(tools)["TaskDuration"]
            tab.evaluate(_FRAME)
            took_ms.append(1000.0 * (_metrics(tools)["TaskDuration"] - before))
            if (minute + 1) % (minutes // _ROWS) == 0:
                rows.append((f"{(minute + 1) / 60:g}", *_row(tools, took_ms, kept)))
                took_ms.clear()
        launched.close()
    return Table(_text(), (version,), _HEADINGS, tuple(rows))


_HEADINGS = (
    "hours",
    "frame, ms",
    "99 %",
    "longest",
    "heap of the page, MB",
    "its nodes",
    "memory of the server, MB",
)


def _text() -> str:
    return (
        f"The same day of {BROKERS:,} brokers, {MOVES_A_MINUTE} bundles a minute that change hands "
        "and a plan of one move a minute, served by a process of its own to a headless Chromium, "
        "1100 pixels wide: a frame a minute of the day, faster than real time.\n"
        "A frame is what the page's own thread takes to ask, read, fill in, lay out and paint, in "
        "ms of the processor, of all frames since the row before.\n"
        "Heap and nodes are what is left after garbage was collected; the server's memory is what "
        "is resident, the simulated cluster included.\n"
    )


def _row(tools: CDPSession, took_ms: list[float], kept: float) -> Iterator[str]:
    tools.send("HeapProfiler.collectGarbage")
    now = _metrics(tools)
    yield from (f"{np.percentile(took_ms, q):.0f}" for q in (50, 99, 100))
    yield f"{now['JSHeapUsedSize'] / 1e6:.1f}"
    yield f"{now['Nodes']:,.0f}"
    yield f"{kept / 1e6:.0f}"


def _metrics(tools: CDPSession) -> Mapping[str, Any]:
    metrics = tools.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in metrics}


@contextmanager
def _served(minutes: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Serve the day in a process of its own; yields the address, and what takes the next step.

    A step returns the memory of the process after it, in bytes.
    """
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(theirs, minutes), daemon=True)
    process.start()

    def step() -> float:
        ours.send("next")
        return float(ours.recv())

    try:
        yield ours.recv(), step
    finally:
        ours.send("end")
        process.join()


def _serve(orders: Connection, minutes: int) -> None:
    desk = Desk()
    with opened("0", desk, is_asking=False) as page:
        orders.send(page.address)
        for number, (now, view) in enumerate(views(minutes), start=1):
            if orders.recv() == "end":
                return
            page.clock = Clock(now.timestamp())
            _lay(desk, number, now)
            page.take(view)
            orders.send(_resident_bytes())
        orders.recv()


def _lay(desk: Desk, number: int, now: datetime) -> None:
    """Lay down a plan that is over at once, as one that nothing fits any more is."""
    move = PlannedMove("tenant/namespace/0x00000000_0x10000000", "b1:8080", "b2:8080", "score")
    plan = Plan("made", now.timestamp(), (move,), Limits())
    desk.lay(plan, number)
    desk.end(plan.digest, "the bundle is elsewhere by now")


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096
