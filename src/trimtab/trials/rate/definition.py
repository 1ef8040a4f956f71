"""The file of the rating → dimensions, strategies and what was said of them, checked."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name
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
from trimtab.trials.rate.rated import Thresholds, Word
from trimtab.trials.rate.statistics import STATISTICS
from trimtab.trials.reproduce.published import NUMBER_NAME
from trimtab.trials.sweep.strategies import Strategy, strategies

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

    @property
    def thresholds(self) -> Thresholds:
        """Give the two thresholds."""
        return Thresholds(self.good_to, self.fair_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """`[[strategies]]`: one that is rated."""

    name: str = key(TEXT, "as the page calls it")
    strategy: str = key(TEXT, "shedder and placer, as in a sweep")
    settings: Field | None = key(maybe(TABLE), "keys of broker.conf besides the scenario's", None)

    def pair(self) -> Strategy:
        """Give the strategy as a sweep knows it.

        Raises:
            FieldError: there is no such strategy or setting.
        """
        (found,) = strategies(Field(self.strategy, ("strategy",)), None, self.settings)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`[[cases]]`: one strategy's number in a dimension, where it is not that of the others."""

    dimension: str = key(TEXT, "name of the dimension")
    strategies: tuple[str, ...] = key(listed(TEXT), "names of the strategies")
    number: str = key(NUMBER_NAME, "what is taken of each run")
    scenarios: tuple[str, ...] = key(listed(_SCENARIO), "on which")
    because: str = key(TEXT, "why it is another one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
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
    said: tuple[Said, ...]

    def basis(self, dimension: Dimension, contender: Contender) -> Dimension | Case:
        """Say which number of which scenarios a cell rests on."""
        own = (
            case
            for case in self.cases
            if case.dimension == dimension.name and contender.name in case.strategies
        )
        return next(own, dimension)

    def word(self, dimension: Dimension, contender: Contender) -> Said | None:
        """Find what was published of a cell; None if nothing was."""
        found = (
            said
            for said in self.said
            if (said.dimension, said.strategy) == (dimension.name, contender.name)
        )
        return next(found, None)


def built_in_rating() -> Rating:
    """Read the rating that trimtab brings."""
    file = resources.files("trimtab.trials.rate").joinpath("rating.toml")
    return rating(file.read_text(encoding="utf-8"), "rating.toml")


def rating(text: str, name: str) -> Rating:
    """Read a rating.

    Args:
        text: a file in TOML.
        name: its name, for errors.

    Raises:
        RatingError: it is not TOML; a key is missing, misspelt or takes something else; or it
            speaks of a dimension or a strategy that it does not have.
    """
    try:
        return _rating(Field(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise RatingError(f"{name}: expected TOML: {error}") from error
    except FieldError as error:
        path = "the file" if error.path == "the line" else error.path
        raise RatingError(
            f"{name}: {path}: found {error.found}, expected {error.expected}"
        ) from error


def read_rating(path: Path) -> Rating:
    """Read a rating from a file.

    Raises:
        RatingError: the file cannot be read, or is none.
    """
    try:
        return rating(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise RatingError(f"{path}: expected text in UTF-8: {error}") from error
    except OSError as error:
        raise RatingError(f"{path}: {error.strerror}") from error


def _rating(given: Field) -> Rating:
    found = given.members(_NEEDED, _OPTIONAL)
    none = Field([])
    read_all = Rating(
        dimensions=tuple(read(Dimension, item) for item in found["dimensions"].items()),
        strategies=tuple(read(Contender, item) for item in found["strategies"].items()),
        cases=tuple(read(Case, item) for item in found.get("cases", none).items()),
        said=tuple(read(Said, item) for item in found.get("said", none).items()),
    )
    for part in _NEEDED:
        if not getattr(read_all, part):
            raise found[part].wrong("at least one")
    _check(read_all, given)
    return read_all


def _check(read_all: Rating, given: Field) -> None:
    """Check what one table says of another."""
    dimensions = {each.name for each in read_all.dimensions}
    names = {each.name for each in read_all.strategies}
    for i, each in enumerate(read_all.dimensions):
        if each.fair_to < each.good_to:
            where = given.at("dimensions", i, "fair_to", value=each.fair_to)
            raise where.wrong(f"at least good_to, which is {each.good_to:g}")
    for i, contender in enumerate(read_all.strategies):
        where = given.at("strategies", i, "strategy", value=contender.strategy)
        settings = contender.settings
        if len(strategies(where, None, settings)) != 1:
            assert settings is not None
            raise settings.wrong("one value for each key")
    named = [
        *(("cases", i, "dimension", case.dimension) for i, case in enumerate(read_all.cases)),
        *(("said", i, "dimension", said.dimension) for i, said in enumerate(read_all.said)),
        *(("said", i, "strategy", said.strategy) for i, said in enumerate(read_all.said)),
        *(
            ("cases", i, "strategies", name)
            for i, case in enumerate(read_all.cases)
            for name in case.strategies
        ),
    ]
    for part, i, key_of, name in named:
        known = dimensions if key_of == "dimension" else names
        if name not in known:
            raise given.at(part, i, key_of, value=name).wrong(expected_name(name, known))
