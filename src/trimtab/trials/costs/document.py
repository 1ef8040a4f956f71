"""What was learned of a recording → a document of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from trimtab.lab.costs import Knowledge, Windows, learned, nothing_known, priced
from trimtab.lab.costs.arrays import among
from trimtab.lab.costs.predict import carried, level_now, traffic_cpu
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.looks import looks

# Points below which nothing is said to contradict itself.
_JUMP_MIN = 3.0


@dataclass(frozen=True, slots=True)
class Jump:
    """Usage of a broker that changed for good though its traffic did not."""

    broker: str
    #: s from 1970 up to which usage and traffic agree, and points that are used more since.
    time_s: float
    points: float


@dataclass(frozen=True, slots=True)
class Night:
    """What a recording told."""

    known: Knowledge
    jumps: tuple[Jump, ...]


def night(evidence: Evidence, windows: Windows, before: Knowledge | None = None) -> Night:
    """Return what a whole recording tells of its costs, after what was known before it."""
    known = before or nothing_known((), ())
    known = among(known, evidence.brokers, evidence.bundles)
    jumps = list[Jump]()
    for look in looks(evidence, windows.host_s):
        then = learned(known, look, windows)
        jumps += _jumps(known, then)
        known = then
    return Night(known, tuple(jumps))


def _jumps(known: Knowledge, then: Knowledge) -> Iterator[Jump]:
    """Yield the brokers whose blocks were thrown away, as they contradict what came since."""
    had = known.brokers.blocks.any(axis=(1, 2))
    has = then.brokers.blocks.any(axis=(1, 2))
    beyond = (level_now(then) - traffic_cpu(then)) - (level_now(known) - traffic_cpu(known))
    for i in np.flatnonzero(had & ~has & (np.abs(beyond) >= _JUMP_MIN)).tolist():
        yield Jump(then.broker_names[i], known.time_s, float(beyond[i]))


def document(recording: str, learned_of: Night) -> dict[str, Any]:
    """Return what things cost, as plain values; percent of the CPU of a host.

    Properties:
        The same night gives the same document.
    """
    known = learned_of.known
    prices = asdict(priced(known))
    rows = np.flatnonzero(~np.isnan(known.brokers.level)).tolist()
    load, level, by_traffic = carried(known), level_now(known), traffic_cpu(known)
    return {
        "recording": recording,
        **prices,
        "untold": list(prices["untold"]),
        "jumps": [
            {"broker": each.broker, "from": _iso(each.time_s), "points": each.points}
            for each in learned_of.jumps
        ],
        "brokers": [
            {
                "broker": known.broker_names[i],
                "cpu_percent": float(level[i]),
                "traffic_percent": float(by_traffic[i]),
                "rest_percent": float(known.brokers.rest[i]),
                "messages_per_s": float(1000.0 * (load[i, 0] + load[i, 1])),
            }
            for i in rows
        ],
    }


def _iso(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")
