"""The lines of all brokers' logs, as they are written down while a night is played."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Loggers by their simple names.
_PACKAGES = {
    "ModularLoadManagerImpl": "org.apache.pulsar.broker.loadbalance.impl.",
    "ThresholdShedder": "org.apache.pulsar.broker.loadbalance.impl.",
    "OverloadShedder": "org.apache.pulsar.broker.loadbalance.impl.",
    "UniformLoadShedder": "org.apache.pulsar.broker.loadbalance.impl.",
    "AvgShedder": "org.apache.pulsar.broker.loadbalance.impl.",
    "LeastResourceUsageWithWeight": "org.apache.pulsar.broker.loadbalance.impl.",
    "LeastLongTermMessageRate": "org.apache.pulsar.broker.loadbalance.impl.",
    "LoadSheddingTask": "org.apache.pulsar.broker.loadbalance.",
    "LoadManager": "org.apache.pulsar.broker.loadbalance.",
    "LinuxInfoUtils": "org.apache.pulsar.broker.loadbalance.",
    "BundleSplitStrategy": "org.apache.pulsar.broker.loadbalance.",
    "LeaderElectionImpl": "org.apache.pulsar.metadata.coordination.impl.",
    "ResourceLockImpl": "org.apache.pulsar.metadata.coordination.impl.",
    "OwnershipCache": "org.apache.pulsar.broker.namespace.",
    "OwnedBundle": "org.apache.pulsar.broker.namespace.",
    "NamespacesBase": "org.apache.pulsar.broker.admin.impl.",
    "Namespaces": "org.apache.pulsar.broker.admin.v2.",
    "PulsarService": "org.apache.pulsar.broker.",
    "BrokerService": "org.apache.pulsar.broker.service.",
    "ServerCnx": "org.apache.pulsar.broker.service.",
    "BaseResource": "org.apache.pulsar.client.admin.internal.",
    "ManagedLedgerImpl": "org.apache.bookkeeper.mledger.impl.",
}

#: How much of a log was kept: the balancer's own lines, the broker's as well, and everything.
BARE, BROKER, FULL = 0, 1, 2

ROUND_THREAD = "pulsar-load-manager-1-1"
STORE_THREAD = "metadata-store-10-1"


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or several where an exception hangs on it."""

    time_ms: int
    broker: str
    level: str
    thread: str
    logger: str
    text: str
    #: From which density of logs on it is there.
    density: int


@dataclass(slots=True)
class Logbook:
    """All lines in the order in which they came."""

    lines: list[Line] = field(default_factory=list)

    def balancer(self, time_ms: int, broker: str, logger: str, text: str) -> None:
        """Take down a line of the balancer's own, on the thread of its rounds."""
        self._line(time_ms, broker, "INFO", (ROUND_THREAD, logger), (text, BARE))

    def warn(self, time_ms: int, broker: str, logger: str, text: str) -> None:
        """Take down a warning of the balancer's own."""
        self._line(time_ms, broker, "WARN", (ROUND_THREAD, logger), (text, BARE))

    def broker(self, time_ms: int, broker: str, logger: str, text: str) -> None:
        """Take down a line of the broker around it."""
        self._line(time_ms, broker, "INFO", (STORE_THREAD, logger), (text, BROKER))

    def election(self, time_ms: int, broker: str, logger: str, text: str) -> None:
        """Take down who leads, which every log that was kept has."""
        self._line(time_ms, broker, "INFO", (STORE_THREAD, logger), (text, BARE))

    def other(self, time_ms: int, broker: str, logger: str, text: str) -> None:
        """Take down a line that has nothing to do with balance."""
        self._line(time_ms, broker, "INFO", ("pulsar-io-3-1", logger), (text, FULL))

    def _line(
        self, time_ms: int, broker: str, level: str, place: tuple[str, str], text: tuple[str, int]
    ) -> None:
        thread, logger = place
        self.lines.append(
            Line(time_ms, broker, level, thread, _PACKAGES[logger] + logger, text[0], text[1])
        )


def java(number: float) -> str:
    """Return a double as Java prints it.

    >>> java(12345678.5), java(0.00012), java(100.0)
    ('1.23456785E7', '1.2E-4', '100.0')
    """
    if number in {float("inf"), float("-inf")}:
        return "Infinity" if number > 0 else "-Infinity"
    size = abs(number)
    if number == 0 or 1e-3 <= size < 1e7:
        plain = repr(float(number))
        if "e" not in plain:
            return plain
    mantissa, _, exponent = f"{float(number)!r}".partition("e")
    if not exponent:
        digits, places = _digits(number)
        return f"{digits}E{places}"
    head = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{head}E{int(exponent)}"


def _digits(number: float) -> tuple[str, int]:
    """Return the digits of a number with one before the point, and the power of ten."""
    sign = "-" if number < 0 else ""
    whole, _, rest = repr(abs(float(number))).partition(".")
    rest = "" if rest == "0" else rest
    digits = (whole + rest).lstrip("0")
    leading = len(rest) - len(rest.lstrip("0")) if whole == "0" else -len(whole)
    places = -leading - 1
    digits = digits.rstrip("0") or "0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}", places
