"""What a broker's classes log, word by word; all but the time in front.

Source:
    apache/pulsar 4.0.8, the statements of the classes named, and their lines in the logs of
    recorded clusters.
"""

from __future__ import annotations

import math

_LOAD_BALANCE = "org.apache.pulsar.broker.loadbalance.impl"
_MANAGER = f"{_LOAD_BALANCE}.ModularLoadManagerImpl"
_SERVICE = "org.apache.pulsar.broker.PulsarService"
_CACHE = "org.apache.pulsar.broker.namespace.OwnershipCache"
_OWNED = "org.apache.pulsar.broker.namespace.OwnedBundle"
_LOCK = "org.apache.pulsar.metadata.coordination.impl.ResourceLockImpl"
_LOCKS = "org.apache.pulsar.metadata.coordination.impl.LockManagerImpl"
_ELECTION = "org.apache.pulsar.metadata.coordination.impl.LeaderElectionImpl"
_STORE = "metadata-store-10-1"
_CLOSING = "pulsar-service-shutdown"
#: Thread of shedding, and of what the broker writes of itself.
SHEDDING = "pulsar-load-manager-1-1"

# From here on to 1e7 Java prints a double as Python does.
_PLAIN_MIN, _PLAIN_MAX = 1e-3, 1e7


def log_line(thread: str, logger: str, text: str, level: str = "INFO") -> str:
    """Return a line as Pulsar's layout prints it."""
    return f"[{thread}] {level:5} {logger} - {text}"


def double(value: float) -> str:
    """Return a number as Java's Double.toString prints it."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0.0 or _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return repr(value)
    digits, _, exponent = repr(value).partition("e")
    sign = "-" if digits.startswith("-") else ""
    whole, _, fraction = digits.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    power = int(exponent or 0) + len(whole) - 1
    figures = (whole + fraction).lstrip("0")
    power -= len(whole + fraction) - len(figures)
    figures = figures.rstrip("0")
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"


def shedder_says(shedder: str, text: str, level: str = "INFO") -> str:
    """Return a line of a shedder's."""
    return log_line(SHEDDING, f"{_LOAD_BALANCE}.{shedder}", text, level)


def candidates(count: int, bundle: str, thread: str) -> str:
    """Return the line on how many brokers one is selected among for a bundle."""
    return log_line(
        thread, _MANAGER, f"{count} brokers being considered for assignment of {bundle}"
    )


def drawn_among_all(count: int, thread: str) -> str:
    """Return the line of LeastResourceUsageWithWeight when nobody is below its bar."""
    text = f"Assign randomly as all {count} brokers are overloaded."
    return log_line(thread, f"{_LOAD_BALANCE}.LeastResourceUsageWithWeight", text, "WARN")


def unloading(shedder: str, bundle: str, source: str, target: str | None) -> str:
    """Return the leader's line when it unloads a bundle."""
    towards = "" if target is None else f" to dest broker {target}"
    text = f"[{shedder}] Unloading bundle: {bundle} from broker {source}{towards}"
    return log_line(SHEDDING, _MANAGER, text)


def no_broker(shedder: str, bundle: str, source: str) -> str:
    """Return the leader's line when nobody is there for a bundle."""
    text = f"[{shedder}] No broker available to unload bundle {bundle} from broker {source}"
    return log_line(SHEDDING, _MANAGER, text, "WARN")


def same_broker(shedder: str, bundle: str, source: str) -> str:
    """Return the leader's line when a bundle would go where it is."""
    text = (
        f"[{shedder}] The destination broker {source} is the same as the current owner broker "
        f"for Bundle {bundle}"
    )
    return log_line(SHEDDING, _MANAGER, text, "WARN")


def report_written(change_percent: float, threshold_percent: int, since_s: float) -> str:
    """Return the line when something has changed, so that a report is written."""
    text = (
        "Writing local data to metadata store because maximum change "
        f"{double(change_percent)}% exceeded threshold {threshold_percent}%; "
        f"time since last report written is {double(since_s)} seconds"
    )
    return log_line(SHEDDING, _MANAGER, text)


def report_written_by_age(threshold_minutes: int) -> str:
    """Return the line when a report is written because the last is old."""
    text = (
        "Writing local data to metadata store because time since last update exceeded "
        f"threshold of {threshold_minutes} minutes"
    )
    return log_line(SHEDDING, _MANAGER, text)


def starting(release: str) -> str:
    """Return the line with which a broker's process begins."""
    return log_line("main", _SERVICE, f"Starting Pulsar Broker service; version: '{release}'")


def registered(broker: str) -> str:
    """Return the line when a broker is in the registry."""
    return log_line(_STORE, _LOCK, f"Acquired resource lock on /loadbalance/brokers/{broker}")


def ready(broker: str, cluster: str) -> str:
    """Return the line when a broker serves."""
    host = broker.rpartition(":")[0]
    text = (
        "messaging service is ready, bootstrap_seconds=9, bootstrap service port = 8080, broker "
        f"url= pulsar://{host}:6650, cluster={cluster}, configs=ServiceConfiguration()"
    )
    return log_line("main", _SERVICE, text)


def follower(broker: str) -> str:
    """Return the line when a broker does not lead."""
    text = f"This broker {broker} is a follower. No leader has been elected yet"
    return log_line(_STORE, _SERVICE, text)


def elected(broker: str) -> tuple[str, str]:
    """Return the lines when a broker leads."""
    leader = f"LeaderBroker(brokerId={broker}, serviceUrl=http://{broker})"
    return (
        log_line(_STORE, _ELECTION, f"Acquired leadership on /loadbalance/leader with {leader}"),
        log_line(_STORE, _SERVICE, f"This broker {broker} was elected leader"),
    )


def closing() -> str:
    """Return the line when a broker begins to shut down."""
    return log_line(_CLOSING, _SERVICE, "Closing PulsarService")


def closed() -> str:
    """Return the line when a broker has shut down."""
    return log_line(_CLOSING, _SERVICE, "Closed")


def asked_to_unload(bundle: str) -> str:
    """Return the line when an unload is asked for over REST."""
    logger = "org.apache.pulsar.broker.admin.impl.NamespacesBase"
    return log_line("pulsar-web-38-3", logger, f"[null] Unloading namespace bundle {bundle}")


def given_up(bundle: str, topics: int, took_ms: float) -> tuple[str, ...]:
    """Return the lines of an owner that gives a bundle up, from the first to the last."""
    path = f"/namespace/{bundle}"
    completed = (
        f"Unloading {bundle} namespace-bundle with {topics} topics completed in {took_ms} ms"
    )
    logger = "org.apache.pulsar.broker.admin.v2.Namespaces"
    unloaded = f"[null] Successfully unloaded namespace bundle {bundle.rpartition('/')[2]}"
    return (
        log_line(_STORE, _OWNED, f"Disabling ownership: {bundle}"),
        log_line(_STORE, _LOCK, f"Lock on resource {path} was invalidated. state Releasing"),
        log_line(_STORE, _CACHE, f"Resource lock for {path} has expired"),
        log_line(_STORE, _LOCKS, f"Released resource lock on {path}"),
        log_line(_STORE, _OWNED, completed),
        log_line(_STORE, logger, unloaded),
    )


def taken(bundle: str) -> tuple[str, ...]:
    """Return the lines of a broker that takes a bundle, from the first to the last."""
    owned = f"OwnedBundle(bundle={bundle}, isActive=1)"
    return (
        log_line("pulsar-2-3", _CACHE, f"Trying to acquire ownership of {bundle}"),
        log_line(_STORE, _LOCK, f"Acquired resource lock on /namespace/{bundle}"),
        log_line(_STORE, _CACHE, f"Successfully acquired ownership of {owned}"),
        log_line("pulsar-2-4", _SERVICE, f"Loading all topics on bundle: {bundle}"),
    )
