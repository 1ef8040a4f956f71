"""Hold `trimtab size` against brute force: simulated clusters of which the need is known.

A cluster is drawn, simulated on the brokers that it has, and what its brokers say is all that
is known of it.  How many brokers it needs is found by trying all numbers on the cluster itself,
with its true costs, in several nights; and by `Sizes` on what was said of one.  Worlds that are
done are kept in build/sizes, as long as the program is the same; the rest is done in as many
minutes as given.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tools.catalogue import table
from trimtab.lab.reconstruct.cluster import Measured, rebuilt
from trimtab.lab.reconstruct.costs_by_usage import costs_by_usage
from trimtab.lab.reconstruct.evidence import Evidence, Lines, Owners, Reports, Round
from trimtab.lab.reconstruct.host_windows import by_broker
from trimtab.lab.rehearsal.measures import Bar, measures
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.physics import costs as physics_costs
from trimtab.lab.simulate.physics import work as physics_work
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.scenario import scenario
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.traffic import Traffic
from trimtab.lab.simulate.world import Run, World
from trimtab.lab.sizing.sized import alike, loss, shared_out
from trimtab.pulsar.model import Floats, Ints
from trimtab.spark.program import digest
from trimtab.trials.size.document import Needs
from trimtab.trials.size.work import Sizes

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "size.md"
KEPT = ROOT / "build" / "sizes"
WORLDS = 200
#: The first world, drawn from the commit that froze what is judged, 812efb3e: nothing of it had
#: been seen.
FIRST = 529135
SEEDS = 30
#: Nights of a world, of which more than half must keep to the bar: what came of few is luck.
NIGHTS = 15
BAR = Bar(peak_percent=85.0, over_min=3.0, topics=None, ownerless_s=60.0)
#: s of a window of a host and of a bundle, and of a step of traffic.
_WINDOW_S, _STEP_S = 60.0, 15.0
_MOST = 24
_MINUTES = 30
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
                "at_min": 13,
                "until_min": 24,
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
    owner = shared_out(work.mean(axis=0), count)
    tried = replace(
        world,
        machines=alike(world.machines, count),
        bundles=replace(world.bundles, owner=owner),
        events=(loss(work, _STEP_S, owner, count),),
        event_s=120.0,
    )
    return BAR.is_met(measures(simulated(tried, balancer, cluster.parameters), BAR))


def evidence_of(run: Run, world: World, cluster: Scenario) -> Evidence:
    """Return what the brokers of a run say: each minute its usage and what its bundles carried.

    As in a real broker each of both is counted by a clock of its own, and told as it is done.
    """
    n_brokers, n_bundles = len(world.machines.names), len(world.bundles.names)
    tick_s = run.tick_s
    ticks, window = round(world.duration_s / tick_s), round(_WINDOW_S / tick_s)
    host_close, stats_close = _closings(world.seed, n_brokers, ticks, window)
    carried = _carried(world, cluster, ticks, round(_STEP_S / tick_s))
    owner = _owners(run, world, ticks)
    usage = _usage(run, cluster.parameters.physics, (carried, owner), host_close, window)
    nic = float(world.machines.nic[0]) / _KBIT
    times, who, used, is_stored = [], [], [], []
    line_of, lines_at, rates = [], [], []
    for broker in range(n_brokers):
        closes = np.union1d(host_close[broker], stats_close[broker])
        closes = closes[closes >= host_close[broker][0]]
        last = np.searchsorted(host_close[broker], closes, side="right") - 1
        times.append(closes)
        who.append(np.full(closes.size, broker))
        used.append(usage[broker][last])
        is_stored.append(np.isin(closes, stats_close[broker]))
        for close in np.intersect1d(closes, stats_close[broker]).tolist():
            mine = np.flatnonzero(owner[close - 1] == broker)
            lines_at.append(np.full(mine.size, close))
            line_of.append(mine)
            rates.append(carried[:, close - window : close, mine].mean(axis=1).T)
    order = np.argsort(np.concatenate(times), kind="stable")
    at = np.concatenate(times)[order]
    reports = Reports(
        time_s=_ZERO_S + tick_s * at,
        broker=np.concatenate(who)[order],
        is_gone=np.zeros(at.size, np.bool_),
        is_stored=np.concatenate(is_stored)[order],
        started_s=np.full(at.size, _ZERO_S - 86400.0),
        usage=np.concatenate(used)[order],
        limit=np.tile([100.0, 100.0, 100.0, nic, nic], (at.size, 1)),
    )
    at, bundle = np.concatenate(lines_at), np.concatenate(line_of)
    order = np.argsort(at, kind="stable")
    at, bundle = at[order], bundle[order]
    lines = Lines(
        time_s=_ZERO_S + tick_s * at,
        broker=owner[at - 1, bundle],
        bundle=bundle,
        rates=np.concatenate(rates)[order],
        topics=world.bundles.topics[bundle],
        producers=world.bundles.topics[bundle],
        is_prompt=np.zeros(at.size, np.bool_),
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


def _closings(seed: int, n_brokers: int, ticks: int, window: int) -> tuple[list[Ints], list[Ints]]:
    """Return the ticks at which windows of each host, and of its bundles, close; never at once."""
    random = np.random.default_rng([23, seed])
    hosts = random.integers(window, size=n_brokers)
    bundles = (hosts + random.integers(1, window, size=n_brokers)) % window

    def closings(phases: Ints) -> list[Ints]:
        return [np.arange(window + phase, ticks + 1, window) for phase in phases.tolist()]

    return closings(hosts), closings(bundles)


def _carried(world: World, cluster: Scenario, ticks: int, step: int) -> Floats:
    """Return messages/s in and out and bytes/s in and out of bundles, (4, n_ticks, n_bundles)."""
    rows = Traffic(world, cluster.parameters.physics, None).rows(0, -(-ticks // step))
    rates = (rows.rate_in, rows.rate_out, rows.bytes_in, rows.bytes_out)
    return np.stack([np.repeat(each, step, axis=0)[:ticks] for each in rates])


def _owners(run: Run, world: World, ticks: int) -> Ints:
    """Return who owned each bundle, (n_ticks, n_bundles)."""
    owner = np.tile(world.bundles.owner, (ticks, 1))
    moves = run.moves
    for at_s, bundle, target in zip(
        moves.time_s.tolist(), moves.bundle.tolist(), moves.target.tolist(), strict=True
    ):
        owner[int(at_s // run.tick_s) :, bundle] = target
    return owner


def _usage(
    run: Run, physics: Physics, carried: tuple[Floats, Ints], closes: list[Ints], window: int
) -> list[Floats]:
    """Return the usage of each broker's windows, (n_windows, 5) each."""
    (rates, owner), n_brokers = carried, len(closes)
    bytes_in, bytes_out = (by_broker(each, owner, n_brokers) for each in rates[2:])
    received = (bytes_in + physics.nic_in_share * bytes_out) / _KBIT
    sent = (physics.write_quorum * bytes_in + bytes_out) / _KBIT
    usage = []
    for broker, ends in enumerate(closes):
        windows = np.zeros((ends.size, 5))
        for column, each in ((0, run.usage), (3, received), (4, sent)):
            windows[:, column] = [each[end - window : end, broker].mean() for end in ends.tolist()]
        usage.append(windows)
    return usage


def world_of(seed: int) -> KnownWorld:
    """Return one world: its need by brute force, and what is said of it."""
    cluster, balancer = cluster_of(seed)
    world = drawn(cluster, seed)
    run = simulated(world, balancer, cluster.parameters)
    measured = Measured(host_s=_WINDOW_S, stats_s=_WINDOW_S, write_quorum=2.0)
    again = rebuilt(evidence_of(run, world, cluster), measured)
    sizes = Sizes(again, balancer, costs_by_usage(again, SEEDS), BAR)
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
    program, seeds = digest(), range(FIRST, FIRST + WORLDS)
    documents = {seed: document for seed in seeds if (document := _kept(seed, program))}
    missing, cores = [seed for seed in seeds if seed not in documents], os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        for at in range(0, len(missing), cores):
            if time.monotonic() >= until_s:
                break
            for made in pool.map(world_of, missing[at : at + cores]):
                document = {name: getattr(made, name) for name in KnownWorld.__slots__}
                text = json.dumps({"program": program, **document})
                (KEPT / f"{made.seed:04}.json").write_text(text, encoding="utf-8")
                print(document, flush=True)
                documents[made.seed] = document
    return [KnownWorld(**documents[seed]) for seed in sorted(documents)]


def _kept(seed: int, program: str) -> dict[str, Any]:
    """Return a world that this program has done; nothing if it has not."""
    path = KEPT / f"{seed:04}.json"
    document: dict[str, Any] = (
        json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    )
    return document if document.pop("program", None) == program else {}


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
