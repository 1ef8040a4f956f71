"""The file of the rating → dimensions, strategies and what was said of them, checked.

And what a cell of it is made of: the runs of a strategy → their middle → a word.  A run whose
value is not known is left out, and with it its seed where a value is taken over several
scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name, in_file, toml_field
from trimtab.files.whole_files import read_text
from trimtab.lab.outcomes.intervals import Interval, interval, mean, median
from trimtab.lab.scenarios import built_in
from trimtab.lab.simulate.scenario_keys import (
    AT_LEAST_0,
    TABLE,
    TEXT,
    Kind,
    key,
    listed,
    maybe,
    one_of,
    read,
)
from trimtab.trials.reproduce.definition import NUMBER_NAME
from trimtab.trials.sweep.grid import Strategy, strategies

#: What the value of nobody shedding is taken for at least: a ratio to next to nothing says
#: nothing.
_NOBODY_MIN = 1.0


@dataclass(frozen=True, slots=True)
class RunValue:
    """One run, and what was taken of it."""

    scenario: str
    seed: int
    #: NaN where it could not be taken, infinite where it never came.
    value: float
    #: The same on the same seed, if nobody sheds.
    nobody: float
    #: Hours that count.
    hours: float


@dataclass(frozen=True, slots=True)
class Statistic:
    """What is taken over the runs of a cell."""

    definition: str
    #: Run → a value of which the mean is taken, over scenarios and then over seeds; None where
    #: the median is taken over all runs.
    value: Callable[[RunValue], float] | None


#: Name → statistic.
STATISTICS: Mapping[str, Statistic] = {
    "ratio to nobody": Statistic(
        "Ratio to what it is on the same seed if nobody sheds; mean over scenarios and seeds.",
        lambda run: run.value / max(run.nobody, _NOBODY_MIN),
    ),
    "per hour": Statistic(
        "Number in an hour; mean over scenarios and seeds.", lambda run: run.value / run.hours
    ),
    "per run": Statistic("Number in a run; mean over scenarios and seeds.", lambda run: run.value),
    "median": Statistic(
        "Median over all runs of all scenarios; what never comes is longer than all others.", None
    ),
}


class Word(StrEnum):
    """What a strategy is in one dimension."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    #: No run has what it is judged by.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Rated:
    """One strategy in one dimension."""

    interval: Interval
    word: Word
    #: The whole interval is in the range of that word.
    is_sure: bool
    #: Runs that it rests on, and those in which the number never came.
    n_runs: int
    n_never: int


def rated(runs: Sequence[RunValue], statistic: Statistic, good_to: float, fair_to: float) -> Rated:
    """Return how a strategy is rated in one dimension, by the runs that came to their end.

    Properties:
        The order of the runs decides nothing.
        Values that all are smaller never give a worse word.
    """
    ordered = sorted(runs, key=lambda run: (run.scenario, run.seed))
    if statistic.value is None:
        middle = interval([run.value for run in ordered if not math.isnan(run.value)], median)
    else:
        middle = interval(_by_seed(ordered, statistic.value), mean)
    word, *ends = (
        word_of(value, good_to, fair_to) for value in (middle.estimate, middle.low, middle.high)
    )
    return Rated(
        interval=middle,
        word=word,
        is_sure={*ends} == {word},
        n_runs=len(runs),
        n_never=sum(math.isinf(run.value) for run in runs),
    )


def word_of(value: float, good_to: float, fair_to: float) -> Word:
    """Return the word for a number; smaller is better.

    >>> [str(word_of(value, good_to=1, fair_to=3)) for value in (1.0, 2.0, 4.0, float("nan"))]
    ['good', 'fair', 'poor', 'unknown']
    """
    if math.isnan(value):
        return Word.UNKNOWN
    if value <= good_to:
        return Word.GOOD
    return Word.FAIR if value <= fair_to else Word.POOR


def _by_seed(runs: Sequence[RunValue], value: Callable[[RunValue], float]) -> list[float]:
    """Return means over the scenarios of each seed: seeds are independent of one another."""
    seeds: dict[int, list[float]] = {}
    for run in runs:
        seeds.setdefault(run.seed, []).append(value(run))
    means = [sum(of) / len(of) for _, of in sorted(seeds.items())]
    return [each for each in means if not math.isnan(each)]


_NEEDED = ("dimensions", "strategies")
_OPTIONAL = ("cases", "said")
_WORDS = tuple(word for word in Word if word is not Word.UNKNOWN)


class RatingError(TrimtabError, ValueError):
    """The file of a rating is none; says where, what was found and what was expected."""


#: The name of a scenario that trimtab brings; there are too many to be listed.
_SCENARIO: Kind[str] = Kind(one_of(built_in()).take, "the name of a scenario")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """`[[dimensions]]`: what strategies are rated in, by which number of which scenarios."""

    name: str = key(TEXT, "a word or two")
    asks: str = key(TEXT, "what it asks, as a question")
    number: str = key(NUMBER_NAME, "what is taken of each run")
    statistic: str = key(one_of(STATISTICS), "what is taken over all runs")
    scenarios: tuple[str, ...] = key(listed(_SCENARIO), "on which")
    good_to: float = key(AT_LEAST_0, "up to here it is good")
    fair_to: float = key(AT_LEAST_0, "up to here it is fair, and beyond it poor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """`[[strategies]]`: one that is rated."""

    name: str = key(TEXT, "as the page calls it")
    strategy: str = key(TEXT, "shedder and placer, as in a sweep")
    settings: Field | None = key(maybe(TABLE), "keys of broker.conf besides the scenario's", None)

    def pair(self) -> Strategy:
        """Return the strategy as a sweep knows it.

        Raises:
            FieldError: there is no such strategy or setting.
        """
        (strategy,) = strategies(Field(self.strategy, ("strategy",)), None, self.settings)
        return strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`[[cases]]`: one strategy's number in a dimension, where it is not that of the others."""

    dimension: str = key(TEXT, "name of the dimension")
    strategies: tuple[str, ...] = key(listed(TEXT), "names of the strategies")
    number: str = key(NUMBER_NAME, "what is taken of each run")
    scenarios: tuple[str, ...] = key(listed(_SCENARIO), "on which")
    because: str = key(TEXT, "why it is another one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """`[[said]]`: what was published of a strategy in a dimension."""

    dimension: str = key(TEXT, "name of the dimension")
    strategy: str = key(TEXT, "name of the strategy")
    word: str = key(one_of(_WORDS), "good, fair or poor")
    says: str = key(TEXT, "how it was said, and where")


@dataclass(frozen=True, slots=True)
class Rating:
    """What is rated, and by what."""

    dimensions: tuple[Dimension, ...]
    strategies: tuple[Contender, ...]
    cases: tuple[Case, ...]
    said: tuple[Statement, ...]

    def basis(self, dimension: Dimension, contender: Contender) -> Dimension | Case:
        """Return which number of which scenarios a cell rests on."""
        for case in self.cases:
            if case.dimension == dimension.name and contender.name in case.strategies:
                return case
        return dimension

    def word(self, dimension: Dimension, contender: Contender) -> Statement | None:
        """Return what was published of a cell; None if nothing was."""
        for said in self.said:
            if (said.dimension, said.strategy) == (dimension.name, contender.name):
                return said
        return None


def built_in_rating() -> Rating:
    """Return the rating that trimtab brings."""
    file = resources.files("trimtab.trials.rate").joinpath("rating.toml")
    return rating(file.read_text(encoding="utf-8"), "rating.toml")


def rating(text: str, name: str) -> Rating:
    """Return the rating that a text in TOML holds; its file's name is for errors.

    Raises:
        RatingError: it is not TOML; a key is missing, misspelt or takes something else; or it
            speaks of a dimension or a strategy that it does not have.
    """
    whole = toml_field(text, name, RatingError)
    try:
        return _rating(whole)
    except FieldError as error:
        raise RatingError(in_file(name, error)) from error


def read_rating(path: Path) -> Rating:
    """Return the rating of a file.

    Raises:
        RatingError: the file cannot be read, or is none.
    """
    return rating(read_text(path, RatingError), str(path))


def _rating(file: Field) -> Rating:
    tables = file.members(_NEEDED, _OPTIONAL)
    none = Field([])
    read_all = Rating(
        dimensions=tuple(read(Dimension, item) for item in tables["dimensions"].items()),
        strategies=tuple(read(Contender, item) for item in tables["strategies"].items()),
        cases=tuple(read(Case, item) for item in tables.get("cases", none).items()),
        said=tuple(read(Statement, item) for item in tables.get("said", none).items()),
    )
    for part in _NEEDED:
        if not getattr(read_all, part):
            raise tables[part].wrong("at least one")
    _check(read_all, file)
    return read_all


def _check(read_all: Rating, file: Field) -> None:
    """Check what one table says of another."""
    dimensions = {each.name for each in read_all.dimensions}
    names = {each.name for each in read_all.strategies}
    for i, each in enumerate(read_all.dimensions):
        if each.fair_to < each.good_to:
            where = file.at("dimensions", i, "fair_to", value=each.fair_to)
            raise where.wrong(f"at least good_to, which is {each.good_to:g}")
    for i, contender in enumerate(read_all.strategies):
        where = file.at("strategies", i, "strategy", value=contender.strategy)
        settings = contender.settings
        if len(strategies(where, None, settings)) != 1:
            assert settings is not None
            raise settings.wrong("one value for each key")
    cases, said = list(enumerate(read_all.cases)), list(enumerate(read_all.said))
    for part, i, key_of, name, choices in (
        *(("cases", i, "dimension", case.dimension, dimensions) for i, case in cases),
        *(("said", i, "dimension", each.dimension, dimensions) for i, each in said),
        *(("said", i, "strategy", each.strategy, names) for i, each in said),
        *(("cases", i, "strategies", n, names) for i, case in cases for n in case.strategies),
    ):
        if name not in choices:
            raise file.at(part, i, key_of, value=name).wrong(expected_name(name, choices))
