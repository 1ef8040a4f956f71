"""Count by room what the tests let through: `make mutants`, or of a few files and a sample.

python -m tools.mutants                        every room of ROOMS, SAMPLE mutants of each
python -m tools.mutants --all ROOM...          all mutants of some rooms: hours
python -m tools.mutants FILE...                all mutants of some files

What survives is a hole in the tests, or changes nothing that anybody could see: then it
stands in equivalent.txt, with the reason.  A mutant of a room is tried against the room's own
tests, and one of a file against the tests near it (`make near`): those that need no JVM and no
browser and reach its function.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tools.mutants.mutations import ROOT, Mutant, mutants
from tools.mutants.trial import Trial, Verdict
from tools.near import Imports

EQUIVALENT = Path(__file__).with_name("equivalent.txt")


class Room(NamedTuple):
    """Where a room is, and the tests that are to notice what is changed in it."""

    places: tuple[str, ...]
    #: Names of files, without what all begin with; those near each file where there are none.
    tests: tuple[str, ...] = ()


ROOMS = {
    "strategies": Room(
        ("src/trimtab/pulsar/shed", "src/trimtab/pulsar/place"),
        (
            *("java_agreement", "properties", "properties_of_placers", "candidates"),
            *("worked_placements", "extensible_manager"),
            *("replayed_nights", "datadriven"),
        ),
    ),
    "leader": Room(
        ("src/trimtab/pulsar/leader", "src/trimtab/diagnose/replay"),
        (
            *("leader_parts", "leader_view", "load_data", "simulate_leader", "simulate_text"),
            *("grace_doubt", "worked_placements", "zookeeper_diagnosis", "witness"),
            *("diagnose_text", "replayed_nights", "extensible_manager", "gather_parts"),
            *("bounds_of_the_leader", "simulate"),
        ),
    ),
    "guards": Room(
        ("src/trimtab/live/control",),
        (
            *("control", "control_faults", "drain", "expected", "headroom", "level", "restarts"),
            *("rollout_step", "throttle", "journal", "apply", "bounds_of_guards", "rollout"),
            *("apply_words", "trust"),
        ),
    ),
    "findings": Room(("src/trimtab/diagnose/findings",)),
}
SAMPLE, SEED = 150, 1
QUICK = "not spark and not browser and not pulsar and not prometheus"
#: How many files of tests a file's mutants are tried against: those that import it most directly.
NEAREST = 8
#: The share that is to be killed.
WANTED = 0.85


def equivalent() -> dict[str, str]:
    """Return the mutants that change nothing anybody could see, with the reason of each."""
    found: dict[str, str] = {}
    name = ""
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            found[name] = f"{found[name]} {line.strip()}".strip()
        elif line and not line.startswith("#"):
            name = line
            found[name] = ""
    return found


def files_of(places: Sequence[str]) -> list[Path]:
    """Return the Python files of some folders."""
    return [
        file
        for place in places
        for file in (
            sorted((ROOT / place).rglob("*.py")) if (ROOT / place).is_dir() else [ROOT / place]
        )
    ]


def nearest(imports: Imports, path: Path) -> list[Path]:
    """Return the few files of tests that are the nearest to a file by their imports."""
    tests = [test for test in imports.near(path) if test.name.startswith("test_")]
    return sorted(tests, key=lambda test: (imports.distance(test, path), test))[:NEAREST]


def tests_of(room: Room, chosen: Sequence[Mutant]) -> list[str]:
    """Return the files of tests that mutants of a room are tried against."""
    if room.tests:
        return [str(ROOT / "tests" / f"test_{name}.py") for name in room.tests]
    imports = Imports()
    return sorted(
        {str(test) for path in {it.path for it in chosen} for test in nearest(imports, path)}
    )


def tried(
    room: str, tests: Sequence[str], chosen: Sequence[Mutant]
) -> Iterator[tuple[Mutant, Verdict]]:
    """Try mutants of one room, and say what became of each that was not killed."""
    found: list[tuple[Mutant, Verdict]] = []

    def tell(mutant: Mutant, verdict: Verdict) -> None:
        found.append((mutant, verdict))
        if verdict in (Verdict.SURVIVED, Verdict.UNREACHED):
            print(f"{room}: {verdict}: {mutant.name}  (line {mutant.line})", flush=True)

    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "-m", QUICK]
    pytest.main([*options, *tests], plugins=[Trial(chosen, tell)])
    yield from found


def line(room: str, verdicts: Counter[str], known: int) -> str:
    """Return a room's line of the table."""
    killed = verdicts[Verdict.KILLED] + verdicts[Verdict.TIMED_OUT]
    total = verdicts.total()
    share = killed / total if total else 0.0
    return (
        f"{room:12} {killed:5} of {total:5} killed  {share:6.1%}   {known:4} listed as equivalent"
    )


def main(arguments: list[str]) -> int:
    """Try mutants, print the table, and return 1 where too few were killed."""
    os.chdir(ROOT)
    is_all = "--all" in arguments
    names = [each for each in arguments if each != "--all"]
    rooms = {each: ROOMS.get(each, Room((each,))) for each in names} or ROOMS
    listed = equivalent()
    lines, is_enough = [], True
    for name, room in rooms.items():
        every = [mutant for path in files_of(room.places) for mutant in mutants(path)]
        chosen = [mutant for mutant in every if mutant.name not in listed]
        if name in ROOMS and not is_all:
            chosen = random.Random(SEED).sample(chosen, min(SAMPLE, len(chosen)))
        outcome = tried(name, tests_of(room, chosen), chosen)
        verdicts = Counter(str(verdict) for _, verdict in outcome)
        lines.append(
            line(name, verdicts, len(every) - len([m for m in every if m.name not in listed]))
        )
        print(lines[-1], flush=True)
        killed = verdicts[Verdict.KILLED] + verdicts[Verdict.TIMED_OUT]
        # Nothing is tried where pytest itself ends early.
        is_enough &= verdicts.total() == len(chosen) and killed >= WANTED * len(chosen)
    print("", *lines, sep="\n")
    return 0 if is_enough else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
