"""Pages of ours in a real browser: whatever one logs, throws or asks for fails the test."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: No GPU, no first-run page, and none of what Chromium does by itself on the network.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        reason = f"none of {', '.join(BROWSERS)} is on PATH: the page was not opened"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright  # half a second that other tests do not need

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open pages by their files; whatever they log, throw or ask for fails the test."""
    contexts, complaints = [], []
    meant: list[str] = []
    requests: list[str] = []

    def opened(path: Path, *, width: int = 1100, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        meant.append(path.as_uri())
        page.goto(meant[-1])
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [] == complaints
    # Each page once, and nothing else.
    assert meant
    assert meant == requests


def colours(browser: Browser, page: Page) -> int:
    """Count the different colours of the whole page, as it was painted."""
    picture = base64.b64encode(page.screenshot(full_page=True)).decode()
    canvas = browser.new_page()
    different = canvas.evaluate(
        """async (picture) => {
          const image = new Image();
          image.src = `data:image/png;base64,${picture}`;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
          canvas.drawImage(image, 0, 0);
          const { data } = canvas.getImageData(0, 0, image.width, image.height);
          return new Set(new Uint32Array(data.buffer)).size;
        }""",
        picture,
    )
    canvas.close()
    assert isinstance(different, int)
    return different


AXE = files("axe_playwright_python") / "axe.min.js"


def violations(page: Page) -> list[str]:
    """Ask axe-core what people who see, hear or move as others do not could not read."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    assert len(found["passes"]) > 10
    return [
        f"{each['id']}: {each['help']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for each in found["violations"]
        for node in each["nodes"][:3]
    ]
