"""Reproductions in; out one self-contained HTML page, or the measured part of a page of docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trimtab.report.contenders import between, figure, toned
from trimtab.report.input import Fields, entries, part, text, whole
from trimtab.report.marks import markdown_table, opening
from trimtab.report.render import rendered
from trimtab.report.reproduction_picture import names_of, pictures_of
from trimtab.report.words import count

#: Outcome of an experiment → how it is marked: a tone of the style sheet, and a sign.
TONES = toned("comes out", "comes out only if", "does not come out")
#: Agreement of one number → the same.
AGREEMENTS = toned("reached", "within range", "missed")

#: Folder of the pictures, as seen from the page of the docs.
_PICTURES = "reproductions"


def render_reproductions(reproductions: Fields) -> str:
    """Return the page of reproductions, as in `reproductions.json`."""
    experiments = _experiments(reproductions)
    seeds = whole(reproductions, "seeds") or 0
    page = {
        "headline": _headline(reproductions),
        "where": (count(len(experiments), "published experiment"), count(seeds, "seed")),
        "experiments": experiments,
        "rules": [
            (text(each, "unit"), text(each, "says")) for each in entries(reproductions, "rules")
        ],
        "command": text(reproductions, "command"),
        "version": text(reproductions, "trimtab"),
        "seeds": seeds,
    }
    return rendered("reproductions.html.j2", page, "reproductions.css")


def reproductions_text(reproductions: Fields, date: str) -> str:
    """Return reproductions, as in `reproductions.json` and measured on a date, as Markdown."""
    experiments = _experiments(reproductions)
    parts = [
        opening(reproductions, date, _headline(reproductions)),
        markdown_table(
            ("experiment", "verdict"),
            (
                (f"[{it['title']}](#{_anchor(it['title'])})", f"{it['sign']} {it['sentence']}")
                for it in experiments
            ),
        ),
        *(
            "\n".join(_section(each, text(fields, "name")))
            for each, fields in zip(experiments, reproductions["experiments"], strict=True)
        ),
    ]
    return "\n".join(parts)


def _section(experiment: Fields, name: str) -> Iterator[str]:
    yield f"## {experiment['title']}\n"
    yield f"{experiment['sign']} **It {experiment['sentence']}.**\n"
    yield f"{experiment['source']}."
    yield f"{experiment['strategy']}, Pulsar {experiment['release']}."
    if experiment["remark"]:
        yield experiment["remark"]
    yield ""
    numbers = experiment["numbers"]
    titles = (f"{it['title']}{it['unit'] and ', '}{it['unit']}" for it in numbers)
    yield markdown_table(("arm", *titles, "all at once"), _rows(experiment))
    if experiment["wide"]:
        picture = f"![Usage and unloads of one run]({_PICTURES}/{name}.svg)"
        yield f"{picture}\n\n{experiment['caption']}\n"


def _rows(experiment: Fields) -> Iterator[tuple[str, ...]]:
    numbers = experiment["numbers"]
    yield ("published", *(f"**{each['value']}**" for each in numbers), "")
    yield ("counts as reached", *(each["accepted"] for each in numbers), "")
    for arm in experiment["arms"]:
        cells = (f"{cell['sign']} {cell['median']} ({cell['range']})" for cell in arm["cells"])
        yield (f"{arm['sign']} {arm['name']}", *cells, arm["at_once"])


def _anchor(title: str) -> str:
    """Return the name that a heading has on a page: as GitHub and most others make it."""
    kept = (sign for sign in title.lower() if sign.isalnum() or sign in " -_")
    return "".join(kept).replace(" ", "-")


def _headline(reproductions: Fields) -> str:
    """Return how many experiments come out."""
    outcomes = Counter(
        text(part(each, "verdict"), "outcome") for each in entries(reproductions, "experiments")
    )
    total = count(outcomes.total(), "published experiment")
    out, only_if, not_out = (outcomes[word] for word in TONES)
    return (
        f"Of {total}, {out} {'comes' if out == 1 else 'come'} out as published, "
        f"{only_if} under a condition, and {not_out} {'does' if not_out == 1 else 'do'} not."
    )


def _experiments(reproductions: Fields) -> list[dict[str, Any]]:
    """Return the experiments as they are shown."""
    listed = entries(reproductions, "experiments")
    return [_experiment(f"e{place}", each) for place, each in enumerate(listed, start=1)]


def _experiment(anchor: str, experiment: Fields) -> dict[str, Any]:
    verdict, picture = part(experiment, "verdict"), part(experiment, "picture")
    tone, sign = TONES.get(text(verdict, "outcome"), ("unknown", "?"))
    wide, narrow = pictures_of(experiment, anchor) or (None, None)
    said = ("title", "strategy", "release", "source", "remark")
    return {
        "anchor": anchor,
        **{name: text(experiment, name) for name in said},
        "tone": tone,
        "sign": sign,
        "sentence": text(verdict, "sentence"),
        "numbers": [*map(_number, entries(experiment, "published"))],
        "arms": [*map(_arm, entries(experiment, "arms"))],
        # What is said of the picture, the names of its lines with their colours, and the drawings.
        "caption": (
            f"Arm: {text(picture, 'arm')}; seed {whole(picture, 'seed')}, "
            "the one nearest to the medians."
            if picture
            else ""
        ),
        "lines": names_of(experiment),
        "wide": wide,
        "narrow": narrow,
    }


def _number(fields: Fields) -> dict[str, str]:
    """Return what was published, and what counts as reached."""
    more = " or more" if fields.get("or_more") is True else ""
    return {
        **{name: text(fields, name) for name in ("title", "unit", "says", "because")},
        "value": _span(fields.get("value")) + more,
        "accepted": _span(fields.get("accepted")),
    }


def _span(ends: object) -> str:
    """Return two ends as one number, a range, or what it begins with."""
    assert isinstance(ends, Sequence)
    return between(*ends).replace(" to never", " or more")


def _arm(fields: Fields) -> dict[str, Any]:
    """Return one row of an experiment's table."""
    tone, sign = ("good", "✓") if fields.get("comes_out") is True else ("useless", "✕")
    runs = whole(fields, "runs") or 0
    settings = part(fields, "settings")
    return {
        "name": text(fields, "name"),
        "details": [text(fields, "scenario"), *(f"{key} = {settings[key]}" for key in settings)],
        "tone": tone,
        "sign": sign,
        "at_once": f"{whole(fields, 'at_once') or 0} of {runs}",
        "failures": entries(fields, "failures"),
        "cells": [_cell(each, runs) for each in entries(fields, "numbers")],
    }


def _cell(fields: Fields, runs: int) -> dict[str, str]:
    """Return one number of one arm."""
    tone, sign = AGREEMENTS.get(text(fields, "agreement"), ("unknown", "?"))
    return {
        "median": figure(fields.get("median")),
        "range": between(fields.get("p10"), fields.get("p90")),
        "tone": tone,
        "sign": sign,
        "within": f"{whole(fields, 'within') or 0} of {runs} within",
    }
