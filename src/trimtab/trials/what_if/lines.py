"""An answer → lines for a terminal: how well the replay does first, then the matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trimtab.pulsar.sequences.wording import aligned_rows
from trimtab.report.contenders import figure

#: By whether it is met.
SIGNS = {True: "✓", False: "✗", None: "–"}


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the answer, and what it rests on."""
    yield document["answer"]
    yield ""
    yield night_line(document)
    yield ""
    yield from replay_lines(document)
    yield ""
    yield from _costs(document["costs"])
    yield ""
    yield "Not told, and taken instead:"
    yield from (f"  {words}" for words in document["untold"])
    yield ""
    if not document["fidelity"]["is_trusted"]:
        return
    yield from _matrix(document)
    for each in document["not_covered"]:
        yield f"Not covered: {each['strategy']}: {each['why']}."


def night_line(document: Mapping[str, Any]) -> str:
    """Return which night an answer is of."""
    return (
        f"{document['recording']}: Pulsar {document['release']}, "
        f"{document['from'][11:19]} to {document['to'][11:19]}, "
        f"{document['brokers']} brokers, {document['bundles']} bundles"
    )


def replay_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Return how well the replay of the real strategy does, a line a rule."""
    if document["fidelity"]["is_trusted"] is None:
        yield "Nothing says whether the simulation is true for this cluster:"
    else:
        yield "The real strategy replayed, beside what really happened:"
    for check in document["fidelity"]["checks"]:
        sign = SIGNS[check["is_met"]]
        yield f"  {sign} {check['name']}: {check['found']}; rule: {check['rule']}"


def _costs(costs: Mapping[str, Any]) -> Iterator[str]:
    cpu, network = costs["cpu"], costs["network"]
    yield "What traffic costs of the CPU (nine cases in ten; ?: the night does not tell):"
    for term in cpu["terms"]:
        doubt = "" if term["is_told"] else " ?"
        yield (
            f"  {term['of']}: {figure(term['cost'])} {term['unit']} "
            f"({figure(term['low'])} to {figure(term['high'])}){doubt}"
        )
    if cpu["r_squared"] is None:
        yield f"  too few windows of a minute ({cpu['windows']}) to say what that misses"
        return
    yield (
        f"  in {cpu['windows']} windows of a minute it misses {cpu['error_points']:.1f} points, "
        f"R² {cpu['r_squared']:.2f}; by broker:"
    )
    for each in cpu["by_broker"]:
        yield (
            f"    {each['broker']}: misses {each['error_points']:.1f} points, "
            f"{each['bias_points']:+.1f} on average, {each['n_windows']} windows"
        )
    yield (
        f"NIC: {network['overhead']:.2f} bytes on the wire for each that is counted "
        f"({network['low']:.2f} to {network['high']:.2f}); misses "
        f"{network['error_points']:.1f} points, R² {network['r_squared']:.2f}"
    )


def _matrix(document: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"The same load under every strategy, median of {document['seeds']} seeds "
        "(10 to 90 %), each with costs of its own:"
    )
    strategies: Sequence[Mapping[str, Any]] = document["strategies"]
    columns = [("", ["*" if each["is_on_frontier"] else " " for each in strategies])]
    for measure in document["measures"]:
        unit = f", {measure['unit']}" if measure["unit"] else ""
        columns.append(
            (measure["title"] + unit, [_cell(each, measure["name"]) for each in strategies])
        )
    columns.append(("strategy", [_named(each) for each in strategies]))
    yield from aligned_rows(columns)
    yield "  * nobody has fewer unloads without a larger spread"


def _cell(strategy: Mapping[str, Any], name: str) -> str:
    interval = strategy["measures"][name]["median"]
    if interval["estimate"] is None:
        return "–"
    middle, low, high = (figure(interval[end]) for end in ("estimate", "low", "high"))
    return middle if interval["low"] == interval["high"] else f"{middle} ({low} to {high})"


def _named(strategy: Mapping[str, Any]) -> str:
    conf = "".join(f" {key}={value}" for key, value in strategy["settings"].items())
    failed = f", {len(strategy['failures'])} runs failed" if strategy["failures"] else ""
    what = ", as it really was" if strategy["is_baseline"] else ""
    # Settings that made no difference.
    same = [f"{key}={value}" for each in strategy["alike"] for key, value in each.items()]
    alike = f"; the same with {', '.join(same)}" if same else ""
    return f"{strategy['label']}{conf}{what}{alike}{failed}"
