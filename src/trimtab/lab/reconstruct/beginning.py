"""When what is rebuilt begins, and what its brokers had said and its leader knew by then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.clocks import Life
from trimtab.lab.reconstruct.evidence import Averages, Evidence, Lines, Owners, Printed
from trimtab.lab.reconstruct.host_windows import percent
from trimtab.lab.simulate.standing import Listed, Reported, Standing
from trimtab.pulsar.leader.time_average import LONG_SAMPLES, SHORT_SAMPLES
from trimtab.pulsar.model import Floats, Ints

# Times are stored to a microsecond, s.
_SAME_S = 1e-4
# A bundle that is unloaded has its next owner within so much, s.
_UNLOADED_S = 20.0


@dataclass(frozen=True, slots=True)
class Before:
    """What the leader did before the beginning, and what tells of it."""

    #: It may have shed before the beginning, or before its log begins; and since when, s from
    #: the beginning: it led, and had waited as it does.
    has_shed: bool
    shed_s: float
    #: What the last round before the beginning printed; None if none is told.
    printed: Printed | None
    #: s from the beginning of each later round → what that printed.
    printed_at: Mapping[float, Printed]
    #: (n_bundles,) s from the beginning up to which it may have been unloaded without anybody's
    #: knowing; -inf: it was not, or so long ago that it does not matter.
    unseen_s: Floats

    @property
    def first(self) -> Printed | None:
        """Return what the first round printed; None if there is none."""
        return next(iter(self.printed_at.values()), None)


def begins_s(evidence: Evidence, lives: Sequence[Life], stats_s: float, report_s: float) -> float:
    """Return when what is rebuilt begins, s from 1970.

    That is with the first window that reports tell of, or with the election if the leader was
    elected in that window.  What brokers that had run for longer had said before the first
    report of them that is told nobody knows, so all begins with the last of these first
    reports; who is missing for longer than a broker may be silent is not waited for.
    """
    first_s = float(evidence.lines.time_s[0])
    begin_s = float(min(first_s - stats_s, *evidence.owners.time_s[:1]))
    elections = [time_s for time_s, _ in evidence.leaders if time_s <= first_s]
    latest_s = first_s + report_s + stats_s
    reports = [
        life.told_s
        for life in lives
        if life.from_s < life.told_s <= latest_s and life.from_s <= first_s
    ]
    return max([begin_s, *elections, *reports])


def before(
    evidence: Evidence, lives: Sequence[Life], from_s: float, shedding_s: float, grace_s: float
) -> Before:
    """Return what the leader did before a time, s from 1970.

    Args:
        evidence: what is told.
        lives: of all brokers.
        from_s: the time.
        shedding_s: for which a leader waits before it sheds.
        grace_s: for which it leaves a bundle alone that it has unloaded.
    """
    elections = [time_s for time_s, _ in evidence.leaders if time_s <= from_s]
    begins = [life.from_s for life in lives if life.from_s <= from_s < life.to_s]
    shed_s = max([*elections[-1:], min(begins, default=-np.inf)]) + shedding_s
    # Whoever unloads a bundle does so before it has its next owner.
    unlogged_s, owners = _unlogged_s(evidence, from_s), evidence.owners
    open_s = max(from_s, unlogged_s)
    latest_s = np.full(len(evidence.bundles), unlogged_s)
    rows = _owned(owners, unlogged_s)
    latest_s[owners.bundle[rows]] = np.minimum(owners.time_s[rows], unlogged_s)
    is_open = (latest_s >= shed_s) & (latest_s + grace_s > from_s)
    past = [each.printed for each in evidence.rounds if each.time_s <= from_s]
    return Before(
        has_shed=shed_s <= open_s,
        shed_s=shed_s - from_s,
        printed=past[-1] if past else None,
        printed_at={
            each.time_s - from_s: each.printed for each in evidence.rounds if each.time_s > from_s
        },
        unseen_s=np.where(is_open, latest_s - from_s, -np.inf),
    )


def standing(evidence: Evidence, lives: Sequence[Life], from_s: float, past: Before) -> Standing:
    """Return what had been reported by some time, and what the leader knew then.

    Averages that nobody stored are taken to be full of what was reported last, if it has led
    for some time.  What got its owner after its first round may have been, and before anything
    tells what it unloaded, is taken to have been unloaded by it.
    """
    rows = np.array(list(_last_reports(evidence, lives, from_s)), np.int64)
    reports, owners = evidence.reports, evidence.owners
    unloaded_s = np.full(len(evidence.bundles), -np.inf)
    moved = _owned(owners, _unlogged_s(evidence, from_s))
    since_s = from_s + past.shed_s if past.has_shed else np.inf
    moved = moved[owners.is_exact[moved] & (owners.time_s[moved] >= since_s)]
    shed = np.flatnonzero(owners.is_shed & (owners.time_s <= from_s))
    for changes in (moved, shed):
        unloaded_s[owners.bundle[changes]] = owners.time_s[changes] - from_s
    return Standing(
        reported=Reported(
            broker=reports.broker[rows],
            written_s=reports.time_s[rows] - from_s,
            usage=percent(reports, rows),
        ),
        listed=_listed(evidence, rows, from_s, past.has_shed),
        unloaded_s=unloaded_s,
    )


def _unlogged_s(evidence: Evidence, from_s: float) -> float:
    """Return up to when nothing tells what leaders unloaded, s; a time if nothing ever does."""
    first_s = min((each.time_s for each in evidence.rounds), default=from_s)
    return min(first_s, evidence.logged_s)


def _owned(owners: Owners, unlogged_s: float) -> Ints:
    """Return the changes to owners of what may have been unloaded before anything told so."""
    is_early = owners.time_s <= unlogged_s + _UNLOADED_S
    return np.flatnonzero(is_early & (owners.broker >= 0) & ~owners.is_shed)


def _last_reports(evidence: Evidence, lives: Sequence[Life], from_s: float) -> Iterator[int]:
    """Yield the row of the last report of each broker that is there."""
    reports = evidence.reports
    for life in lives:
        if life.from_s <= from_s < life.to_s:
            rows = np.flatnonzero(
                (reports.broker == life.broker)
                & ~reports.is_gone
                & (reports.time_s >= life.from_s)
                & (reports.time_s <= from_s + _SAME_S)
            )
            yield from rows[-1:].tolist()


def _listed(evidence: Evidence, rows: Ints, from_s: float, is_old: bool) -> Listed:
    """Return what some reports say of bundles, with the averages of some time."""
    lines, reports = evidence.lines, evidence.reports
    parts = [_lines_of(lines, reports.broker[row], reports.time_s[row]) for row in rows.tolist()]
    mine = np.concatenate([np.empty(0, np.int64), *parts])
    bundle, rates = lines.bundle[mine], lines.rates[mine, :2]
    full = np.array([SHORT_SAMPLES, LONG_SAMPLES]) if is_old else np.zeros(2, np.int64)
    samples, average = np.tile(full, (mine.size, 1)), np.repeat(rates[:, None], 2, axis=1)
    for i, row in _stored(evidence.averages, bundle, from_s):
        samples[i], average[i] = evidence.averages.samples[row], evidence.averages.rates[row]
    return Listed(bundle, lines.broker[mine], rates[:, 0], rates[:, 1], samples, average)


def _lines_of(lines: Lines, broker: int, time_s: float) -> Ints:
    """Return the rows of what a broker said at some time."""
    sides = (time_s - 2 * _SAME_S, time_s + 2 * _SAME_S)
    near = slice(*np.searchsorted(lines.time_s, sides).tolist())
    is_same = np.abs(lines.time_s[near] - time_s) < _SAME_S
    return np.asarray(near.start + np.flatnonzero((lines.broker[near] == broker) & is_same))


def _stored(averages: Averages, bundles: Ints, from_s: float) -> Iterator[tuple[int, int]]:
    """Yield positions of bundles, each with the row of the average that was stored last."""
    rows = np.flatnonzero(averages.time_s <= from_s)
    last = dict(zip(averages.bundle[rows].tolist(), rows.tolist(), strict=True))
    for i, bundle in enumerate(bundles.tolist()):
        if bundle in last:
            yield i, last[bundle]
