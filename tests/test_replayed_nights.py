"""What the replay of some nights has of every round and placement, to the last digit.

Without Java: a change of one number anywhere on the way from the store's files to a decision shows
here.  Whether the decisions are those of the real leader is asked by tests/test_recorded.py.
Four nights are real; one is simulated, in which the leader changes.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from click.testing import CliRunner
from pytest_regressions.file_regression import FileRegressionFixture

from trimtab.cli import main
from trimtab.diagnose.diagnosis import diagnose
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.spark.runner import Here

ROOT = Path(__file__).parent.parent
NIGHTS = {
    "avg": ROOT / "recordings" / "avg",
    "threshold": ROOT / "recordings" / "threshold",
    "uniform": ROOT / "recordings" / "uniform",
    "young": ROOT / "tests" / "testdata" / "recordings" / "young",
}

SCENARIO = """
[run]
minutes = 16
event_at_min = 8

[[machines]]
count = 3

[[bundles]]
count = 12

[start]
owners = "usage"
usage_percent = [75, 40, 30]

[[events]]
at_min = 8
what = "leader"
"""


def rows(tables: Path, name: str) -> list[dict[str, Any]]:
    found = ds.dataset(tables / name, partitioning="hive").to_table().to_pylist()
    return sorted(found, key=lambda row: (row["term"], row["time"]))


def pairs(row: dict[str, Any], names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {row[name]!r}" for name in names)


def rounds(tables: Path) -> Iterator[str]:
    for row in rows(tables, "replayed_rounds"):
        yield f"term {row['term']} round {row['round']} {row['time']:%T.%f} by {row['leader']}"
        yield "  " + pairs(row, ("average", "is_smoothed", "hits_high", "hits_low"))
        yield from (f"  {it}: {row[it]}" for it in ("doubt", "bundle_doubt") if row[it])
        for broker in row["brokers"]:
            numbers = pairs(broker, ("usage", "score", "throughput", "rate", "offload", "bundles"))
            yield f"  {broker['broker']} {broker['reason']}: {numbers}"
        for kind in ("unloads", "too_large"):
            yield from (f"  {kind}: {pairs(it, tuple(it))}" for it in row[kind])


def placements(tables: Path) -> Iterator[str]:
    for row in rows(tables, "replayed_placements"):
        yield f"term {row['term']} {row['time']:%T.%f} line {row['line']} {row['bundle']}"
        scores = zip(row["candidates"], row["scores"] or [None] * 99, strict=False)
        yield f"  {'; '.join(f'{name} {score!r}' for name, score in scores)}"
        yield f"  {pairs(row, ('average', 'best', 'is_fallback'))}"
        yield from [f"  doubt: {row['doubt']}"] if row["doubt"] else []


def replayed(night: Path, folder: Path) -> str:
    """Return what the replay of a night has."""
    with open_recording(night) as recording:
        ingest(Here(), recording, folder / "tables")
    diagnose(Here(), folder / "tables", recording.cluster)
    return "\n".join([*rounds(folder / "tables"), *placements(folder / "tables"), ""])


@pytest.mark.slow
@pytest.mark.parametrize("name", NIGHTS)
def test_every_round_and_placement_of_a_night_is_as_it_was(
    name: str, tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    text = replayed(NIGHTS[name], tmp_path)
    file_regression.check(text, fullpath=FIXTURES / f"{name}.txt")


@pytest.mark.slow
def test_a_leader_of_before_looks_at_reports_while_it_unloads(
    tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    night = shutil.copytree(NIGHTS["uniform"], tmp_path / "uniform")
    about = night / "recording.toml"
    about.write_text(about.read_text("utf-8").replace('"4.0.8"', '"3.0.7"'), encoding="utf-8")

    text = replayed(night, tmp_path)

    assert text != (FIXTURES / "uniform.txt").read_text("utf-8")
    file_regression.check(text, fullpath=FIXTURES / "uniform-3.0.7.txt")


@pytest.mark.slow
def test_of_a_leader_whose_log_begins_late_every_selection_is_made_again(
    tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    night = shutil.copytree(NIGHTS["threshold"], tmp_path / "threshold")
    (night / "store" / "leader.jsonl.gz").unlink()
    log = night / "logs" / "broker1" / "pulsar-broker.log.gz"
    lines = gzip.decompress(log.read_bytes()).decode().splitlines()
    kept = [line for line in lines if "2026-11-21T06:44:00" < line[:19]]
    log.write_bytes(gzip.compress("\n".join([*kept, ""]).encode(), mtime=0))

    text = replayed(night, tmp_path)

    assert "the log of broker1 begins after its election" in text
    file_regression.check(text, fullpath=FIXTURES / "threshold-late.txt")


@pytest.mark.slow
def test_every_round_and_placement_of_two_leaders_is_as_it_was(
    tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    scenario = tmp_path / "two-leaders.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    night = tmp_path / "two-leaders"
    words = ["record", str(scenario), "-o", str(night), "--noise", "60", "--seed", "3"]
    done = CliRunner().invoke(main, [*words, "--strategy", "ThresholdShedder"])
    assert done.exit_code == 0, done.output

    text = replayed(night, tmp_path)

    assert {"term 1 ", "term 2 "} <= {line[:7] for line in text.splitlines()}
    file_regression.check(text, fullpath=FIXTURES / "two-leaders.txt")


FIXTURES = ROOT / "tests" / "testdata" / "replayed"
