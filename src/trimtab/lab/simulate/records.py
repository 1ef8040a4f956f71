"""What a run leaves: ticks, minutes, moves and rounds as they happen, arrays at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.flow import Flow
from trimtab.lab.simulate.world import Moves, Predicted, Rounds, Run, World
from trimtab.pulsar.model import MINUTE_S, Floats

# Numbers whose means are taken at a time.
_AT_A_TIME = 1 << 14


@dataclass(slots=True)
class Move:
    """One row of `world.Moves`."""

    time_s: float
    round: int
    bundle: int
    source: int
    target: int
    source_before: float
    source_after: float
    target_before: float
    target_after: float
    source_end: float
    target_end: float
    mean: float
    outage_s: float
    traffic_share: float
    is_fallback: bool


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """A round of shedding, as it happened."""

    number: int
    time_s: float
    #: (n_brokers,) the strategy's score; NaN for a broker that the leader does not know.
    scores: NDArray[np.float32]
    duration_s: float = 0.0
    #: Bundles that the strategy named, and that were moved.
    planned: int = 0
    moved: int = 0
    #: Mean of the scores as the strategy counts it.
    average: float = math.nan
    #: What the class threw, or "".
    error: str = ""
    #: Why a strategy of trimtab's own did what it did.
    reason: str = ""


class Records:
    """Collects what happens."""

    def __init__(self, world: World, tick_s: float, n_ticks: int, cpu_convexity: float) -> None:
        """Make room; what is recorded stands in `Run`."""
        self.world, self.tick_s, self.cpu_convexity = world, tick_s, cpu_convexity
        self.minute_ticks = max(1, round(MINUTE_S / tick_s))
        brokers, minutes = len(world.machines.names), math.ceil(n_ticks / self.minute_ticks)
        self.usage: NDArray[np.float32] = np.full((n_ticks, brokers), np.nan, np.float32)
        self.totals: Floats = np.zeros((3, n_ticks))
        self.background: NDArray[np.float32] = np.full_like(self.usage, np.nan)
        self.work: Floats = np.zeros(n_ticks)
        #: (n_minutes, n_brokers) the last capacity in each minute.
        self.capacity: NDArray[np.float32] = np.full((minutes, brokers), np.nan, np.float32)
        self.moves: list[Move] = []
        self.rounds: list[RoundRecord] = []
        self.counts: dict[str, int] = {}
        self.predicted: list[Predicted] = []
        #: What the strategy advised, each once, in order.
        self.advice: dict[str, None] = {}

    def count(self, what: str, times: int = 1) -> None:
        """Count something that happened."""
        self.counts[what] = self.counts.get(what, 0) + times

    def flow(self, flow: Flow, cluster: Cluster) -> None:
        """Keep a stretch of ticks."""
        first, length = flow.first, len(flow.work)
        ticks = slice(first, first + length)
        up = slice(None) if cluster.is_up.all() else np.flatnonzero(cluster.is_up)
        self.usage[ticks, up] = flow.brokers.usage()[:, up]
        self.background[ticks, up] = flow.background[:, up]
        self.totals[:, ticks] = flow.offered, flow.served, flow.lost
        self.work[ticks] = flow.work
        minutes = slice(first // self.minute_ticks, (first + length - 1) // self.minute_ticks + 1)
        self.capacity[minutes, up] = cluster.capacity[up]

    def run(self, ticks: int, is_cut: bool) -> Run:
        """Return everything in arrays, as far as it got."""
        offered, served, lost = self.totals[:, :ticks]
        minutes = math.ceil(ticks / self.minute_ticks)
        work = np.add.reduceat(self.work[:ticks], np.arange(0, ticks, self.minute_ticks))
        lengths = np.diff(np.append(np.arange(0, ticks, self.minute_ticks), ticks))
        return Run(
            world=self.world,
            tick_s=self.tick_s,
            usage=self.usage[:ticks],
            offered=offered,
            served=served,
            lost=lost,
            background=_minute_means(self.background[:ticks], self.minute_ticks),
            capacity=self.capacity[:minutes],
            work=work / lengths,
            moves=_moves(self.moves),
            rounds=_rounds(self.rounds, len(self.world.machines.names)),
            cpu_convexity=self.cpu_convexity,
            is_cut=is_cut,
            counts=dict(sorted(self.counts.items())),
            predicted=tuple(self.predicted),
            advice=tuple(self.advice),
        )


def _minute_means(values: NDArray[np.float32], ticks: int) -> NDArray[np.float32]:
    """Return means over minutes, leaving out what is NaN; the last may be shorter."""
    some = ticks * max(1, _AT_A_TIME // max(1, ticks * values.shape[1]))
    firsts = range(0, max(1, len(values)), some)
    return np.concatenate([_few_means(values[first : first + some], ticks) for first in firsts])


def _few_means(values: NDArray[np.float32], ticks: int) -> NDArray[np.float32]:
    """Return the same of so few minutes that all of it stays in the processor's cache."""
    starts = np.arange(0, len(values), ticks)
    is_known = ~np.isnan(values)
    sums = np.add.reduceat(np.where(is_known, values, 0.0), starts, axis=0, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return (sums / np.add.reduceat(is_known, starts, axis=0, dtype=np.int64)).astype(np.float32)


def _moves(moves: list[Move]) -> Moves:
    """Return moves as arrays."""
    columns: dict[str, Any] = {}
    for column in fields(Moves):
        values = [getattr(move, column.name) for move in moves]
        kinds = {"round": np.int64, "bundle": np.int64, "source": np.int64, "target": np.int64}
        kind = np.bool_ if column.name == "is_fallback" else kinds.get(column.name, np.float64)
        columns[column.name] = np.array(values, kind)
    return Moves(**columns)


def _rounds(rounds: list[RoundRecord], brokers: int) -> Rounds:
    """Return rounds as arrays."""
    scores = np.array([record.scores for record in rounds], np.float32).reshape(-1, brokers)
    return Rounds(
        time_s=np.array([record.time_s for record in rounds], np.float64),
        duration_s=np.array([record.duration_s for record in rounds], np.float64),
        planned=np.array([record.planned for record in rounds], np.int64),
        moved=np.array([record.moved for record in rounds], np.int64),
        average=np.array([record.average for record in rounds], np.float64),
        scores=scores,
        error=tuple(record.error for record in rounds),
        reason=tuple(record.reason for record in rounds),
    )
