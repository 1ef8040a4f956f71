"""A real cluster under the extensible load manager, in debug mode: every change of a state.

One broker owned everything and others joined, about twenty bundles were moved by hand, one was
split, brokers were stopped and killed, and the leader changed once.  TransferShedder moved 18
bundles in two rounds.  Nothing hung, nobody kept a bundle after he had gone, and nothing was
written past the channel's check.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pytest

from trimtab.diagnose.diagnosis import diagnose
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.spark.runner import Here

NIGHT = Path(__file__).parent / "testdata" / "recordings" / "extensible"
_TOLD = re.compile(r"received a handle request for serviceUnit:(\S+), data:(.*)\. totalHandled")
_UNLOAD = re.compile(r"\[TransferShedder\] Unloading bundle: Unload\[.*serviceUnit=([^,]+),")
#: What the shedder goes by.
EMA = "weighted_max_ema_percent"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    tables = tmp_path_factory.mktemp("extensible") / "tables"
    with open_recording(NIGHT) as recording:
        ingest(Here(), recording, tables)
    return diagnose(Here(), tables, "extensible").findings, tables


def lines() -> Iterator[str]:
    for path in sorted(NIGHT.glob("logs/*/*.gz")):
        yield from gzip.decompress(path.read_bytes()).decode().splitlines()


def changes(tables: Path) -> list[dict[str, Any]]:
    return ds.dataset(tables / "transitions", partitioning="hive").to_table().to_pylist()


def test_every_record_that_a_broker_was_told_of_is_in_the_table_once(
    explained: tuple[dict[str, Any], Path],
) -> None:
    records = {match.groups() for line in lines() if (match := _TOLD.search(line))}
    rows = changes(explained[1])
    # Of one bundle the record was removed, of which each broker was told.
    assert len(records) == len(rows) == 392
    assert sum(value == "null" for _, value in records) == 1
    states = Counter(re.findall(r"state=(\w+)", " ".join(value for _, value in records)))
    assert states == Counter(row["state"] for row in rows if row["step"] != "forget")


def test_the_channel_allows_every_one_of_them(explained: tuple[dict[str, Any], Path]) -> None:
    rows = changes(explained[1])
    assert Counter(row["verdict"] for row in rows) == {"allowed": 325, "forced": 67}
    assert not any(row["is_stuck"] for row in rows)
    steps = Counter(row["step"] for row in rows)
    assert steps["transfer"] == 30
    assert steps["hand over"] == steps["transfer"] + 60  # those that brokers gave up by force
    assert (steps["split"], steps["end of split"], steps["forget"]) == (1, 1, 1)


def test_who_ordered_what_a_line_tells_of(explained: tuple[dict[str, Any], Path]) -> None:
    rows = changes(explained[1])
    by_step: dict[str, Counter[bool]] = {}
    for row in rows:
        by_step.setdefault(row["step"], Counter())[row["ordered_by"] is not None] += 1
    for step in ("take", "hand over", "release", "assign", "override"):
        assert by_step[step][False] == 0, step
    shed = [match[1] for line in lines() if (match := _UNLOAD.search(line))]
    ordered = [row for row in rows if row["step"] == "transfer" and row["bundle"] in shed]
    assert len(shed) == 18
    assert {row["ordered_by"] for row in ordered if row["evidence"]} <= {
        "10.213.0.11:8080",
        "10.213.0.12:8080",
    }


def test_findings_are_those_of_the_night(explained: tuple[dict[str, Any], Path]) -> None:
    document = explained[0]
    shed = [match[1] for line in lines() if (match := _UNLOAD.search(line))]
    assert sorted(unload["bundle"] for unload in document["unloads"]) == sorted(shed)
    assert {finding["code"] for finding in document["findings"]} == {"leader-change"}


def test_the_loads_that_brokers_published_give_what_each_round_printed(
    explained: tuple[dict[str, Any], Path],
) -> None:
    """Sum, sum of squares, mean and deviation of TransferShedder, in every printed digit."""
    rows = ds.dataset(explained[1] / "log_events", partitioning="hive").to_table().to_pylist()
    names = {f"broker{i}": f"10.213.0.1{i}:8080" for i in range(1, 5)}
    loads: dict[str, float] = {}
    rounds = 0
    for row in sorted(rows, key=lambda row: row["time"]):
        numbers = dict(row["numbers"] or ())
        if row["kind"] == "load-data":
            loads[names[row["log_broker"]]] = numbers[EMA] / 100
        elif row["kind"] == "load-statistics" and "offload" not in numbers:
            mine = np.array([loads[broker] for broker in row["brokers"]])
            for name, value in (
                ("sum", mine.sum()),
                ("square_sum", (mine**2).sum()),
                ("average", mine.mean()),
                ("deviation", mine.std()),
            ):
                assert f"{value:.2f}" == f"{numbers[name]:.2f}", (row["time"], name)
            rounds += 1
    assert rounds == 7
