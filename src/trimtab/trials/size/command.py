"""Recordings and a bar → brokers tried on the recorded load → how many are needed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.files.fields import FieldError
from trimtab.files.version import __version__
from trimtab.ingest.recording import open_recording
from trimtab.lab.reconstruct.costs_by_usage import costs_by_usage
from trimtab.lab.sizing.bundles import bundle_count
from trimtab.report.size import render_size
from trimtab.spark.runner import Cluster
from trimtab.trials.recorded_cluster import RecordedNight, together
from trimtab.trials.rehearse.bar import Limits, bar_of, bar_text, strategy_of
from trimtab.trials.rerun.command import reconstructed
from trimtab.trials.size.document import answer, lines
from trimtab.trials.size.needs import SURE, Needs, curve, needs_of, whole
from trimtab.trials.size.nights import all_nights, night_needs
from trimtab.trials.size.work import Sizes
from trimtab.trials.sweep.pipeline import Plan, Start, sweep
from trimtab.trials.sweep.task import Row
from trimtab.trials.trial import Form, Result, spelt, written
from trimtab.trials.what_if.command import replayed, steered_by

#: Percent by which all traffic may grow.
GROWTHS = (10, 25, 50, 75, 100)
# Seeds of each growth: the first of those without any.
_GROWN_SEEDS = 10
#: What is taken for granted.
ASSUMED = (
    "every broker is like the median one of its night",
    "the fullest broker is lost two minutes before the five busiest ones, and stays away",
    "bundles are shared out by the work that they bring when the night begins",
    "traffic that grows does so alike in every bundle",
)

SIZE = Form("size", render_size, lines, lambda document: document["need"] is not None)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as the options have it."""

    #: Nights of one cluster.
    recordings: tuple[str, ...]
    limits: Limits
    #: What a broker costs; None: nobody says.
    price: float | None = None
    n_seeds: int = 30
    time_limit_s: float = 1800.0

    def command(self, output: Path) -> str:
        """Return the command that asks the same again, on however many cores."""
        options = {**self.limits.options(), "--price": self.price, "--seeds": self.n_seeds}
        return spelt("size", options, output, arguments=self.recordings)


def sized_by(start: Start, question: Question, output: Path, *, anew: bool) -> Result:
    """Return how many brokers recorded nights need, which is written into a folder.

    Where the replay does not reproduce what really happened in one of them, it says so and tries
    nothing.

    Raises:
        FieldError: the nights are not of one cluster, or there are fewer seeds than nights.
        TrimtabError: as `what_if`.
    """
    if question.n_seeds < len(question.recordings):
        expected = f"at least one for each of {len(question.recordings)} nights"
        raise FieldError("--seeds", str(question.n_seeds), expected)
    with start() as spark:
        nights = together([_read(spark, Path(each)) for each in question.recordings])
        sizes = sizes_of(nights, question)
        outcome = {**_head(spark, nights, sizes, question), **_nothing()}
        if outcome["fidelity"]["is_trusted"]:
            grown = sizes.tasks([*map(_factor, GROWTHS)], min(_GROWN_SEEDS, question.n_seeds))
            tasks = sizes.tasks([1.0], question.n_seeds) | grown
            plan = Plan(tasks, sizes, sizes.basis(), question.time_limit_s)
            swept = sweep(lambda: nullcontext(spark), plan, output, anew=anew)
            rows = swept.outcomes.to_pylist()
            outcome |= document_of(rows, sizes, outcome["today"], question.price)
    head = {"trimtab": __version__, "command": question.command(output)}
    return written({**head, "answer": answer(outcome), **outcome}, SIZE, output)


def _read(spark: Cluster, path: Path) -> RecordedNight:
    with open_recording(path) as recording:
        return RecordedNight(*reconstructed(spark, recording))


def sizes_of(nights: Sequence[RecordedNight], question: Question) -> Sizes:
    """Return what tries numbers of brokers on recorded nights."""
    # As it was steered last.
    balancer = steered_by(nights[-1].cluster)
    rebuilt = tuple(night.cluster.rebuilt for night in nights)
    costs = costs_by_usage(rebuilt, question.n_seeds)
    return Sizes(rebuilt, balancer, costs, bar_of(question.limits, {}, balancer))


def _head(
    spark: Cluster, nights: Sequence[RecordedNight], sizes: Sizes, question: Question
) -> dict[str, Any]:
    """Return what is known before anything is tried."""
    n_seeds = question.n_seeds
    replays = [replayed(each.cluster, each.findings, n_seeds, spark) for each in nights]
    return {
        **all_nights(replays),
        "strategy": strategy_of(sizes.balancer),
        "bar": asdict(sizes.bar),
        "bar_text": bar_text(sizes.bar),
        "assumed": list(ASSUMED),
        "today": today(nights),
        "seeds": n_seeds,
        "sure": SURE,
    }


def _nothing() -> dict[str, Any]:
    """Return what is said where nothing was tried."""
    return {"need": None, "by_night": None, "curve": [], "growth": [], "bundle_count": None}


def document_of(
    rows: Sequence[Row], sizes: Sizes, n_today: int, price: float | None
) -> dict[str, Any]:
    """Return what the seeds need, without growth and with each, and the curve of risk."""
    needs = needs_of(rows, 1.0)
    if needs is None:
        return _nothing()
    growth = [(percent, needs_of(rows, _factor(percent))) for percent in GROWTHS]
    return {
        **_document(needs, sizes, n_today, price),
        "growth": [
            {"percent": percent, "need": each.document()}
            for percent, each in growth
            if each is not None
        ],
    }


def _factor(percent: int) -> float:
    return 1.0 + percent / 100.0


def today(nights: Sequence[RecordedNight]) -> int:
    """Return how many brokers there were for most of the time of the last night."""
    usage = nights[-1].cluster.rebuilt.used.usage[0]
    return int(np.median((~np.isnan(usage)).sum(axis=1)))


def _document(needs: Needs, sizes: Sizes, n_today: int, price: float | None) -> dict[str, Any]:
    """Return the need, the curve of risk and what the bundles are on so many brokers."""
    tried = (*needs.numbers, n_today)
    counts = range(max(1, min(tried) - 1), max(tried) + 2)
    points = [
        {**point, "price": None if price is None else price * point["brokers"]}
        for point in curve(needs, counts)
    ]
    return {
        "need": needs.document(),
        "by_night": night_needs(needs),
        "curve": points,
        "bundle_count": _bundles(sizes, whole(needs.usual) or n_today),
    }


def _bundles(sizes: Sizes, brokers: int) -> dict[str, Any]:
    """Return what the bundles of the last night are on so many brokers, by the known costs."""
    night = sizes.nights[-1]
    work, room = night.surroundings.traffic.work, sizes.room(night, night.used.costs)
    count = bundle_count(work, room, brokers)
    names, peak = night.world.bundles.names, np.quantile(work, 0.99, axis=0)
    giants = [{"bundle": names[i], "percent": 100.0 * float(peak[i]) / room} for i in count.giants]
    return {**asdict(count), "giants": giants}
