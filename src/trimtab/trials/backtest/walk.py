"""Looks at a cluster, one after the other → each move predicted, beside what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs import Knowledge, Look, Windows, learned, nothing_known, predicted
from trimtab.lab.costs.predict import level_now, unmoved
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.looks import Moves, Sorted, looks, moves, sorted_reports
from trimtab.pulsar.model import MINUTE_S, Ints

# Moves that are so close to each other are one, s.
_AT_ONCE_S = 60.0
# s between predictions of brokers that nobody touches.
_CALM_EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class Horizons:
    """How far predictions look ahead that are held against what came, minutes."""

    #: From a move on.
    moves: tuple[float, ...] = (5, 30)
    #: Of brokers that nobody touched.
    calm: tuple[float, ...] = (5, 30, 60)
    #: s of which the usage is averaged that a prediction is held against.
    averaged_s: float = 120.0


USUAL = Horizons()


def horizons(minutes: Sequence[float]) -> Horizons:
    """Return how far predictions look ahead if they look so many minutes ahead; `USUAL` of none.

    Usage is averaged over two thirds of the shortest, and over the usual time at most.
    """
    if not minutes:
        return USUAL
    averaged_s = min(USUAL.averaged_s, min(minutes) * MINUTE_S * 2.0 / 3.0)
    return Horizons(tuple(minutes), tuple(minutes), averaged_s)


@dataclass(frozen=True, slots=True)
class Scored:
    """One broker at one time: what was predicted of it, and what came; percent of CPU."""

    #: Whether bundles moved there; where none did, the change is the drift.
    is_move: bool
    minutes: float
    time_s: float
    broker: int
    #: Bundles that came or went until then.
    bundles: int
    before: float
    after: float
    #: Standard deviations of the measured change and of the measured usage about these.
    change_deviation: float
    deviation: float
    measured_before: float
    measured_after: float
    #: Change by the share of traffic.
    by_share: float


@dataclass(frozen=True, slots=True)
class Backtest:
    """What came of a walk through a recording."""

    scored: tuple[Scored, ...]
    #: What was known at the end.
    known: Knowledge
    #: Brokers touched that could not be scored: why → how many.
    skipped: dict[str, int]


def backtest(evidence: Evidence, windows: Windows, ahead: Horizons = USUAL) -> Backtest:
    """Return the predictions of a walk through a recording; each knows only what was before it."""
    walk = _Walk(evidence, windows, ahead)
    known = nothing_known(evidence.brokers, evidence.bundles)
    scored = list[Scored]()
    for look in looks(evidence, windows.host_s):
        # What was known before the look decides what is predicted of moves in it.
        if np.isfinite(known.time_s):
            scored += walk.moves(known, look)
            scored += walk.calm(known)
        known = learned(known, look, windows)
    return Backtest(tuple(scored), known, walk.skipped)


class _Walk:
    """What a recording says later, which no prediction may know."""

    def __init__(self, evidence: Evidence, windows: Windows, ahead: Horizons) -> None:
        self.windows = windows
        self.ahead = ahead
        self.reports: Sorted = sorted_reports(evidence.reports, evidence.lines)
        self.changed: Moves = moves(evidence.owners)
        gone = evidence.reports.is_gone
        self.gone_s, self.gone = evidence.reports.time_s[gone], evidence.reports.broker[gone]
        self.skipped: dict[str, int] = {}
        self._last_s = self._calm_s = -np.inf

    def moves(self, known: Knowledge, look: Look) -> Iterator[Scored]:
        """Yield the brokers between which bundles began to move, and what became of them."""
        real = np.flatnonzero((look.moved_from >= 0) & (look.moved_s > self._last_s + _AT_ONCE_S))
        if real.size == 0:
            self._last_s = max([self._last_s, *look.moved_s.tolist()])
            return
        time_s = float(look.moved_s[real[0]])
        near = look.moved_s <= time_s + _AT_ONCE_S
        touched = np.unique(np.concatenate((look.moved_from[near], look.moved_to[near])))
        self._last_s = float(look.moved_s.max())
        for minutes in self.ahead.moves:
            yield from self._at(known, touched[touched >= 0], time_s, minutes)

    def calm(self, known: Knowledge) -> Iterator[Scored]:
        """Yield brokers that nobody touches for some time."""
        if known.time_s - self._calm_s < _CALM_EVERY_S:
            return
        self._calm_s = known.time_s
        for minutes in self.ahead.calm:
            until_s = known.time_s + minutes * MINUTE_S + self.ahead.averaged_s / 2
            between = self._between(known.time_s - self.windows.settled_s, until_s)
            moved = np.concatenate((self.changed.source[between], self.changed.target[between]))
            calm = np.setdiff1d(np.arange(len(known.broker_names)), moved)
            nothing = np.empty(0, np.int64)
            yield from self._scored(known, calm, known.time_s, minutes, (nothing, nothing))

    def _between(self, from_s: float, to_s: float) -> slice:
        return slice(*np.searchsorted(self.changed.time_s, (from_s, to_s)).tolist())

    def _at(
        self, known: Knowledge, touched: Ints, time_s: float, minutes: float
    ) -> Iterator[Scored]:
        """Yield brokers some time after a move, with all moves that were made until then."""
        until_s = time_s + minutes * MINUTE_S - self.windows.settled_s
        between = self._between(time_s, until_s)
        bundle, to = self.changed.bundle[between][::-1], self.changed.target[between][::-1]
        bundle, last = np.unique(bundle, return_index=True)
        yield from self._scored(known, touched, time_s, minutes, (bundle, to[last]))

    def _scored(
        self,
        known: Knowledge,
        brokers: Ints,
        time_s: float,
        minutes: float,
        made: tuple[Ints, Ints],
    ) -> Iterator[Scored]:
        bundle, to = made
        unknown = known.bundles.windows[bundle] == 0
        moved = known.bundles.owner[bundle] != to
        of_unknown = np.concatenate((to[unknown], known.bundles.owner[bundle[unknown]]))
        ours = self._predicted(
            known, brokers, (bundle[moved & ~unknown], to[moved & ~unknown]), minutes
        )
        for broker, row in ours.items():
            after_s, averaged_s = time_s + minutes * MINUTE_S, self.ahead.averaged_s
            measured = self._mean(broker, after_s - averaged_s / 2, after_s + averaged_s / 2)
            before = self._mean(broker, time_s - averaged_s, time_s)
            reason = self._reason(known, broker, time_s, after_s)
            if broker in of_unknown:
                reason = "a bundle of unknown traffic moved"
            if np.isnan(measured) or np.isnan(before):
                reason = reason or "no report at that time"
            if reason:
                if bundle.size:
                    self.skipped[reason] = self.skipped.get(reason, 0) + 1
                continue
            noise = known.brokers.window_variance[broker] * self.windows.host_s / averaged_s
            yield Scored(
                bool(bundle.size),
                minutes,
                time_s,
                broker,
                int(row[5]),
                row[0],
                row[1],
                float(np.sqrt(row[2] ** 2 + row[4] + 2.0 * noise)),
                float(np.sqrt(row[3] ** 2 + noise)),
                before,
                measured,
                self._by_share(known, broker, (bundle[moved], to[moved])),
            )

    def _predicted(
        self, known: Knowledge, brokers: Ints, made: tuple[Ints, Ints], minutes: float
    ) -> dict[int, tuple[float, float, float, float, float, int]]:
        """Return by broker: before, after, deviations of both, variance by itself, bundles."""
        bundle, to = made
        horizon_s = minutes * MINUTE_S
        ours = predicted(known, bundle, to, horizon_s)
        calm = unmoved(known, np.setdiff1d(brokers, ours.broker), horizon_s)
        rows = {}
        for each in (ours, calm):
            for i, broker in enumerate(each.broker.tolist()):
                if broker not in brokers:
                    continue
                own = float((known.bundles.owner[bundle] == broker).sum() + (to == broker).sum())
                rows[broker] = (
                    float(each.before[i]),
                    float(each.after[i]),
                    float(each.change_deviation[i]),
                    float(each.deviation[i]),
                    each.drift_variance,
                    int(own),
                )
        return rows

    def _reason(self, known: Knowledge, broker: int, time_s: float, after_s: float) -> str:
        """Return why nothing can be said of a broker; blank if something can."""
        if np.isnan(known.brokers.level[broker]):
            return "nothing measured of the broker before"
        mine = self.reports.broker == broker
        near = self.reports.time_s <= after_s + self.ahead.averaged_s
        began = self.reports.started_s[mine & near]
        # A start that nobody had told of before what is known is none.
        if (began > max(known.brokers.started_s[broker] + 1.0, known.time_s)).any():
            return "the broker began anew"
        gone = (self.gone == broker) & (self.gone_s > time_s) & (self.gone_s < after_s)
        return "the broker left" if gone.any() else ""

    def _mean(self, broker: int, from_s: float, to_s: float) -> float:
        mine = (self.reports.broker == broker) & (self.reports.time_s >= from_s)
        mine &= self.reports.time_s <= to_s
        return float(self.reports.cpu[mine].mean()) if mine.any() else float("nan")

    def _by_share(self, known: Knowledge, broker: int, made: tuple[Ints, Ints]) -> float:
        """Return the change by shares of bytes, as shedders reckon it: usage times share."""
        bundle, to = made
        owner, bytes_ = known.bundles.owner, known.bundles.counts[:, 2:4].sum(axis=1)
        level = level_now(known)
        change = 0.0
        for each, target in zip(bundle.tolist(), to.tolist(), strict=True):
            source = int(owner[each])
            total = float(bytes_[owner == source].sum())
            if source < 0 or total <= 0 or np.isnan(level[source]):
                continue
            part = float(level[source] * bytes_[each] / total)
            change += part * ((target == broker) - (source == broker))
        return change
