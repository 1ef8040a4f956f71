"""Logs of a busy cluster's brokers, as many as are wanted: the same for the same seed.

What stands in them, and how often, is taken from recorded logs of Pulsar 4.0.8: mostly
topics that come and go, some stack traces, and the load balancer's and ownership's messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from random import Random
from typing import IO, Any, TypeAlias

from isal import igzip

#: Of all lines: those that become rows, those of stack traces, those that nobody can read.
ROWS_SHARE = 0.045
TRACES_SHARE = 0.10
BAD_SHARE = 1e-4
_BROKERS = tuple(f"10.213.{i // 10}.{10 + i % 10}:8080" for i in range(20))
_BEGIN = datetime(2026, 11, 21, tzinfo=UTC)
#: Texts that a file's lines are drawn from.
_TEXTS = 60_000
#: Lines made at a time.
_LINES = 20_000
#: Milliseconds from one line to the next, at most.
_PAUSE_MS = 40
#: Of isal's own scale, the best.
_LEVEL = 3

#: How often, thread, level, logger, message.
_Template: TypeAlias = tuple[int, str, str, str, str]

_BROKER = "org.apache.pulsar.broker"
_IMPL = f"{_BROKER}.loadbalance.impl"
#: What fills a log: how often in a thousand, thread, level, logger, message.
_OTHERS: tuple[_Template, ...] = (
    (240, "metadata-store-10-1", "INFO", "org.apache.pulsar.metadata.impl.AbstractMetadataStore",
     "Deleting path: /ledgers/00/{a:04d}/L{b:04d} (v. Optional[{c}])"),
    (180, "metadata-store-10-1", "INFO", f"{_BROKER}.service.BrokerService",
     "[persistent://lb/u{c}/s-{a}] Finished loading from other concurrent loading task "
     "(latency: {b} ms)"),
    (210, "pulsar-io-3-{c}", "INFO", f"{_BROKER}.service.ServerCnx",
     "[[id: 0x{e:08x}, L:/10.213.0.12:6650 - R:/10.213.0.1:{d}] [SR:10.213.0.1, state:Connected]] "
     "Subscribing on topic persistent://lb/u{c}/s-{a} / s. consumerId: {b}, role: null"),
    (110, "broker-topic-workers-OrderedExecutor-{c}-0", "INFO",
     f"{_BROKER}.service.persistent.PersistentSubscription",
     "[persistent://lb/u{c}/s-{a}][s] Successfully closed subscription [ManagedCursorImpl"
     "{{ledger=lb/u{c}/persistent/s-{a}, name=s, ackPos={b}:{d}, readPos={b}:{e}}}]"),
    (80, "pulsar-io-3-{c}", "INFO",
     f"{_BROKER}.service.persistent.PersistentDispatcherMultipleConsumers",
     "Removed consumer Consumer{{subscription=PersistentSubscription{{topic=persistent://lb/u{c}/"
     "s-{a}, name=s}}, consumerId={b}, consumerName={e:010x}, address=[id: 0x{e:08x}, "
     "L:/10.213.0.12:6650 ! R:/10.213.0.1:{d}]}} with pending {c} acks"),
    (60, "pulsar-service", "INFO", f"{_BROKER}.service.Producer",
     "Disconnecting producer: Producer{{topic=PersistentTopic{{topic=persistent://lb/u{c}/hot-{a}}}"
     ", client=[id: 0x{e:08x}, L:/10.213.0.12:6650 - R:/10.213.0.1:{d}], producerId={b}}}"),
    (60, "bookkeeper-ml-scheduler-OrderedScheduler-{c}-0", "INFO",
     "org.apache.bookkeeper.mledger.impl.ManagedLedgerImpl",
     "[lb/u{c}/persistent/s-{a}] End TrimConsumedLedgers. ledgers={c} totalSize={e}"),
    (40, "Thread-1", "WARN", "org.apache.bookkeeper.client.TopologyAwareEnsemblePlacementPolicy",
     "Failed to resolve network location for 10.213.0.{c}, using default rack for it : "
     "/default-rack."),
    (20, "main", "INFO", f"{_BROKER}.PulsarService",
     "Git Branch branch-4.0"),
)  # fmt: skip
#: What becomes rows, likewise.
_OURS: tuple[_Template, ...] = (
    (110, "metadata-store-10-1", "INFO", f"{_BROKER}.namespace.OwnershipCache",
     "Trying to acquire ownership of {bundle}"),
    (110, "metadata-store-10-1", "INFO", f"{_BROKER}.namespace.OwnershipCache",
     "Successfully acquired ownership of /namespace/{bundle}"),
    (110, "metadata-store-10-1", "INFO",
     "org.apache.pulsar.metadata.coordination.impl.ResourceLockImpl",
     "Acquired resource lock on /namespace/{bundle}"),
    (110, "pulsar-2-{c}", "INFO", f"{_BROKER}.PulsarService",
     "Loading all topics on bundle: {bundle}"),
    (100, "metadata-store-10-1", "INFO", f"{_BROKER}.namespace.OwnedBundle",
     "Unloading {bundle} namespace-bundle with {c} topics completed in {d}.0 ms"),
    (100, "pulsar-2-{c}", "INFO", f"{_IMPL}.ModularLoadManagerImpl",
     "{a} brokers being considered for assignment of {bundle}"),
    (100, "pulsar-load-manager-1-1", "INFO", f"{_IMPL}.ModularLoadManagerImpl",
     "[ThresholdShedder] Unloading bundle: {bundle} from broker {broker} to dest broker {target}"),
    (60, "pulsar-load-manager-1-1", "INFO", f"{_IMPL}.ThresholdShedder",
     "Attempting to shed load on {broker}, which has max resource usage above avgUsage and "
     "threshold {percent}% > {percent}% + 10.0% -- Offloading at least {number} MByte/s of "
     "traffic, left throughput {number} MByte/s"),
    (70, "pulsar-load-manager-1-1", "INFO", f"{_IMPL}.ThresholdShedder",
     "brokerAvgResourceUsage: {scores}, avgUsage: {number}, threshold: 0.1, "
     "minThroughputThreshold: 10.0MB"),
    (70, "pulsar-load-manager-1-1", "INFO", f"{_IMPL}.LeastResourceUsageWithWeight",
     "brokerAvgResourceUsageWithWeight:{scores}, avgUsage:{number}, diffThreshold:0.1, "
     "candidates:{brokers}"),
    (60, "pulsar-load-manager-1-1", "INFO", f"{_IMPL}.LeastResourceUsageWithWeight",
     "Selected 20 best brokers: {brokers} from candidate brokers: {brokers}, assign bundle "
     "{bundle} to broker {target}"),
)  # fmt: skip
#: What a message of ours looks like when its value or its end was lost, and half a line.
_BAD: tuple[_Template, ...] = (
    (500, "pulsar-load-manager-1-1", "INFO", f"{_IMPL}.ThresholdShedder",
     "brokerAvgResourceUsage: {{{broker}=0.4, {target}=oops}}, avgUsage: {number}, threshold: 0.1, "
     "minThroughputThreshold: 10.0MB"),
    (500, "pulsar-load-manager-1-1", "INFO", f"{_IMPL}.ModularLoadManagerImpl",
     "[ThresholdShedder] Unloading bundle: {bundle} from bro"),
)  # fmt: skip
_HALF = "ackPos={a}:{b}, readPos={a}:{d}}}] with pending {c} acks"
_FRAMES = (
    "\tat org.apache.pulsar.metadata.impl.ZKMetadataStore.lambda$batchOperation${a}"
    "(ZKMetadataStore.java:{b}) ~[org.apache.pulsar-pulsar-metadata-4.0.8.jar:4.0.8]",
    "\tat io.netty.channel.AbstractChannelHandlerContext.invokeChannelRead"
    "(AbstractChannelHandlerContext.java:{b}) ~[io.netty-netty-transport-4.1.jar:4.1.121]",
    "\tat java.util.concurrent.CompletableFuture.postComplete(CompletableFuture.java:{b}) ~[?:?]",
)
_TRACE_LENGTH = 24


#: What stands in braces above → how a value of it is drawn.
_VALUES: Mapping[str, Callable[[Random], object]] = {
    "a": lambda random: random.randrange(1, 400),
    "b": lambda random: random.randrange(10_000),
    "c": lambda random: random.randrange(1, 9),
    "d": lambda random: random.randrange(1_000, 60_000),
    "e": lambda random: random.randrange(1 << 32),
    "broker": lambda random: random.choice(_BROKERS),
    "target": lambda random: random.choice(_BROKERS),
    "bundle": lambda random: _bundle(random.randrange(4096)),
    "number": lambda random: random.random(),
    "percent": lambda random: 100 * random.random(),
    "scores": lambda random: (
        "{" + ", ".join(f"{broker}={random.random()}" for broker in _BROKERS) + "}"
    ),
    "brokers": lambda random: f"[{', '.join(random.sample(_BROKERS, len(_BROKERS)))}]",
}


class _Values(dict[str, object]):
    """Values for a template, each drawn anew wherever it stands."""

    def __init__(self, random: Random) -> None:
        """Draw from `random`."""
        self.random = random

    def __missing__(self, name: str) -> object:
        return _VALUES[name](self.random)


def logs(folder: Path, size: int, *, files: int, seed: int, is_packed: bool = False) -> int:
    """Write the logs of some brokers, a recording that nothing else is in.

    Args:
        folder: gets `logs/<broker>/pulsar-broker.log`, or `….log.gz`.
        size: of all files together before packing, in bytes, about.
        files: brokers, a log each.
        seed: the same gives the same bytes.
        is_packed: whether the logs are gzipped.

    Returns:
        Bytes before packing.
    """
    written = 0
    for number in range(files):
        broker = folder / "logs" / f"broker{number:02}"
        broker.mkdir(parents=True)
        path = broker / f"pulsar-broker.log{'.gz' * is_packed}"
        with path.open("wb") as file, _packing(file, is_packed) as write:
            for chunk in _chunks(size // files, Random(f"{seed} {number}")):
                write(chunk)
                written += len(chunk)
    return written


@contextmanager
def _packing(file: IO[bytes], is_packed: bool) -> Iterator[Callable[[bytes], int]]:
    """Give what writes to a file, packing on the way; the time of day is left out."""
    if not is_packed:
        yield file.write
        return
    packed: Any = igzip.IGzipFile  # it has no types
    with packed("", "wb", _LEVEL, file, mtime=0) as log:
        yield log.write


def _chunks(size: int, random: Random) -> Iterator[bytes]:
    """Give a log of some size, in pieces of whole lines."""
    texts = _texts(random)
    moment = 0
    left = size
    while left > 0:
        chunk = BytesIO()
        second = -1
        stamp = b""
        for text in random.choices(texts, k=_LINES):
            moment += int(_PAUSE_MS * random.random())
            if moment // 1000 != second:
                second = moment // 1000
                stamp = f"{_BEGIN + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S},".encode()
            chunk.write(text if text[0] != 32 else b"%b%03d+0000%b" % (stamp, moment % 1000, text))
            if chunk.tell() >= left:
                break
        left -= chunk.tell()
        yield chunk.getvalue()


def _texts(random: Random) -> list[bytes]:
    """Render what lines are drawn from, in the shares that lines are to have."""
    traces = TRACES_SHARE / (1 - TRACES_SHARE) / _TRACE_LENGTH
    lines = _TEXTS * (1 + traces * _TRACE_LENGTH)
    ours, bad = round(ROWS_SHARE * lines), round(BAD_SHARE / 2 * lines)
    texts = [
        *_rendered(_OURS, ours, random),
        *_rendered(_BAD, bad, random),
        *(_HALF.format_map(_Values(random)) for _ in range(bad)),
        *(text + _trace(random) for text in _rendered(_OTHERS, round(traces * _TEXTS), random)),
    ]
    texts += _rendered(_OTHERS, _TEXTS - len(texts), random)
    return [f"{text}\n".encode() for text in texts]


def _rendered(templates: tuple[_Template, ...], n: int, random: Random) -> Iterator[str]:
    """Render what stands behind the time of `n` lines."""
    values = _Values(random)
    for _, thread, level, logger, message in random.choices(
        templates, [template[0] for template in templates], k=n
    ):
        yield f" [{thread}] {level:<5} {logger} - {message}".format_map(values)


def _trace(random: Random) -> str:
    """Render a stack trace, to stand behind a line."""
    values = _Values(random)
    frames = (f"\n{random.choice(_FRAMES)}".format_map(values) for _ in range(_TRACE_LENGTH - 3))
    return (
        "\norg.apache.pulsar.metadata.api.MetadataStoreException: the session has expired"
        f"{''.join(frames)}\nCaused by: java.io.IOException: Connection reset by peer"
        f"\n\t... {random.randrange(2, 20)} more"
    )


def _bundle(number: int) -> str:
    """Name one of 64 namespaces' 64 bundles."""
    namespace, part = divmod(number, 64)
    return f"lb/n{namespace}/0x{part << 26:08x}_0x{min((part + 1) << 26, 0xFFFFFFFF):08x}"
