"""The site made of docs/: its links, its doors, and its search without a network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from pages_in_chromium import browser
from tools.site.__main__ import ROOT, build, prepare
from tools.site.checks import faults
from tools.site.navigation import unlisted
from tools.site.staging import DOORS, SAMPLES, linked, listed, sample, site_paths

__all__ = ["browser"]  # the fixture

PLACES = {
    "docs/start.md": "start/index.md",
    "docs/lint.md": "lint.md",
    "docs/images/a.png": "images/a.png",
    "docs/images/b.png": "images/b.png",
    "README.md": "project/readme.md",
    "recordings/avg": "samples/avg.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; in place of the sample reports, which take a minute, an empty page each."""
    folder = tmp_path_factory.mktemp("site")
    prepare(folder)
    for name in SAMPLES:
        page = folder / "pages" / sample(name)
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"<title>{name}</title>", encoding="utf-8")
    assert build(folder) == 0
    return folder


# ---------------------------------------------------------------- links


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        # Within docs/, from a page that lies elsewhere in the site.
        ("docs/start.md", "[a](lint.md#rules)", "[a](../lint.md#rules)"),
        # To a page outside of docs/, and back.
        ("docs/lint.md", "[a](../README.md)", "[a](project/readme.md)"),
        ("README.md", "[a](docs/lint.md)", "[a](../lint.md)"),
        # To a recording: its report.
        ("docs/lint.md", "[a](../recordings/avg)", "[a](samples/avg.html)"),
        # To what the site does not have: the words stay.
        ("docs/lint.md", "see [a](../src/trimtab) there", "see a there"),
        # What needs no change.
        (
            "docs/lint.md",
            "[a](#rules) [b](https://b.test/c#d)",
            "[a](#rules) [b](https://b.test/c#d)",
        ),
        ("docs/lint.md", "![a](images/a.png)", "![a](images/a.png)"),
        # In a fenced block nothing is a link.
        ("docs/start.md", "```text\n[a](lint.md)\n```", "```text\n[a](lint.md)\n```"),
        (
            "README.md",
            '<picture>\n  <source media="dark" srcset="docs/images/b.png">\n'
            '  <img alt="words" src="docs/images/a.png">\n</picture>',
            "![words](../images/a.png#only-light)![words](../images/b.png#only-dark)",
        ),
    ],
)
def test_link_leads_to_where_its_target_is_in_the_site(page: str, text: str, expected: str) -> None:
    assert linked(text, page, PLACES) == expected


def test_what_begins_the_lines_of_lists_and_tables_is_listed() -> None:
    text = "- [a](b.md): with [c](d.md)\n1. [e](f.md)\n| [g](h.md) | i |\n[j](k.md)\n- [a](b.md)\n"

    assert listed("docs/x/index.md", text) == {
        "docs/x/b.md": "a",
        "docs/x/f.md": "e",
        "docs/x/h.md": "g",
    }


# ---------------------------------------------------------------- doors


def test_first_page_leads_to_four_doors_with_a_dozen_links_at_most() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))

    assert [f"{door}.md" for door in DOORS] == [link for link in links if link[:-3] in DOORS]
    assert len(links) <= 12


@pytest.mark.slow
def test_a_door_leads_to_every_page(site: Path) -> None:
    assert unlisted(site / "pages") == []


# ----------------------------------------------------------- what was built


@pytest.mark.slow
def test_every_page_and_address_is_there_and_nothing_is_of_the_network(site: Path) -> None:
    html = site / "html"
    pages = [place for place in site_paths(ROOT).values() if place.endswith(".md")]

    assert len(pages) > 80
    assert [page for page in pages if not (html / page).with_suffix(".html").is_file()] == []
    assert faults(html) == []


def test_faults_of_a_page_are_named(tmp_path: Path) -> None:
    page = tmp_path / "a" / "page.html"
    page.parent.mkdir()
    (tmp_path / "there.html").touch()
    page.write_text(
        '<script src="https://else.test/x.js"></script><img src="//else.test/y.png">'
        '<a href="https://else.test">followed</a><a href="#here">here</a>'
        '<a href="../there.html#part">there</a><a href="gone.html">gone</a>'
        '<link rel="canonical" href="https://else.test/a">',
        encoding="utf-8",
    )

    assert faults(tmp_path) == [
        "a/page.html: loads https://else.test/x.js from the network",
        "a/page.html: loads //else.test/y.png from the network",
        "a/page.html: gone.html is not there",
    ]


@pytest.mark.slow
def test_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    prepare(tmp_path)
    page = tmp_path / "pages" / "lint.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n[a](spark.md#gone)\n", encoding="utf-8")

    assert build(tmp_path) == 1


@pytest.mark.browser
def test_search_finds_a_page_without_a_network(
    browser: Browser,  # the fixture of that name, which is what is meant
    site: Path,
) -> None:
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((site / "html" / "index.html").as_uri())
    page.keyboard.press("Control+k")
    page.keyboard.type("ping-pong")
    page.get_by_text("A bundle was moved there and back").first.click()
    page.wait_for_url("**/findings/ping-pong.html*")
    page.close()

    assert len(requests) > 5
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("name", ["index", "cli", "tables", "samples", "findings/index"])
def test_nothing_sticks_out(
    browser: Browser,  # the fixture of that name, which is what is meant
    site: Path,
    name: str,
    width: int,
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((site / "html" / f"{name}.html").as_uri())

    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    page.close()
