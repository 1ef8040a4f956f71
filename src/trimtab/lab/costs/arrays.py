"""What is known ↔ arrays by name, as a file has them; and what is known of more names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.lab.costs.knowledge import Brokers, Bundles, Knowledge, nothing_known
from trimtab.pulsar.model import Ints

#: Raised whenever what is kept, or what it means, changes.
VERSION = 1

# Arrays of bundles that hold positions of brokers.
_OF_BROKERS = ("owner",)
# Arrays of brokers beside their own.
_BY_BROKER = ("broker_names", "own_covariance", "following")
_BY_BUNDLE = ("bundle_names",)
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
    for part in ("brokers", "bundles"):
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
        for part, of in (("brokers", Brokers), ("bundles", Bundles))
    }
    return Knowledge(
        names[0],
        names[1],
        Brokers(**parts["brokers"]),
        Bundles(**parts["bundles"]),
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
        part, _, name = key.partition(".")
        if name in _OF_BROKERS:
            fresh[key][at[part]] = np.where(old >= 0, at["brokers"][np.maximum(old, 0)], -1)
        elif part in at:
            fresh[key][at[part]] = old
        elif key in _BY_BROKER[1:]:
            fresh[key] = fresh[key].copy()
            fresh[key][at["brokers"]] = old
        elif not key.endswith("_names"):
            fresh[key] = old
    return knowledge(fresh)


def only(known: Knowledge, brokers: Sequence[str], bundles: Sequence[str]) -> Knowledge:
    """Return what is known of these names alone, at these positions, and of what all share."""
    named = arrays(among(known, brokers, bundles))
    for key, array in named.items():
        part = key.partition(".")[0]
        if key in _BY_BROKER or part == "brokers":
            named[key] = array[: len(brokers)]
        elif key in _BY_BUNDLE or part == "bundles":
            named[key] = array[: len(bundles)]
        if key.partition(".")[2] in _OF_BROKERS:
            named[key] = np.where(named[key] < len(brokers), named[key], -1)
    return knowledge(named)


def _array(named: Mapping[str, np.ndarray[Any, Any]], key: str) -> np.ndarray[Any, Any]:
    if key not in named:
        raise ValueError(f"{key}: found nothing, expected an array")
    return named[key]


def _places(names: Sequence[str], among_names: Sequence[str]) -> Ints:
    place = {name: i for i, name in enumerate(among_names)}
    return np.array([place[name] for name in names], np.int64)
