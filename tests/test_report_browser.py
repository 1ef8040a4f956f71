"""The page in a real browser: it draws, it answers to keys, and it asks nobody for anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pages_in_chromium import Open, browser, colours, open_page
from report_nights import hostile_night, night, render, usage
from trimtab.report.render import MOVES_OF_MANY

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

__all__ = ["browser", "open_page"]  # the fixtures

DATA = Path(__file__).parent / "testdata" / "report"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("report")
    document = json.loads((DATA / "threshold.json").read_text(encoding="utf-8"))
    made = {
        "threshold": render(document["findings"], document["picture"]),
        "many": render(*night(24, 240, 1300)),
        "quiet": render({"recording": "quiet"}, {}),
        "hostile": render(*hostile_night()),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.fixture
def opened(open_page: Open, pages: dict[str, Path]) -> Open:
    """Open a page by its name."""

    def page_of(name: str = "threshold", **options: Any) -> Page:
        return open_page(pages[name], **options)

    return page_of


def times(page: Page) -> list[str]:
    return page.locator("table.moves .move .time").all_inner_texts()


@pytest.mark.parametrize("name", ["threshold", "many", "quiet", "hostile"])
@pytest.mark.parametrize("width", [1100, 360])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_sticks_out_at_any_width(opened: Open, name: str, width: int, theme: str) -> None:
    page = opened(name, width=width, color_scheme=theme)
    widths = page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1] == width
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["threshold", "many", "hostile"])
def test_the_table_of_moves_fits_its_card(opened: Open, name: str) -> None:
    page = opened(name, width=800)
    for width in (800, 1000, 1100):
        page.set_viewport_size({"width": width, "height": 900})
        card, table = (
            page.locator(where).bounding_box() for where in ("#moves .card.table", "table.moves")
        )
        assert card
        assert table
        assert table["width"] <= card["width"]


def test_something_is_drawn_in_both_themes_and_they_differ(browser: Browser, opened: Open) -> None:
    grounds = set()
    for theme in ("light", "dark"):
        page = opened(color_scheme=theme)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        line = page.locator(".plot.wide path[stroke='var(--c1)']").first
        grounds.add(line.evaluate("(each) => getComputedStyle(each).stroke"))
        # An empty page has one, text alone some hundred shades of grey.
        assert colours(browser, page) > 300
    assert len(grounds) == 4


@pytest.mark.parametrize(("width", "drawn", "not_drawn"), [(1100, "wide", "narrow"),
                                                           (360, "narrow", "wide")])  # fmt: skip
def test_the_chart_that_fits_is_shown(opened: Open, width: int, drawn: str, not_drawn: str) -> None:
    page = opened(width=width)
    assert page.locator(f".plot.{drawn} svg").is_visible()
    assert not page.locator(f".plot.{not_drawn} svg").is_visible()


def test_a_move_is_reached_by_tab_and_opened_by_enter(opened: Open) -> None:
    page = opened()
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('open')"):
            break
    more = page.locator("#u1-more")
    assert page.evaluate("document.activeElement.getAttribute('aria-controls')") == "u1-more"
    assert not more.is_visible()
    page.keyboard.press("Enter")
    assert more.is_visible()
    assert "Attempting to shed load on 10.213.0.11:8080" in more.inner_text()
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("Enter")
    assert not more.is_visible()


def test_moves_are_sorted_by_any_column_and_back(opened: Open) -> None:
    page = opened()
    before = times(page)
    assert before == sorted(before)
    traffic = page.get_by_role("button", name="Traffic")
    traffic.click()
    rows = page.locator("table.moves .move .traffic").all_inner_texts()
    # Numbers, not text: 112.8 is the highest though it begins with a one.
    assert rows[0] == "19.1 kB/s"
    assert rows[-1] == "112.8 kB/s"
    assert page.locator("th.traffic").get_attribute("aria-sort") == "ascending"
    traffic.click()
    assert page.locator("table.moves .move .traffic").first.inner_text() == "112.8 kB/s"
    page.get_by_role("button", name="Time").click()
    assert times(page) == before


def test_moves_are_filtered_by_words_and_by_verdict(opened: Open) -> None:
    page = opened()
    page.locator("#filter").fill("0x18000000_0x2 lot")
    assert times(page) == ["06:42:21"]
    assert page.locator("#shown").inner_text() == "1 of 10"
    page.locator("#filter").fill("10.213.0.13:8080")
    assert len(times(page)) == 4
    page.locator("#filter").fill("nowhere")
    assert page.get_by_text("No move fits the filter.").is_visible()
    page.locator("#filter").fill("")
    page.locator(".chips button", has_text="from a cold broker").click()
    assert times(page) == ["06:47:22"]
    page.locator(".chips button", has_text="All").click()
    assert len(times(page)) == 10


def test_a_part_of_the_bar_filters_the_moves(opened: Open) -> None:
    page = opened()
    page.locator(".key a", has_text="drawn by lot, no good").click()
    assert times(page) == ["06:42:21", "06:42:22", "06:46:22"]


def test_thousands_of_moves_are_paged_and_none_is_lost(opened: Open) -> None:
    page = opened("many")
    assert len(times(page)) == 25
    assert page.locator("#moves .card + .pages span").inner_text() == "1 to 25 of 1,300"
    seen = set(
        page.evaluate(
            """() => {
              const next = document.querySelector("#moves .card + .pages button:last-of-type");
              const seen = [];
              for (let more = true; more; more = !next.disabled) {
                if (seen.length) next.click();
                seen.push(...[...document.querySelectorAll("tr.move")].map((row) => row.id));
              }
              return seen;
            }"""
        )
    )
    assert seen == {f"u{n}" for n in range(1300)}
    # The rows leave out what all names end in; the full name finds them all the same.
    page.locator("#filter").fill("broker-7.pulsar.svc.cluster.local:8080")
    ways = page.locator("table.moves .move .way").all_inner_texts()
    assert len(ways) > 20
    assert all("broker-7" in way for way in ways)


def test_a_link_to_a_move_on_another_page_finds_it(opened: Open) -> None:
    page = opened("many")
    page.evaluate("location.hash = '#u1250'")
    page.locator("#u1250-more").wait_for(state="visible")
    # A link that somebody mangled leads nowhere, without a complaint.
    page.evaluate("location.hash = '#%'")
    assert page.locator("#u1250").is_visible()


def test_pointing_at_the_chart_tells_the_round(opened: Open) -> None:
    page = opened()
    story = page.locator("#story")
    # The first round with a useless move is told from the start.
    assert story.locator("h3").inner_text().startswith("Round 2")
    page.locator(".plot.wide").scroll_into_view_if_needed()
    mark = page.locator(".plot.wide a[*|href='#round-7'] path").first.bounding_box()
    page.mouse.move(mark["x"] + mark["width"] / 2 + 3, mark["y"] + 150)
    assert story.locator("h3").inner_text().startswith("Round 7")
    assert "29.8 % smoothed, 24.4 % reported, over the bar" in story.inner_text()
    page.locator(".plot.wide a[*|href='#round-4']").first.focus()
    assert story.locator("h3").inner_text().startswith("Round 4")
    story.get_by_role("button", name="Next round").press("Enter")
    assert story.locator("h3").inner_text().startswith("Round 5")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Next round"


def test_tapping_the_chart_of_a_telephone_tells_the_round(opened: Open) -> None:
    page = opened(width=360, has_touch=True)
    page.locator(".plot.narrow").scroll_into_view_if_needed()
    mark = page.locator(".plot.narrow a[*|href='#round-6'] path").first.bounding_box()
    page.touchscreen.tap(mark["x"] + mark["width"] / 2, mark["y"] + 120)
    assert page.locator("#story h3").inner_text().startswith("Round 6")


def test_an_arrow_leads_to_its_move(opened: Open) -> None:
    page = opened()
    page.locator(".plot.wide a[*|href='#u5']").first.focus()
    page.keyboard.press("Enter")
    page.locator("#u5-more").wait_for(state="visible")


def test_without_a_script_nothing_is_missing(opened: Open) -> None:
    page = opened("many", java_script_enabled=False)
    assert page.locator("tr.move").count() == MOVES_OF_MANY
    assert page.get_by_text("1,200 moves more are folded into this page").is_visible()
    assert page.locator(".tools").is_hidden()
    first = page.locator("tr.more").first
    assert not first.locator(".why").is_visible()
    first.locator("summary").click()
    assert first.locator(".why").is_visible()
    page = opened(java_script_enabled=False)
    page.locator("#rounds summary").first.click()
    assert page.locator("article.round").count() == 8
    assert page.locator("#round-8").is_visible()


def test_on_paper_the_answer_stands_alone_until_everything_is_asked_for(opened: Open) -> None:
    page = opened()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("h1").is_visible()
    assert page.locator(".plot.wide").is_visible()
    assert page.get_by_text("This is the answer alone").is_visible()
    assert not page.locator("#u10-more").is_visible()
    assert not page.locator("#round-8").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    page.locator("#paper").check()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#u10-more").is_visible()
    assert page.locator("#round-8").is_visible()
    assert not page.locator(".tools").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert not page.locator("#u10-more").is_visible()
    assert len(page.pdf()) > 50_000


def test_the_policy_stops_what_was_not_written_by_us(
    browser: Browser, pages: dict[str, Path]
) -> None:
    # Not by `opened`: the refusal is a message of the console.
    page = browser.new_page()
    page.goto(pages["quiet"].as_uri())
    refused = page.evaluate(
        """() => new Promise((resolve) => {
          document.addEventListener("securitypolicyviolation", 
            (event) => resolve(event.effectiveDirective));
          const foreign = document.createElement("script");
          foreign.textContent = "window.foreign = true";
          document.body.append(foreign);
          setTimeout(() => resolve(`allowed: ${window.foreign}`), 2000);
        })"""
    )
    page.close()
    assert refused == "script-src-elem"


def test_no_name_runs_a_script_and_every_name_can_be_found(opened: Open) -> None:
    page = opened("hostile", width=360, has_touch=True)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    for typed in ("window.pwned", "\\x1b[2J", "\\u202eevil", "xxxxxxxx"):
        page.locator("#find").fill(typed)
        link = page.locator("#found a", has_text=typed).first
        link.click()
        page.locator("article.journey", has_text=typed).first.wait_for(state="visible")
    page.locator("#find").fill("")
    page.locator(".plot.narrow").scroll_into_view_if_needed()
    page.locator(".plot.narrow").click()
    # The row that is unpacked last is as harmless as the first.
    page.evaluate("location.hash = '#u329'")
    page.locator("#u329-more").wait_for(state="visible")
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 360


def test_a_search_leads_to_brokers_bundles_rounds_and_moves(opened: Open) -> None:
    page = opened("many")
    page.locator("#find").fill("broker-7")
    page.locator("#found a", has_text="broker-7.pulsar.svc.cluster.local:8080").wait_for()
    page.locator("#found a", has_text="moves").click()
    assert page.locator("#shown").inner_text().endswith("of 1,300")
    page.locator("#find").fill("namespace-3/0x00003000")
    page.locator("#found a", has_text="tenant/namespace-3/0x00003000").first.click()
    journey = page.locator("article.journey", has_text="0x00003000_0x00004000")
    journey.wait_for(state="visible")
    assert "moved from" in (journey.text_content() or "")
    page.locator("#find").fill("nobody is called so")
    page.get_by_text("Nothing of that is in the report.").wait_for(state="visible")


def test_pointing_at_the_heat_map_names_the_broker_and_its_usage(opened: Open) -> None:
    page = opened("many")
    plot = page.locator(".plot.wide")
    plot.scroll_into_view_if_needed()
    cells = page.locator(".plot.wide image.cells").bounding_box()
    assert cells
    page.mouse.move(
        cells["x"] + cells["width"] * 90.5 / 240, cells["y"] + cells["height"] * 3.5 / 24
    )
    tip = page.locator(".plot.wide .tip")
    tip.wait_for(state="visible")
    # A colour stands for the highest usage of its stretch of time, in steps of 2 %.
    highest = max(usage(3, minute) for minute in range(84, 92))
    broker, shown = tip.inner_text().split(" ")[:2]
    assert broker == "broker-3"
    assert abs(int(shown) - 100 * highest) <= 3
    plot.focus()
    page.keyboard.press("ArrowDown")
    page.locator(".plot.wide .tip", has_text="broker-4 ").wait_for(state="visible")
    page.keyboard.press("Enter")
    page.locator("article.journey", has_text="broker-4").first.wait_for(state="visible")
