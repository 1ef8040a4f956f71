"""A world and a balancer → a folder with what their cluster would have left.

And the truth beside it: what no operator knows, for whoever checks a tool.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.lab.simulate.balancer import Balancer, is_extensible
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.run import at_end, begin, going_on
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Event, Kind, Run, World
from trimtab.lab.steering import StrategyError
from trimtab.pulsar.model import MINUTE_S
from trimtab.trials.record.deciding_parts import leader_with_listeners
from trimtab.trials.record.documents import lines
from trimtab.trials.record.files import Files, iso
from trimtab.trials.record.scribe import STARTED_S, Options, Scribe

# Rows of the truth that are written at a time.
_ROWS = 10_000
_CLASSES = "org.apache.pulsar.broker.loadbalance.impl"
# What people do to brokers, in the words of recorders.
_ACTIONS: Mapping[Kind, str] = {
    Kind.JOIN: "broker_start",
    Kind.LEAVE: "broker_stop",
    Kind.KILL: "broker_kill",
}


def record(
    world: World, balancer: Balancer, parameters: Parameters, root: Path, options: Options
) -> Run:
    """Return the run of a simulated cluster, whose recording is written as it goes on.

    Raises:
        FileExistsError: the folder is there and has something in it.
        OSError: it cannot be written.
        LookupError: a strategy is not in the release.
        SettingError: a setting of the balancer cannot be read.
        StrategyError: the extensible load manager leads, whose files are not written.

    Properties:
        The same arguments give the same bytes.  Held in memory are the simulation and some
        minutes of logs, however long it goes on.  What breaks off, by Ctrl-C too, leaves the
        folder as it was: half a night would be explained as a whole one.

    Quirks:
        The leader goes by what is written down, to the last bit; so bundles need not move
        exactly as in a simulation that nobody records.
    """
    if is_extensible(balancer):
        expected = "a shedder of the modular load manager, whose logs and reports can be written"
        raise StrategyError(str(balancer.shedder), expected)
    if root.exists() and any(root.iterdir()):
        raise FileExistsError(f"{root}: expected a folder that is empty or not there yet")
    was_there = root.exists()
    root.mkdir(parents=True, exist_ok=True)
    try:
        return _recorded(world, balancer, parameters, root, options)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        if was_there:
            root.mkdir(exist_ok=True)
        raise


def _recorded(
    world: World, balancer: Balancer, parameters: Parameters, root: Path, options: Options
) -> Run:
    """Return the run whose recording is written into a folder that is there and empty."""
    files = Files(root, options.is_packed)
    simulation = Simulation(world, balancer, parameters)
    start_ms = round(options.begin.timestamp() * 1000.0)
    scribe = Scribe(simulation, options, files, start_ms)
    leader = leader_with_listeners(
        simulation, start_ms, (scribe, *options.witnesses), options.reported
    )
    phase_s = float(generator(world.seed, "leader").random())
    phase_s *= simulation.settings.shedding_interval_s
    begin(simulation, phase_s)
    leader.follow_leader(scribe.ms(phase_s))
    run = at_end(going_on(simulation))
    scribe.close(world.duration_s)
    _write_settings(scribe, files)
    write_truth(scribe, run, files)
    return run


def _write_settings(scribe: Scribe, files: Files) -> None:
    """Write what is there once: recording.toml, settings, what people did."""
    world, balancer = scribe.simulation.world, scribe.simulation.balancer
    names = world.machines.names
    brokers = "".join(
        f'\n[brokers."{folder}"]\nid = "{name}"\n'
        for folder, name in zip(scribe.folders, names, strict=True)
    )
    files.write(
        "recording.toml",
        f'cluster = "{scribe.options.cluster}"\n'
        f'pulsar = "{balancer.release}"\n'
        'time_zone = "+00:00"\n'
        f'from = "{iso(scribe.ms(STARTED_S))}"\n'
        f'to = "{iso(scribe.ms(world.duration_s))}"\n{brokers}',
    )
    conf = {
        "loadManagerClassName": f"{_CLASSES}.ModularLoadManagerImpl",
        "loadBalancerLoadPlacementStrategy": f"{_CLASSES}.{balancer.placer}",
        **balancer.conf,
    }
    if balancer.shedder is None:
        conf["loadBalancerSheddingEnabled"] = "false"
    else:
        conf["loadBalancerLoadSheddingStrategy"] = f"{_CLASSES}.{balancer.shedder}"
    text = "".join(f"{key}={value}\n" for key, value in sorted(conf.items()))
    for folder in scribe.folders:
        files.write(f"conf/{folder}.conf", text)
    actions = [_action(scribe, event, i) for event in world.events for i in event.subjects]
    files.append("actions.jsonl", lines(*filter(None, actions)))


def _action(scribe: Scribe, event: Event, subject: int) -> Mapping[str, object]:
    if event.kind not in _ACTIONS:
        return {}
    name = scribe.simulation.world.machines.names[subject]
    when = iso(scribe.ms(event.time_s))
    return {"time": when, "event": _ACTIONS[event.kind], "broker": subject, "id": name}


def write_truth(scribe: Scribe, run: Run, files: Files) -> None:
    """Write lab/truth.jsonl: a line for each thing, `what` says of which kind."""
    rows = _rows(scribe, run)
    while some := list(itertools.islice(rows, _ROWS)):
        files.append("lab/truth.jsonl", lines(*some))


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
        yield {
            "what": "event",
            "time": iso(scribe.ms(event.time_s)),
            "kind": str(event.kind),
            "subjects": [names[i] for i in event.subjects],
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
