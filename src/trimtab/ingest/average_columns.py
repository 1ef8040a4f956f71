"""Averages in columns: the rows that `store_bundles` makes one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain, compress
from operator import is_
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec import Raw, Struct, defstruct, field
from msgspec.json import Decoder

from trimtab.files.tables import TIME
from trimtab.ingest.columns import (
    Count,
    Milliseconds,
    Small,
    gathered,
    moments,
    repeated,
    usual_lines,
)
from trimtab.ingest.entries import Entry
from trimtab.ingest.sifted import Columns, Sifted
from trimtab.ingest.store import BROKER_AVERAGE, BUNDLE, BUNDLE_DATA, MEASURES

_TERMS = ("short", "long")
#: Four measures of a bundle over one term.
_Term = defstruct(
    "_Term",
    [
        ("samples", Small, field(name="numSamples")),
        *((column, float, field(name=f"m{key}")) for key, column in MEASURES.items()),
    ],
    gc=False,
)
#: The averages of a bundle, and those of a broker.
_Bundle = defstruct(
    "_Bundle",
    [*((term, _Term, field(name=f"{term}TermData")) for term in _TERMS), ("topics", Count)],
    gc=False,
)
_Broker = defstruct(
    "_Broker",
    [
        (f"{term}_{column}", float, field(name=f"{term}TermM{key}"))
        for term in _TERMS
        for key, column in MEASURES.items()
    ],
    gc=False,
)


class _Listing(Struct, gc=False):
    """A line.  Its nodes may be anything, but for those of the kinds that give rows."""

    time: Any
    nodes: dict[str, Raw]


class Kind(NamedTuple):
    """Nodes that give rows of one table."""

    table: str
    #: Column of the name that stands behind the head of their paths.
    whose: str
    head: str
    #: Decodes the averages in one of them.
    decoder: Decoder[Any]
    #: Decodes a list of nodes as a listing has them.
    listed: Decoder[Any]
    #: Column → attribute of the averages, and the type of both.
    columns: Mapping[str, tuple[str, type]]

    def laid_out(self, averages: Sequence[object]) -> Columns:
        """Lay out the averages of nodes of this kind."""
        return {column: gathered(name, averages, of) for column, (name, of) in self.columns.items()}


class _Nodes(NamedTuple):
    """Nodes of one kind in a line."""

    #: Whose they are.
    names: list[str]
    nodes: list[Any]


class _Read(NamedTuple):
    """A line, read."""

    time: datetime
    #: Of each kind.
    nodes: list[_Nodes]


def _listed(averages: type[Struct]) -> Decoder[Any]:
    """Make the decoder of a list of nodes that hold such averages."""
    fields: list[tuple[str, Any, Any]] = [
        ("mtime", Milliseconds, field()),
        ("averages", averages, field(name="v")),
    ]
    return Decoder(list[defstruct("_Node", fields, gc=False)])  # type: ignore[misc]  # read when it runs


_BUNDLES, _BROKERS = KINDS = (
    Kind(
        "bundle_averages",
        "bundle",
        BUNDLE_DATA,
        Decoder(_Bundle),
        _listed(_Bundle),
        {f"{term}_samples": (f"{term}.samples", int) for term in _TERMS}
        | {
            f"{term}_{column}": (f"{term}.{column}", float)
            for term in _TERMS
            for column in MEASURES.values()
        }
        | {"topics": ("topics", int)},
    ),
    Kind(
        "broker_averages",
        "broker",
        BROKER_AVERAGE,
        Decoder(_Broker),
        _listed(_Broker),
        {
            f"{term}_{column}": (f"{term}_{column}", float)
            for term in _TERMS
            for column in MEASURES.values()
        },
    ),
)
_LISTING = Decoder(_Listing)


def listed_averages(block: bytes, before: int) -> Sifted:
    """Tell the averages in listings of the store.

    Properties:
        Whatever the bytes, `store_bundles` says of each line what is said of it here.
    """
    numbers, found, sifted = usual_lines(block, before, _read)
    seen = {
        "time": pa.array([read.time for read in found], TIME),
        "line": pa.array(numbers, pa.int64()),
    }
    for i, kind in enumerate(KINDS):
        sifted.columns[kind.table] = _columns(kind, [read.nodes[i] for read in found], seen)
    return sifted


def _read(text: bytes) -> _Read:
    """Read a line.

    Raises:
        ODD: it is not as usual, or gives no rows.
    """
    listing = _LISTING.decode(text)
    kinds = list(map(kind_of, listing.nodes))
    nodes = [
        _nodes(kind, compress(listing.nodes.items(), map(partial(is_, kind), kinds)))
        for kind in KINDS
    ]
    if not any(of.names for of in nodes):
        raise ValueError("no averages")
    return _Read(Entry({"time": listing.time}).moment("time"), nodes)


@lru_cache(maxsize=1 << 15)
def kind_of(path: str) -> Kind | None:
    """Tell the kind of a node; most listings are of the same ones."""
    if path.startswith(BUNDLE_DATA):
        return _BUNDLES if BUNDLE.fullmatch(path) else None
    return _BROKERS if path.startswith(BROKER_AVERAGE) else None


def _nodes(kind: Kind, nodes: Iterable[tuple[str, Raw]]) -> _Nodes:
    """Decode the nodes of a kind, all at once."""
    head, names, found = len(kind.head), [], []
    for path, node in nodes:
        names.append(path[head:])
        found.append(node)
    return _Nodes(names, kind.listed.decode(b"[%b]" % b",".join(found)))


def _columns(kind: Kind, lines: Sequence[_Nodes], seen: Mapping[str, pa.Array]) -> Columns:
    """Lay out the nodes of a kind, behind what says when they were seen."""
    nodes = list(chain.from_iterable(line.nodes for line in lines))
    return {
        **repeated(seen, [len(line.names) for line in lines]),
        kind.whose: list(chain.from_iterable(line.names for line in lines)),
        "written": moments([node.mtime for node in nodes]),
        **kind.laid_out([node.averages for node in nodes]),
    }
