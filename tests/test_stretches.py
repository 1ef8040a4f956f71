"""A tenure may be cut anywhere: every file that explain writes is that of the uncut one."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trimtab
from folder_files import tree
from test_record import recorded
from trimtab.diagnose import diagnosis
from trimtab.diagnose.decisions import decisions
from trimtab.diagnose.findings.blind_to_imbalance import blind_to_imbalance
from trimtab.diagnose.findings.throughput_floor import throughput_floor
from trimtab.diagnose.night import Night
from trimtab.diagnose.replay import outline
from trimtab.diagnose.replay import recompute as recomputing
from trimtab.diagnose.replay.recompute import recompute
from trimtab.diagnose.replay.result_tables import Replayed
from trimtab.diagnose.usages import usages_of
from trimtab.files.packing import packed
from trimtab.files.tables import DIAGNOSED
from trimtab.pulsar.model import WITHIN_BAR, Reason

#: Shipped recordings with rounds that are decided again; avg-2 has ZooKeeper's own files.
# seed-001 has no rounds that are decided again.
RECORDED = ("avg", "avg-2", "threshold", "uniform")
#: Who sheds and places in simulated nights: what they remember is made of usage alone, hangs on
#: long-term averages, or is planned.
SIMULATED = (
    "ThresholdShedder+LeastResourceUsageWithWeight",
    "ThresholdShedder+LeastLongTermMessageRate",
    "UniformLoadShedder+LeastLongTermMessageRate",
    "AvgShedder",
)
LOWER_BOUNDARY = ("lowerBoundarySheddingEnabled=true",)


class Cut:
    """Replays with each tenure cut at random places; counts its stretches."""

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.random = count, random.Random(seed)
        self.stretches: list[int] = []

    def __call__(self, spark: Any, place: Any, tenures: Sequence[Any], spans: Any) -> Any:
        times = [time for tenure in tenures for time, _ in tenure.ticks]
        cuts: list[datetime] = []
        if times:
            first, last = min(times), max(times)
            shares = (self.random.random() for _ in range(self.count))
            cuts = sorted(first + (last - first) * share for share in shares)
            # At the very beginning of a round, too.
            cuts = sorted([*cuts, self.random.choice(times)])
        for tenure in tenures:
            self.stretches.append(len(outline.outline(place, tenure, spans, cuts).stretches))
        return recompute(spark, place, tenures, spans, cuts)


@contextmanager
def replayed_by(replay: Any, *, cores: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnosis, "recompute", replay)
        patch.setattr(recomputing, "_cores", lambda spark: cores)
        yield


def check(night: Path, folder: Path, tries: int) -> None:
    """Hold explanations of cut tenures against that of the uncut one, byte for byte."""
    with replayed_by(partial(recompute, cuts=()), cores=1):
        trimtab.explain(night, output=folder / "whole")
    whole = tree(folder / "whole")
    assert {"findings.json", "report.html"} <= whole.keys()
    assert any(name.startswith("tables/replayed_rounds") for name in whole)
    for seed in range(tries):
        cut = Cut(count=(1, 25, 6, 60)[seed % 4], seed=seed)
        with replayed_by(cut, cores=1 + seed % 4):
            trimtab.explain(night, output=folder / "cut")
        assert max(cut.stretches) > 1
        again = tree(folder / "cut")
        different = {
            name for name in whole.keys() | again.keys() if whole.get(name) != again.get(name)
        }
        assert not different, (seed, sorted(different))


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_tenure_may_be_cut_anywhere(
    name: str, pytestconfig: pytest.Config, tmp_path: Path, is_exhaustive: bool
) -> None:
    check(pytestconfig.rootpath / "recordings" / name, tmp_path, 20 if is_exhaustive else 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "settings"),
    [*((strategy, ()) for strategy in SIMULATED), (SIMULATED[0], LOWER_BOUNDARY)],
)
def test_a_simulated_tenure_may_be_cut_anywhere(
    strategy: str, settings: tuple[str, ...], tmp_path: Path, is_exhaustive: bool
) -> None:
    night = recorded(tmp_path / "night", strategy, settings=settings)
    check(night, tmp_path, 20 if is_exhaustive else 2)


def decided_rounds(seed: int) -> pa.Table:
    """Make rounds of a few brokers, some of which passed the bar, and some with no number."""
    rng = np.random.default_rng(seed)
    usages = (0.1, 0.2, 0.5, 0.5, 0.9, math.nan) if seed % 2 else (0.1, 0.5, 0.9)
    within = tuple(sorted(WITHIN_BAR))
    beyond = (Reason.BALANCED, Reason.LOW_THROUGHPUT, Reason.OVERLOADED)
    schema = DIAGNOSED["replayed_rounds"]
    rows: list[dict[str, Any]] = []
    for i in range(40):
        is_odd = i > 20 and rng.random() < 0.5
        count = rng.integers(3, 7) if rng.random() < 0.98 else rng.integers(0, 2)
        rows.append(
            dict.fromkeys(schema.names)
            | {
                "term": 1 + i // 30,
                "time": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=i),
                "round": int(i) if rng.random() < 0.1 else None,
                "average": 0.4,
                "is_smoothed": True,
                "unloads": [],
                "too_large": [],
                "brokers": [
                    dict.fromkeys(field.name for field in schema.field("brokers").type.value_type)
                    | {
                        "broker": f"b{j}",
                        "usage": float(rng.choice(usages)),
                        "score": float(rng.random()),
                        "throughput": float(rng.integers(0, 2)),
                        "reason": str(rng.choice(beyond if is_odd else within)),
                    }
                    for j in range(count)
                ],
            }
        )
    return pa.Table.from_pylist(rows, schema)


def test_of_a_large_cluster_no_finding_misses_the_brokers_that_are_left_out() -> None:
    empty = DIAGNOSED["replayed_placements"].empty_table()
    findings = []
    for seed in range(60):
        tables = {"replayed_rounds": decided_rounds(seed), "replayed_placements": empty}
        replayed = Replayed([{name: packed(table) for name, table in tables.items()}])
        whole, few = replayed.tables()["replayed_rounds"], replayed.telling()["replayed_rounds"]
        assert few.drop(["brokers"]).equals(whole.drop(["brokers"]))
        nights = [
            Night(
                (),
                usages_of(()),
                0.1,
                0.1,
                1800.0,
                60.0,
                decisions=decisions(it),
                has_settings=True,
            )
            for it in (whole, few)
        ]
        of_whole, of_few = ([*blind_to_imbalance(it), *throughput_floor(it)] for it in nights)
        assert repr(of_whole) == repr(of_few)
        findings += of_whole
    assert {"blind-to-imbalance", "throughput-floor"} == {each.code for each in findings}
