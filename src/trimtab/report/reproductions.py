"""Reproductions in, one self-contained HTML page out: nothing is computed but layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from trimtab.report.contenders import figure
from trimtab.report.input import Given, entries, part, text, whole
from trimtab.report.render import asset, environment, policy
from trimtab.report.reproduction_picture import names_of, pictures_of
from trimtab.report.words import count

#: Outcome of an experiment → how it is marked: a tone of the style sheet, and a sign.
TONES = {
    "comes out": ("good", "✓"),
    "comes out only if": ("doubtful", "~"),
    "does not come out": ("useless", "✕"),
}
#: Agreement of one number → the same.
AGREEMENTS = {
    "reached": ("good", "✓"),
    "within range": ("doubtful", "~"),
    "missed": ("useless", "✕"),
}


@dataclass(frozen=True, slots=True)
class Number:
    """One published number."""

    title: str
    unit: str
    #: What was published, and what counts as reached.
    value: str
    accepted: str
    says: str
    because: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of one arm."""

    median: str
    range: str
    tone: str
    sign: str
    within: str


@dataclass(frozen=True, slots=True)
class Arm:
    """One row of an experiment's table."""

    name: str
    details: tuple[str, ...]
    runs: str
    tone: str
    sign: str
    at_once: str
    failures: tuple[Given, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """One experiment, as it is shown."""

    anchor: str
    title: str
    strategy: str
    release: str
    source: str
    remark: str
    tone: str
    sign: str
    sentence: str
    numbers: tuple[Number, ...]
    arms: tuple[Arm, ...]
    #: What is said of the picture, the names of its lines with their colours, and the drawings.
    caption: str
    lines: tuple[tuple[str, int], ...]
    wide: Markup | None
    narrow: Markup | None


def render_reproductions(found: Given) -> str:
    """Lay out reproductions as a page.

    The same input gives the same bytes.

    Args:
        found: as in `reproductions.json`.

    Returns:
        The text of an HTML file.
    """
    style = asset("report.css") + asset("comparison.css") + asset("reproductions.css")
    shown = shown_of(found)
    page = {
        "headline": headline(found),
        "where": (
            count(len(shown), "published experiment"),
            count(whole(found, "seeds") or 0, "seed"),
        ),
        "experiments": shown,
        "rules": [(text(each, "unit"), text(each, "says")) for each in entries(found, "rules")],
        "command": text(found, "command"),
        "version": text(found, "trimtab"),
        "seeds": whole(found, "seeds") or 0,
        "unit_of": unit_of,
    }
    template = environment().get_template("reproductions.html.j2")
    return template.render(**page, style=Markup(style), policy=policy(style, ""))


def shown_of(found: Given) -> list[Shown]:
    """Read the experiments as they are shown."""
    return [_shown(f"e{i}", each) for i, each in enumerate(entries(found, "experiments"), start=1)]


def headline(found: Given) -> str:
    """Return how many experiments come out."""
    outcomes = Counter(
        text(part(each, "verdict"), "outcome") for each in entries(found, "experiments")
    )
    total = count(outcomes.total(), "published experiment")
    out, only_if, not_out = (outcomes[word] for word in TONES)
    return (
        f"Of {total}, {out} {'comes' if out == 1 else 'come'} out as published, "
        f"{only_if} under a condition, and {not_out} {'does' if not_out == 1 else 'do'} not."
    )


def _shown(anchor: str, experiment: Given) -> Shown:
    verdict, picture = part(experiment, "verdict"), part(experiment, "picture")
    tone, sign = TONES.get(text(verdict, "outcome"), ("unknown", "?"))
    numbers = tuple(map(_number, entries(experiment, "published")))
    wide, narrow = pictures_of(experiment, anchor) or (None, None)
    return Shown(
        anchor=anchor,
        title=text(experiment, "title"),
        strategy=text(experiment, "strategy"),
        release=text(experiment, "release"),
        source=text(experiment, "source"),
        remark=text(experiment, "remark"),
        tone=tone,
        sign=sign,
        sentence=text(verdict, "sentence"),
        numbers=numbers,
        arms=tuple(map(_arm, entries(experiment, "arms"))),
        caption=(
            f"Arm: {text(picture, 'arm')}; seed {whole(picture, 'seed')}, "
            "the one nearest to the medians."
            if picture
            else ""
        ),
        lines=tuple(names_of(experiment)),
        wide=wide,
        narrow=narrow,
    )


def _number(given: Given) -> Number:
    more = " or more" if given.get("or_more") is True else ""
    return Number(
        title=text(given, "title"),
        unit=text(given, "unit"),
        value=_span(given.get("value")) + more,
        accepted=_span(given.get("accepted")),
        says=text(given, "says"),
        because=text(given, "because"),
    )


def _span(ends: object) -> str:
    """Write two ends as one number, a range, or what it begins with."""
    assert isinstance(ends, Sequence)
    low, high = map(figure, ends)
    if low == high:
        return low
    return f"{low} or more" if high == "never" else f"{low} to {high}"


def _arm(given: Given) -> Arm:
    tone, sign = ("good", "✓") if given.get("comes_out") is True else ("useless", "✕")
    runs = whole(given, "runs") or 0
    settings = part(given, "settings")
    return Arm(
        name=text(given, "name"),
        details=(text(given, "scenario"), *(f"{key} = {settings[key]}" for key in settings)),
        runs=count(runs, "run"),
        tone=tone,
        sign=sign,
        at_once=f"{whole(given, 'at_once') or 0} of {runs}",
        failures=tuple(entries(given, "failures")),
        cells=tuple(_cell(each, runs) for each in entries(given, "numbers")),
    )


def _cell(given: Given, runs: int) -> Cell:
    tone, sign = AGREEMENTS.get(text(given, "agreement"), ("unknown", "?"))
    low, high = figure(given.get("p10")), figure(given.get("p90"))
    return Cell(
        median=figure(given.get("median")),
        range=low if low == high else f"{low} to {high}",
        tone=tone,
        sign=sign,
        within=f"{whole(given, 'within') or 0} of {runs} within",
    )


def unit_of(number: Number) -> str:
    """Write a unit behind a title, if there is one."""
    return f", {number.unit}" if number.unit else ""
