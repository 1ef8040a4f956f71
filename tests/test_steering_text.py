"""Case histories of trimtab's own strategies: why each command was given, and why none was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from tests.steered_cluster import Steered
from trimtab.lab.steering import Answer

TESTDATA = Path(__file__).parent / "testdata" / "steering"
FILES = sorted(TESTDATA.glob("*.txt"))
assert FILES, f"no files in {TESTDATA}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case_history(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, History()),
        encoding="utf-8",
        fullpath=path,
        obtained_filename=tmp_path / path.name,
    )


class History:
    """A cluster that a strategy steers; a method is a command.

    A line of `cluster` is a broker with its bundles and their thousands of messages/s; one
    message/s in and out for a thousandth of a point.
    """

    def __init__(self) -> None:
        self.of: Steered | None = None

    @property
    def cluster_now(self) -> Steered:
        assert self.of is not None, "no cluster yet"
        return self.of

    def cluster(self, lines: tuple[str, ...], *, strategy: str = "Foresee") -> str:
        owned = {}
        for line in lines:
            broker, *bundles = line.split()
            owned[broker] = {name: float(rate) for name, rate in map(_pair, bundles)}
        self.of = Steered(strategy, owned)
        return self._usage()

    def traffic(self, **rates: str) -> str:
        of = self.cluster_now
        for bundle, rate in rates.items():
            of.rate[of.bundles.index(bundle)] = float(rate)
        return self._usage()

    def others(self, **points: str) -> str:
        """Let other processes take so many points of brokers."""
        of = self.cluster_now
        for broker, value in points.items():
            of.others[of.brokers.index(broker)] = float(value)
        return self._usage()

    def capacity(self, **factors: str) -> str:
        of = self.cluster_now
        for broker, value in factors.items():
            of.capacity[of.brokers.index(broker)] = float(value)
        return self._usage()

    def silent(self, *, brokers: str) -> str:
        """Let these brokers alone report nothing."""
        of = self.cluster_now
        of.silent[:] = [name in brokers.split(",") for name in of.brokers]
        return self._usage()

    def absent(self, *, broker: str) -> str:
        """Let a broker not be there yet."""
        of = self.cluster_now
        of.is_there[of.brokers.index(broker)] = False
        return self._usage()

    def join(self, *, broker: str) -> str:
        self.cluster_now.join(broker)
        return self._usage()

    def leave(self, *, broker: str) -> str:
        """Let a broker go; its bundles are looked up one after the other."""
        of = self.cluster_now
        where = [f"{name} is placed on {of.place(name)}" for name in of.leave(broker)]
        return "\n".join([*where, self._usage()])

    def passing(self, *, minutes: str) -> str:
        """Let minutes pass; steps in a row with the same silence are one line."""
        of, rows = self.cluster_now, list[tuple[int, int, str]]()
        lines = list[str]()
        for _ in range(int(minutes)):
            answer = of.step()
            minute = int(of.time_s // 60)
            if answer.commands:
                lines += [*map(_quiet, rows), *self._told(minute, answer)]
                rows = []
                continue
            text = "; ".join((answer.reason, *answer.advice))
            if rows and rows[-1][2] == text:
                rows[-1] = rows[-1][0], minute, text
            else:
                rows.append((minute, minute, text))
        lines += map(_quiet, rows)
        return "\n".join([*lines, self._usage()])

    def _told(self, minute: int, answer: Answer) -> list[str]:
        of = self.cluster_now
        names = of.brokers
        lines = [f"min {minute}: {'; '.join((answer.reason, *answer.advice))}"]
        lines += [
            f"  {of.bundles[each.bundle]}: {names[each.source]} to {names[each.target]},"
            f" {each.reason}"
            for each in answer.commands
        ]
        lines += [
            f"  predicted: {names[each.broker]} {each.before:.0f} → {each.after:.0f} %,"
            f" change ± {each.change_deviation:.1f}"
            for each in answer.predictions
        ]
        return lines

    def _usage(self) -> str:
        of = self.cluster_now
        usage = of.usage()
        there = np.flatnonzero(of.is_there)
        return "  ".join(f"{of.brokers[i]} {usage[i]:.0f} %" for i in there)


def _quiet(row: tuple[int, int, str]) -> str:
    first, last, text = row
    when = f"min {first}" if first == last else f"min {first} to {last}"
    return f"{when}: {text}"


def _pair(text: str) -> tuple[str, float]:
    name, _, rate = text.partition("=")
    return name, float(rate)
