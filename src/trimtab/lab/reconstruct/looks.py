"""What a recording tells, as arrays → looks at its cluster, one a window, in order of time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs import Look
from trimtab.lab.costs.look import COUNTS
from trimtab.lab.reconstruct.evidence import (
    Evidence,
    Lines,
    Owners,
    ProcessCpu,
    Reports,
)
from trimtab.pulsar.model import Floats, Ints

# Windows over which scrapes of a process are taken, and fewest of them.
_SCRAPED = 1.5
_SCRAPES_MIN = 2
# Percent of a core in a core.
_OF_A_CORE = 100.0


@dataclass(frozen=True, slots=True)
class Moves:
    """Bundles that changed hands, in order of time; all arrays are (n_moves,)."""

    time_s: Floats
    bundle: Ints
    #: -1: nobody, as where it comes up for the first time.
    source: Ints
    target: Ints


@dataclass(frozen=True, slots=True)
class Sorted:
    """Reports that say something of CPU, in order of time, with the lines of each."""

    time_s: Floats
    broker: Ints
    #: (n_reports,) percent of the host's CPU, its cores, and when the process began.
    cpu: Floats
    cores: Floats
    started_s: Floats
    #: (n_lines,) position of the report, and what it says of a bundle.
    report: Ints
    bundle: Ints
    counts: Floats


def moves(owners: Owners) -> Moves:
    """Return the changes from one owner to another, whoever had the bundle in between."""
    kept = np.flatnonzero(owners.broker >= 0)
    order = kept[np.lexsort((owners.time_s[kept], owners.bundle[kept]))]
    bundle, broker = owners.bundle[order], owners.broker[order]
    is_first = np.append(True, bundle[1:] != bundle[:-1])
    source = np.where(is_first, -1, np.roll(broker, 1))
    changed = np.flatnonzero(source != broker)
    later = changed[np.argsort(owners.time_s[order][changed], kind="stable")]
    return Moves(owners.time_s[order][later], bundle[later], source[later], broker[later])


def sorted_reports(reports: Reports, lines: Lines) -> Sorted:
    """Return the reports that say what they use, with their lines."""
    limit, usage = reports.limit[:, 0], reports.usage[:, 0]
    kept = np.flatnonzero(~reports.is_gone & (limit > 0) & ~np.isnan(usage))
    kept = kept[np.argsort(reports.time_s[kept], kind="stable")]
    report = _report_of(reports, kept, lines)
    known = np.flatnonzero(report >= 0)
    counts = np.full((known.size, len(COUNTS)), np.nan)
    counts[:, :4] = lines.rates[known]
    counts[:, 4], counts[:, 5] = lines.topics[known], lines.producers[known]
    return Sorted(
        reports.time_s[kept],
        reports.broker[kept],
        100.0 * usage[kept] / limit[kept],
        limit[kept] / _OF_A_CORE,
        reports.started_s[kept],
        report[known],
        lines.bundle[known],
        counts,
    )


def _report_of(reports: Reports, kept: Ints, lines: Lines) -> Ints:
    """Return at which of some reports each line stands, (n_lines,); -1 for those of no report.

    Of several that a broker wrote at one time it is the last one.
    """
    if kept.size == 0:
        return np.full(lines.time_s.size, -1)
    times = np.unique(reports.time_s[kept])
    count = 1 + int(max(reports.broker[kept].max(), lines.broker.max(initial=-1)))
    key = np.searchsorted(times, reports.time_s[kept]) * count + reports.broker[kept]
    order = np.argsort(key, kind="stable")
    time = np.minimum(np.searchsorted(times, lines.time_s), times.size - 1)
    wanted = time * count + lines.broker
    place = np.maximum(np.searchsorted(key[order], wanted, side="right") - 1, 0)
    is_same = (times[time] == lines.time_s) & (key[order][place] == wanted)
    return np.where(is_same, order[place], -1)


def looks(evidence: Evidence, every_s: float) -> Iterator[Look]:
    """Yield looks at a recorded cluster; each tells what is new since the one before."""
    reports = sorted_reports(evidence.reports, evidence.lines)
    changed = moves(evidence.owners)
    if reports.time_s.size == 0:
        return
    begin_s, line_s = float(reports.time_s[0]), reports.time_s[reports.report]
    count = int((reports.time_s[-1] - begin_s) // every_s) + 1
    for i in range(count):
        # Who moved before the first look is where it is since long.
        from_s = begin_s + i * every_s if i else -np.inf
        to_s = begin_s + (i + 1) * every_s
        now = slice(*np.searchsorted(changed.time_s, (from_s, to_s)).tolist())
        look = _look(_stretch(reports, line_s, (from_s, to_s)), changed, now, to_s)
        yield _measured(look, evidence.process_cpu, every_s)


def _measured(look: Look, used: ProcessCpu, window_s: float) -> Look:
    """Return a look with what other processes took of hosts, where scrapes tell of the broker's.

    A report tells of the window before it, and so do the scrapes that are taken: those up to
    the look, from a window and a half before.
    """
    others = look.others.copy()
    for i, broker in enumerate(look.broker.tolist()):
        mine = (used.broker == broker) & (used.time_s < look.time_s)
        mine &= used.time_s >= look.time_s - _SCRAPED * window_s
        times, seconds = used.time_s[mine], used.used_s[mine]
        if times.size < _SCRAPES_MIN or times[-1] - times[0] < window_s / 2:
            continue
        cores = float(seconds[-1] - seconds[0]) / float(times[-1] - times[0])
        if cores >= 0:
            others[i] = max(look.cpu[i] - 100.0 * cores / look.cores[i], 0.0)
    return dataclasses.replace(look, others=others)


def _stretch(reports: Sorted, line_s: Floats, sides_s: tuple[float, float]) -> Sorted:
    """Return the reports from some time on and before another, with their lines.

    Args:
        reports: all of them.
        line_s: (n_lines,) when each line was said; they are in order of time, too.
        sides_s: both times.
    """
    first, last = np.searchsorted(reports.time_s, sides_s).tolist()
    rows = slice(first, last)
    lines = slice(*np.searchsorted(line_s, sides_s).tolist())
    return Sorted(
        reports.time_s[rows],
        reports.broker[rows],
        reports.cpu[rows],
        reports.cores[rows],
        reports.started_s[rows],
        reports.report[lines] - first,
        reports.bundle[lines],
        reports.counts[lines],
    )


def _look(reports: Sorted, changed: Moves, now: slice, time_s: float) -> Look:
    """Return means of what each broker said in a stretch."""
    rows = np.arange(reports.time_s.size)
    broker, of = np.unique(reports.broker, return_inverse=True)
    first, last = np.zeros(broker.size, np.int64), np.zeros(broker.size, np.int64)
    first[of[::-1]], last[of] = rows[::-1], rows
    # Not every report says when the process began.
    says = ~np.isnan(reports.started_s)
    started_s = np.full(broker.size, np.nan)
    started_s[of[says]] = reports.started_s[says]
    # One number for both: to sort pairs takes far longer.
    count = 1 + int(reports.bundle.max(initial=-1))
    of_line = of[reports.report] * count + reports.bundle
    different, at = np.unique(of_line, return_inverse=True)
    report, bundle = np.divmod(different, max(1, count))
    counts = [np.bincount(at, column, report.size) for column in reports.counts.T]
    return Look(
        time_s=time_s,
        broker=broker,
        written_s=reports.time_s[first],
        started_s=started_s,
        cpu=np.bincount(of, reports.cpu, broker.size) / np.maximum(np.bincount(of), 1),
        others=np.full(broker.size, np.nan),
        cores=reports.cores[last],
        report=report,
        bundle=bundle,
        counts=(counts / np.bincount(at, minlength=report.size)).T.copy(),
        moved=changed.bundle[now],
        moved_from=changed.source[now],
        moved_to=changed.target[now],
        moved_s=changed.time_s[now],
    )
