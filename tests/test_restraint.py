"""What a recording without a file admits, and that every unload has one verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tools.precision.explained import explained
from tools.precision.families import case
from tools.precision.ingested import ingested
from tools.precision.recorded import truths, written
from trimtab.diagnose.diagnosis import diagnose
from trimtab.diagnose.findings import FINDINGS
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording

SCHEMA = json.loads(
    (Path(__file__).parent.parent / "docs" / "findings.schema.json").read_text("utf-8")
)
#: Kinds of files, any of which a recording may lack.
KINDS = {
    "the logs": "logs",
    "the leader's log": "logs/broker-0",
    "another's log": "logs/broker-2",
    "the reports": "store/brokers.jsonl",
    "the leaders": "store/leader.jsonl",
    "the owners": "store/ownership.jsonl",
    "the averages": "store/bundles.jsonl",
    "the settings": "conf",
    "what people did": "actions.jsonl",
    "the whole store": "store",
}
NIGHTS = (
    *("random-placement-1", "cold-cpu-1", "vanished-bundle-2", "even-distribution-override-2"),
    "leader-change-2",
)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("nights")
    for name in NIGHTS:
        code, _, seed = name.rpartition("-")
        written(case(code, int(seed)), folder / name)
    return {name: folder / name for name in NIGHTS}


@pytest.fixture(scope="module")
def documents(
    nights: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("documents")
    return {name: document(recording, folder / name) for name, recording in nights.items()}


@pytest.mark.slow
def test_the_truth_stands_beside_the_recording(nights: dict[str, Path]) -> None:
    for name, recording in nights.items():
        code = name.rpartition("-")[0]
        rows = truths(recording)
        assert code in {row["code"] for row in rows if not row["is_marginal"]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_without_a_file_admits_what_it_cannot_tell(
    kind: str, nights: dict[str, Path], documents: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    told = 0
    for name, recording in nights.items():
        less = tmp_path / name
        shutil.copytree(recording, less)
        gone = less / KINDS[kind]
        if not gone.exists():
            continue
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        part = document(less, tmp_path / f"{name}-tables")
        before, after = (
            {it["code"] for it in each["findings"]} for each in (documents[name], part)
        )
        listed = {
            code
            for question in part["undecidable"]
            for code in FINDINGS
            if code in question["what"].replace(",", "").split()
        }
        assert after <= before, "it guesses"
        assert before - after <= listed, "it is silent"
        told += len(before)
    assert told


@pytest.mark.slow
def test_a_whole_recording_has_nothing_undecidable(documents: dict[str, dict[str, Any]]) -> None:
    assert [each["undecidable"] for each in documents.values()] == [[]] * len(NIGHTS)


@pytest.mark.slow
def test_every_unload_has_one_verdict(documents: dict[str, dict[str, Any]]) -> None:
    allowed = SCHEMA["properties"]["unloads"]["items"]["properties"]["verdict"]["enum"]
    unloads = [unload for each in documents.values() for unload in each["unloads"]]
    assert len(unloads) > 50
    assert all(unload["verdict"] in allowed for unload in unloads)
    assert len({unload["verdict"] for unload in unloads}) > 3


@pytest.mark.slow
def test_explaining_here_is_explaining_on_spark(
    spark: Any, nights: dict[str, Path], documents: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    recording = nights["even-distribution-override-2"]
    with open_recording(recording) as opened:
        ingest(spark, opened, tmp_path / "tables")
        real = diagnose(spark, tmp_path / "tables", opened.cluster).findings
    here = documents["even-distribution-override-2"]
    for part in ("round_list", "unloads", "findings", "undecidable", "strategies", "release"):
        assert here[part] == real[part]
    assert sum(max(1, len(each["rounds"])) for each in real["findings"]) > 20
    schema = SCHEMA["properties"]["findings"] | {"$defs": SCHEMA["$defs"]}
    jsonschema.validate(real["findings"], schema)


def document(recording: Path, tables: Path) -> dict[str, Any]:
    with open_recording(recording) as opened:
        ingested(opened, tables)
        return explained(tables, opened.cluster).document
