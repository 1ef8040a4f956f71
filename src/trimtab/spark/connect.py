"""Opens sessions of Spark Connect servers, and sends their workers this program."""

from __future__ import annotations

import logging
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

# The first of what comes with an extra of its own.
import grpc
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession

from trimtab.spark.program import packed
from trimtab.spark.remote import Remote
from trimtab.spark.runner import SparkError, last_line, plain_faults
from trimtab.spark.workers import WorkersError, check_libraries, libraries

#: s that a server has to take a connection.
_ANSWERS_WITHIN_S = 10.0
#: Times that PySpark tries again where a server has vanished: a minute, not its own ten.
_RETRIES = 6
#: Tasks that look at what workers have; on so many workers at most.
_LOOKS = 16

# Sessions whose workers have the program: by their ids, and those that were opened here by URL.
_known: dict[str, Remote] = {}
_ours: dict[str, Remote] = {}


def opened(url: str) -> Remote:
    """Return a session of the server at a URL, the one that was opened here before if it runs.

    Raises:
        SparkError: nobody answers there, or the workers cannot run this program.
    """
    if url in _ours and not _ours[url].session.is_stopped:
        return _ours[url]
    # Otherwise Python itself prints what PySpark logs, and that it has given up.
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
    place = shown(url)
    try:
        builder = DefaultChannelBuilder(url)
    except (PySparkException, ValueError) as fault:
        raise SparkError(f"{place}: {last_line(str(fault))}") from None
    _check_answer(builder, place)
    with plain_faults():
        session = SparkSession.builder.channelBuilder(builder).create()
        session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
        try:
            _ours[url] = _with_program(session, place)
        except BaseException:
            session.stop()
            raise
    return _ours[url]


def of_session(session: SparkSession) -> Remote:
    """Return what runs tasks in a session that somebody else has opened, such as a notebook.

    Raises:
        SparkError: the workers cannot run this program.
    """
    with plain_faults():
        return _with_program(session, f"sc://{session.client.host}")


def end_ours() -> None:
    """End the sessions that were opened here; their servers run on."""
    while _ours:
        _, remote = _ours.popitem()
        _known.pop(remote.session.session_id, None)
        # One that has vanished was given its time before.
        remote.session.client.set_retry_policies([DefaultPolicy(max_retries=1)])
        remote.session.stop()


def _with_program(session: SparkSession, place: str) -> Remote:
    """Return what runs tasks in a session, after it was sent the program unless it has it.

    Raises:
        SparkError: a worker lacks a library, or has another release of it.
        PySparkException: a worker cannot even run Python.
    """
    known = _known.get(session.session_id)
    if known is not None:
        return known
    remote = Remote(session, place)
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        copy = packed(Path(folder))
        try:
            session.addArtifacts(str(copy), pyfile=True)
        except grpc.RpcError as fault:
            raise SparkError(f"{place}: does not take the program: {_details(fault)}") from None
        finally:
            # PySpark has this process import from it, too.
            with suppress(ValueError):
                sys.path.remove(str(copy))
    try:
        check_libraries(place, libraries(remote, _LOOKS))
    except WorkersError as fault:
        raise SparkError(str(fault)) from None
    session.registerProgressHandler(remote.take_progress)  # type: ignore[arg-type]  # whatever calls
    _known[session.session_id] = remote
    return remote


def shown(url: str) -> str:
    """Return a URL without its parameters, one of which may be a token.

    >>> shown("sc://host:443/;token=secret")
    'sc://host:443'
    """
    return url.partition(";")[0].rstrip("/")


def _check_answer(builder: DefaultChannelBuilder, place: str) -> None:
    """Stop if nobody takes a connection where a server should; PySpark tries for ten minutes."""
    channel = builder.toChannel()
    try:
        grpc.channel_ready_future(channel).result(_ANSWERS_WITHIN_S)
    except grpc.FutureTimeoutError:
        raise SparkError(
            f"{place}: no Spark Connect server answers there within {_ANSWERS_WITHIN_S:.0f} s"
        ) from None
    finally:
        channel.close()


def _details(fault: grpc.RpcError) -> str:
    return str(fault.details() if isinstance(fault, grpc.Call) else fault)
