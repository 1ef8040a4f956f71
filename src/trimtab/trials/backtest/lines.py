"""A backtest → lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_WAYS = (
    ("model", "the model"),
    ("share_of_traffic", "share of traffic"),
    ("nothing_changes", "nothing changes"),
)
_NONE = "–"


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Return how good predictions were, recording by recording, and of all together."""
    for each in (*document["recordings"], *_together(document)):
        yield f"{each['recording']}: {each['looks']} looks, {each['moves']} moves"
        for words, count in sorted(each["skipped"].items()):
            yield f"  not scored: {words} ({count})"
        if not each["scores"]:
            yield "  nothing could be predicted and measured afterwards"
        for row in each["scores"]:
            yield from _scores(row)
        yield ""


def _together(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return (document["all"],) if len(document["recordings"]) > 1 else ()


def _scores(row: Mapping[str, Any]) -> Iterator[str]:
    who = "brokers that bundles left or came to" if row["of"] == "moves" else "untouched brokers"
    yield (
        f"  {who}, after {row['minutes']:g} minutes: {row['brokers']}, "
        f"which changed by {_number(row['measured_change_points'])} points on average"
    )
    yield "                      level off         change off        predicted / came"
    for key, words in _WAYS:
        way = row[key]
        yield (
            f"    {words:16}  {_number(way['level_error_percent']):>6} %, "
            f"{_number(way['level_error_points']):>4} pts  "
            f"{_number(way['change_error_percent'], 0):>5} %, "
            f"{_number(way['change_error_points']):>4} pts  {_number(way['bias'], 2):>8}"
        )
    for key, words in (("change_coverage", "change"), ("level_coverage", "level")):
        coverage = row["model"][key]
        if coverage is not None and (words == "level" or row["of"] == "moves"):
            held = ", ".join(f"{share} %: {100 * is_in:.0f} %" for share, is_in in coverage.items())
            yield f"    intervals of the {words} that held, of {held}"


def _number(value: float | None, digits: int = 1) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"
