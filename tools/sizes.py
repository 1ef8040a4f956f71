"""Hold `trimtab size` against brute force: simulated clusters of which the need is known.

A cluster is drawn and simulated night after night on the brokers that it has, and what its
brokers say in these nights is all that is known of it.  How many brokers these nights need is
found by trying all numbers on the cluster itself, with its true costs and its true traffic; and
by `Sizes` on what was said of them.  Of some worlds other nights are tried, too.  Worlds that are
done are kept in build/sizes, as long as the program is the same; the rest is done in as many
minutes as given.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tools.catalogue import table
from tools.run_reports import WINDOW_S, evidence_of, left_by
from trimtab.lab.costs import Windows
from trimtab.lab.reconstruct.cluster import Measured, rebuilt
from trimtab.lab.reconstruct.costs import known_costs
from trimtab.lab.reconstruct.costs_by_usage import costs_by_usage
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.rehearsal.measures import Bar
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.physics import costs as physics_costs
from trimtab.lab.simulate.physics import work as physics_work
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.scenario import scenario
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.traffic import Traffic
from trimtab.lab.simulate.world import World
from trimtab.lab.sizing.kept import keeps
from trimtab.lab.sizing.sized import alike, loss, shared_out
from trimtab.pulsar.model import Floats
from trimtab.spark.program import digest
from trimtab.trials.size.needs import Needs
from trimtab.trials.size.work import Sizes

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "size.md"
KEPT = ROOT / "build" / "sizes"
WORLDS = 200
#: The first world, drawn from the commit that froze what is judged, 78645f2c: nothing of it had
#: been seen.
FIRST = 0x78645
SEEDS = 30
#: Nights that are recorded, and nights that are not, behind them.
RECORDED, OTHERS = 7, 15
#: Worlds, one of so many, of which other nights and one recorded night alone are asked, too.
MORE_OF = 4
#: Numbers below the need that are tried, too: most nights may keep to the bar on one.
_BELOW = 2
BAR = Bar(peak_percent=85.0, over_min=3.0, topics=None, ownerless_s=60.0)
#: s of a step of traffic.
_STEP_S = 15.0
_MOST = 24
_MINUTES = 30
_DAY_S = 86_400.0
_BEGIN, _END = "<!-- brute force -->\n", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Said:
    """What `Sizes` says of some nights."""

    usual: float
    sure: float


@dataclass(frozen=True, slots=True)
class KnownWorld:
    """One world: what it needs, and what is said of it."""

    seed: int
    brokers: int
    bundles: int
    #: By all numbers tried in the recorded nights; None: none up to the most that is tried.
    need: int | None
    #: A smaller number keeps to the bar in most nights, though one between does not.
    has_gap: bool
    said: Said
    #: What is said of the first night alone, and what it needs, and what other nights need; None
    #: where that was not asked.
    by_one: Said | None = None
    need_of_one: int | None = None
    need_of_others: int | None = None


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


class Truth:
    """Tries numbers of brokers on a cluster itself, in some of its nights."""

    def __init__(
        self, world: World, balancer: Balancer, cluster: Scenario, numbers: Sequence[int]
    ) -> None:
        """Try nothing yet; `numbers` says which nights, as `recorded` counts them."""
        self._of = balancer, cluster
        self._nights = [_night(world, number) for number in numbers]
        self._works = [_work(night, cluster) for night in self._nights]
        self._tried: dict[tuple[int, int], bool] = {}

    def keeps(self, night: int, count: int) -> bool:
        """Return whether a night keeps to the bar on so many brokers."""
        at = (night, count)
        if at not in self._tried:
            tried = _keeps(self._nights[night], self._works[night], *self._of, count)
            self._tried[at] = tried
        return self._tried[at]

    def most_keep(self, count: int) -> bool:
        """Return whether most nights keep to the bar; no more are asked than decide it."""
        kept = broken = 0
        for night in range(len(self._nights)):
            does = self.keeps(night, count)
            kept, broken = kept + does, broken + (not does)
            if 2 * max(kept, broken) > len(self._nights):
                break
        return kept > broken

    def need(self) -> int | None:
        """Return the least number from which on all keep to the bar in most nights."""
        need = None
        for count in range(_MOST, 1, -1):
            if not self.most_keep(count):
                break
            need = count
        return need

    def has_gap(self, need: int) -> bool:
        """Return whether a number not far below the need would do, too."""
        return any(self.most_keep(each) for each in range(max(2, need - 1 - _BELOW), need - 1))


def _night(world: World, number: int) -> World:
    """Return another night of the same cluster, with luck of its own."""
    return replace(world, seed=1_000_000 * number + world.seed)


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
    return keeps(Simulation(tried, balancer, cluster.parameters), BAR)


def recorded(
    world: World, balancer: Balancer, cluster: Scenario, count: int
) -> tuple[Evidence, ...]:
    """Return what brokers say in so many nights, each of which begins as the last one ended."""
    nights = []
    for number in range(count):
        night = _night(world, number)
        run = simulated(night, balancer, cluster.parameters)
        nights.append(evidence_of(run, night, cluster, number * _DAY_S))
        world = left_by(run, world)
    return tuple(nights)


def said_of(nights: Sequence[Evidence], balancer: Balancer) -> Said:
    """Return what is said of recorded nights, as `trimtab size` does."""
    measured = Measured(host_s=WINDOW_S, stats_s=WINDOW_S, write_quorum=2.0)
    known = known_costs(nights, Windows(WINDOW_S, WINDOW_S))
    again = tuple(
        rebuilt(night, measured, known=costs) for night, costs in zip(nights, known, strict=True)
    )
    sizes = Sizes(again, balancer, costs_by_usage(again, SEEDS), BAR)
    needs = Needs(tuple(sizes.need(1.0, each) for each in range(SEEDS)))
    return Said(needs.usual, needs.sure)


def world_of(seed: int) -> KnownWorld:
    """Return one world: its need by brute force, and what is said of it."""
    cluster, balancer = cluster_of(seed)
    world = drawn(cluster, seed)
    nights = recorded(world, balancer, cluster, RECORDED)
    said = said_of(nights, balancer)
    truth = Truth(world, balancer, cluster, range(RECORDED))
    need = truth.need()
    known = KnownWorld(
        seed=seed,
        brokers=len(world.machines.names),
        bundles=len(world.bundles.names),
        need=need,
        has_gap=need is not None and truth.has_gap(need),
        said=said,
    )
    if seed % MORE_OF:
        return known
    others = range(RECORDED, RECORDED + OTHERS)
    return replace(
        known,
        by_one=said_of(nights[:1], balancer),
        need_of_one=Truth(world, balancer, cluster, (0,)).need(),
        need_of_others=Truth(world, balancer, cluster, others).need(),
    )


def summary(worlds: Sequence[KnownWorld]) -> str:
    """Lay out how often the answer is right, and how often too few."""
    asked = [each for each in worlds if each.by_one is not None]
    sides = (
        [(each.need, each.said) for each in worlds],
        [(each.need_of_one, each.by_one) for each in asked if each.by_one is not None],
        [(each.need_of_others, each.said) for each in asked],
    )
    known = [[(need, said) for need, said in side if need is not None] for side in sides]
    columns = [_columns(side) for side in known]
    gaps = _share(sum(each.has_gap for each in worlds), len(known[0]))
    rows = [
        ("worlds", *(f"{len(side)}" for side in sides)),
        (f"of which some number up to {_MOST} will do", *(f"{len(side)}" for side in known)),
        *((name, *(column[name] for column in columns)) for name in columns[0]),
        ("a smaller number would do, though one between does not", gaps, "", ""),
    ]
    headings = (
        "what",
        f"{RECORDED} nights, of these",
        "the first of them alone, of this",
        f"{RECORDED} nights, of {OTHERS} others",
    )
    return f"\n{table(headings, rows)}\n"


def _columns(answers: Sequence[tuple[int, Said]]) -> dict[str, str]:
    """Return how often answers are right, by what is counted; each beside what is needed."""
    off, count = [said.usual - need for need, said in answers], len(answers)
    above = [min(said.sure, _MOST) - need for need, said in answers]
    return {
        "the same number": _share(sum(each == 0 for each in off), count),
        "right within one broker": _share(sum(abs(each) <= 1 for each in off), count),
        "too few by more than one": _share(sum(each < -1 for each in off), count),
        "too many by more than one": _share(sum(each > 1 for each in off), count),
        "the almost sure number is too few": _share(
            sum(said.sure < need for need, said in answers), count
        ),
        "the almost sure number above the need": f"{np.mean(above or [0]):.1f} brokers on average",
    }


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / max(1, whole):.1f} %)"


def kept(until_s: float) -> list[KnownWorld]:
    """Return the worlds that are done, after as many more as there is time for."""
    KEPT.mkdir(parents=True, exist_ok=True)
    program, seeds = digest(), range(FIRST, FIRST + WORLDS)
    worlds = {seed: world for seed in seeds if (world := kept_world(seed, program))}
    missing, cores = [seed for seed in seeds if seed not in worlds], os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        for at in range(0, len(missing), cores):
            if time.monotonic() >= until_s:
                break
            for made in pool.map(world_of, missing[at : at + cores]):
                keep(made, program)
                print(made, flush=True)
                worlds[made.seed] = made
    return [worlds[seed] for seed in sorted(worlds)]


def keep(world: KnownWorld, program: str) -> None:
    """Keep a world that a program has done."""
    text = json.dumps({"program": program, **asdict(world)})
    (KEPT / f"{world.seed:04}.json").write_text(text, encoding="utf-8")


def kept_world(seed: int, program: str) -> KnownWorld | None:
    """Return a world that this program has done; None if it has not."""
    path = KEPT / f"{seed:04}.json"
    document: dict[str, Any] = (
        json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    )
    if document.pop("program", None) != program:
        return None
    said, by_one = Said(**document["said"]), document["by_one"]
    parts = {"said": said, "by_one": None if by_one is None else Said(**by_one)}
    return KnownWorld(**{**document, **parts})


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
