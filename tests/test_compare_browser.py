"""The page of a comparison in a real browser: it fits, it draws, it can be read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pages_in_chromium import Open, browser, colours, open_page
from sweep_rows import KEYS, rows
from trimtab.report.comparison import render_comparison
from trimtab.trials.compare.comparison import comparison

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

__all__ = ["browser", "open_page"]  # the fixtures


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    document = comparison(
        rows("S05", 12) + rows("S02", 12),
        KEYS,
        {"S05": "How soon does it carry its part?", "S02": ""},
    )
    path = tmp_path_factory.mktemp("comparison") / "comparison.html"
    path.write_text(render_comparison({**document, "command": "trimtab compare S05 S02"}))
    return path


@pytest.fixture(params=[(1100, "light"), (1100, "dark"), (360, "light"), (360, "dark")])
def opened(open_page: Open, page_file: Path, request: pytest.FixtureRequest) -> Page:
    """The page at one width and in one theme."""
    width, theme = request.param
    return open_page(page_file, width=width, color_scheme=theme)


def test_nothing_sticks_out(opened: Page) -> None:
    width = opened.evaluate("innerWidth")

    assert opened.evaluate("document.scrollingElement.scrollWidth") <= width
    opened.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert opened.evaluate("document.scrollingElement.scrollWidth") <= width


def test_the_picture_is_drawn_and_its_numbers_stand_in_the_table(
    browser: Browser,  # the fixture of that name, which is what is meant
    opened: Page,
) -> None:
    shown = "wide" if opened.evaluate("innerWidth") > 760 else "narrow"
    picture = opened.locator("#s1 .plot svg").locator("visible=true")

    assert 1 == picture.count()
    assert opened.locator(f"#s1 .plot.{shown}").is_visible()
    # A mark for each strategy, and the names of all.
    names = " ".join(picture.locator("text").all_text_contents()).split()
    assert set("ABCDEF") <= set(names)
    assert "never" in names
    assert colours(browser, opened) > 100
    cells = opened.locator("#s1 .contenders").first.locator("tbody tr").nth(4).locator("td b")
    assert ["25.3", "15"] == cells.all_inner_texts()[:2]


def test_tables_can_be_scrolled_by_keyboard(opened: Page) -> None:
    table = opened.locator("#s1 .scroll").first
    table.focus()

    assert table.evaluate("(each) => document.activeElement === each")
    assert 0 < len(table.get_attribute("aria-label") or "")


def test_failures_are_named(opened: Page) -> None:
    failed = opened.locator("#s1 .says.wide")

    assert "seed 7" in failed.inner_text()
    assert "not done after 600 s" in failed.inner_text()
