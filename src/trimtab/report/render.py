"""The page: one HTML file that needs no network, no server and no script to be read.

What may run on it is its own style and its own script, allowed by their hashes; whatever
stands in the input is text.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from trimtab.report.accounting import accounting_of, clocks_of, unanswered_of
from trimtab.report.advice import advice_of
from trimtab.report.brokers import SHAPES, Brokers, brokers_of, shortened
from trimtab.report.causes import Cause, causes_of
from trimtab.report.charts import chart_of
from trimtab.report.compression import packed, packed_articles, packed_moves
from trimtab.report.drawing import start_engine
from trimtab.report.finding_page import finding_page
from trimtab.report.input import Fields, entries, part, text, texts, whole
from trimtab.report.journeys import Journeys, journeys_of
from trimtab.report.moves import Move, moves_of, tallies_of
from trimtab.report.regret_section import section_of as regret_of
from trimtab.report.rounds import Round, listed, rounds_of
from trimtab.report.verdicts import SIGNS, Words
from trimtab.report.what_if_section import section_of
from trimtab.report.words import count, interval, moment, percent, spans_days, traffic

#: Rows, rounds, findings of one cause, and lines of journeys that lie open in the page, so that
#: nothing of a usual night needs a script; of more, the rest is packed.
MOVES_OPEN = 300
ROUNDS_OPEN = 60
FINDINGS_LISTED = 12
#: Rows and rounds that lie open of a night that has more than that.
MOVES_OF_MANY = 100
ROUNDS_OF_MANY = 12
JOURNEY_LINES_OPEN = 400

#: Findings of one cause that are unfolded.
FINDINGS_OPEN = 3

#: Numbers shown beside a finding; of more, the first ones, and all of them folded below.
FIGURES_MAX = 8

#: Moves to which a round has links; the table has all of them.
LINKS_MAX = 6

#: Rounds of a finding that stand in the page; findings.json has all.
ROUNDS_LISTED = 8

#: Sentences of a round's story that are unfolded.
STORY_MAX = 6

_TEMPLATE = "report.html.j2"

#: Signs of the shapes of the chart.
SHAPE_SIGNS = {
    "circle": "●",
    "square": "■",
    "triangle-up": "▲",
    "diamond": "◆",
    "cross": "✚",
    "triangle-down": "▼",
    "triangle-left": "◀",
    "triangle-right": "▶",
}


def render(
    findings: Mapping[str, Any],
    picture: Mapping[str, Any],
    words: Words,
    pages: Mapping[str, str] | None = None,
) -> str:
    """Lay out one night as a page.

    The same input gives the same bytes: every time on the page is one of the recording.

    Args:
        findings: what the diagnosis found, as in `findings.json`; anything may be absent.
        picture: the series of the chart: `reported`, broker → times and usages, `smoothed`,
            `band`, `unloads`, `actions`; any may be absent.
        words: what verdicts and causes are called; a code that is absent is shown as it is.
        pages: code of a finding → its page in Markdown, which the report brings along.

    Returns:
        The text of an HTML file.
    """
    style, script = asset("report.css"), asset("report.js")
    template = environment().get_template(_TEMPLATE)
    page = page_of(findings, picture, words)
    codes = {each.code for each in page["causes"]}
    return template.render(
        **page,
        pages={each: finding_page((pages or {})[each], codes) for each in codes & set(pages or {})},
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script) + "; img-src data:",
        palettes=palettes(style),
    )


def rendered(template: str, values: Mapping[str, Any], *styles: str) -> str:
    """Return a page without a script, as the text of an HTML file.

    The same input gives the same bytes.

    Args:
        template: name of its file.
        values: what it shows.
        styles: names of the style sheets, besides that of the report and of comparisons.
    """
    style = "".join(map(asset, ("report.css", "comparison.css", *styles)))
    page = environment().get_template(template)
    return page.render(**values, style=Markup(style), policy=policy(style, ""))


def make_ready() -> None:
    """Load what the first page takes half a second to load, for whoever has time for it before."""
    start_engine()
    environment().get_template(_TEMPLATE)


def page_of(findings: Fields, picture: Fields, words: Words) -> dict[str, Any]:
    """Gather everything that the template shows."""
    brokers = brokers_of(findings, picture)
    with_day = spans_days(findings.get("from"), findings.get("to"))
    moves = moves_of(entries(findings, "unloads"), brokers, words, with_day=with_day)
    rounds = rounds_of(findings, moves, brokers, with_day=with_day)
    causes = causes_of(findings, moves, brokers, words, with_day=with_day)
    placed = finding_anchors(findings, causes)
    round_anchors = {each.number: each.anchor for each in rounds if each.number is not None}
    anchored = ({name: anchor for name, (anchor, _) in placed.items()}, round_anchors)
    journeys = journeys_of(findings, moves, brokers, anchored, with_day=with_day)
    rounds_listed = listed(rounds)
    chart = chart_of(with_smoothed(picture, findings), rounds, moves, brokers)
    return {
        "title": text(findings, "recording") or "trimtab",
        "where": where(findings, brokers),
        "headline": tuple(shortened(each, brokers) for each in headline(findings, moves, rounds)),
        "warnings": texts(findings, "warnings"),
        "basis": basis(findings),
        "tallies": tallies_of(moves),
        "has_useless": any(move.tone == "useless" for move in moves),
        "changes": advice_of(findings, causes, brokers),
        "chart": chart,
        "what_if": section_of(findings),
        "regret": regret_of(findings),
        "brokers": brokers,
        "moves": moves,
        "rows_of_chart": rows_of(chart, journeys),
        "names_of_journeys": names_of(journeys),
        "strategy": text(part(findings, "strategies"), "shedding"),
        "log_file": common_file(moves),
        "rounds": rounds,
        "listed": rounds_listed,
        "moves_open": MOVES_OPEN if len(moves) <= MOVES_OPEN else MOVES_OF_MANY,
        "rounds_open": ROUNDS_OPEN if len(rounds_listed) <= ROUNDS_OPEN else ROUNDS_OF_MANY,
        "rounds_counted": max(whole(findings, "rounds") or 0, len(rounds)),
        "round_anchors": round_anchors,
        "finding_anchors": placed,
        "journeys": journeys,
        "usage_max": usage_max(rounds),
        "causes": causes,
        "fidelity": fidelity(rounds, moves),
        "reasons": entries(findings, "reasons"),
        "unanswered": unanswered_of(findings, with_day=with_day),
        "accounting": accounting_of(findings),
        "clocks": clocks_of(findings),
        "version": text(findings, "trimtab"),
    }


def rows_of(chart: Fields | None, journeys: Journeys) -> list[list[str]]:
    """Return what the script needs to name a row: (label, anchor of the broker's journey)."""
    rows = chart["rows"] if chart else ()
    return [[each.label, journeys.broker_anchors.get(each.id, "")] for each in rows]


def names_of(journeys: Journeys) -> dict[str, list[list[str]]]:
    """Return what the script finds bundles and brokers by: (anchor, name)."""
    return {
        "bundle": [[each.anchor, each.name] for each in journeys.bundles],
        "broker": [[each.anchor, each.name] for each in journeys.brokers],
    }


def milliseconds(stamp: str) -> str:
    """Return a time as the script reads it; empty if it is none."""
    time = moment(stamp)
    return "" if time is None else str(round(time.timestamp() * 1000))


def basis(findings: Fields) -> tuple[str, str] | None:
    """Say as which release was recomputed, and how that is known; None if it is not."""
    release = text(findings, "release")
    return (f"Pulsar {release}", text(findings, "release_basis")) if release else None


def with_smoothed(picture: Fields, findings: Fields) -> Fields:
    """Complete a picture that lacks the smoothed points by those of the rounds."""
    if entries(picture, "smoothed"):
        return picture
    points = [
        {"time": each.get("time"), "broker": broker.get("broker"), "usage": broker.get("smoothed")}
        for each in entries(findings, "round_list")
        for broker in entries(each, "brokers")
        if broker.get("smoothed") is not None
    ]
    return {**picture, "smoothed": points}


def where(findings: Fields, brokers: Brokers) -> tuple[str, ...]:
    """Return where and when, in parts: the only line above the headline."""
    strategies = part(findings, "strategies")
    pair = [text(strategies, role) for role in ("shedding", "placement")]
    names = [name for name in dict.fromkeys(pair) if name]
    release = text(findings, "release")
    listed = texts(findings, "brokers") or brokers.all
    parts = (
        text(findings, "recording"),
        f"Pulsar {release}" if release else "",
        count(len(listed), "broker") if listed else "",
        interval(findings.get("from"), findings.get("to")),
        " + ".join(names),
    )
    return tuple(each for each in parts if each)


def headline(findings: Fields, moves: Sequence[Move], rounds: Sequence[Round]) -> tuple[str, str]:
    """Return the answer and its sting; of an input that has none, what can be counted."""
    fields = part(findings, "headline")
    if text(fields, "text"):
        return text(fields, "text"), text(fields, "sting")
    if not moves:
        return "The balancer moved nothing.", ""
    verb = "was" if len(moves) == 1 else "were"
    within = f" in {count(len(rounds), 'round')}" if rounds else ""
    return f"{count(len(moves), 'bundle')} {verb} moved{within}.", ""


def common_file(moves: Sequence[Move]) -> str:
    """Return the file in which the lines of all moves stand; empty if there are several."""
    files = {move.evidence[-1].file for move in moves if move.evidence}
    return files.pop() if len(files) == 1 else ""


def usage_max(rounds: Sequence[Round]) -> float:
    """Return the end of the scale on which brokers are compared, the same in every round."""
    heights = [max(each.height(), each.usage or 0.0) for one in rounds for each in one.standings]
    bars = [one.bar for one in rounds if one.bar is not None]
    return max([*heights, *bars, 0.1]) * 1.04


def finding_anchors(findings: Fields, causes: Sequence[Cause]) -> dict[str, tuple[str, str]]:
    """Say for the id of each finding where it stands, and under which title."""
    placed = {each.anchor: each.title for cause in causes for each in cause.findings}
    anchors: dict[str, tuple[str, str]] = {}
    for fields in entries(findings, "findings"):
        name = text(fields, "id")
        for anchor in (name, f"finding-{name}"):
            if anchor in placed:
                anchors[name] = (anchor, placed[anchor])
    return anchors


def fidelity(rounds: Sequence[Round], moves: Sequence[Move]) -> dict[str, Any]:
    """Count how often the recomputation came out as the recording says."""
    answers = [each.recomputed.equal for each in rounds]
    return {
        "rounds": len(rounds),
        "equal": sum(answer is True for answer in answers),
        "different": sum(answer is False for answer in answers),
        "undecided": sum(answer is None for answer in answers),
        "moves": len(moves),
        "moves_equal": sum(move.recomputed.equal is True for move in moves),
        "exceptions": exceptions(rounds),
    }


def groupby_next(items: Sequence[Any], attribute: str) -> list[tuple[Any, list[Any]]]:
    """Group neighbours that share a value: Jinja's own `groupby` would reorder them."""
    grouped = groupby(items, key=lambda each: getattr(each, attribute))
    return [(value, list(group)) for value, group in grouped]


def breakable(words: str) -> Markup:
    """Escape a text, and let long names in it break where a reader would break them.

    Before the capitals of a setting's key, after the slashes and underscores of a bundle.
    A break of this kind is no character: what is copied from the page is the name.

    >>> breakable("my-tenant/my-namespace/0x00")
    Markup('my-tenant/<wbr>my-namespace/<wbr>0x00')
    """
    pieces = re.split(r"(\S{20,})", words)
    return Markup("").join(
        Markup("<wbr>").join(re.split(r"(?<=[/_])(?=\w)|(?<=[a-z])(?=[A-Z])", piece))
        if position % 2
        else piece
        for position, piece in enumerate(pieces)
    )


def exceptions(rounds: Sequence[Round]) -> list[tuple[tuple[str, str], list[Round]]]:
    """Gather the rounds that did not come out as recorded by what is said of them."""
    groups: dict[tuple[str, str], list[Round]] = {}
    for each in rounds:
        if each.recomputed.equal is not True:
            outcome = (each.recomputed.words, each.recomputed.why)
            groups.setdefault(outcome, []).append(each)
    return list(groups.items())


def asset(name: str) -> str:
    """Read a file that stands beside the template."""
    return files("trimtab.report").joinpath("templates", name).read_text(encoding="utf-8")


def palettes(style: str) -> list[tuple[str, list[str]]]:
    """Read the heat map's colours, --h0 to --h9, out of the style: as a filter's three tables.

    Returns:
        (theme, tables of red, green and blue from 0 to 1), light and dark.
    """
    colours = re.findall(r"--h\d: #([0-9a-f]{6});", style)
    parts = [[int(each[at : at + 2], 16) / 255 for each in colours] for at in (0, 2, 4)]
    half = len(colours) // 2

    def tables(start: int) -> list[str]:
        return [" ".join(f"{each:.3f}" for each in part[start : start + half]) for part in parts]

    return [("light", tables(0)), ("dark", tables(half))]


def policy(style: str, script: str) -> str:
    """Forbid everything that is not this very style and this very script."""
    return (
        f"default-src 'none'; style-src {fingerprint(style)}; script-src {fingerprint(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def fingerprint(content: str) -> str:
    """Return the source expression by which a policy allows an inline text."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def environment() -> Environment:
    """Return the template environment: everything is escaped, and a misspelt name fails."""
    made = Environment(
        loader=PackageLoader("trimtab.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        percent=percent,
        traffic=traffic,
        milliseconds=milliseconds,
        groupby_next=groupby_next,
        breakable=breakable,
    )
    made.globals.update(
        count=count,
        signs=SIGNS,
        shape_signs=[SHAPE_SIGNS[shape] for shape in SHAPES],
        findings_open=FINDINGS_OPEN,
        figures_max=FIGURES_MAX,
        links_max=LINKS_MAX,
        story_max=STORY_MAX,
        findings_listed=FINDINGS_LISTED,
        rounds_listed=ROUNDS_LISTED,
        journeys_open=JOURNEY_LINES_OPEN,
        packed=packed,
        packed_moves=packed_moves,
        packed_articles=packed_articles,
    )
    return made
