"""The report: that it says everything, as text, in the right order, and the same every time.

`testdata/report/threshold.json` is made by hand from a real recording: times, usage, bundles
and log lines are real, the verdicts are chosen to show one of each kind.
"""

from __future__ import annotations

import base64
import copy
import html
import json
import re
import zlib
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from report_nights import night, render
from trimtab.report.drawing import VEGA_LITE
from trimtab.report.render import asset, fingerprint
from trimtab.report.series import in_columns, runs, series_of, span_of, spread_apart, thinned
from trimtab.report.words import figures, interval, moment

DATA = Path(__file__).parent / "testdata" / "report"
HOSTILE = '</script><script>alert("x")</script><img src=x onerror=alert(1)>&amp;'

#: Smallest contrast for text and for marks, WCAG 2.2 (1.4.3 and 1.4.11).
TEXT_CONTRAST = 4.5
MARK_CONTRAST = 3.0


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return document


def unpacked(text: str) -> str:
    """Give a page with everything in its place that its script would unpack."""

    def grown(found: re.Match[str]) -> str:
        read = json.loads(zlib.decompress(base64.b64decode(found[1]), -zlib.MAX_WBITS))
        return "".join(read["html"]) if "html" in read else ""

    return re.sub(r'<script type="text/plain" id="packed-[^"]*">(.*?)</script>', grown, text)


def page(name: str = "threshold") -> str:
    document = read(name)
    return render(document["findings"], document["picture"])


class Outline(HTMLParser):
    """What a browser would make of the page: its elements, ids, links and visible text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._silent = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._silent += tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in {"script", "style"}

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def squeezed(text: str) -> str:
    """Take all blanks out: where a name may break into two lines, the parser sees two texts."""
    return "".join(text.split())


# --------------------------------------------------------------------- what it says


def test_the_answer_comes_first_with_nothing_above_it_but_where_and_when() -> None:
    text = Outline(page()).text()
    headline = text.index("10 bundles were moved in 8 rounds. Five of the moves did no good")
    above = text[text.index("Skip to the moves") + len("Skip to the moves") : headline].strip()
    assert above == (
        "threshold Pulsar 4.0.8 4 brokers 21 Nov 2026, 06:37–06:49 UTC "
        "ThresholdShedder + LeastResourceUsageWithWeight"
    )


def test_the_sections_stand_in_the_order_in_which_a_person_on_call_asks() -> None:
    sections = [each["id"] for each in Outline(page()).tags("section") if "id" in each]
    assert sections == [
        "change",
        "picture",
        "moves",
        "why",
        "trust",
        "unanswered",
        "accounting",
    ]


def test_every_move_is_shown_with_its_log_lines_numbers_and_better_choice() -> None:
    findings = read("threshold")["findings"]
    outline = Outline(page())
    text = squeezed(outline.text())
    ids = {attributes.get("id") for _, attributes in outline.elements}
    for unload in findings["unloads"]:
        assert unload["id"] in ids
        for said in (
            unload["bundle"],
            *(line["text"] for line in unload["evidence"]),
            *(repr(each) for each in unload["recomputed"]["numbers"].values()),
            *([unload["better"]["why"]] if unload["better"] else []),
        ):
            assert squeezed(said) in text


def test_every_finding_change_and_open_question_is_shown() -> None:
    findings = read("threshold")["findings"]
    outline = Outline(page())
    text = squeezed(outline.text())
    ids = {attributes.get("id") for _, attributes in outline.elements}
    for finding in findings["findings"]:
        assert finding["id"] in ids
        for key in ("title", "text", "better", "advice", "page"):
            assert squeezed(finding[key]) in text
    for change in findings["changes"]:
        assert all(squeezed(said) in text for said in change.values())
    for question in findings["undecidable"]:
        assert all(squeezed(question[key]) in text for key in ("what", "why", "missing"))


def test_every_reject_and_unused_file_is_shown_with_its_reason() -> None:
    books = read("threshold")["findings"]["accounting"]
    text = squeezed(Outline(page()).text())
    assert books["rejects"]
    assert books["unused"]
    for reject in books["rejects"]:
        assert all(squeezed(str(reject[key])) in text for key in ("file", "line", "reason", "text"))
    for unused in books["unused"]:
        assert all(squeezed(said) in text for said in unused.values())
    assert squeezed("9,177 lines in 7 files = 972 used + 6,027 not needed") in text


def test_books_that_do_not_add_up_are_called_that() -> None:
    document = read("threshold")
    assert "do not add up" not in page()
    document["findings"]["accounting"]["rows"] += 1
    assert "do not add up" in render(document["findings"], document["picture"])


def test_clocks_stand_in_the_books_those_that_are_off_first() -> None:
    document = read("threshold")
    assert "<h3>Clocks</h3>" not in page()
    known = {"ahead_s": 0.0, "bound_s": 0.002, "pairs": 9, "is_corrected": False}
    document["findings"]["clocks"] = {
        "reference": "the metadata store",
        "brokers": [
            {"broker": "a:1"} | known,
            {"broker": "b:1"} | known | {"ahead_s": -3.7, "is_corrected": True},
            {"broker": "c:1"} | known | {"ahead_s": None, "bound_s": None, "pairs": 1},
        ],
    }
    html = render(document["findings"], document["picture"])
    told = squeezed(Outline(html[html.index("<h3>Clocks</h3>") :]).text())
    assert squeezed("from that of the metadata store") in told
    said = (
        "b:1 3.700 s behind, ± 0.002 s, by 9 pairs; taken off its times",
        "a:1 0.000 s ahead, ± 0.002 s, by 9 pairs",
        "c:1 not bounded on both sides, by 1 pair",
    )
    places = [told.index(squeezed(each)) for each in said]
    assert places == sorted(places)


def test_the_cause_that_cost_most_comes_first() -> None:
    causes = re.findall(r'<h3 id="cause-[\w-]+">.*?<code>(.*?)</code>', page())
    # Three useless moves, then one each: 78.5 kB/s were moved for nothing against 19.1.
    assert causes == ["random-placement", "sole-candidate", "over-unloading"]


def test_a_useless_move_burdens_one_cause_alone() -> None:
    document = read("threshold")
    # The bundle that was taken from a cold broker was drawn by lot as well.
    document["findings"]["unloads"][9]["findings"] = ["f6", "f1"]
    text = render(document["findings"], document["picture"])
    cost = [Outline(each).text() for each in re.findall(r'class="cost">(.*?)</(?:p|span)>', text)]
    assert cost == [
        "4 moves did no good of 6 moves · 1 counted under its verdict, another cause "
        "· 166.2 kB/s moved for nothing",
        "1 move did no good of 3 moves · 78.5 kB/s moved for nothing",
        "1 move did no good · 19.1 kB/s moved for nothing",
    ]


@pytest.mark.slow
def test_every_link_within_the_page_leads_somewhere() -> None:
    for text in (page(), render(*night(14, 130, 700))):
        outline = Outline(unpacked(text))
        ids = {attributes.get("id") for _, attributes in outline.elements}
        links = [each.get("href") or each.get("xlink:href") for each in outline.tags("a")]
        assert any(link == "#u3" for link in links)
        assert {link for link in links if not link or link.lstrip("#") not in ids} == set()


def test_ids_are_unique() -> None:
    for text in (page(), unpacked(render(*night(14, 130, 700)))):
        ids = re.findall(r'<[a-z][^>]* id="([^"]*)"', text)
        assert 30 < len(ids) == len(set(ids))


def test_a_round_that_came_out_different_is_named_with_the_reason() -> None:
    document = read("threshold")
    document["findings"]["round_list"][4]["recomputed"] = {"equal": False, "why": "one bundle off"}
    document["findings"]["round_list"][5]["recomputed"] = {"equal": None, "why": "version 6 of 7"}
    text = Outline(render(document["findings"], document["picture"])).text()
    assert "6 of 8 rounds (75.0 %) were recomputed with the recorded result." in text
    assert "Different one bundle off: round 5" in text
    assert "Not decidable version 6 of 7: round 6" in text


def test_a_warning_of_the_diagnosis_stands_before_everything_but_the_answer() -> None:
    document = read("threshold")
    document["findings"]["warnings"] = ["The clocks of two brokers are 40 s apart."]
    text = Outline(render(document["findings"], document["picture"])).text()
    warning = text.index("The clocks of two brokers are 40 s apart.")
    assert text.index("10 bundles were moved") < warning < text.index("What to change")


# ------------------------------------------------------------- whatever is missing


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(({}, {}), id="nothing at all"),
        pytest.param(
            (
                {"unloads": None, "findings": None, "headline": None, "accounting": None},
                {"reported": None, "unloads": [{}]},
            ),
            id="null everywhere",
        ),
        pytest.param(
            ({"round_list": [{}], "unloads": [{}], "findings": [{}], "undecidable": [{}]}, {}),
            id="empty objects",
        ),
        pytest.param(
            ({"unloads": [{"id": 'a"b', "time": "later", "target": None}]}, {"smoothed": [{}]}),
            id="what cannot be read",
        ),
    ],
)
def test_a_page_is_made_of_any_input(given: tuple[dict[str, Any], dict[str, Any]]) -> None:
    outline = Outline(render(*given))
    assert len(outline.tags("h1")) == 1
    assert len(outline.tags("section")) >= 7


def test_a_night_without_moves_says_so_first() -> None:
    text = Outline(render({"round_list": [], "unloads": []}, {})).text()
    assert "The balancer moved nothing." in text
    assert "there is nothing to draw" in text
    assert "tally" not in render({}, {}).split("</style>")[1].split("<script>")[0]


def test_a_target_that_is_not_known_is_said_to_be() -> None:
    document = read("threshold")
    document["findings"]["unloads"][0]["target"] = None
    document["picture"]["unloads"][0]["target"] = None
    assert "not known" in Outline(render(document["findings"], document["picture"])).text()


def test_a_bundle_that_was_never_moved_has_its_night_where_a_finding_names_it() -> None:
    document = read("threshold")
    document["findings"]["findings"][0]["bundles"] = ["t/ns/0x00000000_0x80000000"]
    text = Outline(unpacked(render(document["findings"], document["picture"]))).text()
    assert "t/ns/0x00000000_0x80000000" in squeezed(text)
    assert "It was not moved." in text


def test_without_load_reports_the_leaders_view_is_drawn() -> None:
    document = read("threshold")
    bare = {"unloads": document["picture"]["unloads"]}
    text = render(document["findings"], bare)
    assert "no load reports: drawn is what the leader had computed" in text
    assert text.count("<svg xmlns") == 2


# -------------------------------------------------------------------- text is text


def test_text_of_the_input_is_never_markup() -> None:
    document = json.loads(json.dumps(read("threshold")).replace("0xf0000000_0xf8000000", "BUNDLE"))

    def poisoned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: poisoned(each) for key, each in value.items()}
        if isinstance(value, list):
            return [poisoned(each) for each in value]
        # A time stays one, so that what hangs on it is drawn.
        return HOSTILE + value if isinstance(value, str) and not moment(value) else value

    clean = Outline(page())
    text = render(poisoned(document["findings"]), poisoned(document["picture"]))
    outline = Outline(text)
    assert len(outline.tags("script")) == len(clean.tags("script"))
    # What is not its own script is text that no browser runs.
    assert sum(each.get("type") != "text/plain" for each in outline.tags("script")) == 1
    assert outline.tags("img") == []
    assert HOSTILE not in text
    assert squeezed(f"{HOSTILE}lb/ns1/BUNDLE") in squeezed(outline.text())
    assert {name for _, each in outline.elements for name in each if name.startswith("on")} == set()


def test_a_bundle_named_like_a_script_is_shown_by_its_name() -> None:
    document = read("threshold")
    document["findings"]["unloads"][0]["bundle"] = "<script>alert(1)</script>"
    outline = Outline(render(document["findings"], document["picture"]))
    assert "<script>alert(1)</script>" in outline.text()
    assert sum(each.get("type") != "text/plain" for each in outline.tags("script")) == 1


def test_a_broker_named_like_markup_is_text_in_the_chart() -> None:
    document = json.loads(json.dumps(read("threshold")).replace("10.213.0.12", "<b onload=x>&"))
    text = render(document["findings"], document["picture"])
    svg = text[text.index("<svg xmlns") : text.index("</figure>")]
    assert "&lt;b onload=x&gt;&amp;" in svg
    assert "<b onload" not in svg


def test_the_documentation_of_a_finding_is_a_link_only_if_it_is_one() -> None:
    document = read("threshold")
    document["findings"]["findings"][0]["page"] = "javascript:alert(1)"
    document["findings"]["findings"][3]["page"] = "https://trimtab.example/sole-candidate"
    links = Outline(render(document["findings"], document["picture"])).tags("a")
    hrefs = {each.get("href") or each.get("xlink:href") for each in links}
    assert "https://trimtab.example/sole-candidate" in hrefs
    assert not any(href and href.startswith("javascript") for href in hrefs)


# ------------------------------------------------------------------ self-contained


def test_the_policy_forbids_all_but_the_style_and_the_script_of_the_page() -> None:
    text = page()
    policy = Outline(text).tags("meta")[1]["content"]
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    script = text[text.rindex("<script>") + 8 : text.rindex("</script>")]
    assert policy == (
        f"default-src 'none'; style-src {fingerprint(style)}; script-src {fingerprint(script)}; "
        "base-uri 'none'; form-action 'none'; img-src data:"
    )


def test_nothing_on_the_page_would_load_anything() -> None:
    outline = Outline(page())
    sources = [
        value
        for _, attributes in outline.elements
        for name, value in attributes.items()
        if name in {"src", "srcset", "data", "action", "background", "poster"} and value
    ]
    assert sources == []
    assert outline.tags("link") == []
    assert re.findall(r"url\((?!#)", asset("report.css")) == []
    # The policy would refuse it, silently, so it must not be relied upon.
    assert not any("style" in attributes for _, attributes in outline.elements)


def test_the_same_input_gives_the_same_bytes() -> None:
    document = read("threshold")
    before = copy.deepcopy(document)
    first = render(document["findings"], document["picture"])
    assert first == render(document["findings"], document["picture"])
    assert document == before


def test_charts_are_made_by_the_pinned_version() -> None:
    charts = Path(__file__).parents[1] / "src" / "trimtab" / "report" / "charts"
    specs = [json.loads(path.read_text(encoding="utf-8")) for path in charts.glob("*.vl.json")]
    assert len(specs) >= 4
    for spec in specs:
        assert f"/v{VEGA_LITE.split('.')[0]}.json" in spec["$schema"]


# ------------------------------------------------------------------------ any size


@pytest.mark.slow
def test_a_thousand_brokers_and_five_thousand_moves_make_a_page_that_opens() -> None:
    findings, picture = night(1000, 1440, 5000)
    text = render(findings, picture)
    assert len(text.encode()) < 5_000_000
    shown = Outline(text).text()
    assert "5,000 moves are drawn small" in shown
    assert "1,000 brokers, the busiest on top" in shown
    assert "4,900 moves more are folded into this page" in shown
    text = unpacked(text)
    ids = set(re.findall(r'<tr class="move" id="([^"]*)"', text))
    assert ids == {unload["id"] for unload in findings["unloads"]}
    assert {line["text"] for unload in findings["unloads"] for line in unload["evidence"]} <= {
        html.unescape(re.sub("<.*?>", "", code)) for code in re.findall(r"<code>(.*?)</code>", text)
    }


@pytest.mark.parametrize(
    ("brokers", "kind"), [(1, "lines"), (11, "lines"), (12, "heatmap"), (60, "heatmap")]
)
def test_from_twelve_brokers_on_a_heat_map_is_drawn(brokers: int, kind: str) -> None:
    text = render(*night(brokers, 20, 5))
    assert f'<figure class="card chart {kind}">' in text
    assert text.count("<svg xmlns") == 2


def test_a_broker_has_the_same_colour_in_every_place() -> None:
    text = page()
    legend = dict(re.findall(r'<li class="who">.*?class="(c\d+)".*?</i>(.*?)</span>', text))
    assert legend == {f"c{n}": f"10.213.0.1{n}" for n in range(1, 5)}
    for colour, label in legend.items():
        marked = re.findall(rf'<i class="(c\d+)" aria-hidden="true">.</i>{re.escape(label)}<', text)
        assert len(marked) > 2
        assert set(marked) == {colour}
        ends = re.findall(rf'fill="var\(--(c\d+)\)">{re.escape(label)}<', text)
        assert ends == [colour]


def test_moves_of_one_round_between_the_same_brokers_are_one_arrow_with_their_number() -> None:
    svg = page()[: page().index("</figure>")]
    # Two rounds moved two bundles from the same source to the same target.
    assert svg.count(">×2<") == 4


# -------------------------------------------------------------------------- colours


def themes() -> dict[str, dict[str, str]]:
    style = asset("report.css")
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    read_one = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]{6});")
    return {
        "light": dict(read_one.findall(light)),
        "dark": {**dict(read_one.findall(light)), **dict(read_one.findall(dark))},
    }


def linear(colour: str) -> tuple[float, float, float]:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return red, green, blue


def contrast(one: str, other: str) -> float:
    lights = sorted(
        0.2126 * red + 0.7152 * green + 0.0722 * blue
        for red, green, blue in (linear(one), linear(other))
    )
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_stand_out_from_what_is_behind_them(theme: str) -> None:
    colours = themes()[theme]
    grounds = [colours[name] for name in ("paper", "card", "tint")]
    for name in ("ink", "soft", "good", "useless", "doubtful", "unknown", *broker_colours()[:8]):
        needed = TEXT_CONTRAST if not name.startswith("c") else MARK_CONTRAST
        for ground in grounds:
            assert contrast(colours[name], ground) >= needed, (name, ground)
    for name in broker_colours():
        assert contrast(colours[name], colours["card"]) >= MARK_CONTRAST, name


def broker_colours() -> list[str]:
    return [f"c{n}" for n in range(1, 12)]


#: What a person without one kind of cone sees: Machado, Oliveira, Fernandes 2009, severity 1.
BLINDNESS = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_the_first_brokers_are_told_apart_by_the_colour_blind(theme: str, blindness: str) -> None:
    # From the fifth on shape and name have to help: there are not that many colours.
    seen = {}
    for name in broker_colours()[:4]:
        colour = linear(themes()[theme][name])
        seen[name] = [
            max(0.0, sum(weight * part for weight, part in zip(row, colour, strict=True)))
            for row in BLINDNESS[blindness]
        ]
    for (one, seen_one), (other, seen_other) in combinations(seen.items(), 2):
        assert lab_distance(seen_one, seen_other) > 12, (one, other)


def lab_distance(one: list[float], other: list[float]) -> float:
    """Distance in CIELAB; 2.3 is just noticeable."""

    def lab(colour: list[float]) -> tuple[float, float, float]:
        red, green, blue = colour
        x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
        y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
        fx, fy, fz = (each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116
                      for each in (x, y, z))  # fmt: skip
        return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)

    return sum((a - b) ** 2 for a, b in zip(lab(one), lab(other), strict=True)) ** 0.5


# ---------------------------------------------------------------------- small parts


def test_numbers_are_short_for_the_eye_and_whole_beside_it() -> None:
    shown = {each.name: (each.short, each.exact) for each in figures({
        "average": 0.3053042499224345, "throughput": 112751, "age_s": 25.23, "candidates": 5000,
        "rate_messages_s": 632.7104412152892, "throughput_bytes_s": 616159.8,
        "scores": {"b1": 0.25}, "rounds": [3, 4], "is_equal": True, "missing": None,
    })}  # fmt: skip
    assert shown == {
        "average": ("30.5 %", "0.3053042499224345"),
        "throughput": ("112.8 kB/s", "112751 B/s"),
        "age": ("25.2 s", "25.23 s"),
        "rate messages": ("632.7 messages/s", "632.7104412152892 messages/s"),
        "throughput bytes": ("616.2 kB/s", "616159.8 B/s"),
        "candidates": ("5,000", ""),
        "scores b1": ("25.0 %", "0.25"),
        "rounds": ("3, 4", ""),
        "is equal": ("yes", ""),
        "missing": ("not known", ""),
    }


def test_a_night_over_midnight_names_both_days() -> None:
    said = interval("2026-11-20T22:00:00Z", "2026-11-21T06:00:00+01:00")
    assert said == "20 Nov 2026, 22:00 – 21 Nov 2026, 05:00 UTC"
    assert "1 Mar 22:" in Outline(render(*night(3, 300, 40))).text()


def test_thinning_keeps_every_peak() -> None:
    points = [
        {"time": f"2026-01-01T{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}Z", "broker": "b",
         "usage": 0.9 if n == 4321 else 0.1 + n % 7 / 100}
        for n in range(9000)
    ]  # fmt: skip
    (series,) = series_of(points)
    span = span_of(series.ends())
    assert span is not None
    kept = thinned(series, span, 100)
    assert len(kept.times) <= 401
    assert max(kept.usages.tolist()) == 0.9
    (columns,) = in_columns([series], span, 100).tolist()
    assert columns.count(0.9) == 1


def test_a_column_without_a_report_holds_the_last_until_the_broker_is_gone() -> None:
    points = [
        {"time": "2026-01-01T00:00:00Z", "broker": "b", "usage": 0.5},
        {"time": "2026-01-01T00:05:00Z", "broker": "b", "usage": None},
        {"time": "2026-01-01T00:09:59Z", "broker": "b", "usage": 0.25},
    ]
    (series,) = series_of(points)
    span = span_of(series.ends())
    assert span is not None
    (cells,) = in_columns([series], span, 10).tolist()
    columns = [each if each >= 0 else None for each in cells]
    assert columns == [0.5] * 6 + [None] * 3 + [0.25]
    assert runs([None if each is None else 1 for each in columns]) == [(0, 6, 1), (9, 10, 1)]


def test_names_at_the_ends_of_lines_do_not_cover_each_other() -> None:
    placed = spread_apart([100.0, 101.0, 20.0, 103.0], 15)
    assert placed == [100.0, 115.0, 20.0, 130.0]
