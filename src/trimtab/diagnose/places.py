"""Findings of one kind at one place → one finding, with its rounds inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.wording import clock, many, wording

#: The worst first.
SEVERITIES = ("high", "medium", "low")
#: Fraction past a bar from which on it is passed clearly.
CLEAR = 0.02


def by_place(night: Night, findings: Sequence[Finding]) -> list[tuple[Finding, list[int]]]:
    """Return one finding for each kind and place, with the positions of those that it is made of.

    Args:
        night: whose tenures are places too.
        findings: of all rules, in order of time.
    """
    terms = {logged.number: logged.term for logged in night.rounds}
    places: dict[tuple[object, ...], list[int]] = {}
    for i, finding in enumerate(findings):
        places.setdefault(_place(finding, terms), []).append(i)
    return [(_merged([findings[i] for i in same]), same) for same in places.values()]


def _place(finding: Finding, terms: Mapping[int, int]) -> tuple[object, ...]:
    """Return the kind of a finding with where it is, as its row of findings.toml says."""
    kind = wording(finding.wording)["place"]
    bundle = next(iter(finding.bundles), "")
    where: Mapping[str, object] = {
        "broker": finding.brokers[:1],
        "pair": finding.brokers[:2],
        "bundle": bundle,
        "namespace": bundle.rpartition("/")[0],
        "leader": terms.get(finding.round),
        "cluster": "",
    }
    return finding.code, kind, where[kind]


def _merged(parts: Sequence[Finding]) -> Finding:
    """Return what some findings come to, no graver than the gravest of them."""
    graded = [_graded(part) for part in parts]
    worst = min(graded, key=lambda part: (SEVERITIES.index(part.severity), -(_margin(part) or 0)))
    rounds = _rounds(parts)
    texts = wording(worst.wording)
    severity = worst.severity if texts.get("grave_once") or len(rounds) > 1 else "low"
    if len(parts) == 1:
        return replace(worst, severity=severity)
    several = ".several" if "several" in texts else ""
    texts = wording(f"{worst.wording}{several}")
    sums = {
        name: sum(part.numbers[name] for part in parts if name in part.numbers)
        for name in texts.get("sums", ())
    }
    brokers, bundles, moves = (
        _once(chain(*(getattr(part, name) for part in (worst, *parts))))
        for name in ("brokers", "bundles", "moves")
    )
    first = {part.brokers[:1] for part in parts}
    counts = {"rounds": len(rounds), "bundles": len(bundles), "places": len(first)}
    return replace(
        worst,
        wording=f"{worst.wording}{several}",
        severity=severity,
        time=parts[0].time,
        round=parts[0].round,
        brokers=brokers,
        bundles=bundles,
        moves=moves,
        evidence=tuple({(e.file, e.line): e for part in parts for e in part.evidence}.values()),
        numbers={**worst.numbers, **sums, "rounds": rounds},
        values={**worst.values, **counts, **sums, "count": len(parts)},
        story=f"{_span(parts)} At worst, {clock(worst.time)}: {worst.text('text')}",
        parts=tuple(graded),
    )


def _graded(finding: Finding) -> Finding:
    """Return a finding with the severity that its margin leaves it."""
    margin = _margin(finding)
    return finding if margin is None or margin >= CLEAR else replace(finding, severity="low")


def _margin(finding: Finding) -> float | None:
    """Return by how much a finding passed its bar; None where that is not known."""
    numbers: Mapping[str, Any] = {**finding.numbers, **finding.values}
    margins = [
        numbers[names[0]] - (numbers[names[1]] if len(names) > 1 else 0.0)
        for names in wording(finding.wording).get("margin", ())
        if all(isinstance(numbers.get(name), float) for name in names)
    ]
    return max((margin for margin in margins if margin > 0), default=None)


def _rounds(parts: Sequence[Finding]) -> list[int]:
    """Return the rounds that some findings are about, in order."""
    listed = [part.numbers.get("rounds") for part in parts]
    within = chain(*(each for each in listed if isinstance(each, list)))
    return sorted({*within, *(part.round for part in parts)})


def _span(parts: Sequence[Finding]) -> str:
    """Return how often something was found, and from when to when, as a sentence."""
    first, last = clock(parts[0].time), clock(parts[-1].time)
    return f"{many(len(parts), 'time')} from {first} to {last}."


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
