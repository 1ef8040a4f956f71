"""The leader's averages in the metadata store, of bundles and of brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain, compress
from operator import is_
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec import Raw, Struct, defstruct, field
from msgspec.json import Decoder

from trimtab.files.tables import TIME
from trimtab.ingest.columns import repeated, usual_lines
from trimtab.ingest.entries import Entry, Row, of_entry
from trimtab.ingest.json_fields import Fields, Milliseconds, fields_of, moments
from trimtab.ingest.sieve import BlockContent, Columns
from trimtab.ingest.store import BUNDLE


class Averages(NamedTuple):
    """Nodes that hold averages of one kind, each of which gives a row of one table."""

    table: str
    #: Column of the name that stands behind the head of their paths.
    whose: str
    head: str
    fields: Fields
    #: Decodes the value of one of them, and a list of nodes as a listing has them.
    decoder: Decoder[Any]
    listed: Decoder[Any]

    def row(self, path: str, node: Entry, write: Mapping[str, Any]) -> Row:
        """Return the row of a node's value, behind what says when it was written."""
        # One that is not there is said before what is odd in another.
        for place in self.fields.places:
            node.entry(place)
        return self.table, {**write, self.whose: path[len(self.head) :], **self.fields.read(node)}


def _averages(table: str, whose: str, head: str) -> Averages:
    fields = fields_of(table, ("time", "written", whose))
    usual = fields.usual()
    node = defstruct(
        "_Node", [("mtime", Milliseconds), ("averages", usual, field(name="v"))], gc=False
    )
    listing_decoder = Decoder(list[node])  # type: ignore[valid-type]  # read when it runs
    return Averages(table, whose, head, fields, Decoder(usual), listing_decoder)


_BUNDLES, _BROKERS = KINDS = (
    _averages("bundle_averages", "bundle", "/loadbalance/bundle-data/"),
    _averages("broker_averages", "broker", "/loadbalance/broker-time-average/"),
)


class _Listing(Struct, gc=False):
    """A line.  Its nodes may be anything, but for those of the kinds that give rows."""

    time: Any
    nodes: dict[str, Raw]


_LISTING = Decoder(_Listing)


class _Nodes(NamedTuple):
    """Usual nodes of one kind in a line."""

    #: Whose they are.
    names: list[str]
    nodes: list[Any]


class _Line(NamedTuple):
    """A usual line."""

    time: datetime
    #: Of each kind.
    nodes: list[_Nodes]


@lru_cache(maxsize=1 << 15)
def averages_at(path: str) -> Averages | None:
    """Return which averages a node holds, if any; most listings are of the same nodes."""
    if path.startswith(_BUNDLES.head):
        return _BUNDLES if BUNDLE.fullmatch(path) else None
    return _BROKERS if path.startswith(_BROKERS.head) else None


@of_entry
def store_bundles(entry: Entry) -> Iterator[Row]:
    """Yield the rows of one listing of the averages that the leader keeps in the store.

    Example line: `{"time": "2026-11-21T06:38:25.981Z", "nodes":
    {"/loadbalance/bundle-data/public/default/0x0_0x1": {"mtime": 1795243098335, "v": {…}}}}`

    Quirks:
        A listing repeats the nodes that did not change: the same write, known by its
        `written`, gives a row each time it is listed.  Nodes under other paths give none,
        and neither do the empty ones of a namespace, which stay behind its last bundle.
    """
    time = entry.moment("time")
    nodes = entry.entry("nodes")
    for path in nodes.values:
        if kind := averages_at(path):
            node = nodes.entry(path)
            write = {"time": time, "written": node.moment("mtime")}
            yield kind.row(path, node.entry("v"), write)


def listed_averages(block: bytes, before: int) -> BlockContent:
    """Return the averages in usual listings of the store.

    Properties:
        Whatever the bytes, `store_bundles` says of each line what is said of it here.
    """
    numbers, lines, content = usual_lines(block, before, _line)
    when = {
        "time": pa.array([it.time for it in lines], TIME),
        "line": pa.array(numbers, pa.int64()),
    }
    for i, kind in enumerate(KINDS):
        content.columns[kind.table] = _columns(kind, [it.nodes[i] for it in lines], when)
    return content


def _line(text: bytes) -> _Line:
    """Return a usual line.

    Raises:
        ODD: it is not as usual, or gives no rows.
    """
    listing = _LISTING.decode(text)
    kinds = list(map(averages_at, listing.nodes))
    nodes = [
        _nodes(kind, compress(listing.nodes.items(), map(partial(is_, kind), kinds)))
        for kind in KINDS
    ]
    if not any(of.names for of in nodes):
        raise ValueError("no averages")
    return _Line(Entry({"time": listing.time}).moment("time"), nodes)


def _nodes(kind: Averages, nodes: Iterable[tuple[str, Raw]]) -> _Nodes:
    """Return the nodes of a kind, decoded all at once."""
    head, names, values = len(kind.head), [], []
    for path, node in nodes:
        names.append(path[head:])
        values.append(node)
    return _Nodes(names, kind.listed.decode(b"[%b]" % b",".join(values)))


def _columns(kind: Averages, lines: Sequence[_Nodes], when: Mapping[str, pa.Array]) -> Columns:
    """Return the nodes of a kind, behind what says when they were seen."""
    nodes = list(chain.from_iterable(it.nodes for it in lines))
    return {
        **repeated(when, [len(it.names) for it in lines]),
        kind.whose: list(chain.from_iterable(it.names for it in lines)),
        "written": moments([node.mtime for node in nodes]),
        **kind.fields.arrays([node.averages for node in nodes]),
    }
