"""Reads recorded decisions of Pulsar's own classes: a vector → a ClusterLoad a round."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from trimtab.pulsar.model import ClusterLoad
from trimtab.pulsar.sequences.leader_maps import LeaderMaps
from trimtab.pulsar.sequences.sequences import sequence

GOLDEN = Path(__file__).parent / "golden"
#: What the name of a file of vectors ends with.
SUFFIX = ".jsonl.xz"

#: The release whose files hold the input of every vector; those of others may refer to it.
FULL = "4.0.8"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One round: what the strategy saw, what it was asked, what it answered."""

    load: ClusterLoad
    #: What happened before and during the round, as in the file.
    asked: Mapping[str, Any]
    #: What the Java class answered, as in the file.
    answered: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Vector:
    """One strategy object's life."""

    id: str
    conf: Mapping[str, str]
    rounds: tuple[Recorded, ...]


def recorded_classes() -> tuple[tuple[str, str], ...]:
    """List every class and release of which there are vectors."""
    names = sorted(path.name.removesuffix(SUFFIX) for path in GOLDEN.glob(f"*{SUFFIX}"))
    return tuple((strategy, release) for strategy, _, release in (n.partition("-") for n in names))


def vectors(strategy: str, release: str) -> Iterator[Vector]:
    """Yield every vector recorded of a strategy in a release."""
    for vector in whole_vectors(strategy, release):
        yield read_vector(vector, release)


def read_vector(vector: Mapping[str, Any], release: str) -> Vector:
    """Read one vector with its input and its answers, which have the Java's orders."""
    given = {key: vector[key] for key in ("id", "strategy", "conf", "rounds")}
    read = sequence({**given, "version": release, "orders": vector["expect"]})
    maps = LeaderMaps(release)
    rounds = []
    for told, asked, answered in zip(read.rounds, vector["rounds"], vector["expect"], strict=True):
        maps.update(told)
        rounds.append(Recorded(maps.load(), asked, answered))
    return Vector(read.id, read.conf, tuple(rounds))


def whole_vectors(strategy: str, release: str) -> Iterator[Mapping[str, Any]]:
    """Yield every vector as it was recorded, the input in place."""
    for line in _lines(strategy, release):
        if "rounds" in line:
            yield line
        else:
            given = _inputs(strategy)[line["id"]]
            yield {**_with_input(line, given), "version": release}


@lru_cache(maxsize=1)  # the releases of a class follow one another
def _inputs(strategy: str) -> Mapping[str, Mapping[str, Any]]:
    return {given["id"]: given for given in _lines(strategy, FULL)}


def packed_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the vectors of a packed file as they stand in it."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _lines(strategy: str, release: str) -> Iterator[Mapping[str, Any]]:
    return packed_lines(GOLDEN / f"{strategy}-{release}{SUFFIX}")


def _with_input(answer: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Join what a release answered with what it was given, which stands in another's file."""
    rounds = given["rounds"]
    if "changed" in answer:
        pairs = zip(rounds, answer["changed"], strict=True)
        both = ({**asked, **changed} for asked, changed in pairs)
        rounds = [{k: v for k, v in asked.items() if v is not None} for asked in both]
    joined = {**given, **answer, "rounds": rounds}
    joined.pop("changed", None)
    return joined


def defaults(release: str) -> Mapping[str, Any]:
    """Read every load-balancing default of a release."""
    text = (GOLDEN / f"defaults-{release}.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found
