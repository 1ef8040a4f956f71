"""Load reports → when each broker's windows close; and the ticks of what is rebuilt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.evidence import Reports
from trimtab.pulsar.model import Flags, Floats

# How finely a phase is looked for, s.
_STEP_S = 0.5
# Times are stored to a microsecond, and phases are computed from them, s.
_ROUNDING_S = 1e-4
# A process writes its first report within so much of its beginning, s.
_FIRST_S = 10.0
# Fewer changes of a usage than that tell nothing of how often there is one.
_CHANGES_MIN = 10


@dataclass(frozen=True, slots=True)
class Grid:
    """Ticks of one length, from a moment on."""

    #: s from 1970.
    from_s: float
    tick_s: float
    n_ticks: int

    @property
    def end_s(self) -> Floats:
        """Return when each tick ends, (n_ticks,) s from 1970."""
        return self.from_s + self.tick_s * np.arange(1, self.n_ticks + 1, dtype=np.float64)

    def ended(self, time_s: float) -> int:
        """Return how many ticks have ended about some time; below 0 before the beginning."""
        return round((time_s - self.from_s) / self.tick_s)


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a broker's process, and when its windows close in it."""

    broker: int
    #: s; it began, which is its first report if that is told, and was seen to have gone
    #: (infinity: never).
    from_s: float
    to_s: float
    #: s above a multiple of the window's length; NaN if reports do not tell.
    host_phase_s: float
    stats_phase_s: float
    #: s; the first report that is told.
    told_s: float


def lives(reports: Reports, host_s: float, stats_s: float) -> tuple[Life, ...]:
    """Return the lives of all brokers, with the phases of the windows in each."""
    parts = []
    for broker in np.unique(reports.broker).tolist():
        mine = reports.broker == broker
        gone_s = reports.time_s[mine & reports.is_gone]
        started_s = reports.started_s[mine & ~reports.is_gone]
        for start in np.unique(started_s[~np.isnan(started_s)]).tolist():
            which = mine & ~reports.is_gone & (reports.started_s == start)
            told_s = float(reports.time_s[which].min())
            from_s = start if start < told_s - _FIRST_S else told_s
            later = gone_s[gone_s > told_s]
            to_s = float(later[0]) if later.size else np.inf
            phases = _host_phase(reports, which, host_s), _stats_phase(reports, which, stats_s)
            parts.append(Life(broker, from_s, to_s, *phases, told_s))
    return tuple(sorted(parts, key=lambda life: (life.from_s, life.broker)))


def closed(life: Life, time_s: Floats, stats_s: float) -> Floats:
    """Return when the last window of bundles closed before some times; the times if not known."""
    if np.isnan(life.stats_phase_s):
        return time_s
    windows = np.floor((time_s - life.stats_phase_s + _ROUNDING_S) / stats_s)
    return life.stats_phase_s + windows * stats_s


def host_window(reports: Reports, setting_s: float) -> float:
    """Return how long a window of a host is, s: what the setting says, or what reports show.

    A usage changes when a window closes.  If it changes more than twice as often as the setting
    says, in reports that brokers were asked for, windows are as short as that, in whole seconds.

    Quirks:
        Pulsar's setting is whole minutes; brokers of a test count them as seconds.
    """
    gaps = []
    for broker in np.unique(reports.broker).tolist():
        asked = (reports.broker == broker) & ~reports.is_gone & ~reports.is_stored
        times, cpu = reports.time_s[asked], reports.usage[asked, 0]
        changes = times[1:][cpu[1:] != cpu[:-1]]
        if changes.size > _CHANGES_MIN:
            gaps.append(float((changes[-1] - changes[0]) / (changes.size - 1)))
    shown_s = float(np.median(gaps)) if gaps else setting_s
    return max(1.0, round(shown_s)) if shown_s < setting_s / 2.0 else setting_s


def _host_phase(reports: Reports, which: Flags, host_s: float) -> float:
    """Return the phase that lies within most of the stretches in which usage was seen to change."""
    rows = np.flatnonzero(which)
    usage = np.nan_to_num(reports.usage[rows][:, [0, 3, 4]])
    changes = np.flatnonzero((usage[1:] != usage[:-1]).any(axis=1))
    if changes.size == 0:
        return float("nan")
    after, before = reports.time_s[rows[changes]], reports.time_s[rows[changes + 1]]
    is_short = before - after < host_s
    phases = np.arange(0.0, host_s, _STEP_S)
    inside = np.mod(phases - after[is_short, None], host_s) <= (before - after)[is_short, None]
    return _middle(phases, inside.sum(axis=0))


def _stats_phase(reports: Reports, which: Flags, stats_s: float) -> float:
    """Return when most reports are written: right after the broker has counted."""
    times = reports.time_s[which & reports.is_stored]
    # The first report is written before anything is counted.
    times = np.sort(times)
    if times.size and times[0] - reports.started_s[which][0] <= _FIRST_S:
        times = times[1:]
    if times.size == 0:
        return float("nan")
    phases = np.arange(0.0, stats_s, _STEP_S)
    near = np.mod(times[:, None] - phases + _STEP_S, stats_s) <= 2 * _STEP_S
    middle = _middle(phases, near.sum(axis=0))
    close = times[np.mod(times - middle + _STEP_S, stats_s) <= 2 * _STEP_S]
    # What is written at a moment was counted before it.
    return float(
        np.mod(np.min(np.mod(close - middle + _STEP_S, stats_s)) + middle - _STEP_S, stats_s)
    )


def _middle(phases: Floats, votes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Return the middle of the first longest run of phases with most votes, around the clock."""
    if votes.max() == 0:
        return float("nan")
    is_best = votes == votes.max()
    if is_best.all():
        return float(phases[0])
    shift = int(np.flatnonzero(~is_best)[0])
    rolled = np.roll(is_best, -shift).astype(np.int64)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], rolled, [0]))))
    begins, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - begins))
    at = (begins[longest] + ends[longest] - 1) / 2 + shift
    step = float(phases[1] - phases[0])
    return float(np.mod(at * step, step * phases.size))
