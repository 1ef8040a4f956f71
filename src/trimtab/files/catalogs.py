"""A folder of tables → Iceberg tables in a catalog, where every engine finds them by name.

A recording's rows take the place of those that it had there, so that publishing again changes
nothing, and each table changes at once.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyiceberg import exceptions
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import And, EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table
from sqlalchemy.exc import SQLAlchemyError

from trimtab.files.datasets import columns_of, stored
from trimtab.files.errors import TrimtabError
from trimtab.files.generations import current
from trimtab.files.partitions import CLUSTER, DAY
from trimtab.files.tables import DIAGNOSED, INGESTED, JUDGED, TRACED
from trimtab.files.version import __version__

#: Namespace of the tables in a catalog where none is named.
NAMESPACE = "trimtab"
#: Column that a catalog's tables have beside those of the files: which recording a row is from.
RECORDING = "recording"
#: What a snapshot's summary says of the rows it brought.
_DIGEST = "trimtab.digest"
_SCHEMAS = INGESTED | DIAGNOSED | TRACED | JUDGED
#: What ends the name of a part's file, behind the recording's.
_PART_TAIL = len("-00000.parquet")
#: Rows that are held in memory at a time, about.
_ROWS = 1 << 19
#: How often a table is tried that others write to meanwhile.
_TRIES = 5
#: What a catalog, its database and the files' store raise.
_FAULTS: tuple[type[Exception], ...] = (
    *(it for it in vars(exceptions).values() if isinstance(it, type) and issubclass(it, Exception)),
    *(SQLAlchemyError, OSError, ValueError, TypeError, ImportError),
)


class CatalogError(TrimtabError):
    """A catalog is not known, does not answer, or holds other tables of these names."""


def shares(folders: Iterable[Path]) -> list[Share]:
    """Return what folders of tables hold, by table, cluster and recording."""
    found = []
    for place in map(current, folders):
        for table in _SCHEMAS:
            files = sorted((place / table).rglob("part-*.parquet"), key=lambda it: (_owner(it), it))
            for owner, those in groupby(files, _owner):
                found.append(Share(table, *owner, tuple(those)))
    return sorted(found, key=lambda it: (list(_SCHEMAS).index(it.table), it.cluster, it.recording))


def _owner(path: Path) -> tuple[str, str]:
    """Return whose rows a file has: of which cluster and recording."""
    cluster = next(it for it in path.parts if it.startswith(f"{CLUSTER}="))
    recording = path.name.removeprefix("part-")[:-_PART_TAIL]
    return unquote(cluster.removeprefix(f"{CLUSTER}=")), unquote(recording)


@dataclass(frozen=True, slots=True)
class Share:
    """A recording's rows of one table, in files."""

    table: str
    cluster: str
    recording: str
    files: Sequence[Path]

    @property
    def schema(self) -> pa.Schema:
        """Return the columns as the catalog is to have them, each with what it means."""
        columns = [*columns_of(self.table), pa.field(RECORDING, pa.string())]
        return pa.schema([_with_meaning(column) for column in columns])

    def digest(self) -> str:
        """Return what tells these rows from others: of the files' bytes and the columns."""
        digest = hashlib.sha256(str(self.schema).encode())
        for path in self.files:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def batches(self) -> Iterator[pa.Table]:
        """Yield the rows, some at a time; once without rows where there are none."""
        waiting: list[pa.RecordBatch] = []
        for batch in stored(self.table, self.files).to_batches():
            waiting.append(batch)
            if sum(map(len, waiting)) >= _ROWS:
                yield self._whole(waiting)
                waiting = []
        yield self._whole(waiting)

    def _whole(self, batches: Sequence[pa.RecordBatch]) -> pa.Table:
        rows = pa.Table.from_batches(batches, columns_of(self.table))
        names = pa.repeat(pa.scalar(self.recording), len(rows))
        return rows.append_column(RECORDING, names).cast(self.schema)


def _with_meaning(column: pa.Field) -> pa.Field:
    known = column.metadata or {}
    words = [known[key].decode() for key in (b"meaning", b"unit") if known.get(key)]
    return column.with_metadata({"doc": ", ".join(words)} if words else {}).with_nullable(True)


def publish(shares: Iterable[Share], name: str) -> Iterator[int | None]:
    """Bring shares into a catalog, and yield of each its rows, None if it was there already.

    A table that is not there is made; of one that has fewer columns, as an earlier release
    made it, the new ones are added, and its old rows have nothing there.

    Args:
        shares: those of one table together.
        name: of a catalog as PyIceberg's configuration has it, with a namespace behind a dot
            where it is not `NAMESPACE`.

    Raises:
        CatalogError: the catalog is not known or fails, or a column there is of another type.

    Properties:
        The same shares again change nothing.
        Rows of other recordings stay, and so do the files that they are in.
        A reader of one table sees the recording's rows as they were or as they are.

    Quirks:
        A catalog changes one table at a time: between two tables a reader may see the one new
        and the other old.
    """
    catalog_name, _, namespace = name.partition(".")
    with _plain_faults(name):
        catalog = load_catalog(catalog_name)
        catalog.create_namespace_if_not_exists(namespace or NAMESPACE)
        for table, those in groupby(shares, lambda it: it.table):
            lake = _Lake(catalog, f"{namespace or NAMESPACE}.{table}")
            for share in those:
                yield lake.bring(share)


class _Lake:
    """One table of a catalog."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        self._catalog, self._name = catalog, name
        #: As it was when it was last read; with the digest of each recording's rows.
        self._table: Table | None = None
        self._known: dict[tuple[str, str], str] = {}

    def bring(self, share: Share) -> int | None:
        """Write a share, unless it is there; return its rows, None where it was."""
        digest = share.digest()
        for n_left in reversed(range(_TRIES)):
            table = self._table or self._read(share.schema)
            if self._known.get((share.cluster, share.recording)) == digest:
                return None
            try:
                n_rows = _replace(table, share, digest)
            except CommitFailedException:
                # Somebody else was first: what is there now may be other columns, other rows.
                self._table = None
                if not n_left:
                    raise
                continue
            self._known[share.cluster, share.recording] = digest
            return n_rows
        raise AssertionError("the last try returns or raises")

    def _read(self, schema: pa.Schema) -> Table:
        """Return the table, made or widened where need be."""
        if not self._catalog.table_exists(self._name):
            _make(self._catalog, self._name, schema)
        table = self._catalog.load_table(self._name)
        with table.update_schema() as update:
            update.union_by_name(schema)
        self._table, self._known = table, _digests(table)
        return table


def _make(catalog: Catalog, name: str, schema: pa.Schema) -> None:
    """Make a table, parted by cluster and day as the folders are."""
    # Of the names by which rows are replaced, bounds are kept whole: files go by them unread.
    properties = {f"write.metadata.metrics.column.{it}": "full" for it in (CLUSTER, RECORDING)}
    table = catalog.create_table_if_not_exists(name, schema, properties=properties)
    if not table.spec().fields:
        with table.update_spec() as spec:
            for column in (CLUSTER, *([DAY] if DAY in schema.names else [])):
                spec.add_identity(column)


def _digests(table: Table) -> dict[tuple[str, str], str]:
    """Return the digest of what each recording has in a table, as far as its snapshots say."""
    digests = {}
    for snapshot in table.metadata.snapshots:
        summary = snapshot.summary.additional_properties if snapshot.summary else {}
        if _DIGEST in summary:
            owner = summary[f"trimtab.{CLUSTER}"], summary[f"trimtab.{RECORDING}"]
            digests[owner] = summary[_DIGEST]
    return digests


def _replace(table: Table, share: Share, digest: str) -> int:
    """Replace a recording's rows at once, and return how many there are now."""
    owner = {CLUSTER: share.cluster, RECORDING: share.recording}
    said = {f"trimtab.{column}": value for column, value in owner.items()}
    n_rows = 0
    with warnings.catch_warnings():
        # It says that the recording had no rows there.
        warnings.filterwarnings("ignore", "Delete operation did not match any records")
        with table.transaction() as change:
            change.delete(
                And(*(EqualTo(term=Reference(it), value=literal(owner[it])) for it in owner))
            )
            for rows in share.batches():
                change.append(rows, {**said, _DIGEST: digest})
                n_rows += len(rows)
            change.set_properties({"trimtab.version": __version__})
    return n_rows


@contextmanager
def _plain_faults(name: str) -> Iterator[None]:
    """Let a block's failures at a catalog be a `CatalogError` of one line."""
    try:
        yield
    except _FAULTS as error:
        line = " ".join(str(error).split()) or type(error).__name__
        raise CatalogError(f"catalog {name}: {line}") from None
