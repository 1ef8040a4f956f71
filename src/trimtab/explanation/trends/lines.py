"""What a terminal shows of trends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.explanation.trends.document import effect_text

#: Causes, failed nights and clusters that are named.
_NAMED = 5


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the most of trends.json."""
    yield f"{document['headline']} {document['sting']}"
    yield ""
    yield from _weeks(document)
    for change in document["changes"]:
        yield ""
        yield from _change(change, document)
    if document["causes"]:
        yield ""
        yield from _causes(document)
    if document["look_at"]:
        yield ""
        yield "Nights to look at:"
        yield from (f"  {each['folder']}: {each['why']}" for each in document["look_at"][:_NAMED])
    if document["failed"]:
        yield ""
        yield "Not explained:"
        yield from (
            f"  {each['recording']}: {each['error']}" for each in document["failed"][:_NAMED]
        )


def _weeks(document: Mapping[str, Any]) -> Iterator[str]:
    titles = [each["title"] for each in document["measures"]]
    yield f"The middle cluster, week by week: {', '.join(titles)}"
    for week in document["weeks"]:
        ranges = [week["measures"][each["name"]] for each in document["measures"]]
        figures = "".join("       -" if it is None else f"{it['median']:8.2f}" for it in ranges)
        yield f"  {week['week']} {figures}"


def _causes(document: Mapping[str, Any]) -> Iterator[str]:
    findings, nights = Counter[str](), Counter[str]()
    for row in document["causes"]:
        findings[row["code"]] += row["findings"]
        nights[row["code"]] += row["nights"]
    yield f"Causes, and in how many of {document['nights']:,} nights:"
    order = sorted(findings, key=lambda code: (-findings[code], code))
    yield from (f"  {findings[code]:5,}  in {nights[code]:3}  {code}" for code in order[:_NAMED])


def _change(change: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    yield f"Changed: {change['what']}"
    for each in change["clusters"][:_NAMED]:
        since, begin = (each[name][:16].replace("T", " ") for name in ("since", "begin"))
        yield f"  {each['cluster']}: after {since}, by {begin} UTC"
    more = len(change["clusters"]) - _NAMED
    if more > 0:
        yield f"  and {more} clusters more"
    is_one = len(change["clusters"]) == 1
    effects = change["clusters"][0]["effects"] if is_one else change["effects"]
    titles = {each["name"]: each["title"] for each in document["measures"]}
    for each in effects:
        yield f"  {effect_text(each, titles[each['measure']])}"
    yield f"  held against {effects[0]['controls']} clusters in which nothing changed"
