"""The workers of a Spark cluster: sends them this program, and says what is wrong with them.

What would otherwise be a stack trace from another machine, or a wait without an end, is
one line here.
"""

from __future__ import annotations

import re
import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkContext

from trimtab.files.errors import TrimtabError
from trimtab.spark.program import packed
from trimtab.spark.remote import is_remote
from trimtab.spark.runner import Cluster, results

#: Libraries that a task imports, in the very release that the driver has: another may give
#: other bytes, or other last digits.
LIBRARIES = ("highspy", "isal", "msgspec", "numpy", "pandas", "pyarrow")
#: s that a master has to take a connection.
_ANSWERS_WITHIN_S = 5.0
#: s without any worker after which there is nothing to wait for.
WITHOUT_WORKERS_S = 60.0
_LOOKS_EVERY_S = 1.0

# Spark's application → where its copy of the program is: a worker that starts late fetches
# it, so that it stays as long as this process.
_copies: dict[str, tempfile.TemporaryDirectory[str]] = {}


class WorkersError(TrimtabError):
    """A cluster cannot run the program; the message says what it lacks."""


def is_cluster(master: str) -> bool:
    """Return whether tasks run in other processes than the driver's Java."""
    return not re.match(r"local(?:\[|$)", master)


def check_master(master: str) -> None:
    """Stop if it is none, or nobody listens where a standalone master should.

    Raises:
        WorkersError: it says what came of it.
    """
    if is_remote(master):
        url = master.partition(";")[0]
        raise WorkersError(f"{url}: found a Spark Connect server, expected a Spark master here")
    if not master.startswith("spark://"):
        return
    faults = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _ANSWERS_WITHIN_S).close()
            return
        except (OSError, ValueError, OverflowError) as fault:
            faults.append(getattr(fault, "strerror", None) or str(fault))
    raise WorkersError(f"{master}: no Spark master answers there: {'; '.join(faults)}")


def prepare(context: SparkContext) -> None:
    """Send the workers this program, and end the context if they cannot run it.

    From then on jobs end, with a reason, when no worker has been there for a minute.

    Raises:
        WorkersError: it says which machine lacks what.
        PySparkException: a worker cannot even run Python.
    """
    try:
        _watch(context)
        send(context)
    except BaseException:
        context.stop()
        raise


def send(context: SparkContext) -> None:
    """Send the workers this program, unless they have it, and check that they can run it.

    Raises:
        WorkersError: it says which machine lacks what.
        PySparkException: a worker cannot even run Python.
    """
    application = context.applicationId
    if application in _copies:
        return
    copy = tempfile.TemporaryDirectory(prefix="trimtab-")
    context.addPyFile(str(packed(Path(copy.name))))
    n = 2 * max(1, context.defaultParallelism)
    check_libraries(str(context.master), libraries(context, n))
    _copies[application] = copy


def libraries(cluster: Cluster, n: int) -> dict[str, dict[str, str]]:
    """Return the releases of the workers' libraries, by machine, as so many tasks see them."""

    # A function within one travels whole: a worker may not be able to import anything.
    def look(_: object) -> tuple[str, dict[str, str]]:
        import importlib.metadata as there  # noqa: PLC0415  # runs in the worker
        import socket as network  # noqa: PLC0415  # runs in the worker

        versions = {}
        for library in names:
            try:
                versions[library] = there.version(library)
            except there.PackageNotFoundError:
                versions[library] = ""
        return network.gethostname(), versions

    names = LIBRARIES
    return dict(results(cluster, look, range(n)))


def check_libraries(master: str, machines: Mapping[str, Mapping[str, str]]) -> None:
    """Stop if a worker's libraries are not the driver's.

    Args:
        master: for the message.
        machines: machine → library → its release there, empty if it is not installed.

    Raises:
        WorkersError: it says which machine has or lacks what.
    """
    for machine, there in sorted(machines.items()):
        wrong = []
        for library, release in there.items():
            try:
                here = version(library)
            except PackageNotFoundError:
                continue
            if release != here:
                has = f"{library} {release}" if release else f"no {library}"
                wrong.append(f"{has} (here {here})")
        if wrong:
            raise WorkersError(
                f"{master}: the Python of its worker on {machine} has {', '.join(wrong)}; "
                "install the same there, or name a Python that has them in PYSPARK_PYTHON"
            )


def _watch(context: SparkContext) -> None:
    """End the context's jobs when no worker has been there for too long; in a thread."""
    master = str(context.master)

    def look() -> None:
        alone_s = 0.0
        while True:
            time.sleep(_LOOKS_EVERY_S)
            scala = context._jsc.sc() if context._jsc is not None else None
            if scala is None:
                return
            try:
                # The driver is one of those that have memory.
                has_any = scala.getExecutorMemoryStatus().size() > 1
                alone_s = 0.0 if has_any else alone_s + _LOOKS_EVERY_S
                if alone_s >= WITHOUT_WORKERS_S:
                    for job in context.statusTracker().getActiveJobsIds():
                        why = f"because {master} has had no worker for {alone_s:.0f} s"
                        scala.cancelJob(job, why)
            except Py4JError:
                return

    threading.Thread(target=look, daemon=True).start()
