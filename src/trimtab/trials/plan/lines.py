"""What is planned → lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.pulsar.sequences.wording import aligned_rows, mebibytes

# Rows of a long curve that are printed, about.
_ROWS = 16
_SHARE = (
    "costs: by the share of traffic, since none were learned; moves between real brokers brought "
    "half of what that says, so intervals are wide"
)


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Return how low the peak may come, what is recommended, and its moves."""
    highest, lowest = document["highest_percent"][0], document["lowest_percent"][0]
    when = f" in the next {document['hours']} hours" if document["hours"] else ""
    yield f"{document['cluster']}: highest {highest:.1f} %, lowest {lowest:.1f} %{when}"
    yield "costs: learned" if document["costs"] == "learned" else _SHARE
    yield from document["notes"]
    for each in document["aside"]:
        yield f"No move helps {_obstacle(each)}"
    rows = list(_rows(document))
    if len(rows) > 1:
        yield from aligned_rows(
            [
                ("moves", [str(row["moves"]) for row in rows]),
                ("peak", [f"{row['peak']:.1f} %" for row in rows]),
                ("nine in ten", [f"{row['low']:.0f} to {row['high']:.0f} %" for row in rows]),
                ("not below", [f"{row['bound']:.1f} %" for row in rows]),
            ]
        )
    yield _recommendation(document)
    if document["moves"]:
        yield from _moves(document["moves"])
    if document["last"] is not None:
        yield f"Then no further move helps {_obstacle(document['last'])}"


def _moves(moves: list[Mapping[str, Any]]) -> Iterator[str]:
    yield from aligned_rows(
        [
            ("move", [str(number + 1) for number in range(len(moves))]),
            ("bundle", [move["bundle"] for move in moves]),
            ("from", [move["source"] for move in moves]),
            ("to", [move["destination"] for move in moves]),
            ("traffic", [mebibytes(move["traffic_bytes_s"]) for move in moves]),
            ("highest", [f"{move['highest']:.1f} %" for move in moves]),
            ("lowest then", [f"{move['lowest']:.1f} %" for move in moves]),
        ]
    )


def _rows(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the curve that are printed: the first, and where it falls."""
    curve = document["frontier"]
    every = max(1, len(curve) // _ROWS)
    last = None
    for row in curve:
        is_chosen = row["moves"] == document["recommended"]
        falls = last is None or row["peak"] < last - 0.05
        if is_chosen or (falls and row["moves"] % every == 0):
            yield row
            last = row["peak"]


def _recommendation(document: Mapping[str, Any]) -> str:
    count, further = document["recommended"], document["next"]
    begin, end = (document["frontier"][i]["peak"] for i in (0, count))
    gain = f"{_many(further['moves'])} more would gain {further['gain']:.1f} points"
    if count and count == len(document["frontier"]) - 1:
        ending = "more were not asked for"
    elif further["is_unsure"]:
        ending = f"{gain}, but that is within what is not known (--even-if-unsure plans it)"
    elif further["gain"] >= 0.05:
        ending = f"all that further moves would gain are {further['gain']:.1f} points"
    else:
        ending = "further moves would gain nothing"
    if count == 0:
        return f"No move would gain enough: {ending}"
    return f"Recommended: {_many(count)}, {begin:.1f} to {end:.1f} %; {ending}"


def _many(count: int) -> str:
    return "1 move" if count == 1 else f"{count} moves"


def _obstacle(each: Mapping[str, Any]) -> str:
    """Return a broker that stays as high as it is, and what would help."""
    text = f"{each['broker']}, at {each['usage']:.1f} %"
    if each["split"] is None:
        return text
    return (
        f"{text}: split {each['split']}, which takes {each['points']:.1f} points there and would "
        f"bring any other broker to {each['elsewhere']:.1f} %"
    )
