"""Every kind of page for people who do not see, hear or move as others do, in a real browser.

What a machine can ask of a page, axe-core asks; it is brought by a package of the index, and run
within the page by the debugger, which the page's own policy does not keep out.
"""

from __future__ import annotations

import base64
import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest

from page_kinds import PAGES, written
from pages_in_chromium import Open, browser, open_page, violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser

__all__ = ["browser", "open_page"]  # the fixtures

#: One fold of each kind: what lies in the others is of the same make.
UNFOLD = """() => {
  const kinds = new Set();
  for (const each of document.querySelectorAll("details")) {
    const kind = each.className || each.parentElement.className || each.parentElement.tagName;
    each.open = !kinds.has(kind);
    kinds.add(kind);
  }
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("kinds"))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (360, "dark")])
@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_nothing(
    open_page: Open, pages: dict[str, Path], kind: str, width: int, theme: str
) -> None:
    page = open_page(pages[kind], width=width, color_scheme=theme)
    page.evaluate(UNFOLD)

    assert violations(page) == []


def focused(page: Page, times: int) -> list[str]:
    """Press Tab so often; say what has the focus each time."""
    told = []
    for _ in range(times):
        page.keyboard.press("Tab")
        told.append(
            page.evaluate(
                "(({ tagName, id, className, namespaceURI: kind }) =>"
                " `${kind.split('/').pop()} ${tagName} ${id || className}`)(document.activeElement)"
            )
        )
    return told


@pytest.mark.parametrize("kind", ["explained", "many"])
def test_a_picture_is_one_stop_on_the_way(
    open_page: Open, pages: dict[str, Path], kind: str
) -> None:
    page = open_page(pages[kind])
    stops = focused(page, 60)

    assert [each for each in stops if each.startswith("svg")] == []
    assert sum("plot" in each for each in stops) == 1
    # The keys of the picture go where its links would have led.
    page.locator(".plot.wide").focus()
    before = page.locator("#story h3").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#story h3").inner_text() != before


def test_every_picture_is_named_or_hidden(open_page: Open, pages: dict[str, Path]) -> None:
    for kind in PAGES:
        page = open_page(pages[kind])
        nameless = page.evaluate(
            """[...document.querySelectorAll("svg")].filter((each) =>
              !each.closest("[aria-hidden=true]") && !each.closest("[role=img][aria-label]"))
              .map((each) => each.outerHTML.slice(0, 120))"""
        )
        assert nameless == [], kind
        for name in page.locator("[role=img], .plot").all():
            assert len(name.get_attribute("aria-label") or "") > 20


DEFICIENCIES = ("none", "protanopia", "deuteranopia", "tritanopia", "achromatopsia")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_parts_of_a_bar_are_told_apart_without_their_colours(
    open_page: Open, browser: Browser, pages: dict[str, Path], deficiency: str, theme: str
) -> None:
    page = open_page(pages["explained"], color_scheme=theme)
    debugger = page.context.new_cdp_session(page)
    debugger.send("Emulation.setEmulatedVisionDeficiency", {"type": deficiency})
    tones = ("good", "useless", "doubtful", "unknown")
    parts = {
        tone: grain(browser, page, page.locator(f".tally .{tone}").first) for tone in tones
    } | {"spent": grain(browser, page, page.locator(".possible .spent"))}

    assert len(parts) == 5
    for one, other in combinations(parts, 2):
        assert unlike(parts[one], parts[other]) > 0.12, (one, other)


def grain(browser: Browser, page: Page, part: Locator) -> npt.NDArray[np.bool_]:
    """Give a piece of a bar as light and dark; all light where it is of one shade."""
    box = part.bounding_box()
    assert box
    end = box["x"] + box["width"]
    clip = {"x": end - 26, "y": box["y"] + 1, "width": 24, "height": 8}
    shades = greys(browser, page.screenshot(full_page=True, clip=clip))
    darkest, lightest = shades.min(), shades.max()
    # Shades that the eye does not tell apart are one.
    return shades > (darkest + lightest) / 2 if lightest - darkest > 24 else shades >= 0


def greys(browser: Browser, picture: bytes) -> npt.NDArray[np.float64]:
    """Give the lightness of each pixel, 0 to 255."""
    canvas = browser.new_page()
    rows = canvas.evaluate(
        """async (picture) => {
          const image = new Image();
          image.src = `data:image/png;base64,${picture}`;
          await image.decode();
          const brush = new OffscreenCanvas(image.width, image.height).getContext("2d");
          brush.drawImage(image, 0, 0);
          const { data, width } = brush.getImageData(0, 0, image.width, image.height);
          return [width, [...data].filter((_, at) => at % 4 < 3)];
        }""",
        base64.b64encode(picture).decode(),
    )
    canvas.close()
    width, flat = rows
    return np.array(flat, dtype=float).reshape(-1, width, 3) @ np.array([0.299, 0.587, 0.114])


def unlike(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    """Give the least share of pixels that differ, however the two lie on each other."""
    height, width = (min(ends) for ends in zip(one.shape, other.shape, strict=True))
    return min(
        float(
            np.mean(one[:height, :width] != np.roll(other, (down, across), (0, 1))[:height, :width])
        )
        for down in range(height)
        for across in range(12)
    )


#: Kind → sheets of A4 that it takes at most, as it is printed unasked.
SHEETS_MAX = {
    "explained": 4,
    "many": 4,
    "quiet": 1,
    "hostile": 4,
    "compared": 4,
    "what-if": 4,
    "what-if-untrusted": 4,
    "rated": 4,
    "reproduced": 4,
    "rehearsed": 4,
    "rehearsed-untrusted": 4,
    "sized": 4,
    "trends": 5,
}


@pytest.mark.slow
def test_every_kind_of_page_fits_on_a_few_sheets(open_page: Open, pages: dict[str, Path]) -> None:
    taken = {kind: sheets(open_page(pages[kind])) for kind in PAGES}

    assert {kind: count for kind, count in taken.items() if count > SHEETS_MAX[kind]} == {}, taken


@pytest.mark.parametrize("kind", ["explained", "many"])
def test_the_rest_of_the_answer_is_printed_at_a_tick(
    open_page: Open, pages: dict[str, Path], kind: str
) -> None:
    page = open_page(pages[kind])
    answer = sheets(page)
    page.locator("#paper").check()
    assert sheets(page) > answer


def sheets(page: Page) -> int:
    """Print a page, and count the sheets."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
