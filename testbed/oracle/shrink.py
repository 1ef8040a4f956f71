"""Makes a differing sequence smaller for as long as it still differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oracle.agreement import Agreement

#: Times that the smallest found so far is made smaller; each starts a Java once.
PASSES_MAX = 25

Given = dict[str, Any]
Round = dict[str, Any]
Compare = Callable[[Sequence[Given]], list[Agreement]]


def shrunk(sequence: Given, compare: Compare) -> tuple[Given, Agreement]:
    """Take away rounds, settings, brokers and bundles, as far as a difference stays.

    Args:
        sequence: one that differs.
        compare: says of several sequences at once how they went.

    Returns:
        The smallest sequence found, and how it went.
    """
    found = {key: sequence[key] for key in ("id", "strategy", "role", "tags", "conf", "rounds")}
    (outcome,) = compare([found])
    for _ in range(PASSES_MAX):
        candidates = sorted(_smaller(found, outcome.round), key=_size)
        outcomes = compare(candidates) if candidates else []
        differing = (
            (candidate, went)
            for candidate, went in zip(candidates, outcomes, strict=True)
            if went.difference is not None
        )
        best = next(differing, None)
        if best is None:
            break
        found, outcome = best
    return found, outcome


def _size(sequence: Given) -> int:
    return len(json.dumps(sequence))


def _smaller(sequence: Given, last: int) -> Iterator[Given]:
    """Yield what the sequence is without one thing or a few."""
    rounds: list[Round] = sequence["rounds"]
    if last + 1 < len(rounds):
        yield sequence | {"rounds": rounds[: last + 1]}
    for number in range(len(rounds) - 1):
        merged = _merged(rounds[number], rounds[number + 1])
        yield sequence | {"rounds": [*rounds[:number], merged, *rounds[number + 2 :]]}
    for name in sequence["conf"]:
        conf = {key: value for key, value in sequence["conf"].items() if key != name}
        yield sequence | {"conf": conf}
    for names, without in (
        (_names(rounds, "brokers", "broker_load_data"), _without_brokers),
        (_names(rounds, "bundle_data"), _without_bundles),
        (_top_bundles(rounds), _without_top_bundles),
    ):
        for gone in _parts(names):
            yield sequence | {"rounds": [without(asked, gone) for asked in rounds]}
    for number, asked in enumerate(rounds):
        for gone in _parts(list(range(len(asked.get("select", ()))))):
            select = [s for i, s in enumerate(asked["select"]) if i not in gone]
            changed = asked | {"select": select}
            yield sequence | {"rounds": [*rounds[:number], changed, *rounds[number + 1 :]]}


def _names(rounds: list[Round], *keys: str) -> list[str]:
    """Name whatever changes under some keys."""
    named = (name for key in keys for asked in rounds for name in asked.get(key, ()))
    return list(dict.fromkeys(named))


def _top_bundles(rounds: list[Round]) -> list[str]:
    """Name the bundles that brokers of the extensible load manager publish."""
    tops = (listed for asked in rounds for listed in asked.get("top_bundles", {}).values())
    return list(dict.fromkeys(bundle[0] for listed in tops for bundle in listed or ()))


def _parts(things: list[Any]) -> Iterator[set[Any]]:
    """Yield halves, quarters and so on down to single things."""
    size = (len(things) + 1) // 2
    while size:
        for begin in range(0, len(things), size):
            yield set(things[begin : begin + size])
        size = size // 2


def _merged(earlier: Round, later: Round) -> Round:
    """Let what happened in two rounds happen in one, and ask what the later one asks."""
    kept = {k: v for k, v in earlier.items() if k not in ("shed", "select", "select_unloaded")}
    maps: Round = {
        key: {**earlier.get(key, {}), **later.get(key, {})}
        for key in _CHANGES
        if key in earlier or key in later
    }
    return {**kept, **later, **maps}


def _without_brokers(asked: Round, gone: set[str]) -> Round:
    """Take brokers out of a round."""
    left = dict(asked)
    for key in ("brokers", "preallocated", *_PUBLISHED, "recently_unloaded_brokers"):
        if key in left:
            left[key] = {name: value for name, value in left[key].items() if name not in gone}
    for key in ("active_brokers", "available_brokers"):
        if key in left:
            left[key] = [name for name in left[key] if name not in gone]
    if "select" in left:
        left["select"] = [
            selection | {"candidates": [c for c in selection["candidates"] if c not in gone]}
            for selection in left["select"]
        ]
    return left


def _without_bundles(asked: Round, gone: set[str]) -> Round:
    """Take bundles out of a round."""
    left = dict(asked)
    if "brokers" in left:
        left["brokers"] = {
            name: report and report | {"bundles": [b for b in report["bundles"] if b not in gone]}
            for name, report in left["brokers"].items()
        }
    if "bundle_data" in left:
        left["bundle_data"] = {b: data for b, data in left["bundle_data"].items() if b not in gone}
    if "recently_unloaded" in left:
        left["recently_unloaded"] = [b for b in left["recently_unloaded"] if b not in gone]
    if "preallocated" in left:
        left["preallocated"] = {
            broker: [b for b in bundles if b not in gone]
            for broker, bundles in left["preallocated"].items()
        }
    if "select" in left:
        left["select"] = [s for s in left["select"] if s["bundle"] not in gone]
    return left


def _without_top_bundles(asked: Round, gone: set[str]) -> Round:
    """Take bundles out of what brokers of the extensible load manager publish."""
    if "top_bundles" not in asked:
        return asked
    tops = asked["top_bundles"].items()
    left = {name: [b for b in listed or () if b[0] not in gone] for name, listed in tops}
    return asked | {"top_bundles": left}


#: What brokers of the extensible load manager publish.
_PUBLISHED = ("broker_load_data", "top_bundles")
#: Keys of a round that say what changed; the other keys replace what there was.
_CHANGES = ("brokers", "bundle_data", *_PUBLISHED)
