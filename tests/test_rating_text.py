"""Ratings as text files: what a word is made of, and what is wrong with a rating that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from trimtab.trials.rate.definition import RatingError, rating
from trimtab.trials.rate.statistics import STATISTICS, RunValue, rated

TESTDATA = Path(__file__).parent / "testdata" / "rating"
FILES = sorted(TESTDATA.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rating(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, Rating()), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / "x"
    )


def test_every_statistic_is_asked_for_in_the_fixture() -> None:
    text = (TESTDATA / "rated.txt").read_text(encoding="utf-8")

    assert [name for name in STATISTICS if f"statistic={name.replace(' ', '_')} " not in text] == []


class Rating:
    """A bench; a method is a command."""

    def rated(self, lines: tuple[str, ...], statistic: str, good: str, fair: str) -> str:
        """Rate runs: a line has scenario, value and, if it matters, nobody's value and hours."""
        runs: list[RunValue] = []
        for line in lines:
            scenario, value, *others = line.split()
            nobody, hours = (*map(float, others), 1.0, 1.0)[:2]
            seed = sum(each.scenario == scenario for each in runs)
            runs.append(RunValue(scenario, seed, float(value), nobody, hours))
        by = STATISTICS[statistic.replace("_", " ")], float(good), float(fair)
        found = rated(runs, *by)
        assert found == rated(runs[::-1], *by)
        ends = f"{found.interval.low:.3g} to {found.interval.high:.3g}"
        sure = "" if found.is_sure else ", not sure"
        return (
            f"{found.word}{sure}: {found.interval.estimate:.3g} ({ends}) of {found.interval.count}"
            f"; {found.n_runs} runs, {found.n_never} never"
        )

    def rating(self, lines: tuple[str, ...]) -> str:
        """Read a rating, and say what each cell rests on."""
        try:
            read = rating("\n".join(lines), "mine.toml")
        except RatingError as error:
            return str(error)
        told = []
        for dimension in read.dimensions:
            for contender in read.strategies:
                of, said = read.basis(dimension, contender), read.word(dimension, contender)
                published = "nothing said" if said is None else f"said {said.word}"
                pair = contender.pair()
                told.append(
                    f"{dimension.name}, {contender.name}: {of.number} on {' '.join(of.scenarios)}, "
                    f"{pair.shedder}+{pair.placement} {dict(pair.settings)}; {published}"
                )
        return "\n".join(told)
