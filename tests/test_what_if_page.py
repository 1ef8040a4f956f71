"""The page of what would have happened, and its section in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from pages_in_chromium import Open, browser, open_page
from report_nights import render
from test_counterfactual import document
from trimtab.explanation.replayed_changes import with_replayed
from trimtab.report.what_if import render_what_if
from trimtab.report.what_if_section import section_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "open_page"]  # the fixtures

ROOT = Path(__file__).parent.parent
HOSTILE = "<script>alert(1)</script>\x1b[31m\"'&" + "b" * 10_000


def advised() -> dict[str, object]:
    """Give the key `what_if` of findings.json."""
    answer = document()
    return {
        "is_trusted": True,
        "why_not": "",
        "checks": answer["fidelity"]["checks"],
        "seeds": 8,
        "confidence": 0.95,
        "tried": 3,
        "changes": answer["changes"],
    }


def test_how_well_the_replay_does_stands_before_the_matrix() -> None:
    page = render_what_if(document())
    places = [page.index(f'id="{name}"') for name in ("fidelity", "matrix", "changes", "costs")]
    assert places == sorted(places)
    assert page.count("<svg") == 2
    assert page == render_what_if(document())


def test_where_the_replay_is_not_true_there_is_no_matrix() -> None:
    page = render_what_if(document(is_trusted=False))
    assert "Nothing is ranked on this page" in page
    assert 'id="matrix"' not in page
    assert "UniformLoadShedder" not in page
    assert "<svg" not in page


def test_whatever_a_recording_is_called_is_text() -> None:
    answer = document()
    answer["recording"] = answer["command"] = HOSTILE
    answer["untold"] = [HOSTILE]
    answer["costs"]["cpu"]["by_broker"][0]["broker"] = HOSTILE
    answer["strategies"][0]["label"] = HOSTILE
    page = render_what_if(answer)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_report_advises_what_the_replay_does() -> None:
    told = {"recording": "night", "what_if": advised(), "changes": [], "findings": []}
    page = render(told | {"changes": with_replayed(told)}, {})
    assert 'id="what-if"' in page
    assert "loadBalancerLoadSheddingStrategy = org.apache.pulsar.broker.loadbalance.impl.Avg" in (
        page.replace("<wbr>", "")
    )
    assert "the same in 10 of 10 rounds" in page
    assert 'id="what-if"' not in render({"recording": "night"}, {})
    assert section_of({}) is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"is_trusted": False, "why_not": "no log of a leader"}, "no log of a leader"),
        ({"changes": []}, "none is better beyond doubt"),
    ],
)
def test_where_nothing_can_be_advised_the_report_says_so(
    changed: dict[str, object], told: str
) -> None:
    page = render({"recording": "night", "what_if": advised() | changed}, {})
    assert told in page
    assert "loadBalancerLoadSheddingStrategy=" not in page


def change(*settings: str) -> dict[str, object]:
    texts = dict.fromkeys(("title", "why", "effect", "evidence", "confidence"), "of the cause")
    return {**texts, "against": ["over-placement"], "settings": list(settings)}


@pytest.mark.parametrize(
    ("changes", "severity", "titles", "against"),
    [
        pytest.param([], "medium", 1, [], id="nothing else to change"),
        pytest.param([], "high", 0, None, id="a high finding that it does not touch"),
        pytest.param(
            [change("loadBalancerLoadSheddingStrategy")],
            "high",
            1,
            ["over-placement"],
            id="figures for a change of the same setting",
        ),
        pytest.param(
            [change("minUnloadMessage")], "medium", 2, ["over-placement"], id="behind a cause's"
        ),
    ],
)
def test_causes_and_replay_make_one_list(
    changes: list[dict[str, object]], severity: str, titles: int, against: list[str] | None
) -> None:
    told = {"what_if": advised(), "changes": changes, "findings": [{"severity": severity}]}
    listed = with_replayed(told)
    assert len(listed) == titles
    assert not listed or listed[0]["against"] == against
    replayed = [each for each in listed if "replayed with 8 seeds" in each["confidence"]]
    assert len(replayed) == (titles > 0)


def test_findings_hold_it_as_their_schema_has_it() -> None:
    schema = json.loads((ROOT / "docs" / "findings.schema.json").read_text(encoding="utf-8"))
    part = Draft202012Validator(schema["properties"]["what_if"] | {"$defs": schema["$defs"]})
    part.validate(advised())
    nothing = {"is_trusted": False, "why_not": "no", "checks": [], "changes": []}
    part.validate(nothing)
    assert list(part.iter_errors(nothing | {"changes": [{"strategy": "x"}]}))


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("what-if") / "comparison.html"
    path.write_text(render_what_if(document()), encoding="utf-8")
    return path


@pytest.fixture(params=[(1100, "light"), (360, "dark")])
def opened(open_page: Open, page_file: Path, request: pytest.FixtureRequest) -> Page:
    """The page at one width and in one theme."""
    width, theme = request.param
    return open_page(page_file, width=width, color_scheme=theme)


@pytest.mark.browser
def test_nothing_sticks_out_and_the_picture_names_every_strategy(opened: Page) -> None:
    assert opened.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    shown = ".plot.wide" if opened.evaluate("innerWidth") > 760 else ".plot.narrow"
    names = opened.evaluate(
        f"[...document.querySelectorAll('{shown} .mark-text text')].map((it) => it.textContent)"
    )
    assert {"A", "B", "C", "D"} <= set(" ".join(names).split())
    assert opened.locator(shown).is_visible()
