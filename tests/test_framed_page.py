"""The page below a notebook's cell, in a real browser: it draws, and its links stay within it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pages_in_chromium import Open, browser, open_page
from report_nights import render
from trimtab.explanation.notebook import Framed

pytestmark = pytest.mark.browser

__all__ = ["browser", "open_page"]  # the fixtures

NIGHT = Path(__file__).parent / "testdata" / "report" / "threshold.json"


def test_a_framed_page_draws_and_its_links_lead_within_it(open_page: Open, tmp_path: Path) -> None:
    document = json.loads(NIGHT.read_text(encoding="utf-8"))
    report = tmp_path / "report.html"
    report.write_text(render(document["findings"], document["picture"]), encoding="utf-8")
    frame = Framed(report, 800)._repr_html_()
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><meta charset=utf-8><p>cell</p>{frame}", encoding="utf-8")

    page = open_page(cell)
    framed = page.frame_locator("iframe")

    assert "bundles were moved" in framed.locator("h1").inner_text()
    assert framed.locator("svg").first.is_visible()
    link = framed.locator("main a[href^='#']:visible").first
    link.click()
    framed.locator("h1").wait_for(state="attached")
    assert page.url == cell.as_uri()
    assert framed.locator(":target").count() == 1
