"""What is said of a rehearsal: its answer, its lines and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pages_in_chromium import Open, browser, open_page
from rehearsed_rows import BAR, rehearsal, row, rows
from trimtab.report.rehearsal import render_rehearsal
from trimtab.trials.rehearse.answer import lines
from trimtab.trials.rehearse.document import PLANNED, UNDISTURBED, course_document, main_document

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "open_page"]  # the fixtures

HOSTILE = "<script>alert(1)</script>\x1b[31m\"'&" + "b" * 10_000


@pytest.mark.parametrize(
    ("broken", "answer"),
    [
        (0, "Safe: the bar holds on 20 of 20 seeds, undisturbed on 20."),
        (
            1,
            "Not decidable: the bar holds on 19 of 20 seeds, undisturbed on 20; some 70 seeds "
            "would decide it.",
        ),
        (9, "Not safe: the bar holds on 11 of 20 seeds, undisturbed on 20."),
    ],
)
def test_the_answer_comes_first(broken: int, answer: str) -> None:
    document = rehearsal(range(broken))
    assert document["answer"] == answer
    assert next(iter(lines(document))) == answer
    assert "<h1 class=" in (page := render_rehearsal(document))
    assert answer in page


def test_where_the_replay_is_not_true_nothing_is_foretold() -> None:
    document = rehearsal(is_trusted=False)
    assert document["answer"] == (
        "Not decidable: the replay does not reproduce what really happened (unloads), so nothing "
        "is foretold of this recording."
    )
    page, told = render_rehearsal(document), "\n".join(lines(document))
    assert "Nothing is foretold on this page" in page
    assert "✗ unloads: really 3, replayed 9" in told
    for absent in ('id="course"', 'id="worst"', 'id="remedies"', "<svg"):
        assert absent not in page
    assert "seeds" not in told


def test_where_nothing_was_replayed_the_first_sentence_says_so() -> None:
    document = rehearsal(is_trusted=None)
    page, first = render_rehearsal(document), document["answer"]
    assert first == (
        "Safe by a simulation that no replay backs, as the cluster was looked at once: the bar "
        "holds on 20 of 20 seeds, undisturbed on 20."
    )
    shown = "\n".join(lines(document))
    for text in (shown, page):
        assert first in text
        assert "Of all courses like this one" in text
        assert "simulation is true for this cluster" in text
    assert "The real strategy replayed" not in shown
    for of_a_replay in ("The strategy that really steered is replayed", "all is as it really was"):
        assert of_a_replay not in page
    assert 'id="course"' in page


def test_an_event_is_not_blamed_for_what_is_there_without_it() -> None:
    both = [
        each if each["scenario"] == PLANNED else row(UNDISTURBED, each["seed"], 95.0, 5.0)
        for each in rows(range(20))
    ]
    document = rehearsal(range(20), **main_document(both, BAR))
    assert document["answer"] == (
        "Not safe: the bar holds on 0 of 20 seeds, undisturbed on 0, so it is not the event alone."
    )


def test_a_run_that_failed_keeps_to_no_bar() -> None:
    failed = {**row(PLANNED, 3, 10.0, 0.0), "status": "timeout", "error": "too long"}
    made = [each for each in rows() if (each["scenario"], each["seed"]) != (PLANNED, 3)]
    found = course_document([*made, failed], PLANNED, BAR)
    assert (found["kept"], found["count"], found["seeds_that_break_it"]) == (19, 20, [3])
    assert found["failures"] == [{"seed": 3, "status": "timeout", "error": "too long"}]


def test_the_worst_off_come_first() -> None:
    document = rehearsal(range(2))
    assert [each["broker"] for each in document["worst_brokers"]] == ["b2:8080", "b1:8080"]
    assert [each["namespace"] for each in document["worst_namespaces"]] == [
        "shop/orders",
        "shop/carts",
    ]
    assert document["worst_namespaces"][0]["topics"] == 9.0


def test_the_page_has_the_course_the_worst_and_what_would_help() -> None:
    page = render_rehearsal(rehearsal(range(9)))
    names = ("course", "worst", "remedies", "fidelity", "repeat")
    places = [page.index(f'id="{name}"') for name in names]
    assert places == sorted(places)
    assert page.count("<svg") == 2
    assert "20 of 20" in page
    assert "0 of 5" in page
    assert page == render_rehearsal(rehearsal(range(9)))


def test_the_document_is_json_and_every_number_in_it_is_finite() -> None:
    document = rehearsal(range(9))
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_whatever_a_recording_is_called_is_text() -> None:
    document = rehearsal(range(9))
    document["recording"] = document["command"] = HOSTILE
    document["events"] = document["untold"] = [HOSTILE]
    document["worst_brokers"][0]["broker"] = HOSTILE
    document["remedies"][0]["title"] = HOSTILE
    page = render_rehearsal(document)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.slow
def test_nothing_overflows_on_any_screen(open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "rehearsal.html"
    file.write_text(render_rehearsal(rehearsal(range(9))), encoding="utf-8")
    page: Page
    for width in (320, 1100):
        page = open_page(file, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
