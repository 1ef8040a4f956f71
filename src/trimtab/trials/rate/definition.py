"""The file of the rating → dimensions, strategies and what was said of them, checked."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name, in_file, toml_field
from trimtab.files.whole_files import read_text
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
from trimtab.trials.rate.statistics import STATISTICS, Word
from trimtab.trials.reproduce.published_number import NUMBER_NAME
from trimtab.trials.sweep.grid import Strategy, strategies

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
