"""A broker's name and mark on the page: the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trimtab.report.input import Fields, entries, name, names, part, shown_name
from trimtab.report.words import common_ending

#: Brokers from which on a line each is a tangle: a heat map is drawn instead, without colours.
BROKERS_OF_HEATMAP_MIN = 12

#: Characters of a label; a name that is longer stands whole where its night is told.
LABEL_MAX = 40

#: A shape for each colour of the style sheet (--c1 to --c11), so that colour is never the
#: only difference.  Names are Vega's, and of the symbols in the page.
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
    "circle",
    "square",
    "diamond",
)


@dataclass(frozen=True, slots=True)
class Broker:
    """How one broker is shown."""

    id: str
    #: Name without the ending that all brokers share, cut if long.
    label: str
    #: Number of its colour and shape, from 1; None where there are too many to tell apart.
    colour: int | None

    @property
    def shape(self) -> str:
        """Vega's name of its shape."""
        return SHAPES[self.colour - 1] if self.colour else ""


@dataclass(frozen=True, slots=True)
class Brokers:
    """All brokers of the input, in its order."""

    all: tuple[Broker, ...]
    #: What was taken off every name.
    ending: str
    by_id: dict[str, Broker]

    def named(self, broker: str) -> Broker:
        """Return how a broker is shown; one that was never listed, under its own name."""
        return self.by_id.get(broker) or Broker(broker, broker, None)


def brokers_of(findings: Fields, picture: Fields) -> Brokers:
    """Collect every broker that the input names, and give each its mark."""
    known = tuple(dict.fromkeys(each for each in _names(findings, picture) if each))
    ending = common_ending(known)
    has_colours = len(known) < BROKERS_OF_HEATMAP_MIN
    every = tuple(
        Broker(each, _cut(each.removesuffix(ending)), position if has_colours else None)
        for position, each in enumerate(known, start=1)
    )
    return Brokers(every, ending, {broker.id: broker for broker in every})


def _cut(label: str) -> str:
    """Shorten a label in its middle: what tells brokers apart stands at either end."""
    half = LABEL_MAX // 2
    return label if len(label) <= LABEL_MAX else f"{label[:half]}…{label[-half:]}"


def _names(findings: Fields, picture: Fields) -> Iterable[str]:
    yield from names(findings, "brokers")
    for unload in entries(findings, "unloads"):
        yield name(unload, "source")
        yield name(unload, "target")
    for each in entries(findings, "round_list"):
        yield from (name(broker, "broker") for broker in entries(each, "brokers"))
    yield from map(shown_name, part(picture, "reported"))
    yield from (name(point, "broker") for point in entries(picture, "smoothed"))


def shortened(words: str, brokers: Brokers) -> str:
    """Return a text with brokers called as everywhere on the page, without what all end in."""
    for one in brokers.all:
        words = words.replace(one.id, one.label)
    return words
