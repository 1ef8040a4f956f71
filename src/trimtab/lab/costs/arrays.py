"""What is known ↔ arrays by name, as a file has them; and what is known of more names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.lab.costs.knowledge import Brokers, Bundles, Deviations, Knowledge, nothing_known
from trimtab.pulsar.model import Ints

#: Raised whenever what is kept, or what it means, changes.
VERSION = 2

# Parts, and what each is of.
_PARTS = {"brokers": Brokers, "bundles": Bundles, "deviations": Deviations}
_OF = {"brokers": "brokers", "bundles": "bundles", "deviations": "brokers"}
# Arrays that hold positions, and of what.
_POSITIONS = {"owner": "brokers", "place": "bundles"}
# Arrays of brokers beside their parts.
_BY_BROKER = ("own_covariance", "following")
_PLAIN = (
    "shared",
    "covariance",
    "own_covariance",
    "following",
    "alike_mean",
    "alike_variance",
    "drift",
    "missed",
)


def arrays(known: Knowledge) -> dict[str, np.ndarray[Any, Any]]:
    """Return what is known as arrays by name."""
    named = {name: np.asarray(getattr(known, name)) for name in _PLAIN}
    for part in _PARTS:
        of = getattr(known, part)
        named |= {f"{part}.{each.name}": getattr(of, each.name) for each in dataclasses.fields(of)}
    names = {"broker_names": known.broker_names, "bundle_names": known.bundle_names}
    named |= {key: np.array(each, np.str_) for key, each in names.items()}
    return named | {"time_s": np.array(known.time_s)}


def knowledge(named: Mapping[str, np.ndarray[Any, Any]]) -> Knowledge:
    """Return what is known, of arrays by name.

    Raises:
        ValueError: an array is missing, or of another shape; says which, what was found and
            expected.
    """
    names = [tuple(_array(named, key).tolist()) for key in ("broker_names", "bundle_names")]
    pattern = arrays(nothing_known(*names))
    for key, like in pattern.items():
        found = _array(named, key)
        if found.shape != like.shape or found.dtype.kind != like.dtype.kind:
            raise ValueError(
                f"{key}: found {found.dtype} {found.shape}, expected {like.dtype} {like.shape}"
            )
    parts = {
        part: {each.name: named[f"{part}.{each.name}"] for each in dataclasses.fields(of)}
        for part, of in _PARTS.items()
    }
    return Knowledge(
        names[0],
        names[1],
        Brokers(**parts["brokers"]),
        Bundles(**parts["bundles"]),
        Deviations(**parts["deviations"]),
        **{name: named[name] for name in _PLAIN},
        time_s=float(named["time_s"]),
    )


def among(known: Knowledge, brokers: Sequence[str], bundles: Sequence[str]) -> Knowledge:
    """Return what is known with these names at these positions, and all others behind them.

    Properties:
        Of names that are new nothing is known but what all brokers share.
        The same names give the same numbers.
    """
    all_brokers = tuple(dict.fromkeys((*brokers, *known.broker_names)))
    all_bundles = tuple(dict.fromkeys((*bundles, *known.bundle_names)))
    fresh = arrays(nothing_known(all_brokers, all_bundles))
    at = {
        "brokers": _places(known.broker_names, all_brokers),
        "bundles": _places(known.bundle_names, all_bundles),
    }
    for key, old in arrays(known).items():
        rows = _rows_of(key)
        if key.endswith("_names"):
            continue
        if rows is None:
            fresh[key] = old
            continue
        positions = _POSITIONS.get(key.partition(".")[2])
        fresh[key] = fresh[key].copy()
        fresh[key][at[rows]] = old if positions is None else np.append(at[positions], -1)[old]
    return knowledge(fresh)


def only(known: Knowledge, brokers: Sequence[str], bundles: Sequence[str]) -> Knowledge:
    """Return what is known of these names alone, at these positions, and of what all share."""
    named = arrays(among(known, brokers, bundles))
    count = {"brokers": len(brokers), "bundles": len(bundles)}
    for key, array in named.items():
        rows = _rows_of(key)
        if rows is not None:
            named[key] = array[: count[rows]]
        positions = _POSITIONS.get(key.partition(".")[2])
        if positions is not None:
            named[key] = np.where(named[key] < count[positions], named[key], -1)
    return knowledge(named)


def _rows_of(key: str) -> str | None:
    """Return whether an array has a row for each of the brokers or of the bundles, or neither."""
    if key in _BY_BROKER:
        return "brokers"
    if key.endswith("_names"):
        return f"{key.removesuffix('_names')}s"
    return _OF.get(key.partition(".")[0])


def _array(named: Mapping[str, np.ndarray[Any, Any]], key: str) -> np.ndarray[Any, Any]:
    if key not in named:
        raise ValueError(f"{key}: found nothing, expected an array")
    return named[key]


def _places(names: Sequence[str], among_names: Sequence[str]) -> Ints:
    place = {name: i for i, name in enumerate(among_names)}
    return np.array([place[name] for name in names], np.int64)
