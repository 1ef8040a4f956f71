"""Asks Pulsar's load manager what it does around its strategies, and records the answers.

`PYTHONPATH=testbed python -m oracle.leader_parts` writes `tests/testdata/leader_parts`: who may
get a bundle, when a report is written, what looks at the reports make of averages and of
bundles on their way.  The same questions are asked each time, so if nothing has changed in the
classes not a byte of the file does.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from oracle.java import BUILD, HERE, OracleError, command

#: The sources ask for what other releases have elsewhere.
RELEASE = "4.0.8"
SOURCES = HERE / "src-candidates"
SEMVER = "com.github.zafarkhaja:java-semver:0.9.0"
RECORDED = HERE.parent.parent / "tests" / "testdata" / "leader_parts" / f"{RELEASE}.jsonl.xz"
#: Questions of each kind.
COUNTS = {"select": 600, "gate": 300, "look": 60}

_MANAGER = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
_OTHER = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
_VERSIONS = (
    *("4.0.8", "4.0.9", "4.0.8-SNAPSHOT", "4.0.8+a", "4.0.8+b"),
    *("5.0.0-M1", "5.0.0-M2", "5.0.0-M1.1"),
)
_ODD_VERSIONS = (None, "", "2.10.4.3", "04.0.8", "4.0", "4.0.8-01", "4.0.8-0a", "4.0.8-")
_NAMESPACES = ("t/n", "t/m", "t/o", "pulsar/system")
_PATTERNS = (r"b1", r"b[12]", r"b.*", r"b3|b4", r"x", r"b[5-9]")


def questions(seed: int = 20) -> Iterator[dict[str, Any]]:
    """Make up questions of every kind."""
    kinds = {"select": _select, "gate": _gate, "look": _looks}
    for kind, count in COUNTS.items():
        for number in range(count):
            yield kinds[kind](random.Random(f"{seed} {kind} {number}"))


def answers(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask the classes.

    Raises:
        OracleError: they cannot be run, or did not answer everything.
    """
    lines = "".join(json.dumps(question) + "\n" for question in asked)
    done = subprocess.run(
        _java(), input=lines, capture_output=True, text=True, encoding="utf-8", check=False
    )
    found: list[dict[str, Any]] = [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")
    ]
    if len(found) != len(asked):
        raise OracleError(f"{len(found)} answers to {len(asked)} questions:\n{done.stderr[-2000:]}")
    return found


def main() -> None:
    """Record answers to all questions."""
    asked = list(questions())
    lines = [
        json.dumps(question | {"answer": answer}, sort_keys=True, separators=(",", ":"))
        for question, answer in zip(asked, answers(asked), strict=True)
    ]
    RECORDED.parent.mkdir(exist_ok=True)
    packed = lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    RECORDED.write_bytes(packed)
    click.echo(f"{len(lines)} answers, {len(packed)} bytes, in {RECORDED}")


def _java() -> list[str]:
    """Compile what asks, and return the command that runs it."""
    java, jars = command(RELEASE)[0], BUILD / RELEASE / "jars"
    classes = BUILD / RELEASE / "leader-parts"
    extra = classes / "jars"
    if not extra.is_dir():
        maven = shutil.which("mvn")
        if maven is None:
            raise OracleError("no mvn on PATH: Maven fetches the library of versions")
        fetch = (maven, "-q", "-B", "dependency:copy", f"-Dartifact={SEMVER}")
        subprocess.run((*fetch, f"-DoutputDirectory={extra}"), check=True, cwd=BUILD)
    path = os.pathsep.join((str(classes), str(jars / "*"), str(extra / "*")))
    sources = map(str, sorted(SOURCES.rglob("*.java")))
    javac = Path(java).with_name("javac")
    compiler = (*(str(javac), "-nowarn", "-d", str(classes), "-cp", path), *sources)
    done = subprocess.run(compiler, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OracleError(f"javac does not compile what asks:\n{done.stderr}")
    flags = ("-Xmx512m", "-XX:+UseSerialGC", "-Dio.netty.noUnsafe=true")
    return [java, *flags, "-cp", path, "trimtab.oracle.LeaderParts"]


# ---------------------------------------------------------------- questions, kind by kind


def _select(rng: random.Random) -> dict[str, Any]:
    """Ask who may get a bundle; most questions turn on one or two filters."""
    is_odd = rng.random() < 0.1
    versions = (*_VERSIONS, *_ODD_VERSIONS) if is_odd else _VERSIONS[: rng.randint(1, 8)]
    brokers = [_broker(rng, f"b{i}:8080", versions) for i in range(1, rng.randint(1, 8) + 1)]
    groups = {name: rng.choice(["g", "G", "h"]) for name in _NAMESPACES if rng.random() < 0.5}
    return {
        "ask": "select",
        "bundle": f"{rng.choice(_NAMESPACES)}/0x{rng.randint(0, 5)}",
        "non_persistent": rng.random() < 0.2,
        "conf": {
            "preferLaterVersions": rng.random() < 0.3,
            "failureDomainsEnabled": rng.random() < 0.5,
            "loadBalancerDistributeBundlesEvenlyEnabled": rng.random() < 0.5,
            "loadBalancerBrokerMaxTopics": rng.choice([0, 10, 20, 50000]),
            "loadManagerClassName": _MANAGER,
        },
        "brokers": brokers,
        "policies": [_policy(rng) for _ in range(rng.choice([0, 0, 0, 1, 2, 3]))],
        "groups": groups,
        "choose": rng.randint(0, 7),
        "owner": rng.choice(brokers)["name"],
    }


def _broker(rng: random.Random, name: str, versions: tuple[str | None, ...]) -> dict[str, Any]:
    bundles = {f"{rng.choice(_NAMESPACES)}/0x{rng.randint(0, 5)}" for _ in range(rng.randint(0, 6))}
    return {
        "name": name,
        "reported": rng.random() < 0.95,
        "persistent": rng.random() < 0.9,
        "non_persistent": rng.random() < 0.9,
        "topics": rng.choice([0, 5, 10, 11, 20, 50000]),
        "topics_ahead": [rng.randint(0, 6) for _ in range(rng.choice([0, 0, 1, 2]))],
        "load_manager": rng.choice([_MANAGER] * 8 + [_OTHER, None]),
        "version": rng.choice(versions),
        "domain": rng.choice([None, "d1", "d1", "d2", "default"]),
        "cpu_percent": rng.choice([0, 50, 84, 85, 86, 99]),
        "bundles": sorted(bundles),
    }


def _policy(rng: random.Random) -> dict[str, Any]:
    return {
        "namespaces": [rng.choice(["t/n", "t/.*", "t/m", "pulsar/.*"])],
        "primary": rng.sample(_PATTERNS, rng.randint(1, 2)),
        "secondary": rng.sample(_PATTERNS, rng.randint(0, 2)),
        "min": rng.randint(0, 3),
    }


def _gate(rng: random.Random) -> dict[str, Any]:
    """Ask whether a report is written; a third of the changes stand at the threshold."""
    threshold = rng.choice([0, 1, 7, 10, 29, 100])
    written = [rng.choice([0.0, 100.0, 1000.0, rng.uniform(0, 1e6)]) for _ in range(4)]
    written += [rng.choice([0, 1, 9, 10, 100]), rng.choice([0.0, 30.0, rng.uniform(0, 110)])]
    factor = rng.choice([1 + threshold / 100, 1 - threshold / 100, rng.uniform(0.8, 1.2), 1.0])
    current = [number * factor if rng.random() < 0.7 else number for number in written[:4]]
    current.append(max(0, int(written[4]) + rng.choice([0, 0, 0, 1, -1])))
    current.append(written[5] + rng.choice([0, 0, threshold, -threshold, rng.uniform(-20, 20)]))
    if rng.random() < 0.1:
        current[rng.randrange(4)] = rng.choice([0.0, 1.0])
    minutes = rng.choice([1, 15])
    return {
        "ask": "gate",
        "threshold": threshold,
        "minutes": minutes,
        "written": written,
        "current": current,
        # Never at the edge: the class looks at the clock.
        "age_ms": rng.choice([0, 30_000, minutes * 60_000 - 30_000, minutes * 60_000 + 5_000]),
    }


def _looks(rng: random.Random) -> dict[str, Any]:
    """Ask what a few looks at the reports leave behind."""
    brokers = [f"b{i}:8080" for i in range(1, rng.randint(1, 4) + 1)]
    bundles = [f"t/n/0x{i}" for i in range(6)]
    looks = []
    for number in range(rng.choice([2, 6, 14])):
        told = brokers if number == 0 else rng.sample(brokers, rng.randint(0, len(brokers)))
        listed = {broker: rng.sample(bundles, rng.randint(0, 4)) for broker in told}
        looks.append(
            {
                "reports": {
                    broker: {bundle: _stats(rng) for bundle in sorted(names)}
                    for broker, names in listed.items()
                },
                "preallocate": [
                    [rng.choice(bundles), rng.choice(brokers)] for _ in range(rng.choice([0, 1, 2]))
                ],
                "own": rng.sample(bundles, rng.randint(0, 3)),
            }
        )
    return {"ask": "look", "looks": looks}


def _stats(rng: random.Random) -> list[float]:
    rates = [rng.choice([0.0, rng.uniform(0, 1e5), float(rng.randint(0, 1000))]) for _ in range(4)]
    return [*rates, rng.randint(0, 20)]


if __name__ == "__main__":
    main()
