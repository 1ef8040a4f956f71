"""Case histories of a strategy beside a live cluster: what a watch hears, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from tests.turned_cluster import LOOK_S, Turned
from trimtab.live.watch.nouns import Foretold, Steered
from trimtab.live.watch.steering.kept import read_kept, write_kept

TESTDATA = Path(__file__).parent / "testdata" / "watch_turns"
FILES = sorted(TESTDATA.glob("*.txt"))
assert FILES, f"no files in {TESTDATA}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case_history(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, History(tmp_path / "memory.npz")),
        encoding="utf-8",
        fullpath=path,
        obtained_filename=tmp_path / path.name,
    )


class History:
    """A cluster that is watched; a method is a command.

    A line of `cluster` is a broker with its bundles and their thousands of messages/s.
    """

    def __init__(self, memory: Path) -> None:
        self.memory = memory
        self.now: Turned | None = None
        self.moves: list[tuple[str, str]] = []

    @property
    def of(self) -> Turned:
        assert self.now is not None, "no cluster yet"
        return self.now

    def cluster(self, lines: tuple[str, ...], *, strategy: str = "Foresee") -> str:
        owned = {}
        for line in lines:
            broker, *bundles = line.split()
            pairs = (each.partition("=") for each in bundles)
            owned[broker] = {name: float(rate) for name, _, rate in pairs}
        self.now = Turned(strategy, owned)
        return self._usage()

    def others(self, **points: str) -> str:
        """Let other processes take so many points of brokers."""
        self.of.others |= {broker: float(each) for broker, each in points.items()}
        return self._usage()

    def move(self, **owners: str) -> str:
        """Let bundles change hands, by whomever."""
        for name, broker in owners.items():
            self.of.move(name, broker)
        return self._usage()

    def obey(self) -> str:
        """Let all happen that was to be moved last."""
        for name, broker in self.moves:
            self.of.move(name, broker)
        return self._usage()

    def leave(self, *, broker: str) -> str:
        """Let a broker go; nobody has its bundles until they are moved."""
        orphans = self.of.leave(broker)
        return f"without an owner: {', '.join(orphans) or 'none'}\n{self._usage()}"

    def join(self, *, broker: str) -> str:
        self.of.join(broker)
        return self._usage()

    def restart(self, *, program: str) -> str:
        """Begin the program anew: with what it kept, or without."""
        if program == "keeps":
            kept = self.of.turns.kept(self.of.now.timestamp())
            assert kept is not None
            write_kept(self.memory, kept)
        self.of.restart_program(read_kept(self.memory, self.of.strategy))
        return self._usage()

    def passing(self, *, minutes: str, busy: str = "no") -> str:
        """Let minutes pass; turns in a row with the same silence are one line."""
        lines = list[str]()
        rows = list[tuple[str, str, str]]()
        for _ in range(round(60 * float(minutes) / LOOK_S)):
            for each in self.of.look(is_busy=busy == "yes"):
                at = f"{each.time:%H:%M:%S}"
                if isinstance(each, Steered) and not each.moves:
                    text = "; ".join((each.reason, *each.advice))
                    rows.append((rows.pop()[0] if rows and rows[-1][2] == text else at, at, text))
                    continue
                lines += [*map(_quiet, rows), *self._told(each)]
                rows = []
        return "\n".join([*lines, *map(_quiet, rows), self._usage()])

    def _told(self, each: Steered | Foretold) -> list[str]:
        at = f"{each.time:%H:%M:%S}"
        if isinstance(each, Foretold):
            it = each.checked
            inside = "inside" if it.outcome.is_inside else "outside"
            return [
                f"{at} foretold: {it.broker} after {it.moves} moves {it.before:.0f} → "
                f"{it.after:.0f} ± {it.deviation:.1f} %, measured {it.measured:.0f} %: {inside}"
            ]
        self.moves = [(move.bundle.split("/")[1], move.target) for move in each.moves]
        trust = f"trust {each.trust.by_record:.2f} by record, {each.trust.by_plan:.2f} by plan"
        return [
            f"{at} {each.reason}; {trust}",
            *(
                f"  {move.bundle.split('/')[1]}: {move.source} to {move.target}, {move.reason}"
                for move in each.moves
            ),
        ]

    def _usage(self) -> str:
        of = self.of
        return "  ".join(f"{name} {of.usage(name):.0f} %" for name in sorted(of.there))


def _quiet(row: tuple[str, str, str]) -> str:
    first, last, text = row
    return f"{first}: {text}" if first == last else f"{first} to {last}: {text}"
