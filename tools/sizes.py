"""Hold `trimtab size` against brute force: simulated clusters of which the need is known.

A cluster is drawn, simulated on the brokers that it has, and what its brokers say is all that
is known of it.  How many brokers it needs is found by trying all numbers on the cluster itself,
with its true costs, in several nights; and by `Sizes` on what was said of one.  Worlds that are
done are kept in build/sizes, as long as the program is the same; the rest is done in as many
minutes as given.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tools.catalogue import table
from trimtab.lab.reconstruct.cluster import Measured, rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs
from trimtab.lab.reconstruct.evidence import Evidence, Lines, Owners, Reports, Round
from trimtab.lab.rehearsal.measures import Bar, measures
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.physics import costs as physics_costs
from trimtab.lab.simulate.physics import work as physics_work
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.scenario import scenario
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.traffic import Traffic
from trimtab.lab.simulate.world import Event, Kind, Run, World
from trimtab.lab.sizing.sized import alike, shared_out
from trimtab.pulsar.model import Floats
from trimtab.spark.program import digest
from trimtab.trials.size.document import Needs
from trimtab.trials.size.work import Sizes

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "size.md"
KEPT = ROOT / "build" / "sizes"
WORLDS = 200
#: The first world; those before it have been looked at, to mend what was wrong there.
FIRST = 1000
SEEDS = 30
#: Nights of a world, of which more than half must keep to the bar: what came of one is luck.
NIGHTS = 5
BAR = Bar(peak_percent=85.0, over_min=3.0, topics=None, ownerless_s=60.0)
#: s of a window of a host and of a bundle, and of a step of traffic.
_WINDOW_S, _STEP_S = 60.0, 15.0
_MOST = 24
_MINUTES = 14
#: s from 1970 at which every night begins.
_ZERO_S = 1_700_000_000.0
_KBIT = 125.0
_BEGIN, _END = "<!-- brute force -->\n", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class KnownWorld:
    """One world: what it needs, and what is said of it."""

    seed: int
    brokers: int
    bundles: int
    #: By all numbers tried; None: none up to the most that is tried.
    need: int | None
    usual: float
    sure: float


def cluster_of(seed: int) -> tuple[Scenario, Balancer]:
    """Draw a cluster: how large, how loaded, how uneven, and who steers it."""
    random = np.random.default_rng([22, seed])
    brokers = int(random.integers(3, 9))
    pair = [
        ("ThresholdShedder", "LeastResourceUsageWithWeight"),
        ("UniformLoadShedder", "LeastLongTermMessageRate"),
        ("AvgShedder", "AvgShedder"),
        (None, "LeastLongTermMessageRate"),
    ][int(random.integers(4))]
    text = {
        "run": {"minutes": _MINUTES, "release": "4.0"},
        "machines": [{"count": brokers}],
        "bundles": [
            {
                "count": int(random.integers(30, 70)),
                "sigma": float(random.uniform(0.3, 1.0)),
                "cost_sigma": float(random.uniform(0.0, 0.4)),
                "clipped_at": 5.0,
            }
        ],
        "traffic": {"cpu_percent": float(random.uniform(25.0, 70.0))},
        "events": [
            {
                "what": "traffic",
                "at_min": 6,
                "until_min": 11,
                "factor": float(random.uniform(1.1, 1.6)),
                "ramp_min": 1,
            }
        ],
    }
    return scenario(text, f"world {seed}"), Balancer(*pair, "4.0")


def truth(world: World, balancer: Balancer, cluster: Scenario) -> int | None:
    """Return the least number of brokers from which on all keep to the bar in most nights.

    The first night is the one that was recorded; the others have other luck.
    """
    nights = [world] + [replace(world, seed=1_000_000 * i + world.seed) for i in range(1, NIGHTS)]
    works = [_work(night, cluster) for night in nights]
    need = None
    for count in range(_MOST, 1, -1):
        kept = broken = 0
        for night, work in zip(nights, works, strict=True):
            is_kept = _keeps(night, work, balancer, cluster, count)
            kept, broken = kept + is_kept, broken + (not is_kept)
            if 2 * max(kept, broken) > NIGHTS:
                break
        if broken > kept:
            break
        need = count
    return need


def _work(world: World, cluster: Scenario) -> Floats:
    """Return the work that the bundles really bring, (n_steps, n_bundles)."""
    physics = cluster.parameters.physics
    rows = Traffic(world, physics, None).rows(0, int(world.duration_s // _STEP_S))
    return physics_work(physics_costs(world.bundles, physics), rows.rate_in, rows.rate_out)


def _keeps(world: World, work: Floats, balancer: Balancer, cluster: Scenario, count: int) -> bool:
    """Return whether one night keeps to the bar on so many brokers, of which one is lost."""
    peak = int(work.sum(axis=1).argmax())
    owner = shared_out(work.mean(axis=0), count)
    fullest = int(np.bincount(owner, work[peak], count).argmax())
    lost_s = min(max(peak * _STEP_S - 120.0, 120.0), world.duration_s / 2)
    tried = replace(
        world,
        machines=alike(world.machines, count),
        bundles=replace(world.bundles, owner=owner),
        events=(Event(lost_s, Kind.KILL, (fullest,)),),
        event_s=120.0,
    )
    return BAR.is_met(measures(simulated(tried, balancer, cluster.parameters), BAR))


def evidence_of(run: Run, world: World, cluster: Scenario) -> Evidence:
    """Return what the brokers of a run say: each minute its usage and what its bundles carried."""
    windows = int(world.duration_s // _WINDOW_S)
    steps, ticks = round(_WINDOW_S / _STEP_S), round(_WINDOW_S / run.tick_s)
    physics = cluster.parameters.physics
    rows = Traffic(world, physics, None).rows(0, windows * steps)
    n_brokers, n_bundles = len(world.machines.names), len(world.bundles.names)
    means = [
        each.reshape(windows, steps, n_bundles).mean(axis=1)
        for each in (rows.rate_in, rows.rate_out, rows.bytes_in, rows.bytes_out)
    ]
    owner = np.tile(world.bundles.owner, (windows, 1))
    for at_s, bundle, target in zip(
        run.moves.time_s.tolist(), run.moves.bundle.tolist(), run.moves.target.tolist(), strict=True
    ):
        owner[int(at_s // _WINDOW_S) + 1 :, bundle] = target
    end_s = _ZERO_S + (np.arange(windows) + 1) * _WINDOW_S
    usage = np.zeros((windows, n_brokers, 5))
    usage[:, :, 0] = run.usage[: windows * ticks].reshape(windows, ticks, n_brokers).mean(axis=1)
    for i in range(windows):
        into, out = (np.bincount(owner[i], each[i], n_brokers) for each in means[2:])
        received, sent = into + physics.nic_in_share * out, physics.write_quorum * into + out
        usage[i, :, 3], usage[i, :, 4] = received / _KBIT, sent / _KBIT
    limit = np.broadcast_to(
        np.array([100.0, 100.0, 100.0, *(2 * [float(world.machines.nic[0]) / _KBIT])]),
        (windows * n_brokers, 5),
    )
    times_s = np.repeat(end_s, n_brokers)
    who = np.tile(np.arange(n_brokers), windows)
    reports = Reports(
        time_s=times_s,
        broker=who,
        is_gone=np.zeros(times_s.size, np.bool_),
        is_stored=np.ones(times_s.size, np.bool_),
        started_s=np.full(times_s.size, _ZERO_S - 86400.0),
        usage=usage.reshape(-1, 5),
        limit=limit,
    )
    lines = Lines(
        time_s=np.repeat(end_s, n_bundles),
        broker=owner.reshape(-1),
        bundle=np.tile(np.arange(n_bundles), windows),
        rates=np.stack([each.reshape(-1) for each in means], axis=1),
        topics=np.tile(world.bundles.topics, windows),
        producers=np.tile(world.bundles.topics, windows),
        is_prompt=np.zeros(windows * n_bundles, np.bool_),
    )
    first = np.arange(n_bundles)
    owners = Owners(
        time_s=_ZERO_S + np.append(np.zeros(n_bundles), run.moves.time_s),
        bundle=np.append(first, run.moves.bundle),
        broker=np.append(world.bundles.owner, run.moves.target),
        is_shed=np.append(np.zeros(n_bundles, np.bool_), run.moves.round >= 0),
        is_exact=np.ones(n_bundles + run.moves.bundle.size, np.bool_),
    )
    return Evidence(
        brokers=world.machines.names,
        bundles=world.bundles.names,
        reports=reports,
        lines=lines,
        owners=owners,
        leaders=((_ZERO_S - 600.0, 0),),
        stops=(),
        rounds=tuple(Round(_ZERO_S + at_s) for at_s in run.rounds.time_s.tolist()),
    )


def world_of(seed: int) -> KnownWorld:
    """Return one world: its need by brute force, and what is said of it."""
    cluster, balancer = cluster_of(seed)
    world = drawn(cluster, seed)
    run = simulated(world, balancer, cluster.parameters)
    measured = Measured(host_s=_WINDOW_S, stats_s=_WINDOW_S, write_quorum=2.0)
    again = rebuilt(evidence_of(run, world, cluster), measured)
    sizes = Sizes(again, balancer, drawn_costs(again, SEEDS), BAR)
    needs = Needs(tuple(sizes.need(1.0, each) for each in range(SEEDS)))
    return KnownWorld(
        seed=seed,
        brokers=len(world.machines.names),
        bundles=len(world.bundles.names),
        need=truth(world, balancer, cluster),
        usual=needs.usual,
        sure=needs.sure,
    )


def summary(worlds: list[KnownWorld]) -> str:
    """Lay out how often the answer is right, and how often too few."""
    known = [each for each in worlds if each.need is not None]
    off = [each.usual - each.need for each in known if each.need is not None]
    count = len(known)
    few = sum(each.sure < each.need for each in known if each.need is not None)
    rows = [
        ("worlds, of which some number up to 24 will do", f"{len(worlds)}, {count}"),
        ("the same number", _share(sum(each == 0 for each in off), count)),
        ("right within one broker", _share(sum(abs(each) <= 1 for each in off), count)),
        ("too few by more than one", _share(sum(each < -1 for each in off), count)),
        ("too many by more than one", _share(sum(each > 1 for each in off), count)),
        ("the almost sure number is too few", _share(few, count)),
        ("the almost sure number above the need", f"{_mean(known):.1f} brokers on average"),
    ]
    return f"\n{table(('what', 'how often'), rows)}\n"


def _mean(known: list[KnownWorld]) -> float:
    return float(np.mean([min(each.sure, _MOST) - (each.need or 0) for each in known]))


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / max(1, whole):.1f} %)"


def kept(until_s: float) -> list[KnownWorld]:
    """Return the worlds that are done, after as many more as there is time for."""
    KEPT.mkdir(parents=True, exist_ok=True)
    worlds = []
    for seed in range(FIRST, FIRST + WORLDS):
        path = KEPT / f"{seed:04}.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if known.pop("program", None) == digest():
            worlds.append(KnownWorld(**known))
        elif time.monotonic() < until_s:
            made = world_of(seed)
            document = {name: getattr(made, name) for name in KnownWorld.__slots__}
            path.write_text(json.dumps({"program": digest(), **document}), encoding="utf-8")
            print(document, flush=True)
            worlds.append(made)
    return worlds


def main(arguments: list[str]) -> int:
    """Write the table of the page, after so many minutes of worlds."""
    if len(arguments) > 1:
        print("usage: python -m tools.sizes [MINUTES]")
        return 2
    minutes = float(arguments[0]) if arguments else 1e9
    worlds = kept(time.monotonic() + 60.0 * minutes)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    PAGE.write_text(before + _BEGIN + summary(worlds) + _END + rest.partition(_END)[2], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
