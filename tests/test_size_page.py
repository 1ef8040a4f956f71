"""What is said of how many brokers a night needs: its lines and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pages_in_chromium import Open, browser, open_page
from sized_night import sized
from trimtab.report.size import render_size
from trimtab.trials.size.document import lines

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "open_page"]  # the fixtures

HOSTILE = "<script>alert(1)</script>\x1b[31m\"'&" + "b" * 10_000


def test_the_answer_comes_first_and_today_is_marked() -> None:
    told = list(lines(sized()))
    assert told[0] == (
        "4 brokers carry this night and the loss of any one, 6 almost surely; the 4 of today are "
        "perhaps too few."
    )
    (today,) = (line for line in told if "← today" in line)
    assert today.split()[:3] == ["4", "50", "%"]
    assert any(line.startswith("  by  50 %: 6 brokers (6 to 9), 9 almost surely") for line in told)
    assert any("to split: shop/orders/0x0_0x8, up to 61 %" in line for line in told)


def test_several_nights_are_told_apart_and_what_one_more_would_tell() -> None:
    document = sized(nights=2)
    text = list(lines(document))
    assert text[0].startswith("4 brokers carry these 2 nights and the loss of any one, 6 almost")
    assert sum("Pulsar" in line for line in text[:4]) == 2
    assert "Each night by itself: 5, 4 brokers" in text
    assert "Without one of them: 4 to 5; one more night may change it by 1" in text
    page = render_size(document)
    assert "Without any one of these nights the answer is 4 to 5" in page
    assert page.count("night-2") >= 2
    assert 'id="nights"' not in render_size(sized())
    assert not any("by itself" in line for line in lines(sized()))


def test_rules_of_several_nights_are_told_apart_and_one_that_is_not_met_decides() -> None:
    document = sized(nights=2)
    names = [check["name"] for check in document["fidelity"]["checks"]]
    assert len(names) == len(set(names)) == 2 * len(sized()["fidelity"]["checks"])
    refused = sized(is_trusted=False, nights=2)
    assert "(night-2: " in refused["answer"] or ", night-2: " in refused["answer"]


def test_the_page_has_the_curve_the_growth_and_the_bundles() -> None:
    page = render_size(sized())
    places = [page.index(f'id="{name}"') for name in ("curve", "growth", "bundles", "fidelity")]
    assert places == sorted(places)
    assert page.count("<svg") == 2
    assert "1,400" in page
    assert "Price" not in render_size(sized(price=None))


def test_where_the_replay_is_not_true_nothing_is_foretold() -> None:
    document = sized(is_trusted=False)
    page, told = render_size(document), "\n".join(lines(document))
    assert document["answer"].startswith("Not decidable: the replay does not reproduce")
    assert "<svg" not in page
    assert "Brokers, and how many nights" not in told
    assert "Nothing is foretold on this page" in page


def test_the_document_is_json_and_every_number_in_it_is_finite() -> None:
    for document in (sized(), sized(nights=2), sized(is_trusted=False)):
        assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_whatever_a_recording_is_called_is_text() -> None:
    document = sized()
    document["recording"] = document["command"] = HOSTILE
    document["untold"] = [HOSTILE]
    document["bundle_count"]["giants"][0]["bundle"] = HOSTILE
    assert "<script" not in render_size(document)


@pytest.mark.slow
def test_nothing_overflows_on_any_screen(open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "size.html"
    file.write_text(render_size(sized()), encoding="utf-8")
    page: Page
    for width in (320, 1100):
        page = open_page(file, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
