"""A world and a balancer → a folder with what their cluster would have left."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.run import at_end, begin, going_on
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Event, Kind, Run, World
from trimtab.trials.record.deciding_parts import listened
from trimtab.trials.record.documents import lines
from trimtab.trials.record.files import Files, iso
from trimtab.trials.record.leader import RecordedLeader
from trimtab.trials.record.scribe import STARTED_S, Options, Scribe
from trimtab.trials.record.truth import write_truth

#: When the night begins: a simulation has no date of its own.
START = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)

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

    Properties:
        The same arguments give the same bytes.  Held in memory are the simulation and some
        minutes of logs, however long it goes on.  What breaks off, by Ctrl-C too, leaves the
        folder as it was: half a night would be explained as a whole one.

    Quirks:
        The leader goes by what is written down, to the last bit; so bundles need not move
        exactly as in a simulation that nobody records.
    """
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
    start_ms = round(START.timestamp() * 1000.0)
    scribe = Scribe(simulation, options, files, start_ms)
    listened(simulation, start_ms, (scribe, *options.witnesses), options.reported)
    run = _passed(simulation, scribe)
    scribe.close(world.duration_s)
    _write_settings(scribe, files)
    write_truth(scribe, run, files)
    return run


def _passed(simulation: Simulation, scribe: Scribe) -> Run:
    """Return the run of a simulation, all of whose time is let pass."""
    settings, leader = simulation.settings, simulation.leader
    assert isinstance(leader, RecordedLeader)
    phase = float(generator(simulation.world.seed, "leader").random())
    begin(simulation, phase * settings.shedding_interval_s)
    leader.follow_leader(scribe.ms(phase * settings.shedding_interval_s))
    return at_end(going_on(simulation))


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
