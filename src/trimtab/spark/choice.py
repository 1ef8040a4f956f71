"""Whether work is done by Spark or in this process: by its size, and by what is there already.

Nothing heavy is imported before it is known that it is needed.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.spark.remote import is_remote
from trimtab.spark.runner import Cluster, Here, Runner

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.connect.session import SparkSession

_LOG = logging.getLogger("trimtab")

#: Bytes of files up to which this process is done before Spark would be.
HERE_BYTES_MAX = 64 << 20
#: A packed file ends with how long it was, in so many bytes.
_LENGTH_BYTES = 4


def _nothing() -> None:
    pass


def work_bytes(files: Iterable[Path]) -> int:
    """Return about how many bytes are to be read, packed files unpacked."""
    return sum(map(_unpacked_bytes, files))


def _unpacked_bytes(path: Path) -> int:
    size = path.stat().st_size
    if path.suffix != ".gz" or size < _LENGTH_BYTES:
        return size
    with path.open("rb") as packed:
        packed.seek(-_LENGTH_BYTES, os.SEEK_END)
        # What was packed in several parts tells of the last alone.
        return max(size, int.from_bytes(packed.read(), "little"))


@contextmanager
def shared_runner(
    files: Sequence[Path],
    *,
    cores: int,
    master: str | None,
    meanwhile: Callable[[], object] = _nothing,
) -> Iterator[Runner]:
    """Give a block whoever runs its tasks: this process for what is small, else a Spark that stays.

    The Spark that runs already is used whatever the size; one whose master is named is started.
    Where Spark is not installed, this process does everything, on one core.

    Args:
        files: what is to be read.
        cores: as `shared_spark` has it.
        master: likewise; None leaves the choice.
        meanwhile: what a thread does while Spark sets itself up; left out otherwise.

    Raises:
        JavaError, SparkError: as `shared_spark`.
    """
    is_open = master is None and _running() is None
    n_bytes = work_bytes(files)
    if is_open and (n_bytes <= HERE_BYTES_MAX or not has_spark()):
        _LOG.info("%.1f MB in %d files: read in this process", n_bytes / 1e6, len(files))
        yield Here()
        return
    _LOG.info("%.1f MB in %d files: read by Spark", n_bytes / 1e6, len(files))
    with shared_spark(cores=cores, master=master, meanwhile=meanwhile) as spark:
        yield spark


@contextmanager
def shared_spark(
    *, cores: int, master: str | None, meanwhile: Callable[[], object] = _nothing
) -> Iterator[Cluster]:
    """Give a block the process's Spark: whichever runs, or else a new one that stays.

    PySpark is imported only now.

    Args:
        cores: as `trimtab.spark.session.shared_spark` has it.
        master: likewise, or the URL of a Spark Connect server.
        meanwhile: likewise; left out where a server runs Spark.

    Raises:
        JavaError, SparkError: as `trimtab.spark.session.shared_spark` or
            `trimtab.spark.connect.opened`.
    """
    if master is not None and is_remote(master):
        from trimtab.spark import connect

        yield connect.opened(master)
        return
    if master is None and _context() is None and (notebook := _session()) is not None:
        from trimtab.spark import connect

        yield connect.of_session(notebook)
        return
    from trimtab.spark import session

    with session.shared_spark(cores=cores, master=master, meanwhile=meanwhile) as spark:
        yield spark


@contextmanager
def opened_spark(*, cores: int, master: str | None) -> Iterator[Cluster]:
    """Give a block what `shared_spark` does; what is started for it ends with it."""
    with ended_spark(), shared_spark(cores=cores, master=master) as spark:
        yield spark


@contextmanager
def opened_runner(files: Sequence[Path], *, cores: int, master: str | None) -> Iterator[Runner]:
    """Give a block whoever runs its tasks; a Spark that is started for it ends with it."""
    with ended_spark(), shared_runner(files, cores=cores, master=master) as runner:
        yield runner


@contextmanager
def ended_spark() -> Iterator[None]:
    """Run a block, and end the Spark that began in it with its Java; one from before runs on."""
    is_ours = _running() is None
    try:
        yield
    finally:
        if "trimtab.spark.connect" in sys.modules:
            from trimtab.spark.connect import end_ours

            end_ours()
        if is_ours and "trimtab.spark.session" in sys.modules:
            from trimtab.spark.session import end_spark

            end_spark()


def has_spark() -> bool:
    """Return whether Spark is installed."""
    return importlib.util.find_spec("pyspark") is not None


def _running() -> SparkContext | SparkSession | None:
    """Return the Spark of this process, or else its session of a Spark Connect server."""
    return _context() or _session()


def _context() -> SparkContext | None:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def _session() -> SparkSession | None:
    # Whoever has one has imported it.
    if "pyspark.sql.connect.session" not in sys.modules:
        return None
    from pyspark.sql.connect.session import SparkSession

    return SparkSession.getActiveSession() or SparkSession._get_default_session()
