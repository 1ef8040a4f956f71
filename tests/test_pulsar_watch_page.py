"""The page of a watch beside a real cluster, in a real browser: a click there moves a bundle.

Everybody is asked for a token, also whoever carries out what was approved.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cluster import tokens
from cluster.tokens import SUPER_USER

from beside import running, wait_until
from loopback_cluster import asked
from pages_in_chromium import browser, colours, violations
from test_pulsar_watch import ADMIN, STEADY, Cluster, cluster
from test_pulsar_watch import said as lines_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

__all__ = ["browser", "cluster"]  # the fixtures

pytestmark = [pytest.mark.pulsar, pytest.mark.browser]

SOON_MS, LATER_MS = 40_000, 240_000
#: A plan that is approved in vain has ended by then; and so often another may come between.
STOPPED_MS, TRIES = 60_000, 4
#: Brokers have only just started and share one CPU.
LIMITS = {"bar_percent": 1e9, "broker_age_min_s": 1, "settle_s": 1, "grace_s": 1}


@dataclass(frozen=True)
class Asking:
    """A watch that asks, and where its page and its recording are."""

    address: str
    recording: Path
    cluster: Cluster


@pytest.fixture(scope="module")
def asking(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """A watch that asks before it moves anything, beside a cluster with load."""
    cluster.switch_shedding_off()
    folder = tmp_path_factory.mktemp("asking")
    recording, printed = folder / "recording", folder / "printed.txt"
    limits = [word for name, value in LIMITS.items() for word in ("--limit", f"{name}={value:g}")]
    command = (
        *("trimtab", "watch", *cluster.words, "--every", "5s", "--interval", "15s"),
        *("--strategy", "UniformLoadShedder", "--act", "--ask", "--page", "0", "-o"),
        *(str(recording), *limits, "--throttle", "1", "1"),
    )
    with (
        running("-m", "cluster.load", str(STEADY)),
        printed.open("w") as out,
        running("-m", *command, stdout=out.fileno()) as process,
    ):
        wait_until("the page", lambda: "Page: " in printed.read_text() or has_ended(process))
        address = re.search(r"Page: (\S+)", printed.read_text())
        assert address is not None, printed.read_text()
        yield Asking(address[1], recording, cluster)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0, printed.read_text()
    assert "Traceback" not in printed.read_text()


def has_ended(process: subprocess.Popen[str]) -> bool:
    return process.poll() is not None


@contextmanager
def looking(browser: Browser, asking: Asking, **options: Any) -> Iterator[Page]:
    """Look at a page on which a plan waits; whatever it logs or throws fails the test."""
    from playwright.sync_api import TimeoutError as TooLateError

    complaints: list[str] = []
    context = browser.new_context(**({"viewport": {"width": 1100, "height": 900}} | options))
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(asking.address)
    approve = page.locator("#approve:enabled")
    with suppress(TooLateError):
        approve.wait_for(timeout=SOON_MS)
    if not approve.count():
        # Whether the first draw of owners is uneven, and still is after a move, is chance.
        crowd(asking.cluster)
    approve.wait_for(timeout=LATER_MS)
    yield page
    context.close()
    assert complaints == []


def waiting(page: Page) -> tuple[str, str, str]:
    """Give the move that waits on the page: bundle, from, to."""
    text = page.locator("#plan-moves > li > bdi").first.inner_text()
    move = re.fullmatch(r"(\S+): (\S+) → (\S+)", text)
    assert move is not None, text
    return move[1], move[2], move[3]


def fate(page: Page, bundle: str) -> Locator:
    """Return where the fate of a move stands: in its plan, also once the next one waits."""
    return page.locator("#plan-moves > li, #past > li > ol > li").filter(has_text=bundle)


def known(cluster: Cluster) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens.token(cluster.folder, SUPER_USER)}"}


def owner(cluster: Cluster, bundle: str) -> str:
    """Ask the brokers who has a bundle; empty if nobody says so."""
    for broker in asked(ADMIN, "brokers", headers=known(cluster)):
        path = f"brokers/loopback/{broker}/ownedNamespaces"
        if bundle in asked(f"http://{broker}", path, headers=known(cluster)):
            return str(broker)
    return ""


def unload(cluster: Cluster, bundle: str, target: str) -> None:
    """Move a bundle as somebody else does."""
    namespace, _, range_ = bundle.rpartition("/")
    address, path = ADMIN, f"namespaces/{namespace}/{range_}/unload?destinationBroker={target}"
    for _ in range(9):
        try:
            asked(address, path, "PUT", headers=known(cluster), within_s=30.0)
        except urllib.error.HTTPError as error:
            if error.code != 307:
                raise
            address, _, path = error.headers["Location"].partition("/admin/v2/")
        else:
            return
    raise AssertionError(f"sent on again and again, at last to {address}")


def crowd(cluster: Cluster) -> None:
    """Bring all bundles to the broker that has most of them."""
    owned = {
        broker: [
            name
            for name in asked(
                f"http://{broker}",
                f"brokers/loopback/{broker}/ownedNamespaces",
                headers=known(cluster),
            )
            if name.startswith("shop/")
        ]
        for broker in asked(ADMIN, "brokers", headers=known(cluster))
    }
    most = max(owned, key=lambda broker: len(owned[broker]))
    for broker, bundles in owned.items():
        for bundle in bundles if broker != most else ():
            unload(cluster, bundle, most)


def journal(asking: Asking, bundle: str) -> list[dict[str, Any]]:
    """Read the journal of the plan that has a bundle, the newest if there are several."""
    plans = sorted((asking.recording / "watch" / "plans").glob("*.json"))
    mine = [path for path in plans if bundle in path.read_text()]
    text = mine[-1].with_name(f"{mine[-1].name}.journal").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_click_moves_the_bundle_and_the_page_says_what_came_of_it(
    asking: Asking, cluster: Cluster, browser: Browser
) -> None:
    with looking(browser, asking) as page:
        bundle, source, target = waiting(page)
        assert owner(cluster, bundle) == source
        page.locator("#approve").click()
        # Pulsar may forget a destination: then the page says that the bundle went astray.
        came = fate(page, bundle).filter(has_text=re.compile("verified|astray")).first
        came.wait_for(timeout=LATER_MS)
        if "verified" in came.inner_text():
            assert owner(cluster, bundle) == target
            changed = page.locator("#moves > li").filter(has_text=bundle)
            changed.filter(has_text="by this watch").first.wait_for(timeout=LATER_MS)
    acts = lines_of(asking.recording, "asking")
    assert acts
    assert [each["entry"] for each in journal(asking, bundle)][:2] == ["begun", "asked"]


def moved_by_others(page: Page, cluster: Cluster) -> tuple[str, str]:
    """Move the bundle that waits on the page elsewhere; return it, and where it is then."""
    page.locator("#approve:enabled").wait_for(timeout=LATER_MS)
    bundle, source, target = waiting(page)
    brokers = asked(ADMIN, "brokers", headers=known(cluster))
    (other,) = {*brokers} - {source, target}
    unload(cluster, bundle, other)
    wait_until("a new owner", lambda: owner(cluster, bundle) not in {"", source})
    return bundle, owner(cluster, bundle)


def test_a_cluster_that_has_changed_since_is_left_alone(
    asking: Asking, cluster: Cluster, browser: Browser
) -> None:
    from playwright.sync_api import TimeoutError as TooLateError

    with looking(browser, asking) as page:
        plans = page.locator("#plan, #past > li")
        for _ in range(TRIES):
            bundle, there = moved_by_others(page, cluster)
            stopped = plans.filter(has_text=f"{bundle} is at {there}").first
            with suppress(TooLateError):
                # A round may have laid down the next plan meanwhile, which asks for others.
                if waiting(page)[0] == bundle:
                    page.locator("#approve:enabled").click(timeout=STOPPED_MS)
                    stopped.wait_for(timeout=STOPPED_MS)
                    break
        else:
            raise AssertionError(f"{TRIES} times the plan was another one before the click")
    assert owner(cluster, bundle) == there
    assert "asked" not in [each["entry"] for each in journal(asking, bundle)]


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (1100, "dark"), (360, "light")])
def test_it_is_read_by_everybody_and_fits(
    asking: Asking, browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    with looking(
        browser, asking, viewport={"width": width, "height": 900}, color_scheme=scheme
    ) as page:
        page.locator("#brokers tr").nth(2).wait_for(timeout=LATER_MS)
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=str(tmp_path / "page.png"), full_page=True)
        assert colours(browser, page) > 20
