"""A load profile: which topics there are, and how many messages they get when."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cluster.java import ClusterError

_NEEDED = {"namespace": str, "topics": int, "messages_per_s": list}
_KNOWN = {*_NEEDED, "name", "bundles", "bytes", "consumers", "zipf"}
#: Whatever a profile says, a slip in it must not fill a disk.
MESSAGES_PER_S_MAX = 20_000.0


@dataclass(frozen=True, slots=True)
class Group:
    """Topics of one namespace that share a rate."""

    name: str
    #: tenant/namespace
    namespace: str
    #: Of the namespace, if it has to be made.
    bundles: int
    topics: int
    #: Bytes of a message.
    bytes: int
    #: Consumers of each topic.
    consumers: int
    #: Topic i has a share proportional to (i + 1) ** -zipf; 0 makes them equal.
    zipf: float
    #: Seconds since the start, rising, and the group's messages a second at them.
    at_s: tuple[float, ...]
    messages_per_s: tuple[float, ...]

    @property
    def topic_names(self) -> tuple[str, ...]:
        """Name the topics."""
        head = f"persistent://{self.namespace}/{self.name}"
        return tuple(f"{head}-{i}" for i in range(self.topics))

    @property
    def shares(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Give each topic's share of the rate; they add up to 1."""
        weights = (np.arange(self.topics) + 1.0) ** -self.zipf
        shares: np.ndarray[tuple[int], np.dtype[np.float64]] = weights / weights.sum()
        return shares

    def rate(self, second: float) -> float:
        """Give the group's messages a second, on straight lines between what is said."""
        return float(np.interp(second, self.at_s, self.messages_per_s))


def read_profile(path: Path) -> tuple[Group, ...]:
    """Read a profile.

    Raises:
        ClusterError: it is none; the message names file and key.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ClusterError(f"{path}: {error}") from None
    groups = found.get("group")
    if not isinstance(groups, list) or set(found) != {"group"}:
        raise ClusterError(f"{path}: found {', '.join(found) or 'nothing'}, expected [[group]]")
    read = tuple(_group(path, i, group) for i, group in enumerate(groups))
    fastest = sum(max(group.messages_per_s) for group in read)
    if fastest > MESSAGES_PER_S_MAX:
        expected = f"at most {MESSAGES_PER_S_MAX:g} in all"
        raise ClusterError(f"{path}: messages_per_s: found {fastest:g}, expected {expected}")
    return read


def _group(path: Path, number: int, found: dict[str, Any]) -> Group:
    where = f"{path}: group[{number}]"
    for key in found:
        if key not in _KNOWN:
            raise ClusterError(f"{where}.{key}: unknown, expected one of {sorted(_KNOWN)}")
    for key, kind in _NEEDED.items():
        if not isinstance(found.get(key), kind):
            shown = found.get(key, "nothing")
            raise ClusterError(f"{where}.{key}: found {shown!r}, expected {kind.__name__}")
    points = found["messages_per_s"]
    expected = "pairs [second, messages a second], the seconds rising"
    try:
        at_s = tuple(float(second) for second, _ in points)
        rates = tuple(float(rate) for _, rate in points)
    except (TypeError, ValueError):
        raise ClusterError(f"{where}.messages_per_s: found {points}, expected {expected}") from None
    if not points or list(at_s) != sorted(set(at_s)) or min(rates) < 0:
        raise ClusterError(f"{where}.messages_per_s: found {points}, expected {expected}")
    return Group(
        name=found.get("name", f"group{number}"),
        namespace=found["namespace"],
        bundles=found.get("bundles", 16),
        topics=found["topics"],
        bytes=found.get("bytes", 1024),
        consumers=found.get("consumers", 1),
        zipf=float(found.get("zipf", 0.0)),
        at_s=at_s,
        messages_per_s=rates,
    )
