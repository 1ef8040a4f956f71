"""The Spark job that comes first where there are files of ZooKeeper's, which repeat each other.

It reads them without their values and says what of each counts; so the second reading takes
each file by itself, on whichever core, and every write comes once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from trimtab.ingest.fingerprint import Fingerprint, fingerprint
from trimtab.ingest.splits import Split
from trimtab.ingest.zookeeper import SOURCE, StoreFile
from trimtab.ingest.zookeeper_files.writes import Survey, shares
from trimtab.spark.runner import Runner, results

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shared_out(spark: Runner, splits: Sequence[Split]) -> tuple[list[Split], list[dict[str, Any]]]:
    """Return what of each file of ZooKeeper's counts.

    Args:
        spark: runs a task a file.
        splits: of all files; those of other sources stay as they are.

    Returns:
        The splits with their shares, and the rows of the table `store_files`.
    """
    places = [i for i, split in enumerate(splits) if split.source == SOURCE]
    surveys = _surveys(spark, [splits[i] for i in places]) if places else []
    shared = list(splits)
    for i, share in zip(places, shares(surveys), strict=True):
        shared[i] = replace(splits[i], share=share)
    files = [splits[i].origin.file for i in places]
    return shared, [_row(file, each) for file, each in zip(files, surveys, strict=True)]


def are_unchanged(
    spark: Runner, splits: Sequence[Split], fingerprints: Mapping[str, Fingerprint]
) -> bool:
    """Return whether the files of ZooKeeper's are those that are known, so that as much counts.

    Args:
        spark: runs a task a file.
        splits: of all files; those of other sources do not matter.
        fingerprints: file → by what its bytes are known.
    """
    files = [split for split in splits if split.source == SOURCE]
    if {split.origin.file for split in files} != set(fingerprints):
        return False

    def is_same(number: int) -> bool:
        return fingerprint(files[number]) == fingerprints[files[number].origin.file]

    return all(results(spark, is_same, range(len(files))))


def _surveys(spark: Runner, files: Sequence[Split]) -> list[Survey]:
    """Return a survey of each file, a task a file."""

    def surveyed(number: int) -> Survey:
        return StoreFile(files[number]).survey()

    return results(spark, surveyed, range(len(files)))


def _row(file: str, survey: Survey) -> dict[str, Any]:
    (first, start), (last, end) = (survey.first or (None, None)), (survey.last or (None, None))
    return {
        "file": file,
        "kind": "snapshot" if survey.is_snapshot else "log",
        "records": survey.count,
        "first": first,
        "last": last,
        "start": _time(start),
        "end": _time(end),
        "fault": survey.fault,
    }


def _time(time_ms: int | None) -> datetime | None:
    try:
        return None if time_ms is None else _EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return None
