"""The rules as they stand in rules.toml: the texts of all, and the conditions of plain ones."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.resources import files
from typing import Any

from trimtab.explanation.lint.conf import (
    EXTENSIBLE,
    MODULAR,
    PLACER_KEY,
    SHEDDER_KEY,
    SIMPLE,
    Conf,
    shown,
)
from trimtab.explanation.lint.rule import ALWAYS, Case, Finder, Match, Rule, Severity, Span
from trimtab.pulsar.keys import KEYS

#: Subject → code → what rules.toml says of the rule.
TABLES: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    files(__package__).joinpath("rules.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """What a plain rule fires on: all conditions that are given must hold at once."""

    #: Looked for one by one; the key of the strategy where none is named.
    keys: Sequence[str] = ()
    #: Intervals of which one must hold the value, such as `(0, 0.5]`; a bound may be a key.
    within: Sequence[str] = ()
    #: Flags that must be on.
    on: Sequence[str] = ()
    shedders: Sequence[str] = ()
    placers: Sequence[str] = ()
    #: Either shed or place.
    strategies: Sequence[str] = ()
    managers: Sequence[str] = ()
    #: Whether something must shed.
    sheds: bool = False
    message: str = ""
    #: What to write instead, where that depends on the key or on its value.
    write: str = ""
    #: Why this row bites; ends without a full stop.
    why: str = ""
    evidence: Sequence[str] = ()
    factor: float = 1.0
    when: str = ""
    meant: str = ""
    #: Strategies and load managers that read the keys.
    readers: Sequence[str] = ()
    #: What the page says of a row.
    case: str = ""

    def applies(self, conf: Conf) -> bool:
        """Return whether all conditions hold but for those on the value."""
        chosen = (
            (self.shedders, (conf.shedder,)),
            (self.placers, (conf.placer,)),
            (self.strategies, (conf.shedder, conf.placer)),
            (self.managers, (conf.manager,)),
        )
        return (
            (bool(conf.shedder) or not self.sheds)
            and all(map(conf.is_on, self.on))
            and all(not names or not set(names).isdisjoint(those) for names, those in chosen)
        )

    def match(self, conf: Conf, key: str) -> Match:
        """Return what is said of a key whose value is one that bites."""
        value = conf.number(key)
        scaled = (value or 0.0) * self.factor
        other = next(self._bound_keys(), "")
        words = {
            "key": key,
            "fact": conf.fact(key),
            "other": conf.fact(other) if other else "",
            "value": value,
            "scaled": scaled,
            "plain": shown(str(int(scaled)) if scaled.is_integer() else f"{scaled:g}"),
            "default": KEYS[key].default(conf.release),
            "meant": self.meant,
            "when": self.when,
            "release": conf.release,
            "shedder": conf.shedder,
            "placer": conf.placer,
        }
        return Match(
            self.message.format_map(words),
            conf.at(key, *([other] if other else self.on)),
            key,
            self.write.format_map(words),
            f"{self.why[:1].upper()}{self.why[1:]}." if self.why else "",
            tuple(self.evidence),
        )

    def cases(self) -> tuple[Case, ...]:
        """Return the rows of the page, one a key."""
        why = self.case.format(
            when=self.when,
            why=self.why,
            meant=self.meant,
            shedders=named(self.shedders),
            readers=named(self.readers),
        )
        return tuple(Case(key, why, tuple(self.evidence)) for key in self.keys)

    def _bound_keys(self) -> Iterator[str]:
        bounds = (bound for interval in self.within for bound in interval[1:-1].split(", "))
        return (bound for bound in bounds if bound in KEYS)


def traps(subject: str, code: str) -> tuple[Trap, ...]:
    """Return the rows of a rule; what they do not say holds as the rule has it."""
    table = TABLES[subject][code]
    names = {field.name for field in fields(Trap)} - {"why", "evidence"}
    common = Trap(**{name: value for name, value in table.items() if name in names})
    return tuple(replace(common, **row) for row in table.get("cases", [{}]))


def rules_of(subject: str, finders: Mapping[str, Finder]) -> tuple[Rule[Any], ...]:
    """Return the rules of a subject, in the order of the page.

    Args:
        subject: a name of rules.toml.
        finders: code → the function that looks, for rules that are not plain.

    Raises:
        KeyError: a rule has neither a message nor a function.
    """
    return tuple(_rule(subject, code, finders) for code in TABLES[subject])


def _rule(subject: str, code: str, finders: Mapping[str, Finder]) -> Rule[Any]:
    table, rows = TABLES[subject][code], traps(subject, code)
    is_plain = all(row.message for row in rows)
    return Rule(
        code,
        Severity(table["severity"]),
        table["title"],
        table["why"],
        tuple(table["evidence"]),
        table["instead"],
        partial(_matches, rows) if is_plain else finders[code],
        spans_of(table.get("releases", ())) or ALWAYS,
        tuple(case for row in rows if row.case for case in row.cases()),
    )


def _matches(rows: Sequence[Trap], conf: Conf) -> Iterator[Match]:
    for row in rows:
        if row.applies(conf):
            role = SHEDDER_KEY if conf.shedder in row.strategies else PLACER_KEY
            for key in row.keys or (role,):
                if not row.within or any(_holds(it, conf.number(key), conf) for it in row.within):
                    yield row.match(conf, key)


def _holds(interval: str, value: float | None, conf: Conf) -> bool:
    """Return whether a value lies within an interval; one that is not known does not."""
    low, high = (
        conf.number(bound) if bound in KEYS else float(bound)
        for bound in interval[1:-1].split(", ")
    )
    if value is None or low is None or high is None:
        return False
    is_above = low <= value if interval[0] == "[" else low < value
    return is_above and (value <= high if interval[-1] == "]" else value < high)


def spans_of(releases: Iterable[str]) -> tuple[Span, ...]:
    """Return releases such as `3.0.6 to before 3.1.0`, or `4.0.0 on`, as spans."""
    ends = (text.removesuffix(" on").partition(" to before ") for text in releases)
    return tuple((since, until) for since, _, until in ends)


def named(names: Sequence[str]) -> str:
    """Return names of strategies and load managers as words: A, B and C."""
    managers = (MODULAR, EXTENSIBLE, SIMPLE)
    words = [f"the {it} load manager" if it in managers else it for it in names]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
