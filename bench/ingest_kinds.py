"""What stands in the benchmark's logs, written down for libraries that do not know Pulsar.

Only the messages that `bench.logs` writes, as expressions that Rust's and Google's engines
take alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

#: The time of a line that is none of a stack trace; the other parts of its prefix; the message.
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{3}[+-]\d{4} \["
PREFIX = (
    r"^(?P<time>\S+) \[(?P<thread>[^\]]*)\] (?P<level>[A-Z]+) +(?P<logger>\S+) +- +(?P<text>.*)$"
)
CONTINUATION = r"^(?:\s|Caused by:|(?:[a-z_]\w*\.)+[A-Z][\w$]*: )"
#: Columns that a message fills, but for `numbers`, `scores` and `brokers`.
PLAIN = ("strategy", "broker", "bundle", "target", "count")
_NUMBER = r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"


@dataclass(frozen=True, slots=True)
class Kind:
    """One message."""

    #: Literal text that no line without the message has.
    needle: str
    #: The whole message; groups are columns, and numbers where their names begin with `n_`.
    pattern: str

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the names of the groups, in their order."""
        return tuple(re.compile(self.pattern).groupindex)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Return the names of the groups that are numbers."""
        return tuple(name for name in self.groups if name.startswith("n_"))


def _kind(needle: str, pattern: str) -> Kind:
    """Make a kind; `<name>` is a word, a number, or what stands in a bracket."""

    def group(found: re.Match[str]) -> str:
        name = found[1]
        shape = {"scores": "[^{}]*", "brokers": r"[^\[\]]*", "count": r"\d+"}.get(name, r"\S+?")
        return f"(?P<{name}>{_NUMBER[1:-1] if name.startswith('n_') else shape})"

    return Kind(needle, f"^{re.sub('<([a-z_]+)>', group, pattern)}$")


KINDS: Mapping[str, Kind] = {
    "ownership-tried": _kind(
        "Trying to acquire ownership of ", "Trying to acquire ownership of <bundle>"
    ),
    "ownership-acquired": _kind(
        "Successfully acquired ownership of /namespace/",
        "Successfully acquired ownership of /namespace/<bundle>",
    ),
    "bundle-lock-acquired": _kind(
        "Acquired resource lock on /namespace/", "Acquired resource lock on /namespace/<bundle>"
    ),
    "bundle-loading": _kind(
        "Loading all topics on bundle: ", "Loading all topics on bundle: <bundle>"
    ),
    "bundle-unloaded": _kind(
        " namespace-bundle with ",
        "Unloading <bundle> namespace-bundle with <count> topics completed in <n_took_ms> ms",
    ),
    "candidates-considered": _kind(
        " brokers being considered for assignment of ",
        "<count> brokers being considered for assignment of <bundle>",
    ),
    "unload": _kind(
        "] Unloading bundle: ",
        r"\[<strategy>\] Unloading bundle: <bundle> from broker <broker> to dest broker <target>",
    ),
    "shed-attempt": _kind(
        "Attempting to shed load on ",
        "Attempting to shed load on <broker>, which has max resource usage above avgUsage and "
        "threshold <n_usage_percent>% > <n_average_percent>% [+] <n_threshold_percent>% -- "
        "Offloading at least <n_offload_mbyte_s> MByte/s of traffic, left throughput "
        "<n_left_mbyte_s> MByte/s",
    ),
    "usage-smoothed": _kind(
        "brokerAvgResourceUsage: ",
        r"brokerAvgResourceUsage: \{<scores>\}, avgUsage: <n_average>, threshold: <n_threshold>, "
        "minThroughputThreshold: <n_minimum_mbyte_s>MB",
    ),
    "placer-scores": _kind(
        "brokerAvgResourceUsageWithWeight:",
        r"brokerAvgResourceUsageWithWeight:\{<scores>\}, avgUsage:<n_average>, "
        r"diffThreshold:<n_threshold>, candidates:\[<brokers>\]",
    ),
    "placer-chosen": _kind(
        " from candidate brokers: [",
        r"Selected <count> best brokers: \[<brokers>\] from candidate brokers: \[[^\[\]]*\], "
        "assign bundle <bundle> to broker <target>",
    ),
}
