"""Holds simulated rounds of TransferShedder against Pulsar's class, state by state.

`PYTHONPATH=testbed python -m oracle.simulated --help`, or `make oracle-simulated`.

The laboratory runs a cluster under the extensible load manager; each round's load is written
down as the leader had it, the class is asked what it would have done, and its answer is compared
with what the simulated leader did: bundles, destinations, causes, hits, mean and deviation.  So
are the bundles that brokers published, of the bundles that they had.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import click

from oracle.extensible_agreement import difference
from oracle.java import OracleError, ask
from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.extensible.manager import ExtensibleManager
from trimtab.lab.simulate.run import passing
from trimtab.lab.simulate.simulation import Simulation
from trimtab.pulsar.map_order import ConcurrentHashMapKeys
from trimtab.pulsar.model import ExtensibleLoad

SHEDDER, PLACER = "TransferShedder", "LeastResourceUsageWithWeight"
SCENARIOS = ("S01", "S02", "S03", "S04", "S05", "S06", "S08", "S12")
#: From eager to Pulsar's own, so that states of all kinds are reached.
SETTINGS: tuple[Mapping[str, str], ...] = (
    {},
    {
        "loadBalancerBrokerLoadTargetStd": "0.05",
        "loadBalancerSheddingConditionHitCountThreshold": "0",
    },
    {"loadBalancerBrokerLoadTargetStd": "0.1", "loadBalancerDebugModeEnabled": "true"},
    {"loadBalancerBrokerLoadTargetStd": "0.1", "loadBalancerTransferEnabled": "false"},
)


@dataclass
class _Keys(ConcurrentHashMapKeys):
    """Keys that remember what was put in and taken out, since the order hangs on it."""

    changes: list[tuple[str, bool]] = field(default_factory=list)

    def put(self, key: str) -> None:
        """Put a key in."""
        super().put(key)
        self.changes.append((key, True))

    def remove(self, key: str) -> None:
        """Take a key out."""
        super().remove(key)
        self.changes.append((key, False))


def reached(
    scenario_name: str, seed: int, conf: Mapping[str, str], release: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the states that a run reaches as one sequence, and what was decided in each."""
    scenario = scenario_of(scenario_name)
    conf = {**scenario.settings, **conf}
    balancer = Balancer(SHEDDER, PLACER, release, conf)
    simulation = Simulation(drawn(scenario, seed), balancer, scenario.parameters)
    rounds: list[dict[str, Any]] = []
    decided: list[dict[str, Any]] = []
    keys, manager = _Keys(), ExtensibleManager(simulation)
    manager.loads.keys, simulation.steering = keys, manager
    for _ in passing(simulation):
        if manager.decided is None:
            continue
        load, decision = manager.decided
        rounds += _changed(keys, load)
        rounds.append(_round(load))
        unloads = [
            [u.source, u.bundle, u.target, str(t.cause)]
            for t in decision.transfers
            for u in t.unloads
        ]
        last = decision.transfers[-1].deviation if decision.transfers else decision.deviation
        decided.append(
            {
                "unload": sorted(unloads, key=json.dumps),
                "skip": None if decision.skipped is None else str(decision.skipped),
                "state": {"hits": manager.memory.hits, "avg": decision.average, "std": last},
            }
        )
    return {
        "id": f"{scenario_name}/{seed}/{json.dumps(dict(conf))}",
        "strategy": SHEDDER,
        "role": "shed",
        "tags": [],
        "conf": {key: _plain(value) for key, value in conf.items()},
        "rounds": rounds,
    }, decided


def _plain(value: str) -> object:
    """Return a setting as JSON has it."""
    try:
        plain: object = json.loads(value)
    except ValueError:
        return value
    return plain


def _changed(keys: _Keys, load: ExtensibleLoad) -> Iterator[dict[str, Any]]:
    """Yield rounds in which brokers publish and take back, in the order in which they did."""
    changes, keys.changes = keys.changes, []
    for name, is_there in changes:
        yield {"broker_load_data": {name: _published(load, name) if is_there else None}}


def _published(load: ExtensibleLoad, name: str) -> dict[str, Any]:
    """Return a broker's load data; any of one that has none any more."""
    if name not in load.brokers:
        return {"updatedAt": 0, "weightedMaxEMA": 0.0, "msgThroughputEMA": 0.0}
    i = load.brokers.index(name)
    return {
        "updatedAt": int(load.updated_at_ms[i]),
        "msgThroughputIn": float(load.throughput_in[i]),
        "msgThroughputOut": float(load.throughput_out[i]),
        "weightedMaxEMA": float(load.usage[i]),
        "msgThroughputEMA": float(load.throughput_smoothed[i]),
    }


def _round(load: ExtensibleLoad) -> dict[str, Any]:
    """Return a load as a round of a sequence."""
    tops: dict[str, list[list[Any]] | None] = {name: None for name in load.brokers}
    for i, broker in enumerate(load.bundle_broker.tolist()):
        listed = tops[load.brokers[broker]] or []
        row = [
            load.bundles[i],
            float(load.bundle_throughput_in[i]),
            float(load.bundle_throughput_out[i]),
        ]
        tops[load.brokers[broker]] = [*listed, row]
    others = [load.bundles[i] for i in (~load.bundle_is_sheddable).nonzero()[0].tolist()]
    return {
        "now": load.now_ms,
        "available_brokers": [
            name for name, is_there in zip(load.brokers, load.is_available, strict=True) if is_there
        ],
        "broker_load_data": {
            name: _published(load, name)
            for name, has in zip(load.brokers, load.has_load_data, strict=True)
            if has
        },
        "top_bundles": tops,
        # Whether it has moved on or was unloaded just now: it may not go.
        "recently_unloaded": sorted(set(others)),
        "recently_unloaded_brokers": dict(load.unloaded_at_ms),
        "shed": True,
    }


@click.command()
@click.option("--release", default="4.0.8", show_default=True, help="Pulsar's release.")
@click.option("--scenario", multiple=True, default=SCENARIOS, show_default=True)
@click.option("--seeds", default=1, show_default=True, help="Seeds of each.")
def main(release: str, scenario: tuple[str, ...], seeds: int) -> None:
    """Hold simulated rounds of TransferShedder against Pulsar's class."""
    states = unloading = differing = 0
    for name, seed, conf in product(scenario, range(seeds), SETTINGS):
        sequence, decided = reached(name, seed, conf, release)
        try:
            (answered,) = ask(release, [sequence])
        except OracleError as error:
            raise click.ClickException(str(error)) from error
        theirs = [round_ for round_ in answered["expect"] if "state" in round_]
        states += len(decided)
        unloading += sum(bool(each["unload"]) for each in decided)
        again = difference(answered)
        found = [f"decided again: round {again[0]}: {again[1]}"] if again else []
        for number, (ours, expected) in enumerate(zip(decided, theirs, strict=True)):
            for key in ("unload", "skip", "state"):
                was = expected.get(key)
                was = sorted(was, key=json.dumps) if key == "unload" else was
                if json.dumps(was, sort_keys=True) != json.dumps(ours[key], sort_keys=True):
                    found.append(f"round {number}: {key} was {was}, simulated {ours[key]}")
        differing += len(found)
        click.echo(f"{sequence['id']:<70} {len(decided):>4} states {len(found):>3} differ")
        for line in found[:3]:
            click.echo(f"  {line}")
    click.echo(f"{states} states, {unloading} of them unload something, {differing} differences")
    sys.exit(1 if differing or not states else 0)


if __name__ == "__main__":
    main()
