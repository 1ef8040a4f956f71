"""How large the page of a large night is, how long it takes to make, and how soon it is open."""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Playwright, sync_playwright

from bench.table import Table
from trimtab.diagnose.verdicts import VERDICT_WORDS
from trimtab.report.render import render

_BROKERS = 1_000
_MINUTES = 24 * 60
_MOVES = (5_000,)
#: Minutes between two reports of a broker.
_REPORTED = 5
_OPENED = 5
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_START = datetime(2026, 3, 1, 22, tzinfo=UTC)
_HEADINGS = (
    "moves",
    "page, MB",
    "made in, s",
    "first paint, s",
    "every row ready, s",
    "slowest of all, s",
    "CPU, s",
)
#: What the page itself notes down, in milliseconds since it was asked for.
_TIMES = """() => [
  performance.getEntriesByName("first-contentful-paint")[0].startTime,
  performance.getEntriesByName("trimtab-ready")[0].startTime,
]"""


def report() -> Table:
    """Measure the page of a night of 1,000 brokers and 24 hours."""
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), "")
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for moves in _MOVES:
            findings, picture = _night(moves)
            began = time.process_time()
            text = render(findings, picture, VERDICT_WORDS)
            made = time.process_time() - began
            page = Path(folder) / f"{moves}.html"
            page.write_text(text, encoding="utf-8")
            painted, ready, worked = zip(
                *(_opened(playwright, found, page) for _ in range(_OPENED)), strict=True
            )
            rows.append(
                (
                    f"{moves:,}",
                    f"{page.stat().st_size / 1e6:.1f}",
                    f"{made:.1f}",
                    f"{statistics.median(painted):.2f}",
                    f"{statistics.median(ready):.2f}",
                    f"{max(ready):.2f}",
                    f"{statistics.median(worked):.2f}",
                )
            )
    return Table(_text(), (_version(found),), _HEADINGS, tuple(rows))


def _text() -> str:
    return (
        f"The page of a made night of {_BROKERS:,} brokers and 24 hours: a round a minute, each "
        f"told with a dozen brokers, a report of each broker every {_REPORTED} minutes, moves "
        "with two log lines each.\n"
        f"Made by one process; opened {_OPENED} times in a new headless Chromium, 1100 pixels "
        "wide: seconds from the start of the navigation, the median.\n"
        "Every row is ready when all moves can be sorted and filtered; CPU is that of the page's "
        "own thread, which other work on the machine does not lengthen.\n"
    )


def _version(browser: str) -> str:
    """Name the browser and its version."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        version = launched.version
        launched.close()
    return f"Chromium {version}"


def _opened(playwright: Playwright, browser: str, page: Path) -> tuple[float, float, float]:
    """Open the page in a browser of its own.

    Returns:
        When it was painted, when every row was ready, and the CPU that its thread took, in s.
    """
    launched = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
    tab = launched.new_page(viewport={"width": 1100, "height": 900})
    tools = tab.context.new_cdp_session(tab)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.as_uri())
    tab.wait_for_function("performance.getEntriesByName('trimtab-ready').length > 0")
    painted, ready = tab.evaluate(_TIMES)
    metrics = tools.send("Performance.getMetrics")["metrics"]
    worked = next(each["value"] for each in metrics if each["name"] == "TaskDuration")
    launched.close()
    return painted / 1000, ready / 1000, worked


def _at(minute: float) -> str:
    return (_START + timedelta(minutes=minute)).isoformat(timespec="milliseconds")


def _usage(broker: int, minute: float) -> float:
    """Waves that differ from broker to broker."""
    return 0.4 + 0.2 * math.sin(broker * 1.7) + 0.15 * math.sin(minute / 120 + broker)


def _night(moves: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make findings and picture from a formula: no chance, no clock."""
    names = [f"broker-{i}.pulsar.svc.cluster.local:8080" for i in range(_BROKERS)]
    unloads = [_unload(i, names) for i in range(moves)]
    busy = {each["round"] for each in unloads}
    findings = {
        "recording": "made",
        "from": _at(0),
        "to": _at(_MINUTES),
        "brokers": names,
        "unloads": unloads,
        "rounds": _MINUTES,
        "round_list": [_round(number, names) for number in range(1, _MINUTES) if number in busy],
    }
    picture = {
        "usage": [
            {"time": _at(minute), "broker": name, "usage": _usage(i, minute)}
            for i, name in enumerate(names)
            for minute in range(0, _MINUTES + 1, _REPORTED)
        ],
        "band": [{"time": _at(n), "low": 0.4, "high": 0.5} for n in range(1, _MINUTES)],
    }
    return findings, picture


def _round(number: int, names: list[str]) -> Mapping[str, Any]:
    standings = [
        {"broker": names[i], "usage": _usage(i, number), "smoothed": _usage(i, number - 3)}
        for i in range(number % 900, number % 900 + 12)
    ]
    return {
        "round": number,
        "time": _at(number),
        "leader": names[0],
        "average": 0.4,
        "threshold": 0.1,
        "brokers": standings,
        "recomputed": {"equal": True, "numbers": {}, "why": "every printed digit agrees"},
        "story": [f"Attempting to shed load on {names[number % 900]}, which is above average"],
    }


def _unload(i: int, names: list[str]) -> dict[str, Any]:
    number = 1 + (i * 7919) % (_MINUTES - 1)
    source, target = names[(number * 31) % _BROKERS], names[(i * 17 + 5) % _BROKERS]
    bundle = f"tenant/namespace-{i % 40}/0x{i * 4096:08x}_0x{(i + 1) * 4096:08x}"
    prefix = f"{_at(number)} [pulsar-load-manager-1-1] INFO  "
    lines = (
        f"{prefix}ThresholdShedder - Attempting to shed load on {source}, which has max resource "
        f"usage above avgUsage and threshold {100 * _usage(i, number)}% > 40.0% + 10.0%",
        f"{prefix}ModularLoadManagerImpl - [ThresholdShedder] Unloading bundle: {bundle} from "
        f"broker {source} to dest broker {target}",
    )
    return {
        "id": f"u{i}",
        "time": _at(number + i % 50 / 60),
        "round": number,
        "bundle": bundle,
        "source": source,
        "target": target,
        "throughput": 1000.0 * (1 + (i * 37) % 5000),
        "verdict": ("sound", "over-unloading", "random-placement")[i % 3],
        "useless": i % 3 == 1,
        "recomputed": {"equal": True, "numbers": {"average": 0.4 + i / 1e6}, "why": ""},
        "evidence": [
            {"file": "logs/broker-0/pulsar.log", "line": 100 * number + at, "text": text}
            for at, text in enumerate(lines)
        ],
    }
