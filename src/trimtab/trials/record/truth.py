"""What really happened, beside a recording: what no operator knows, for whoever checks a tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import MINUTE_S
from trimtab.trials.record.documents import lines
from trimtab.trials.record.files import Files, iso
from trimtab.trials.record.scribe import Scribe

# Rows that are written at a time.
_ROWS = 10_000


def write_truth(scribe: Scribe, run: Run, files: Files) -> None:
    """Write lab/truth.jsonl: a line for each thing, `what` says of which kind."""
    rows: list[Mapping[str, Any]] = []
    for row in _rows(scribe, run):
        rows.append(row)
        if len(rows) == _ROWS:
            files.append("lab/truth.jsonl", lines(*rows))
            rows.clear()
    files.append("lab/truth.jsonl", lines(*rows))


def _rows(scribe: Scribe, run: Run) -> Iterator[Mapping[str, Any]]:
    balancer, world = scribe.simulation.balancer, run.world
    yield {
        "what": "run",
        "seed": world.seed,
        "shedder": balancer.shedder,
        "placer": balancer.placer,
        "release": balancer.release,
        "brokers": len(world.machines.names),
        "bundles": len(world.bundles.names),
        "counts": run.counts,
    }
    for event in world.events:
        names = world.bundles.names if event.kind == "split" else world.machines.names
        subjects = [names[i] for i in event.subjects]
        when = iso(scribe.ms(event.time_s))
        yield {
            "what": "event",
            "time": when,
            "kind": str(event.kind),
            "subjects": subjects,
            "value": event.value,
        }
    yield from _rounds(scribe, run)
    yield from _moves(scribe, run)
    yield from _traffic(scribe, run)
    owner = scribe.simulation.cluster.owner.tolist()
    for bundle, broker in zip(world.bundles.names, owner, strict=True):
        name = None if broker < 0 else world.machines.names[broker]
        yield {"what": "owner at the end", "bundle": bundle, "broker": name}


def _rounds(scribe: Scribe, run: Run) -> Iterator[Mapping[str, Any]]:
    """Return the rounds in which something was to be moved, or that failed."""
    rounds = run.rounds
    for i in np.flatnonzero((rounds.planned > 0) | np.array([bool(e) for e in rounds.error])):
        average = float(rounds.average[i])
        yield {
            "what": "round",
            "number": int(i),
            "time": iso(scribe.ms(float(rounds.time_s[i]))),
            "took_s": round(float(rounds.duration_s[i]), 3),
            "planned": int(rounds.planned[i]),
            "moved": int(rounds.moved[i]),
            "average": None if np.isnan(average) else average,
            "reasons": scribe.reasons.get(int(i), {}),
            "error": rounds.error[i] or None,
        }


def _moves(scribe: Scribe, run: Run) -> Iterator[Mapping[str, Any]]:
    """Return every change of an owner, with what the leader had said of it."""
    brokers, moves = run.world.machines.names, run.moves
    targets = {(number, bundle): target for number, bundle, target in scribe.targets}
    for i in range(moves.time_s.size):
        number, bundle = int(moves.round[i]), int(moves.bundle[i])
        source, target = int(moves.source[i]), int(moves.target[i])
        named = targets.get((number, bundle))
        usage = (moves.source_before, moves.source_after, moves.target_before, moves.target_after)
        yield {
            "what": "move",
            "time": iso(scribe.ms(float(moves.time_s[i]))),
            "round": number if number >= 0 else None,
            "bundle": run.world.bundles.names[bundle],
            "source": brokers[source] if source >= 0 else None,
            "target": brokers[target],
            "told": None if named is None else brokers[named],
            "reason": scribe.reasons.get(number, {}).get(brokers[source], "Lookup"),
            "usage_percent": [
                None if np.isnan(column[i]) else round(float(column[i]), 6) for column in usage
            ],
            "outage_s": round(float(moves.outage_s[i]), 3),
            "traffic_share": float(moves.traffic_share[i]),
            "is_fallback": bool(moves.is_fallback[i]),
        }


def _traffic(scribe: Scribe, run: Run) -> Iterator[Mapping[str, Any]]:
    """Return of what clients wanted, a row a minute."""
    ticks = max(1, round(MINUTE_S / run.tick_s))
    starts = np.arange(0, run.offered.size, ticks)
    sums = (np.add.reduceat(column, starts) for column in (run.offered, run.served, run.lost))
    for start, offered, served, lost in zip(
        starts.tolist(), *(column.tolist() for column in sums), strict=True
    ):
        yield {
            "what": "traffic",
            "time": iso(scribe.ms(start * run.tick_s)),
            "offered_bytes": offered,
            "served_bytes": served,
            "lost_bytes": lost,
        }
