"""Recordings → Parquet tables, with every line of every file accounted for.

One Spark job parses all files of a recording and writes their rows; a second one writes
those that had to wait.  What a line means stands in the parsers, what a task does in `parts`,
`again` and `worker`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from trimtab.files.batches import batches
from trimtab.files.partitions import cluster_folder, part_files, part_name, write_rows
from trimtab.files.places import is_store, readable, remove_tree
from trimtab.files.tables import INGESTED
from trimtab.ingest.accounting import (
    Accounting,
    IngestError,
    check_bytes,
    check_lines,
    check_rows,
    file_accounts,
    meta_account,
    nameless_of,
    offsets,
)
from trimtab.ingest.columns import table_of
from trimtab.ingest.days import with_days
from trimtab.ingest.fingerprint import is_made_of_lines, last_line_start
from trimtab.ingest.folder import Rewriting, rewritten
from trimtab.ingest.history import (
    Earlier,
    earlier,
    entries,
    entry,
    own_part,
    plan,
    read_as,
    write_entries,
)
from trimtab.ingest.outcome import Origin
from trimtab.ingest.parts import Place, Written, write_group, write_waiting
from trimtab.ingest.pieces import Group
from trimtab.ingest.recording import Recording
from trimtab.ingest.shared_lines import with_shared_lines
from trimtab.ingest.shares import are_unchanged, shared_out
from trimtab.ingest.split_result import PARSED, SplitAccount
from trimtab.ingest.splits import Split, cut
from trimtab.ingest.zookeeper import SOURCE as ZOOKEEPER
from trimtab.spark.runner import Item, Runner, plain_faults, progress, results

#: Groups whose rows wait that one task writes: a task costs as much as the rows of one.
_WAITING_A_TASK = 4
#: Rejected lines that an `Accounting` carries; all of them are in the table `rejects`.
_SAMPLE_SIZE = 20


def ingest(spark: Runner, recording: Recording, tables: Path) -> Accounting:
    """Write a recording's tables, and account for every line.

    The same recording gives the same bytes, whatever the number of cores or the master,
    and whatever an earlier run had read of it.  Within a day, rows stand by source, file
    and line.  The folder appears at once and whole, or not at all; what an earlier run
    wrote of other recordings goes.

    Args:
        spark: runs the jobs.
        recording: an open recording; on a cluster, on a disk that all workers see.
        tables: folder to write, as `trimtab.files.partitions` has it.

    Raises:
        IngestError: the folder holds something else, somebody else writes there, the
            recording changed meanwhile, or the accounting does not add up.
        SparkError: Spark failed.
    """
    with rewritten(tables) as folder:
        return _alone(spark, recording, folder)


@contextmanager
def ingested(
    spark: Runner, recording: Recording, tables: Path
) -> Iterator[tuple[Path, Accounting]]:
    """Yield where a recording's tables are, for who adds to them, and its accounting.

    In a store, where a folder cannot be exchanged again and again, readers see what they saw
    before until the block ends.

    Raises:
        IngestError, SparkError: as `ingest`.
    """
    if not is_store(tables):
        yield tables, ingest(spark, recording, tables)
        return
    with rewritten(tables) as folder:
        yield folder.new, _alone(spark, recording, folder)


def _alone(spark: Runner, recording: Recording, folder: Rewriting) -> Accounting:
    accounting, recording_entry = _bring(spark, recording, folder)
    write_entries(folder.new, [recording_entry])
    return accounting


def ingest_all(spark: Runner, recordings: Sequence[Recording], tables: Path) -> list[Accounting]:
    """Bring a folder of tables up to date with recordings; what it holds of others stays.

    A recording is known by its cluster and its name.  Otherwise as `ingest`.

    Raises:
        IngestError: as `ingest`; or two recordings have one name.
        SparkError: Spark failed.
    """
    names = [(it.cluster, it.name) for it in recordings]
    for twice in {name for name in names if names.count(name) > 1}:
        raise IngestError(
            f"two recordings of cluster {twice[0]} are named {twice[1]}; "
            "give one of them another name in its recording.toml"
        )
    with rewritten(tables) as folder:
        kept = [it for it in entries(folder.now) if (it["cluster"], it["recording"]) not in names]
        _link_others(folder, [Place(folder.new, *name) for name in names])
        accountings = []
        for recording in recordings:
            accounting, new_entry = _bring(spark, recording, folder)
            accountings.append(accounting)
            kept.append(new_entry)
        write_entries(folder.new, kept)
    return accountings


def _link_others(folder: Rewriting, mine: Sequence[Place]) -> None:
    """Take over what the folder holds of other recordings."""
    for path in folder.now.glob("*/cluster=*/**/*.parquet"):
        table = path.relative_to(folder.now).parts[0]
        if not any(
            path.is_relative_to(cluster_folder(folder.now, table, place.cluster))
            and own_part(path, place) is not None
            for place in mine
        ):
            folder.link(path)


@dataclass(frozen=True, slots=True)
class _Result:
    """A recording whose rows are written."""

    splits: Sequence[Split]
    groups: Sequence[Group]
    accounts: Sequence[SplitAccount]
    #: Table → rows that the workers say they have written.
    task_rows: dict[str, int]
    store_files: list[dict[str, Any]]


def _bring(
    spark: Runner, recording: Recording, folder: Rewriting
) -> tuple[Accounting, dict[str, Any]]:
    """Write a recording's tables into the new folder.

    Returns:
        The accounting, and what the folder is to know of the recording.
    """
    recording, overlaps = with_shared_lines(with_days(recording))
    place = Place(folder.new, recording.cluster, recording.name)
    how = read_as(recording)
    with progress(spark, f"reading {recording.name}"), plain_faults():
        earlier_run = earlier(folder.now, place, how)
        result = _read(spark, recording, folder, place, earlier_run)
        if result is None:
            # What was known held line by line, and yet not the numbers of the lines.
            for path in itertools.chain(*(_own_files(place, table) for table in PARSED)):
                path.unlink()
            result = _read(spark, recording, folder, place, Earlier())
    assert result is not None
    _remove_drafts(place)
    files = (*meta_account(recording), *file_accounts(result.splits, result.accounts))
    check_lines(files)
    check_bytes(result.splits, result.accounts)
    small = {
        "files": [file.row for file in files],
        "store_files": result.store_files,
        "recording": meta_rows(recording),
    }
    _write_small(place, small)
    row_counts = {table: _row_count(place, table) for table in INGESTED}
    check_rows(result.accounts, result.task_rows, row_counts)
    accounting = Accounting(
        recording.name,
        recording.cluster,
        files,
        row_counts,
        _head(place, "rejects"),
        recording.unused,
        sum(account.bytes_known for account in result.accounts),
        _damaged(result),
        tuple(nameless_of(result.splits, result.accounts)),
        tuple(overlap.sentence for overlap in overlaps),
    )
    return accounting, entry(accounting, result.groups, result.accounts, how)


def _damaged(result: _Result) -> tuple[str, ...]:
    """Return the files that cannot be read to their end.

    The last record of ZooKeeper's log is torn whenever it is copied while it is written.
    """
    pairs = zip(result.splits, result.accounts, strict=True)
    files = (
        split.origin.file for split, it in pairs if it.is_damaged and split.source != ZOOKEEPER
    )
    return tuple(dict.fromkeys(files))


# -------------------------------------------------------------------- reading


def _read(
    spark: Runner, recording: Recording, folder: Rewriting, place: Place, earlier_run: Earlier
) -> _Result | None:
    """Return the result of parsing what is not known and writing its rows.

    Returns:
        None if parts that are known would have to be kept with other numbers of lines.
    """
    splits, store_files, earlier_run = _shared(spark, recording, folder, earlier_run)
    groups = plan(splits, earlier_run)
    # Logs stand first and are read fastest: last, they leave no core idle at the end.
    backwards = range(len(groups))[::-1]
    done = _run(spark, folder, partial(write_group, place, groups), backwards)[::-1]
    accounts = [account for each in done for account in each.accounts]
    before = offsets(splits, accounts)
    linked = [group for group in groups if accounts[group.pieces[0].number].is_linked]
    for piece in itertools.chain.from_iterable(group.pieces for group in linked):
        if piece.known and piece.known.lines_before != before.get(piece.number, 0):
            return None
    waiting = [number for number, each in enumerate(done) if each.waits]
    if waiting:
        tasks = batches(waiting, lambda _: 1, _WAITING_A_TASK)
        done += _run(spark, folder, partial(write_waiting, place, before), tasks)
    row_counts = {table: sum(each.rows.get(table, 0) for each in done) for table in PARSED}
    for number, group in enumerate(groups):
        if accounts[group.pieces[0].number].is_linked:
            _link(folder, group, part_name(place.part(number)))
    return _Result(splits, groups, accounts, row_counts, store_files)


def splits_of(recording: Recording) -> list[Split]:
    """Return the splits of the recording's files, in the order in which their rows are to stand."""
    return [
        split
        for source, files in recording.files.items()
        if source != "recording"
        for file in files
        for whole in cut(
            file.path,
            Origin(
                file.name,
                file.log_broker,
                recording.zone,
                file.day or recording.day,
                recording.meta.get("store_root", ""),
                file.turns,
                file.shared,
            ),
            source,
        )
        for split in _without_torn_line(whole)
    ]


def _without_torn_line(split: Split) -> list[Split]:
    """Return a split, its last line apart if its end is missing: it may still be written."""
    place = last_line_start(split) if is_made_of_lines(split) else split.end
    if not split.start < place < split.end:
        return [split]
    return [replace(split, end=place), replace(split, start=place)]


def _shared(
    spark: Runner, recording: Recording, folder: Rewriting, earlier_run: Earlier
) -> tuple[list[Split], list[dict[str, Any]], Earlier]:
    """Return what of ZooKeeper's files counts; of files that are known, what an earlier run had."""
    splits = splits_of(recording)
    fingerprints = {
        file: it.fingerprint
        for (source, file, _), it in earlier_run.known.items()
        if source == ZOOKEEPER
    }
    if fingerprints and are_unchanged(spark, splits, fingerprints):
        mine = _own_files(Place(folder.now, recording.cluster, recording.name), "store_files")
        files = [row for path in mine for row in pq.ParquetFile(readable(path)).read().to_pylist()]
        return splits, files, earlier_run
    splits, store_files = shared_out(spark, splits)
    return splits, store_files, earlier_run.without(ZOOKEEPER)


def _run(
    spark: Runner, folder: Rewriting, task: Callable[[Item], Written], items: Sequence[Item]
) -> list[Written]:
    """Run a task of `parts` for each of some items, in Spark's workers.

    Raises:
        IngestError: the disk does not take what they write.
    """
    done = results(spark, task, items)
    for fault in (each.fault for each in done if each.fault):
        raise IngestError(f"{folder.now}: cannot be written: {fault}")
    return done


# -------------------------------------------------------------------- writing


def _link(folder: Rewriting, group: Group, name: str) -> None:
    """Take over the files of a part, but for those that only show a table's columns."""
    earlier_pieces = [piece.known for piece in group.pieces if piece.known]
    for table, path in earlier_pieces[0].parts:
        if any(it.account.table_rows.get(table) for it in earlier_pieces):
            folder.link(path, name)


def _write_small(place: Place, small: dict[str, list[dict[str, Any]]]) -> None:
    """Write small tables without Spark, and a part without rows of each that has no other."""
    rows = {name: table_of(name, those) for name, those in small.items()}
    rows |= {name: INGESTED[name].empty_table() for name in PARSED if not _own_files(place, name)}
    write_rows(place.tables, place.cluster, place.part(0), rows)


def _remove_drafts(place: Place) -> None:
    """Remove what is no part: rows that waited, and what tasks left that were killed."""
    remove_tree(place.waiting)
    for path in place.tables.glob("*/cluster=*/**/.*.draft"):
        path.unlink(missing_ok=True)


def _own_files(place: Place, table: str) -> list[Path]:
    """Return the files of a recording's rows in a table."""
    files = part_files(place.tables, table, place.cluster)
    return [path for path in files if own_part(path, place) is not None]


def _row_count(place: Place, table: str) -> int:
    return sum(pq.read_metadata(readable(path)).num_rows for path in _own_files(place, table))


def _head(place: Place, table: str) -> tuple[dict[str, Any], ...]:
    """Return the first rows of a table."""
    first = pq.ParquetFile(readable(_own_files(place, table)[0]))
    batch = next(first.iter_batches(batch_size=_SAMPLE_SIZE), None)
    return tuple(batch.to_pylist()) if batch else ()


def meta_rows(recording: Recording) -> list[dict[str, Any]]:
    """Return the rows of the table `recording`."""
    return named_rows(recording.name, recording.meta)


def named_rows(name: str, meta: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of the table `recording` of a name and what recording.toml says."""
    return [{"key": key, "value": value} for key, value in {"name": name, **meta}.items()]
