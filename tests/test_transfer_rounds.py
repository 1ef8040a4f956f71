"""A real cluster's rounds of TransferShedder, decided again from what brokers printed.

Thirteen rounds of two leaders in debug mode: what brokers published stands in their logs with two
decimals, and whole in the gauges.  The night is the one of test_extensible_night.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.dataset as ds
import pytest

from trimtab.diagnose.diagnosis import diagnose
from trimtab.diagnose.transfers.published import fixed
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.spark.runner import Here

ROOT = Path(__file__).parent.parent
NIGHT = ROOT / "tests" / "testdata" / "recordings" / "extensible"
LEADER = "logs/broker1/pulsar-broker.log.gz"

pytestmark = pytest.mark.slow


def explained(recording: Path, folder: Path) -> dict[str, Any]:
    with open_recording(recording) as opened:
        ingest(Here(), opened, folder / "tables")
    return diagnose(Here(), folder / "tables", "extensible").findings


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("transfers")
    return explained(NIGHT, folder), folder / "tables"


def changed(folder: Path, change: Callable[[str], str], files: str = LEADER) -> dict[str, Any]:
    """Explain the night with the text of some files changed."""
    copy = folder / "night"
    shutil.copytree(NIGHT, copy)
    for path in sorted(copy.glob(files)):
        text = gzip.decompress(path.read_bytes()).decode()
        path.write_bytes(gzip.compress(change(text).encode(), mtime=0))
    return explained(copy, folder)


def verdicts(document: Mapping[str, Any]) -> list[bool | None]:
    return [each["recomputed"]["equal"] for each in document["round_list"]]


def whys(document: Mapping[str, Any]) -> list[str]:
    return [each["recomputed"]["why"] for each in document["round_list"]]


def test_every_round_agrees_in_every_printed_digit(night: tuple[dict[str, Any], Path]) -> None:
    document, _ = night
    assert verdicts(document) == [True] * 13
    assert [unload["recomputed"]["equal"] for unload in document["unloads"]] == [True] * 18
    printed = [each["recomputed"]["numbers"]["numbers_printed"] for each in document["round_list"]]
    assert sum(printed) == 151


def test_the_loads_are_whole_where_the_gauges_tell_them(
    night: tuple[dict[str, Any], Path],
) -> None:
    """Of all rounds but the two after the last sample exactly one state is possible."""
    states = [each["recomputed"]["numbers"]["states"] for each in night[0]["round_list"]]
    assert states == [1] * 11 + [27] * 2


def test_the_reasons_that_the_leader_counted_are_those_decided_again(
    night: tuple[dict[str, Any], Path],
) -> None:
    counted = {row["reason"]: (row["counted"], row["decided"]) for row in night[0]["reasons"]}
    assert counted == {
        "CoolDown": (2, 2),
        "HitCount": (3, 3),
        "NoLoadData": (3, 3),
        "Overloaded": (18, 18),
        "Admin": (8, None),
    }
    schema = json.loads((ROOT / "docs" / "findings.schema.json").read_text("utf-8"))
    jsonschema.validate(night[0]["reasons"], schema["properties"]["reasons"])


def test_what_is_asked_of_other_rounds_is_said_to_be_left_open(
    night: tuple[dict[str, Any], Path],
) -> None:
    whys = [question["why"] for question in night[0]["undecidable"]]
    assert not any("no round was decided again" in why for why in whys)
    assert sum("those of TransferShedder, of which this is not asked" in why for why in whys) == 1


def test_the_rounds_stand_in_the_table_of_those_decided_again(
    night: tuple[dict[str, Any], Path],
) -> None:
    rows = ds.dataset(night[1] / "replayed_rounds", partitioning="hive").to_table().to_pylist()
    assert [row["round"] for row in rows] == list(range(1, 14))
    assert sum(len(row["unloads"]) for row in rows) == 18
    assert rows[0]["average"] == 0.14525047582474906


@pytest.mark.parametrize(
    ("line", "was", "now", "why"),
    [
        ("load stats:sum:0.29", "avg:0.15", "avg:0.16", "average was 0.16"),
        ("Trying to offload 21.84%", "336.61", "336.62", "offload_kbyte_s of 10.213.0.11:8080"),
        ("throughput:10.06", "18.21", "18.22", "marked_kbyte_s of lb/ns1/0x98000000_0xa0000000"),
        ("meets the target", "0.04382886518068087", "0.0438289", "deviation at the end"),
        ("elapsed 44 secs", "elapsed 44", "elapsed 43", "elapsed was 43 s"),
        ("hit count:1", "hit count:1", "hit count:2", "hit count was 2"),
        ("Reason:NoLoadData", "NoLoadData", "OutDatedData", "reason was OutDatedData"),
    ],
)
def test_one_digit_that_is_another_is_found(
    tmp_path: Path, line: str, was: str, now: str, why: str
) -> None:
    def change(text: str) -> str:
        lines = text.splitlines()
        at = next(i for i, each in enumerate(lines) if line in each)
        assert was in lines[at]
        lines[at] = lines[at].replace(was, now)
        return "\n".join(lines) + "\n"

    document = changed(tmp_path, change)
    different = [each for each in document["round_list"] if each["recomputed"]["equal"] is False]
    assert len(different) == 1
    assert why in different[0]["recomputed"]["why"]


def test_an_unload_that_was_not_decided_is_found(tmp_path: Path) -> None:
    def change(text: str) -> str:
        return text.replace(
            "Unloading bundle: Unload[sourceBroker=10.213.0.11:8080, serviceUnit=lb/np/0x40000000",
            "Unloading bundle: Unload[sourceBroker=10.213.0.11:8080, serviceUnit=lb/np/0x10000000",
        )

    document = changed(tmp_path, change)
    assert verdicts(document).count(False) == 1
    assert any(why.startswith("unloads were") for why in whys(document))


def test_without_metrics_a_digit_that_hangs_on_others_is_left_open(tmp_path: Path) -> None:
    document = changed(tmp_path, lambda _: "", "metrics/*/*.gz")
    assert set(verdicts(document)) == {True, None}
    open_ones = [why for why in whys(document) if why.startswith("usage is known to two decimals")]
    assert len(open_ones) == verdicts(document).count(None)
    assert "reasons" not in document


def test_what_was_published_a_moment_before_a_round_may_have_come_or_not(tmp_path: Path) -> None:
    """By what had come it agrees whatever the unprinted digits were; by what was on its way not."""
    copy = tmp_path / "night"
    shutil.copytree(NIGHT, copy)
    shutil.rmtree(copy / "metrics")
    log = copy / "logs" / "broker2" / "pulsar-broker.log.gz"
    lines = gzip.decompress(log.read_bytes()).decode().splitlines()
    time = "2026-11-21T06:31:22,"
    at = max(i for i, it in enumerate(lines) if "publishing load report" in it and it[:20] < time)
    late = time + "700" + lines.pop(at)[23:]
    last = max(i for i, it in enumerate(lines) if it[:23] < late[:23] and it[:5] == "2026-")
    lines.insert(last + 1, late)
    log.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))

    (round_,) = [
        it
        for it in explained(copy, tmp_path)["round_list"]
        if it["time"].startswith("2026-11-21T06:31:22")
    ]
    assert round_["recomputed"]["equal"] is True
    assert round_["recomputed"]["numbers"] == {"numbers_printed": 5, "states": 54}


def test_a_sample_of_before_the_gauges_followed_says_nothing_of_a_round(tmp_path: Path) -> None:
    """A leader sets them when a round's unloads have ended."""
    copy = tmp_path / "night"
    shutil.copytree(NIGHT, copy)
    samples = sorted((copy / "metrics" / "broker1").iterdir())
    before = max(path for path in samples if path.name < "2026-11-21T06-33-22")
    text = gzip.decompress(before.read_bytes()).decode()
    mine = [line for line in text.splitlines() if "pulsar_lb_resource_usage_stats" in line]
    assert any('stat="avg"' in line for line in mine)
    late = copy / "metrics" / "broker1" / "2026-11-21T06-33-22.950Z.prom.gz"
    late.write_bytes(gzip.compress("\n".join([*mine, ""]).encode(), mtime=0))

    assert verdicts(explained(copy, tmp_path)) == [True] * 13


def test_without_what_a_broker_published_its_rounds_are_left_open(tmp_path: Path) -> None:
    def silent(text: str) -> str:
        return "\n".join(it for it in text.splitlines() if "LoadDataReporter" not in it) + "\n"

    document = changed(tmp_path, silent, "logs/broker2/*.gz")
    assert any("what 10.213.0.12:8080 published is not in the rec" in why for why in whys(document))


def test_without_what_anybody_published_one_question_stays_open(tmp_path: Path) -> None:
    def silent(text: str) -> str:
        return "\n".join(it for it in text.splitlines() if "LoadDataReporter" not in it) + "\n"

    document = changed(tmp_path, silent, "logs/*/*.gz")
    assert set(verdicts(document)) == {None}
    (question,) = [it for it in document["undecidable"] if it["what"].startswith("recomputation")]
    assert "loadBalancerDebugModeEnabled" in question["missing"]


@pytest.mark.parametrize(("number", "printed"), [(0.125, 0.13), (2.675, 2.68), (-0.005, -0.01)])
def test_numbers_are_rounded_as_java_prints_them(number: float, printed: float) -> None:
    assert fixed(number) == printed
    assert re.fullmatch(r"-?\d+\.\d{1,2}", repr(printed))
