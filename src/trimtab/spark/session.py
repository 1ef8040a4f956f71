"""The one place where Spark is started, with its Java and its clear errors.

No table and no path of a recording belongs here.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException

from trimtab.spark.gateway import end_java, start_java
from trimtab.spark.runner import SparkError, last_line, plain_faults
from trimtab.spark.workers import WorkersError, check_master, is_cluster, prepare, send

#: Our jobs are short and wait for Python: the time to compile for the best speed and
#: to start a parallel collector would never be earned back.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def _nothing() -> None:
    pass


def started(
    *,
    cores: int = 2,
    master: str | None = None,
    log: Path | None = None,
    inherited: Sequence[int] = (),
    meanwhile: Callable[[], object] = _nothing,
) -> SparkContext:
    """Return a quiet Spark that is started, or the one that runs on the same master.

    Nothing of Spark's reaches the terminal.  One on another master is stopped first: there
    is one at a time in a process.  Its SQL is not loaded, which takes Java a third of the
    whole start; whoever asks for a `SparkSession` gets one on this.

    Args:
        cores: tasks that run at a time; of no effect when `master` is given.
        master: a Spark master's URL; without it Spark runs in this process's machine.
        log: file for what Java prints; by default `spark.log` in the user's cache folder.
        inherited: file descriptors that Java keeps open as long as it lives.
        meanwhile: what a thread does while Spark sets itself up, for which Python waits a
            second; left out where Spark runs.  It is done when Spark is there: two threads
            that import may lock each other out.

    Raises:
        JavaError: there is no Java of at least release 17.
        SparkError: Java or Spark did not start, the master does not answer, or its workers
            cannot run this program; the message names what is wrong.

    Quirks:
        Java starts once a process, so its memory, options and log are those of the first
        call.  A failed task is tried four times in all, as on a cluster: plain `local[2]`
        gives up after one, so that a worker killed by the system would end the run.
    """
    master = master or f"local[{cores},4]"
    running = SparkContext._active_spark_context
    if running is not None:
        if running.master == master:
            return running
        running.stop()
    log = log or _cache_folder() / "spark.log"
    # Otherwise Python itself prints what PySpark and py4j log, traces and all.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        check_master(master)
        conf = _configuration(cores, master)
        gateway = SparkContext._gateway or start_java(conf, _JAVA_OPTIONS, log, inherited)
        context = _set_up(conf, gateway, meanwhile)
        if is_cluster(master):
            prepare(context)
        return context
    except WorkersError as fault:
        raise SparkError(str(fault)) from None
    except (PySparkException, Py4JError) as fault:
        raise SparkError(f"Spark did not start: {last_line(str(fault))}; see {log}") from None


@contextmanager
def opened_spark(
    *,
    cores: int,
    master: str | None,
    inherited: Sequence[int] = (),
    meanwhile: Callable[[], object] = _nothing,
) -> Iterator[SparkContext]:
    """Give a block its Spark, and end it with its Java when the block ends.

    One that ran before the block is used and left running.  Arguments and errors are those of
    `started`.
    """
    is_ours = SparkContext._active_spark_context is None
    try:
        yield started(cores=cores, master=master, inherited=inherited, meanwhile=meanwhile)
    finally:
        if is_ours:
            end_spark()


def end_spark() -> None:
    """End the Spark of this process with its Java, if there is one."""
    # Where Java is gone, there is nothing to stop.
    with suppress(Py4JError, ConnectionError):
        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
    if SparkContext._gateway is not None:
        end_java(SparkContext._gateway)


@contextmanager
def shared_spark(
    *, cores: int, master: str | None, meanwhile: Callable[[], object] = _nothing
) -> Iterator[SparkContext]:
    """Give a block the process's Spark: whichever runs, or else a new one that stays.

    Args:
        cores: of no effect where one runs, otherwise as `started` has it.
        master: a Spark master's URL; None for that of the one that runs, or this machine.
        meanwhile: as `started` has it.

    Raises:
        JavaError: there is no Java of at least release 17.
        SparkError: as of `started`, or one runs at another master.
    """
    running = SparkContext._active_spark_context
    if running is None:
        yield started(cores=cores, master=master, meanwhile=meanwhile)
        return
    if master not in (None, running.master):
        expected = f"none, or {running.master}, where this process has its Spark already"
        raise SparkError(f"--master: found {master}, expected {expected}")
    if is_cluster(str(running.master)):
        with plain_faults():
            try:
                send(running)
            except WorkersError as fault:
                raise SparkError(str(fault)) from None
        yield running
        return
    with _same_python(running):
        yield running


@contextmanager
def _same_python(spark: SparkContext) -> Iterator[None]:
    """Have a block's tasks run by this Python; a notebook's Spark may take another on PATH."""
    before = spark.pythonExec
    spark.pythonExec = os.environ.get("PYSPARK_PYTHON") or sys.executable
    try:
        yield
    finally:
        spark.pythonExec = before


def _set_up(conf: SparkConf, gateway: JavaGateway, meanwhile: Callable[[], object]) -> SparkContext:
    """Return the Spark that Java sets up, while something else is done at the same time."""
    try:
        # Only now: Java has been forked off, and a fork of several threads may never end.
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(meanwhile)
            context = SparkContext(conf=conf, gateway=gateway)
        other.result()
    except KeyboardInterrupt:
        end_java(gateway)
        raise
    return context


def _configuration(cores: int, master: str) -> SparkConf:
    """Return the configuration; each line has why it departs from Spark's own."""
    return (
        SparkConf()
        .setAppName("trimtab")
        .setMaster(master)
        .setAll(
            [
                ("spark.driver.memory", "3g"),
                # Java's share of a worker's time is as short as here.
                ("spark.executor.extraJavaOptions", _JAVA_OPTIONS),
                # No web server and no bars of Spark's own in a command line tool.
                ("spark.ui.enabled", "false"),
                ("spark.ui.showConsoleProgress", "false"),
                # At once, not up to a task late: `progress` asks for what is done.
                ("spark.ui.liveUpdate.period", "0"),
                # A file must not depend on the zone of the machine that wrote it.
                ("spark.sql.session.timeZone", "UTC"),
                # Spark would make an empty folder for it wherever the user stands.
                ("spark.sql.warehouse.dir", (_cache_folder() / "warehouse").as_uri()),
                # The default, INT96, is a deprecated type that other readers stumble over.
                ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"),
                ("spark.sql.shuffle.partitions", str(2 * cores)),
                # A task's round trip to Python costs 8 ms so, and 26 ms over TCP.
                ("spark.python.unix.domain.socket.enabled", "true"),
                # YARN's folder of a container is longer than a socket's name may be.
                ("spark.python.unix.domain.socket.dir", "/tmp"),
                ("spark.sql.execution.arrow.pyspark.enabled", "true"),
                # A row may hold a thousand packed ones: count bytes, not rows.
                ("spark.sql.execution.arrow.maxBytesPerBatch", str(64 << 20)),
                # Workers import this very package, be it installed or run from its source.
                ("spark.executorEnv.PYTHONPATH", _python_path()),
                (
                    "spark.sql.streaming.stateStore.providerClass",
                    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
                ),
            ]
        )
    )


def _python_path() -> str:
    """Return the folder of this package in front of what PYTHONPATH says."""
    package = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))


def _cache_folder() -> Path:
    """Return the user's cache folder of this program, or a temporary one if there is none."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "trimtab"
    try:
        caches.mkdir(parents=True, exist_ok=True)
    except OSError:
        caches = Path(tempfile.gettempdir()) / f"trimtab-{os.getuid()}"
        caches.mkdir(exist_ok=True, mode=0o700)
    return caches
