"""Stores batches so that each is there once, however often it is repeated or broken off.

A batch is first written where nobody looks.  Then its *record* is written: from that moment
on it counts.  Then its parts are put into the tables, one renaming each, and the accounting
is brought up to it.  Whoever comes after a crash finishes what has a record, and does again
what has none.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.pandas.types import from_arrow_schema

from trimtab.files.partitions import write_rows
from trimtab.files.tables import INGESTED
from trimtab.files.version import __version__
from trimtab.files.whole_files import write_whole
from trimtab.ingest.accounting import IngestError
from trimtab.ingest.folder import BOOKS, MARKER
from trimtab.ingest.split_result import CLASSES
from trimtab.live.follow.places import FIRST_PART
from trimtab.live.follow.stage import STAGED, stage
from trimtab.pulsar.settings import ResourceWeights

#: In the books, written when tables are begun.
BEGUN = "begun.json"
_COUNTS = ("lines", *CLASSES)
#: Records of so many batches are kept; Spark repeats none but the last.
_RECORDS_KEPT = 100


@dataclass(frozen=True, slots=True)
class Stored:
    """What a batch added."""

    batch: int
    #: File → source, and what became of its lines.
    files: Mapping[str, Mapping[str, Any]]
    #: Table → rows.
    tables: Mapping[str, int]
    #: Parts within the tables that it put there.
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Totals:
    """The accounting of all batches so far."""

    #: The last batch that is in it; -1 for none.
    through: int = -1
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tables: Mapping[str, int] = field(default_factory=dict)

    def plus(self, batch: Stored) -> Totals:
        """Return the totals with a batch; one that is in them already changes nothing.

        Raises:
            IngestError: there is a gap before it.
        """
        if batch.batch <= self.through:
            return self
        if batch.batch != self.through + 1:
            raise IngestError(
                f"batch {batch.batch}: found batch {self.through} before it, "
                f"expected {batch.batch - 1}: the books in {BOOKS} do not belong together"
            )
        files = dict(self.files)
        for name, added in batch.files.items():
            before = files.get(name, dict.fromkeys(_COUNTS, 0))
            files[name] = {
                "source": added["source"],
                **{count: before[count] + added[count] for count in _COUNTS},
            }
        tables = {
            name: self.tables.get(name, 0) + batch.tables.get(name, 0)
            for name in dict.fromkeys([*self.tables, *batch.tables])
        }
        return Totals(batch.batch, files, tables)

    @property
    def sums(self) -> dict[str, int]:
        """Return the number of files, and of lines in all and of each class."""
        sums = {name: sum(each[name] for each in self.files.values()) for name in _COUNTS}
        return {"files": len(self.files)} | sums


@dataclass(frozen=True, slots=True)
class Batches:
    """A folder of tables that batches are added to."""

    tables: Path

    @property
    def books(self) -> Path:
        """Return the folder of the books."""
        return self.tables / BOOKS

    @property
    def begun(self) -> dict[str, Any]:
        """Return what was written when the tables were begun."""
        meta: dict[str, Any] = json.loads((self.books / BEGUN).read_text(encoding="utf-8"))
        return meta

    @property
    def totals(self) -> Totals:
        """Return the accounting of all batches that are in the tables."""
        path = self.books / "totals.json"
        return Totals(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Totals()

    def store(self, frame: DataFrame, batch: int, weights: ResourceWeights) -> Stored:
        """Return what is stored of a batch, which is stored unless it is already.

        The same rows of `source.COLUMNS` come under the same number.

        Raises:
            IngestError: what was written is not what was read.

        Properties:
            Done again, after any interruption, it leaves the same files.
        """
        record = self._record(batch)
        if not record.exists():
            # A worker of a run that was killed may still write into a folder of its own.
            shutil.rmtree(self.books / "staged", ignore_errors=True)
            folder = self.books / "staged" / f"{batch}-{secrets.token_hex(4)}"
            folder.mkdir(parents=True)
            task = partial(stage, folder, self.begun["cluster"], batch, weights)
            staged = frame.mapInArrow(task, from_arrow_schema(STAGED)).collect()
            write_whole(record, json.dumps(_recorded(batch, folder.name, staged)))
        return self.finish(batch)

    def finish(self, batch: int) -> Stored:
        """Return what is stored of a batch with a record; put it into tables and accounting."""
        record = json.loads(self._record(batch).read_text(encoding="utf-8"))
        staged = self.books / "staged" / record["folder"]
        for part in record["parts"]:
            target = self.tables / part["part"]
            # It is in its place already if an earlier run was killed on the way.
            if (staged / part["staged"]).exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                (staged / part["staged"]).replace(target)
            elif not target.exists():
                raise IngestError(f"{target}: not found, expected {part['rows']} rows")
        places = tuple(part["part"] for part in record["parts"])
        stored = Stored(batch, record["files"], record["tables"], places)
        self.account(self.totals.plus(stored))
        shutil.rmtree(staged, ignore_errors=True)
        self._record(batch - _RECORDS_KEPT).unlink(missing_ok=True)
        return stored

    def account(self, totals: Totals) -> None:
        """Write the accounting for programs, the table `files`, and what they rest on."""
        begun = self.begun
        cluster, name = begun["cluster"], begun["name"]
        document = {
            "trimtab": __version__,
            "cluster": cluster,
            "recording": name,
            "through": totals.through,
            "totals": totals.sums,
            "tables": {name: totals.tables.get(name, 0) for name in INGESTED},
        }
        rows = [{"file": file} | dict(counts) for file, counts in totals.files.items()]
        files = pa.Table.from_pylist(rows, INGESTED["files"])
        write_rows(self.tables, cluster, FIRST_PART, {"files": files})
        write_whole(self.tables / MARKER, json.dumps(document, indent=2) + "\n")
        books = {"through": totals.through, "files": totals.files, "tables": totals.tables}
        write_whole(self.books / "totals.json", json.dumps(books))
        write_whole(self.books / "through.json", json.dumps(totals.through))

    def last(self) -> int:
        """Return the last batch that has a record; -1 for none."""
        records = (self.books / "batches").glob("[0-9]*.json")
        return max((int(path.stem) for path in records), default=-1)

    def _record(self, batch: int) -> Path:
        folder = self.books / "batches"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{batch:08}.json"


def _recorded(batch: int, folder: str, staged: Iterable[Row]) -> dict[str, Any]:
    """Return the record of a batch, checked to add up.

    Raises:
        IngestError: it says which file or table, what was found and what was expected.
    """
    rows = list(staged)
    parts = [row for row in rows if row.account is None]
    accounts = [row for row in rows if row.account is not None]
    files: dict[str, dict[str, Any]] = {}
    parsed: dict[str, int] = {}
    for row in sorted(accounts, key=lambda it: it.item):
        account = json.loads(row.account)
        classes = sum(account[name] for name in CLASSES)
        if account["lines"] != classes:
            raise IngestError(f"{row.name}: {account['lines']} lines, but {classes} accounted for")
        file = files.setdefault(row.name, {"source": row.source} | dict.fromkeys(_COUNTS, 0))
        for name in _COUNTS:
            file[name] += account[name]
        for table, count in account["table_rows"].items():
            parsed[table] = parsed.get(table, 0) + count
    written: dict[str, int] = {}
    for row in parts:
        if row.tab not in INGESTED:
            continue
        written[row.tab] = written.get(row.tab, 0) + row.rows
    if parsed != written:
        raise IngestError(f"batch {batch}: rows written {written}, expected {parsed}")
    listed = [
        {"staged": row.staged, "part": row.part, "rows": row.rows}
        for row in sorted(parts, key=lambda it: it.part)
    ]
    return {"batch": batch, "folder": folder, "parts": listed, "files": files, "tables": parsed}
