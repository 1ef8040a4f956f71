"""A replay that begins in the middle: as the leader stood, and what hangs on what is not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyspark import SparkContext
from pytest_regressions.file_regression import FileRegressionFixture

import datadriven
from recorded_clusters import HOST_S, STATS_S, ZERO_S, Recorder
from tools import fidelity
from tools.cuts import LOOKED_AT, UNSEEN, Whole, agreements, begun, replayed, whole
from trimtab.lab.reconstruct.cluster import Measured, Rebuilt, rebuilt
from trimtab.lab.reconstruct.evidence import Evidence, Printed, Round
from trimtab.lab.reconstruct.leadership import looked_on
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Kind

FIXTURE = Path(__file__).parent / "testdata" / "rerun" / "beginnings.txt"
MEASURED = Measured(
    host_s=HOST_S, stats_s=STATS_S, write_quorum=2.0, report_s=60.0, shedding_s=60.0, grace_s=60.0
)
CONF = {
    "statsUpdateFrequencyInSecs": "15",
    "loadBalancerSheddingGracePeriodMinutes": "1",
    "loadBalancerAvgShedderLowThreshold": "2",
    "loadBalancerAvgShedderHighThreshold": "90",
    "loadBalancerAvgShedderHitCountLowThreshold": "3",
    "loadBalancerBundleUnloadMinThroughputThreshold": "0",
    "minUnloadMessage": "1",
    "maxUnloadPercentage": "0.5",
}
AVG = Balancer("AvgShedder", "AvgShedder", "4.0.8", CONF)


class Bench:
    """Replays recordings from where they begin."""

    def __init__(self, wholes: dict[str, Whole], folder: Path) -> None:
        """Know the recordings; `folder` takes the tables of cuts."""
        self.wholes, self.folder = wholes, folder

    def begin(self, recording: str, seed: str = "") -> str:
        """Return each round: bundles that were unloaded and would be, and what it hangs on."""
        of = self.wholes[recording]
        tables = begun(of.tables, of.begin(int(seed))) if seed else of.tables
        pairs = replayed(of, tables, self.folder / f"{recording}-{seed}")
        head = f"from {of.begin(int(seed)):%H:%M:%S}" if seed else "whole"
        rows = [
            f"{each.time_s:6.1f} s  real {each.real:2}  simulated {each.simulated:2}"
            f"{'' if each.is_sure else '  hangs on what was before'}"
            for each in pairs
        ]
        return "\n".join([head, *rows])


@pytest.fixture(scope="module")
def wholes(spark: SparkContext, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Whole]:
    folder = tmp_path_factory.mktemp("wholes")
    paths = [fidelity.ROOT / name for name in fidelity.CUT]
    return {path.name: whole(spark, path, folder / path.name) for path in paths}


@pytest.mark.slow
def test_rounds_agree_from_wherever_the_recording_begins(
    wholes: dict[str, Whole], tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    text = datadriven.run(FIXTURE, Bench(wholes, tmp_path))
    file_regression.check(text, fullpath=FIXTURE)


@pytest.mark.slow
@pytest.mark.parametrize("name", [Path(name).name for name in fidelity.CUT])
def test_at_least_95_of_100_rounds_agree(
    name: str, wholes: dict[str, Whole], tmp_path: Path, is_exhaustive: bool
) -> None:
    seeds = [*LOOKED_AT, *UNSEEN] if is_exhaustive else [UNSEEN[3]]
    part = agreements(wholes[name], seeds, tmp_path)
    assert part.sure > 0
    assert part.agreed >= 0.95 * part.rounds
    assert part.agreed_sure >= 0.95 * part.sure


def test_page_has_the_cuts_as_they_are(spark: SparkContext, is_exhaustive: bool) -> None:
    page = fidelity.PAGE.read_text(encoding="utf-8")
    if is_exhaustive:
        assert fidelity.with_cuts(spark, page).splitlines() == page.splitlines()
    assert len(fidelity.cut_tables(page)) == 2
    assert all("| together | 80 |" in table for table in fidelity.cut_tables(page))


# ---------------------------------------------------------------- made-up clusters


def steady(bundle: int, time_s: float) -> float:
    del time_s
    return 20.0 + 40.0 * bundle


def whole_night(*rounds: Round) -> Evidence:
    """Two brokers over ten minutes, the second with all but one of four bundles."""
    owned = [(0.0, 0, 0), (0.0, 1, 1), (0.0, 2, 1), (0.0, 3, 1)]
    return Recorder(2, 4, steady, owned, rounds=rounds).told()


def recorded_since(told: Evidence, after_s: float) -> Evidence:
    """Leave out what came before; the second broker reports half a window after the first."""
    from_s = ZERO_S + after_s
    owners, reports, lines = told.owners, told.reports, told.lines
    first, later = [
        each.time_s + np.where(each.broker == 1, STATS_S / 2, 0.0) for each in (reports, lines)
    ]
    kept, said = first >= from_s, later >= from_s
    return replace(
        told,
        reports=replace(
            reports,
            time_s=first[kept],
            **{
                name: getattr(reports, name)[kept]
                for name in ("broker", "is_gone", "is_stored", "started_s", "usage", "limit")
            },
        ),
        lines=replace(
            lines,
            time_s=later[said],
            **{
                name: getattr(lines, name)[said]
                for name in ("broker", "bundle", "rates", "topics", "producers", "is_prompt")
            },
        ),
        owners=replace(owners, time_s=np.maximum(owners.time_s, from_s)),
    )


def decided(again: Rebuilt) -> list[tuple[bool, bool]]:
    """Return of each round whether it would shed, and whether that is sure."""
    simulation = Simulation(again.world, AVG, again.parameters, again.surroundings)
    return [
        (bool(look.decision is not None and look.decision.unloads), is_sure)
        for look, is_sure in looked_on(again, simulation, again.world.duration_s)
    ]


def test_a_window_that_began_before_the_first_tick_is_used() -> None:
    told = replace(whole_night(), leaders=((ZERO_S + 10.0, 0),))
    again = rebuilt(told, MEASURED)
    # The first windows, up to the 60th second, hold 5 points and 0.2 for each message/s.
    assert again.grid.from_s == ZERO_S + 10.0
    assert again.used.usage[0, 0] == pytest.approx([5 + 0.2 * 20, 5 + 0.2 * (60 + 100 + 140)])
    assert min(span.start for span, _ in again.used.spans) == 0
    # Costs are fitted to none that is not there whole.
    assert min(span.start for span, _ in again.used.warm) > 0


def test_brokers_that_had_run_before_are_there_with_what_they_said_last() -> None:
    again = rebuilt(recorded_since(whole_night(), 300.0), MEASURED)
    # All begins when the second of them has reported.
    assert again.grid.from_s == ZERO_S + 300.0 + STATS_S / 2
    assert again.world.machines.is_up.all()
    assert [event.kind for event in again.world.events if event.kind == Kind.JOIN] == []
    simulation = Simulation(again.world, AVG, again.parameters, again.surroundings)
    load = simulation.leader.load(0.0)
    at = [load.brokers.index(name) for name in again.world.machines.names]
    assert load.bundle_count[at].tolist() == [1, 3]
    assert load.rate_in[at] == pytest.approx([20.0, 60.0 + 100.0 + 140.0])
    assert load.resource_usage[at, 0] == pytest.approx([9.0, 65.0])
    # The leader has led for long, and knows averages of it.
    assert sorted(load.bundle_traffic().rate_in.tolist()) == pytest.approx([20, 60, 100, 140])
    assert any("what it had averaged of 4 bundles" in said for said in again.untold)


def test_a_bundle_that_the_leader_may_have_unloaded_leaves_the_round_open() -> None:
    rounds = [Round(ZERO_S + 330.0 + 60.0 * each) for each in range(4)]
    hits = {"b0:8080": 3, "b1:8080": 3}
    printed = Printed(hits_low=hits, hits_high={}, dropped=frozenset(hits))
    printing = [replace(rounds[0], printed=printed, number=1), *rounds[1:]]
    told = recorded_since(whole_night(*printing), 300.0)
    # The gap is wide, so it sheds in its third round, if counters and bundles allow it.
    first, second, *_ = decided(rebuilt(told, MEASURED))
    assert first == (True, False)
    # The counters have been dropped then, as was printed: no matter what came before.
    assert second == (False, True)


def test_counters_that_nobody_printed_leave_every_round_with_a_wide_gap_open() -> None:
    rounds = [Round(ZERO_S + 330.0 + 60.0 * each) for each in range(4)]
    told = recorded_since(whole_night(*rounds), 300.0)
    assert [is_sure for _, is_sure in decided(rebuilt(told, MEASURED))] == [False] * 4


def test_a_leader_elected_a_moment_before_has_shed_nothing() -> None:
    rounds = [Round(ZERO_S + 330.0 + 60.0 * each) for each in range(4)]
    told = recorded_since(whole_night(*rounds), 300.0)
    again = rebuilt(replace(told, leaders=((ZERO_S + 299.0, 0),)), MEASURED)
    assert not again.before.has_shed
    assert [is_sure for _, is_sure in decided(again)] == [True] * 4
