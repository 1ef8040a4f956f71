"""The page of a watch in a real browser: it draws, follows, is answered, and fits a phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pages_in_chromium import browser, colours, violations
from tests.asking_watch import AskingWatch, asking_watch
from tests.fake_pulsar import FakePulsar, fake_pulsar
from tests.watched_nights import seen
from trimtab.live.watch.desk import Desk
from trimtab.live.watch.page.server import Page as Served
from trimtab.live.watch.page.server import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, LocatorAssertions, Page

pytestmark = pytest.mark.browser

__all__ = ["browser"]  # the fixture

#: On a machine that does a lot besides.
LATER_MS = 90_000
Visit = Callable[..., "Page"]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Visit served pages; whatever they log, throw or ask elsewhere fails the test."""
    contexts, complaints, requests = [], [], []
    meant: list[str] = []

    def visited(address: str, *, width: int = 1100, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        meant.append(address)
        page.goto(address)
        return page

    yield visited
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} <= {
        each + path for each in meant for path in ("", "state", "answer")
    }


@pytest.fixture
def cluster() -> Iterator[FakePulsar]:
    with fake_pulsar(3, 12, 12) as running:
        yield running


@pytest.fixture(scope="module")
def night() -> Iterator[Served]:
    """The page of a recorded night."""
    with opened("0", Desk(), is_asking=False) as page:
        page.take(seen("uniform"))
        yield page


def expect(locator: Locator) -> LocatorAssertions:
    from playwright.sync_api import expect as expected  # half a second that others do not need

    return expected(locator)


def text(page: Page, id_: str) -> str:
    return page.locator(f"#{id_}").inner_text()


def approve(watching: AskingWatch) -> None:
    progress = watching.desk.progress
    assert progress is not None
    assert watching.desk.take_answer(progress.plan.digest, is_approved=True)


@contextmanager
def asking(
    cluster: FakePulsar, folder: Path, visit: Visit, **options: Any
) -> Iterator[tuple[AskingWatch, Page]]:
    """Run a watch, and look at its page, on which a plan waits."""
    with asking_watch(cluster, folder) as watching:
        page = visit(watching.page.address, **options)
        page.locator("#approve").wait_for(timeout=LATER_MS)
        yield watching, page
        # A browser logs what it cannot reach, so it leaves first.
        page.context.close()


def test_a_night_is_drawn(night: Served, visit: Visit, browser: Browser) -> None:
    page = visit(night.address)
    page.locator("#brokers tr").nth(3).wait_for()

    assert re.fullmatch(r"4 brokers stand at [\d.]+ % on average, .*", text(page, "answer"))
    assert page.locator("#moves li").count() > 10
    assert page.locator("#plan").is_hidden()
    assert page.locator("#acting-part").is_hidden()
    assert colours(browser, page) > 20


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_nothing(night: Served, visit: Visit, width: int, theme: str) -> None:
    page = visit(night.address, width=width, color_scheme=theme)
    page.locator("#brokers tr").nth(3).wait_for()

    assert violations(page) == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_nothing_where_somebody_is_asked(
    cluster: FakePulsar, tmp_path: Path, visit: Visit, width: int, theme: str
) -> None:
    with asking(cluster, tmp_path, visit, width=width, color_scheme=theme) as (watching, page):
        assert violations(page) == []
        approve(watching)
        page.locator("#past li li").first.wait_for(timeout=LATER_MS)
        assert violations(page) == []


def test_a_plan_is_approved_with_the_keyboard_and_followed_to_its_end(
    cluster: FakePulsar, tmp_path: Path, visit: Visit
) -> None:
    with asking(cluster, tmp_path, visit) as (_, page):
        moved = text(page, "plan-moves")
        assert "ThresholdShedder: score of the source" in moved
        bundle = moved.partition(": ")[0]
        assert cluster.unloads == {}
        approve = page.locator("#approve")
        expect(approve).to_be_enabled(timeout=LATER_MS)
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "approve":
                break
        assert page.evaluate("document.activeElement.id") == "approve"
        assert approve.is_enabled()
        page.keyboard.press("Enter")
        # Where it was while it is the last plan, and among those before once the next one waits.
        fate = page.locator("#plan-moves > li, #past > li > ol > li").filter(has_text="verified")
        expect(fate).to_contain_text(bundle, timeout=LATER_MS)
        expect(fate).to_contain_text("came: ", timeout=LATER_MS)
        journal = page.locator("#plan-entries, #past details").filter(has_text="arrived")
        expect(journal).to_contain_text(bundle, timeout=LATER_MS)
        assert cluster.unloads == {bundle: 1}
        # It is known once the plan is over.
        expect(page.locator("#moves")).to_contain_text("by this watch", timeout=LATER_MS)


def test_a_plan_is_refused(cluster: FakePulsar, tmp_path: Path, visit: Visit) -> None:
    with asking(cluster, tmp_path, visit) as (_, page):
        page.locator("#refuse").click()
        ends = page.locator("#plan-title, #past > li > bdi").filter(has_text="refused on the page")
        expect(ends).to_contain_text("ound ", timeout=LATER_MS)
    assert cluster.unloads == {}


def test_what_came_of_a_plan_stays_when_the_next_one_waits(
    cluster: FakePulsar, tmp_path: Path, visit: Visit
) -> None:
    with asking(cluster, tmp_path, visit) as (watching, page):
        bundle = text(page, "plan-moves").partition(": ")[0]
        approve(watching)
        past = page.locator("#past > li")
        expect(past).to_have_count(1, timeout=LATER_MS)
        expect(past).to_contain_text("done")
        expect(past.locator("> ol")).to_contain_text(bundle)
        expect(past.locator("> ol .good")).to_have_text("verified")
        expect(past.locator("details")).to_contain_text("arrived")
        expect(page.locator("#plan-moves")).not_to_contain_text(bundle)


def test_another_sites_page_can_neither_read_nor_answer_nor_frame_it(
    cluster: FakePulsar, tmp_path: Path, browser: Browser
) -> None:
    """Its owner even knows the address, token and plan, which it cannot."""
    with (
        asking_watch(cluster, tmp_path) as watching,
        opened("0", Desk(), is_asking=False) as elsewhere,
    ):
        while not ((progress := watching.desk.progress) and progress.is_waiting):
            watching.is_over.wait(0.05)
        page = browser.new_context().new_page()
        other = elsewhere.address.replace("127.0.0.1", "localhost")
        page.route(
            other,
            lambda route: route.fulfill(body="<!doctype html><p>evil", content_type="text/html"),
        )
        page.goto(other)
        tried = page.evaluate(
            """async ([address, plan]) => {
              const body = JSON.stringify({ plan, approve: true });
              const attempts = [
                { method: "POST", body, headers: { "Content-Type": "application/json" } },
                { method: "POST", body, mode: "no-cors" },
                { method: "POST", body, mode: "no-cors", credentials: "include" },
              ].map((how) => fetch(`${address}answer`, how).then((r) => r.type, () => "refused"));
              attempts.push(fetch(`${address}state`).then(() => "read", () => "refused"));
              const form = document.createElement("form");
              Object.assign(form, { method: "post", enctype: "text/plain", target: "there" });
              form.action = `${address}answer`;
              const input = document.createElement("input");
              Object.assign(input, { name: body.slice(0, -1) + ', "x": "', value: '"}' });
              form.append(input);
              const frame = document.createElement("iframe");
              frame.name = "there";
              document.body.append(frame, form);
              form.submit();
              const seen = document.createElement("iframe");
              seen.src = address;
              document.body.append(seen);
              await new Promise((then) => { seen.onload = then; setTimeout(then, 3000); });
              await new Promise((then) => setTimeout(then, 1000));
              return [...(await Promise.all(attempts)), seen.contentDocument];
            }""",
            [watching.page.address, progress.plan.digest],
        )
        # A frame that is refused shows an error of the browser's own, which nobody can read.
        assert tried == ["refused", "refused", "refused", "refused", None]
        assert watching.desk.progress is not None
        assert watching.desk.progress.is_waiting
        page.context.close()
    assert cluster.unloads == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_it_fits(
    cluster: FakePulsar, tmp_path: Path, visit: Visit, width: int, scheme: str
) -> None:
    with asking(cluster, tmp_path, visit, width=width, color_scheme=scheme) as (_, page):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        heights = page.locator("button:visible").evaluate_all(
            "(all) => all.map((each) => each.getBoundingClientRect().height)"
        )
        assert min(heights) >= 44
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(250, 249, 246)", "dark": "rgb(19, 21, 23)"}[scheme]
        page.screenshot(path=str(tmp_path / "page.png"), full_page=True)


def test_a_watch_that_is_gone_is_said(night: Served, browser: Browser) -> None:
    # Not by `visit`: a browser logs what it cannot reach.
    page = browser.new_page()
    page.goto(night.address)
    link = page.locator("#link")
    expect(link).to_contain_text("live, as of", timeout=LATER_MS)
    page.context.set_offline(True)
    expect(link).to_contain_text("No answer from the watch: this is of", timeout=LATER_MS)
    page.context.set_offline(False)
    expect(link).to_contain_text("live, as of", timeout=LATER_MS)
    page.context.close()
