"""Needs of many seeds → how many brokers, how sure, and the curve of brokers against risk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.lab.outcomes.intervals import share_bounds
from trimtab.trials.sweep.task import Row, Status
from trimtab.trials.what_if.lines import night_line, replay_lines

#: How sure it is that the number that is called sure is not too few.
SURE = 0.99
#: Ends of the range of nine seeds in ten.
_LOW, _HIGH = 0.05, 0.95


@dataclass(frozen=True, slots=True)
class Needs:
    """How many brokers each seed's night needs, over at least one seed; infinity: none will do."""

    values: tuple[float, ...]

    @property
    def usual(self) -> float:
        """Return the number that half of the nights need at most."""
        return self.at(0.5)

    @property
    def sure(self) -> float:
        """Return a number that a night needs at most, as sure as `SURE`.

        By the largest need of the seeds where they are too few for the quantile itself.
        """
        return self.at(SURE)

    def at(self, share: float) -> float:
        """Return the least number that so large a share of the seeds needs at most."""
        ordered = sorted(self.values)
        return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]

    def document(self) -> dict[str, Any]:
        """Return it as plain values; None where no number will do."""
        ends = {
            "usual": self.usual,
            "low": self.at(_LOW),
            "high": self.at(_HIGH),
            "sure": self.sure,
        }
        numbers = {name: int(end) if math.isfinite(end) else None for name, end in ends.items()}
        return {**numbers, "seeds": len(self.values)}

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the needs that some number meets."""
        return tuple(int(value) for value in self.values if math.isfinite(value))


def needs_of(rows: Sequence[Row], growth: float) -> Needs | None:
    """Return what the seeds of one growth need; None if no run came to its end."""
    values = [
        dict(row["numbers"])["need"]
        for row in rows
        if row["scenario"] == f"{growth:g}" and row["status"] == Status.OK
    ]
    return Needs(tuple(values)) if values else None


def curve(needs: Needs, counts: Iterable[int]) -> list[dict[str, float]]:
    """Return the risk of each number of brokers: nights like this one that need more.

    Returns:
        The share of the seeds, with the interval that holds that of all nights in nine cases
        of ten (Clopper-Pearson).
    """
    values, count = np.array(needs.values), len(needs.values)
    points = []
    for brokers in counts:
        broken = int((values > brokers).sum())
        low, high = share_bounds(broken, count, _LOW)
        points.append({"brokers": brokers, "risk": broken / count, "low": low, "high": high})
    return points


def answer(document: Mapping[str, Any]) -> str:
    """Return how many brokers are needed, beside how many there are."""
    if not document["fidelity"]["is_trusted"]:
        failed = [it["name"] for it in document["fidelity"]["checks"] if it["is_met"] is False]
        return (
            "Not decidable: the replay does not reproduce what really happened "
            f"({', '.join(failed)}), so nothing is foretold of this recording."
        )
    need, today = document["need"], document["today"]
    if need is None:
        return "Not decidable: not one run came to its end."
    usual, sure = need["usual"], need["sure"]
    if usual is None:
        return (
            "No number of brokers carries this night and the loss of any one by the bar: some "
            "bundles alone are too much for a broker."
        )
    if sure is None:
        return (
            f"{usual} brokers carry this night and the loss of any one, but in some nights like "
            "it no number does, as a bundle alone is too much for a broker; there are "
            f"{today} today."
        )
    if today >= sure:
        verdict = "enough" if today - sure < 2 else f"{today - sure} more than that"
    else:
        verdict = "too few" if today < usual else "perhaps too few"
    return (
        f"{usual} brokers carry this night and the loss of any one, {sure} almost surely; "
        f"the {today} of today are {verdict}."
    )


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Return the answer, and what it rests on."""
    yield document["answer"]
    yield ""
    yield f"{night_line(document)}, {document['strategy']}"
    yield f"The bar: {document['bar_text']}"
    yield ""
    yield from replay_lines(document)
    if document["need"] is None:
        return
    yield ""
    yield "Brokers, and how many nights like this one need more (nine cases in ten):"
    for point in document["curve"]:
        today = "  ← today" if point["brokers"] == document["today"] else ""
        risk, low, high = (round(100 * point[end]) for end in ("risk", "low", "high"))
        price = f"  {point['price']:,.0f}" if point.get("price") is not None else ""
        yield f"  {point['brokers']:>4}  {risk:>3} % ({low} to {high}){price}{today}"
    yield ""
    yield "If all traffic grows:"
    for each in document["growth"]:
        usual, low, high, sure = (
            "no number of" if each["need"][end] is None else str(each["need"][end])
            for end in ("usual", "low", "high", "sure")
        )
        brokers = f"{usual} brokers ({low} to {high}), {sure} almost surely"
        yield f"  by {each['percent']:>3} %: {brokers}"
    yield ""
    yield from _bundles(document["bundle_count"])


def _bundles(count: Mapping[str, Any]) -> Iterable[str]:
    yield (
        f"Bundles: {count['verdict']}, {count['per_broker']:.1f} a broker; shared out as well as "
        f"can be the fullest has {100 * count['unevenness']:.0f} % more than the mean"
    )
    for each in count["giants"]:
        share = f"up to {each['percent']:.0f} % of what a broker may carry"
        yield f"  to split: {each['bundle']}, {share}"
