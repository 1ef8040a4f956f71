"""Settings of a release that nobody tells: those that it may be, and what is found in which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from trimtab.explanation.lint.classes import CLASSES
from trimtab.explanation.lint.conf import Conf, shown, simple_name
from trimtab.explanation.lint.rule import Finding, Rule, Span, holds_in
from trimtab.explanation.lint.spelling import knows
from trimtab.explanation.lint.traps import TABLES, spans_of
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.releases import release_order

#: The oldest release whose settings were read.
OLDEST = "2.10.0"


@dataclass(frozen=True, slots=True)
class Candidates:
    """The releases that some settings may be of."""

    #: The first of each stretch of releases in which lint finds the same, oldest first.
    releases: tuple[str, ...]
    #: From what that is known, in words.
    basis: str

    @property
    def newest(self) -> str:
        """Return the one that stands for them."""
        return self.releases[-1]


def candidates(confs: Sequence[Conf], known: tuple[str, ...]) -> Candidates:
    """Return the releases that settings may be of, by the keys and classes that they name.

    Args:
        confs: what is written, and what brokers tell, of no release yet.
        known: `known_releases` of the rules that will look.
    """
    ones = tuple(release for release in known if all(_fits(conf, release) for conf in confs))
    if not ones:
        return Candidates(known, "no release has all of the keys and classes that are set")
    reasons = [*_lower(confs, ones[0], known), *_upper(confs, ones[-1], known)]
    return Candidates(ones, "; ".join(reasons) or "nothing says which")


def findings_of_releases(by_release: Mapping[str, Sequence[Finding]]) -> tuple[Finding, ...]:
    """Return what is found in any of some releases; what only some have says which.

    Args:
        by_release: what is found in each of the releases, oldest first.

    Returns:
        What is found in the newest, then what only older ones have, the newest of these first.
    """
    releases: dict[tuple[object, ...], list[str]] = {}
    texts: dict[tuple[object, ...], Finding] = {}
    for release in reversed(tuple(by_release)):
        times: dict[tuple[object, ...], int] = {}
        for finding in by_release[release]:
            those = (finding.code, finding.key, finding.place)
            times[those] = times.get(those, 0) + 1
            which = (*those, times[those])
            texts.setdefault(which, finding)
            releases.setdefault(which, []).append(release)
    order = tuple(by_release)
    return tuple(
        replace(finding, releases=_spans_text(set(releases[which]), order))
        for which, finding in texts.items()
    )


def _spans_text(ones: set[str], order: Sequence[str]) -> str:
    """Return releases as words: `before 5.0.0`, `3.0.0 to before 3.1.1`; empty if it is all."""
    if ones >= set(order):
        return ""
    stretches = (list(those) for is_one, those in groupby(order, ones.__contains__) if is_one)
    return ", ".join(_stretch_text(those[0], those[-1], order) for those in stretches)


def _stretch_text(first: str, last: str, order: Sequence[str]) -> str:
    """Return one stretch of releases as words."""
    if last == order[-1]:
        return f"{first} on"
    after = order[order.index(last) + 1]
    return f"before {after}" if first == order[0] else f"{first} to before {after}"


def known_releases(rules: Iterable[Rule[Any]]) -> tuple[str, ...]:
    """Return every release with which something changes that lint knows, oldest first.

    Without milestones, which hardly anybody runs.
    """
    changes = TABLES["upgrade"]["decides-differently"]["changes"]
    spans: list[Span] = [span for rule in rules for span in rule.spans]
    spans += [span for change in changes for span in spans_of(change["releases"])]
    spans += [span for those in CLASSES.values() for each in those.values() for span in each]
    ends = {end for span in spans for end in span if end}
    ends |= {since for key in KEYS.values() for since in key.defaults}
    oldest = release_order(OLDEST)
    ends = {end for end in ends if "-" not in end and release_order(end) >= oldest}
    return tuple(sorted(ends, key=release_order))


def _fits(conf: Conf, release: str) -> bool:
    """Return whether a release has every key and class of Pulsar's that is set."""
    here = replace(conf, release=release)
    is_told = all(knows(here, name) for name in KEYS if conf.is_written(name))
    is_all = not conf.is_whole or not any(
        knows(here, name) for name in KEYS if name not in conf.written
    )
    return is_told and is_all and all(holds_in(spans, release) for _, spans in _classes(conf))


def _classes(conf: Conf) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """Yield the keys at which Pulsar's own classes are named, and the releases that have them."""
    for key, spans in CLASSES.items():
        name = conf.written[key].value.strip() if conf.is_written(key) else ""
        if name in spans:
            yield key, spans[name]


def _lower(confs: Sequence[Conf], first: str, known: Sequence[str]) -> Iterator[str]:
    """Yield what speaks for the first release that it may be, and against older ones."""
    if first == known[0]:
        return
    for conf in confs:
        for name, key in KEYS.items():
            if conf.is_written(name) and key.since == first:
                yield f"{_at(conf, name)} came with {first}"
                return
        for name, spans in _classes(conf):
            if any(span[0] == first for span in spans):
                class_name = simple_name(conf.written[name].value.strip()).rpartition(".")[2]
                yield f"{shown(class_name)} ({_place(conf, name)}) came with {first}"
                return
    yield "no older release has all keys and classes that are set"


def _upper(confs: Sequence[Conf], last: str, known: Sequence[str]) -> Iterator[str]:
    """Yield what speaks against releases newer than the last that it may be."""
    if last == known[-1]:
        return
    after = known[known.index(last) + 1]
    for conf in confs:
        for name, key in KEYS.items():
            if conf.is_whole and name not in conf.written and key.since == after:
                yield f"{shown(conf.source)} tells all settings, and {name} of {after} is missing"
                return
    yield "no newer release has all keys and classes that are set"


def _at(conf: Conf, name: str) -> str:
    return f"{name} ({_place(conf, name)})"


def _place(conf: Conf, name: str) -> str:
    written = conf.written[name]
    return f"{shown(written.source)}:{written.line}"
