"""Findings of one night → its row in the table of nights.  Pure."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

#: A row of `FLEET["nights"]`, its times as text.
Row: TypeAlias = dict[str, Any]

EXPLAINED, FAILED = "explained", "failed"
#: Verdict on an order after which nothing moved.
_FAILED_ORDER = "unload-failed"
#: Keys that name classes, which the row has beside the settings.
_CLASSES = ("loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy")
_HOUR_S = 3600.0
#: Where nobody asked for it.
_NO_REGRET: Mapping[str, Any] = {"decisions": [], "moves_used": 0, "moves_needed": 0}


def night_row(document: Mapping[str, Any], cluster: str) -> Row:
    """Return what findings.json says of a night, as a row.

    Args:
        document: as docs/findings.schema.json has it.
        cluster: whose night it is.
    """
    moves = [each for each in document["unloads"] if each["verdict"] != _FAILED_ORDER]
    busy = document["busy"]
    is_assumed = document["release_basis"].startswith("assumed")
    release = None if is_assumed else document["release"]
    settings = {k: v for k, v in document["settings"].items() if k not in _CLASSES}
    return {
        "cluster": cluster,
        "night": document["recording"],
        "status": EXPLAINED,
        "error": None,
        "begin": document["from"],
        "end": document["to"],
        "hours": _hours(document["from"], document["to"]),
        "release": release,
        **document["strategies"],
        "settings": settings,
        "fingerprint": _fingerprint(release, document["strategies"], settings),
        "brokers": len(document["brokers"]),
        "rounds": document["rounds"],
        "orders": len(document["unloads"]),
        "moves": len(moves),
        "useless": sum(each["useless"] is True for each in moves),
        "undecided": sum(each["useless"] is None for each in moves),
        **_regret(document.get("regret", _NO_REGRET)),
        "over_min": busy["over_min"] if busy["known_min"] else None,
        "known_min": busy["known_min"],
        "findings": dict(sorted(Counter(each["code"] for each in document["findings"]).items())),
        "headline": document["headline"]["text"],
    }


def failed_row(cluster: str, night: str, error: str) -> Row:
    """Return the row of a night that could not be explained."""
    return {"cluster": cluster, "night": night, "status": FAILED, "error": error}


def _hours(begin: str | None, end: str | None) -> float | None:
    """Return how long a recording is; None if that is not known."""
    if begin is None or end is None:
        return None
    seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
    return round(seconds / _HOUR_S, 6) if seconds > 0 else None


def _fingerprint(
    release: str | None, classes: Mapping[str, str], settings: Mapping[str, str]
) -> str:
    """Return a digest that is equal where release, classes and settings are."""
    text = json.dumps([release, classes, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _regret(regret: Mapping[str, Any]) -> dict[str, Any]:
    missed = [each["missed"]["percent"] for each in regret["decisions"] if "missed" in each]
    return {
        "regret_points": round(statistics.fmean(missed), 6) if missed else None,
        "regret_rounds": len(missed),
        "moves_spared": regret["moves_used"] - regret["moves_needed"],
    }
