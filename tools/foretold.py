"""Hold rehearsals against reality: what was foretold of each recorded event, and what came.

Of each recording everything up to an event is taken, and nothing of what is later: its costs
are learned of that, and the event is rehearsed on many seeds.  How its traffic goes on, and what
its processes take, is drawn of that and of what was recorded of the other clusters.  Beside that
stands what the brokers then reported.  Writes docs/foretold.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from tools import beginnings as along
from tools.catalogue import code, table
from trimtab.diagnose.diagnosis import diagnose
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.lab.outcomes.intervals import Summary, summary
from trimtab.lab.reconstruct.cluster import (
    Measured,
    NothingToSimulateError,
    Rebuilt,
    rebuilt,
    recorded_traffic,
)
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.evidence_until import evidence_until
from trimtab.lab.rehearsal.beginnings import beginnings
from trimtab.lab.rehearsal.disturbed import rehearsed
from trimtab.lab.rehearsal.going_on import (
    Besides,
    Experience,
    besides_of,
    drawn_overhead,
    drawn_traffic,
    experience,
)
from trimtab.lab.rehearsal.likely_costs import likely_costs
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.rehearsal.processes import processes
from trimtab.lab.rehearsal.prolonged import prolonged
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.world import Event, Kind, Run
from trimtab.spark.choice import opened_runner
from trimtab.trials.recorded_cluster import evidence as recorded_evidence
from trimtab.trials.recorded_cluster import recorded
from trimtab.trials.what_if.command import steered_by

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "foretold.md"
RECORDINGS = ("threshold", "uniform", "avg", "avg-2")
#: Between the second smallest and the second largest of 20 there are seven cases in ten, not
#: eight: as many as it takes for the range to be what it is called.
SEEDS = 100
#: s for which the last event is followed, at least and at most; and s that are known before.
_LEAST_S, _MOST_S, _BEFORE_S = 60.0, 180.0, 90.0
_BEFORE_IT_S = 1.0
#: Events less than so many s apart were planned together.
_TOGETHER_S = 75.0
#: Percent from which a minute of a broker counts as full.
_FULL = 60.0
#: s of a window of a host, in all of the recordings.
_HOST_S = 60.0
#: Of what never came the ranges say little.
_BUT = "all that came at all"
_BEGIN, _END = "<!-- events -->\n", "<!-- end -->"
_WORDS = {Kind.JOIN: "joins", Kind.LEAVE: "is stopped", Kind.KILL: "is killed"}


class Night(NamedTuple):
    """A recording, whole."""

    name: str
    evidence: Evidence
    measured: Measured
    whole: Rebuilt
    balancer: Balancer


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of a night, and until when it is followed."""

    title: str
    #: s from the beginning of the whole night.
    at_s: float
    to_s: float
    events: tuple[Event, ...]


class Foretold(NamedTuple):
    """One figure of one event."""

    night: str
    event: str
    figure: str
    real: float
    foretold: Summary

    @property
    def is_inside(self) -> bool:
        """Return whether what came is in the range of eight seeds in ten."""
        return self.foretold.p10 - 1e-9 <= self.real <= self.foretold.p90 + 1e-9


def night(name: str) -> Night:
    """Read a recording that comes along."""
    with (
        open_recording(ROOT / "recordings" / name) as opened,
        opened_runner(opened.paths, cores=2, master=None) as runner,
        TemporaryDirectory(prefix="trimtab-") as folder,
    ):
        tables = Path(folder) / "tables"
        ingest(runner, opened, tables)
        document = diagnose(runner, tables, opened.cluster).findings
        cluster = recorded(tables, document)
        evidence, measured = recorded_evidence(tables, document)
    return Night(name, evidence, measured, cluster.rebuilt, steered_by(cluster))


def happenings(night: Night) -> Iterator[Happening]:
    """Yield the events of a night of which enough is known before and after."""
    coming = (Kind.JOIN, Kind.LEAVE, Kind.KILL)
    world = night.whole.world
    events = [event for event in world.events if event.kind in coming]
    used: set[int] = set()
    for i, event in enumerate(events):
        if i in used:
            continue
        group = [event]
        for j, later in enumerate(events[i + 1 :], i + 1):
            if later.time_s - group[-1].time_s >= _TOGETHER_S:
                break
            group.append(later)
            used.add(j)
        others = [each.time_s for each in events[i + len(group) :]]
        to_s = min([*others, world.duration_s, group[-1].time_s + _MOST_S])
        if event.time_s >= _BEFORE_S and to_s - group[-1].time_s >= _LEAST_S:
            yield Happening(_title(world.machines.names, group), event.time_s, to_s, tuple(group))


def _title(names: Sequence[str], group: Sequence[Event]) -> str:
    return ", ".join(
        f"{names[event.subjects[0]].partition(':')[0]} {_WORDS[event.kind]}" for event in group
    )


def foretold(
    night: Night, happening: Happening, others: Experience, *, is_traffic_known: bool = False
) -> list[Foretold]:
    """Return each figure of an event, foretold from what was known before it, and as it came.

    As `trimtab rehearse` has it of a night that is recorded, what clients then sent may be
    known, too.
    """
    begin_s = night.whole.grid.from_s
    # Of the event itself nothing, not even the first report of who joins.
    known = evidence_until(night.evidence, begin_s + happening.at_s - _BEFORE_IT_S)
    before = rebuilt(known, night.measured)
    # What is rebuilt of less may begin and end a little otherwise.
    shift_s = begin_s - before.grid.from_s
    missing_s = happening.to_s + shift_s - before.world.duration_s
    again, first = prolonged(before, missing_s), before.grid.n_ticks
    like = experience(before) + others
    at_s = happening.at_s + shift_s
    events = tuple(replace(each, time_s=each.time_s + shift_s) for each in happening.events)
    plan = Rehearsal(at_s, night.balancer, events)
    besides = _besides(again, before, plan, like)
    runs = []
    for seed, drawn in enumerate(likely_costs(before, like.processes, SEEDS)):
        costs = drawn_overhead(drawn, before, like, seed)
        if is_traffic_known:
            going = with_traffic(again, night.whole, first)
        else:
            going = drawn_traffic(again, first, like, seed)
        runs.append(rehearsed(going, plan, costs, seed, replace(besides, seed=seed)))
    windows = _windows(night.whole, happening)
    made = [_figures(run, windows, shift_s, at_s) for run in runs]
    return [
        Foretold(night.name, happening.title, name, real, summary([each[name] for each in made]))
        for name, real in _real(night, happening, windows).items()
    ]


def _besides(again: Rebuilt, before: Rebuilt, plan: Rehearsal, like: Experience) -> Besides:
    """Return what processes do that the plan does not say, where only `before` is known."""
    whole = besides_of(again, plan.events, like.processes, _HOST_S)
    return replace(whole, first=before.grid.n_ticks)


def with_traffic(again: Rebuilt, whole: Rebuilt, first: int) -> Rebuilt:
    """Return a cluster with the traffic that really came from a tick on."""
    shift = round((again.grid.from_s - whole.grid.from_s) / whole.grid.tick_s)
    came = slice(first + shift, again.grid.n_ticks + shift)
    columns = {}
    for name in ("rate_in", "rate_out", "size"):
        rows = getattr(whole.served, name)[came]
        columns[name] = getattr(again.served, name).copy()
        columns[name][first : first + len(rows)] = rows
    served = replace(again.served, **columns)
    traffic = recorded_traffic(served, again.used.costs)
    surroundings = replace(again.surroundings, traffic=traffic)
    return replace(again, served=served, surroundings=surroundings)


def _windows(whole: Rebuilt, happening: Happening) -> list[tuple[slice, int, float]]:
    """Return the ticks, the broker and the usage of each window that lies behind an event."""
    tick_s = whole.grid.tick_s
    shown = []
    for span, broker in whole.used.spans:
        is_in = span.start * tick_s >= happening.at_s and span.stop * tick_s <= happening.to_s
        usage = whole.used.usage[:, span, broker]
        if is_in and span.stop > span.start and not np.isnan(usage).all():
            shown.append((span, broker, float(np.nanmax(usage[:, 0]))))
    return shown


def _real(
    night: Night, happening: Happening, windows: Sequence[tuple[slice, int, float]]
) -> dict[str, float]:
    usage = [percent for _, _, percent in windows]
    owners, begin_s = night.evidence.owners, night.whole.grid.from_s
    last: dict[int, int] = {}
    moves = 0
    for at, bundle, broker in zip(
        (owners.time_s - begin_s).tolist(),
        owners.bundle.tolist(),
        owners.broker.tolist(),
        strict=True,
    ):
        if broker < 0:
            continue
        is_other = last.get(bundle, broker) != broker
        moves += is_other and happening.at_s <= at < happening.to_s
        last[bundle] = broker
    return _of(usage, float(moves))


def _figures(
    run: Run, windows: Sequence[tuple[slice, int, float]], shift_s: float, at_s: float
) -> dict[str, float]:
    """Return the same figures of a run, over the same windows."""
    shift = round(shift_s / run.tick_s)
    usage = []
    for span, broker, _ in windows:
        part = run.usage[max(0, span.start + shift) : span.stop + shift, broker]
        usage.append(0.0 if np.isnan(part).all() else float(np.nanmean(part)))
    moves = run.moves
    return _of(usage, float(((moves.time_s >= at_s) & (moves.source != moves.target)).sum()))


def _of(usage: Sequence[float], moves: float) -> dict[str, float]:
    return {
        "peak, %": max(usage, default=np.nan),
        f"minutes of brokers over {_FULL:g} %": float(sum(each > _FULL for each in usage)),
        "mean usage, %": float(np.mean(usage)) if usage else np.nan,
        "changes of owners": moves,
    }


def page(figures: Sequence[Foretold], known: Sequence[Foretold]) -> str:
    """Lay out every figure, and how many came as foretold; and with the traffic that came."""
    rows = [
        (
            code(each.night),
            each.event,
            each.figure,
            f"{each.real:.4g}",
            f"{each.foretold.median:.4g} ({each.foretold.p10:.4g} to {each.foretold.p90:.4g})",
            "yes" if each.is_inside else "**no**",
            f"{other.foretold.median:.4g} ({other.foretold.p10:.4g} to {other.foretold.p90:.4g})",
            "yes" if other.is_inside else "**no**",
        )
        for each, other in zip(figures, known, strict=True)
    ]
    shares = []
    names = tuple(dict.fromkeys(each.figure for each in figures))
    plain = {name: (name,) for name in names} | {"all": names, _BUT: _uncertain(figures, names)}
    for title, counted in plain.items():
        mine, others = (
            [each for each in every if each.figure in counted] for every in (figures, known)
        )
        if mine:
            shares.append((title, _share(mine), _off(mine), _share(others), _off(others)))
    inside, miss = "inside the range", "median miss of the median"
    of_traffic = "with the traffic that came"
    heads = ("figure", inside, miss, f"{inside}, {of_traffic}", f"{miss}, {of_traffic}")
    columns = ("recording", "what happened", "figure", "came", "foretold (10 to 90 %)", "inside")
    of_rows = (*columns, of_traffic, "inside")
    return f"\n{table(heads, shares)}\n{table(of_rows, rows)}\n"


def _uncertain(figures: Sequence[Foretold], names: Sequence[str]) -> tuple[str, ...]:
    """Return the figures that were not 0 each time."""
    return tuple(
        name for name in names if any(each.real for each in figures if each.figure == name)
    )


def _share(of: Sequence[Foretold]) -> str:
    inside = sum(each.is_inside for each in of)
    return f"{inside} of {len(of)} ({100 * inside / max(1, len(of)):.0f} %)"


def _off(of: Sequence[Foretold]) -> str:
    return f"{np.median([abs(each.foretold.median - each.real) for each in of]):.3g}"


def main(arguments: list[str]) -> int:
    """Write the page."""
    if arguments:
        print("usage: python -m tools.foretold")
        return 2
    figures, known = list[Foretold](), list[Foretold]()
    nights = {name: night(name) for name in RECORDINGS}
    along.write({name: processes(each.whole) for name, each in nights.items()})
    for name, read in nights.items():
        others = [experience(each.whole) for it, each in nights.items() if it != name]
        # Of processes what comes along, as whoever rehearses has it.
        elsewhere = replace(sum(others, Experience()), processes=beginnings(but=name))
        for happening in happenings(read):
            try:
                figures += foretold(read, happening, elsewhere)
                known += foretold(read, happening, elsewhere, is_traffic_known=True)
            except NothingToSimulateError as error:
                print(f"{name}: {happening.title}: {error}", flush=True)
                continue
            print(f"{name}: {happening.title}", flush=True)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    PAGE.write_text(
        before + _BEGIN + page(figures, known) + _END + rest.partition(_END)[2], "utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
