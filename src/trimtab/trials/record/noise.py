"""Lines that brokers log of everything but balancing, drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from trimtab.pulsar.model import Ints
from trimtab.trials.record.lines import log_line

# Different lines that are made; each is logged again and again, as lines are.
_KINDS = 4096
_CONNECTION = "org.apache.pulsar.broker.service.ServerCnx"
_LEDGER = "org.apache.bookkeeper.mledger.impl.ManagedLedgerImpl"


@dataclass(slots=True)
class Noise:
    """Draws lines of no interest."""

    random: np.random.Generator
    per_hour: float
    _texts: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Make the lines."""
        numbers = self.random.integers(0, 1 << 30, (_KINDS, 4)).tolist()
        self._texts = [_TEMPLATES[i % len(_TEMPLATES)](*row) for i, row in enumerate(numbers)]

    def between(
        self, start_ms: int, end_ms: int, brokers: Ints
    ) -> Iterator[tuple[int, Ints, list[str]]]:
        """Yield times and texts of each broker's lines of a stretch, in order of time."""
        mean = self.per_hour * (end_ms - start_ms) / 3_600_000.0
        counts = self.random.poisson(mean, brokers.size)
        times = self.random.integers(start_ms, end_ms, int(counts.sum()))
        kinds = self.random.integers(0, _KINDS, times.size).tolist()
        ends = np.cumsum(counts)
        texts = self._texts
        for broker, end, count in zip(
            brokers.tolist(), ends.tolist(), counts.tolist(), strict=True
        ):
            if count:
                mine = slice(end - count, end)
                yield broker, np.sort(times[mine]), list(map(texts.__getitem__, kinds[mine]))


def _connected(a: int, b: int, c: int, d: int) -> str:
    text = (
        f"[/10.{a % 250}.{b % 250}.{c % 250}:{1024 + d % 60000}] connected with "
        "clientVersion=Pulsar-Java-v4.0.8, clientProtocolVersion=21, proxyVersion=null"
    )
    return log_line(f"pulsar-io-3-{1 + a % 8}", _CONNECTION, text)


def _subscribing(a: int, b: int, c: int, d: int) -> str:
    text = (
        f"[/10.{a % 250}.{b % 250}.{c % 250}:{1024 + d % 60000}] Subscribing on topic "
        f"persistent://lab/n{a % 300}/p-{b % 64} / s{c % 9}. consumerId: {d % 500}, role: null"
    )
    return log_line(f"pulsar-io-3-{1 + a % 8}", _CONNECTION, text)


def _produced(a: int, b: int, c: int, d: int) -> str:
    topic = f"persistent://lab/n{a % 300}/p-{b % 64}"
    text = (
        f"[/10.{a % 250}.{b % 250}.{c % 250}:{1024 + d % 60000}] Created new producer: "
        f"Producer{{topic=PersistentTopic{{topic={topic}}}, producerId={d % 500}}}"
    )
    return log_line("broker-topic-workers-OrderedExecutor-0-0", _CONNECTION, text)


def _closed(a: int, b: int, c: int, d: int) -> str:
    text = f"Closed connection from /10.{a % 250}.{b % 250}.{c % 250}:{1024 + d % 60000}"
    return log_line(f"pulsar-io-3-{1 + a % 8}", _CONNECTION, text)


def _ledger(a: int, b: int, c: int, d: int) -> str:
    text = f"[lab/n{a % 300}/persistent/p-{b % 64}] Created new ledger {c % 100000 + d % 7}"
    return log_line("bookkeeper-ml-scheduler-OrderedScheduler-1-0", _LEDGER, text)


def _trimmed(a: int, b: int, c: int, d: int) -> str:
    text = (
        f"[lab/n{a % 300}/persistent/p-{b % 64}] End TrimConsumedLedgers. ledgers={1 + c % 9} "
        f"totalSize={d}"
    )
    return log_line("bookkeeper-ml-scheduler-OrderedScheduler-0-0", _LEDGER, text)


def _requested(a: int, b: int, c: int, d: int) -> str:
    text = (
        f'10.{a % 250}.{b % 250}.{c % 250} - - "GET /metrics/ HTTP/1.1" 200 {d % 90000} "-" '
        f'"Prometheus/2.53.0" {c % 90}'
    )
    return log_line(f"pulsar-web-38-{1 + a % 8}", "org.eclipse.jetty.server.RequestLog", text)


_TEMPLATES = (_connected, _subscribing, _produced, _closed, _ledger, _trimmed, _requested)
