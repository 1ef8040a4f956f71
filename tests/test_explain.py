"""The main job on real recordings, from the files to the page."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from trimtab.cli import main

ROOT = Path(__file__).parent.parent
RECORDINGS = ROOT / "recordings"
SCHEMA = json.loads((ROOT / "docs" / "findings.schema.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.spark


def explained(recording: Path, output: Path) -> dict[str, Any]:
    result = run("explain", str(recording), "-o", str(output))
    assert result.exit_code == 0, result.output
    findings: dict[str, Any] = json.loads((output / "findings.json").read_text(encoding="utf-8"))
    return findings


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return explained(RECORDINGS / "seed-001", tmp_path_factory.mktemp("seed"))


@pytest.fixture(scope="module")
def threshold(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    output = tmp_path_factory.mktemp("threshold")
    return explained(RECORDINGS / "threshold", output), output


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_reports_that_lack_numbers_are_explained_without_a_warning(
    recordings: Path, tmp_path: Path
) -> None:
    found = explained(recordings / "mixed", tmp_path)

    # A load manager that should not run is the gravest cause, and comes before what was moved.
    assert found["headline"]["text"] == "Brokers run another load manager than they should."
    assert "1 bundle was moved in 1 round" in found["headline"]["sting"]


def unload_lines(recording: Path) -> int:
    """Count as `zgrep -c` would, without any of our parsers."""
    lines = 0
    for log in sorted(recording.glob("logs/*/*")):
        opened = gzip.open if log.suffix == ".gz" else open
        with opened(log, "rt", encoding="utf-8", errors="replace") as text:
            lines += sum("Unloading bundle: " in line for line in text)
    return lines


def test_seed_numbers_are_recomputed_to_the_last_digit(seed: dict[str, Any]) -> None:
    first, second = seed["unloads"]
    assert first["recomputed"]["equal"] is True
    assert second["recomputed"]["equal"] is True
    numbers = first["recomputed"]["numbers"]
    assert numbers["excess"] == 0.06597238701843762
    assert numbers["offload_mbyte_s"] == 14.70925448705765
    assert numbers["left_mbyte_s"] == 208.25151973726722
    assert numbers["average"] == 0.1735394629431299
    assert numbers["placer_average"] == 0.10786078155040742
    numbers = second["recomputed"]["numbers"]
    assert numbers["offload_mbyte_s"] == 14.886936767013715
    assert numbers["left_mbyte_s"] == 188.94441491927364
    # In Java 0.7809468007403726 - 0.6579112414711298 - 0.1 + 0.05 is this double.
    assert numbers["excess"] == 0.07303555926924281
    assert numbers["placer_average"] == 0.6326783278753757


def test_seed_draws_are_told_with_the_broker_that_would_have_been_right(
    seed: dict[str, Any],
) -> None:
    (found,) = [f for f in seed["findings"] if f["code"] == "random-placement"]
    draws = found["rounds"]
    assert len(draws) == 2
    assert [u["verdict"] for u in seed["unloads"]] == ["random-placement", "random-placement"]
    assert seed["unloads"][0]["better"]["target"] == "XXX.87:8081"
    assert seed["unloads"][1]["better"]["target"] == "XXX.206:8081"
    assert draws[1]["numbers"]["closest"] == "XXX.206:8081"
    assert round(draws[1]["numbers"]["missed_by"], 3) == 0.012


def test_every_round_of_the_real_cluster_is_recomputed(
    threshold: tuple[dict[str, Any], Path],
) -> None:
    findings, _ = threshold
    assert [r["recomputed"]["equal"] for r in findings["round_list"]] == [True] * 8
    assert all(u["recomputed"]["equal"] is True for u in findings["unloads"])
    assert all(u["recomputed"]["numbers"]["placement_equal"] for u in findings["unloads"])


@pytest.mark.parametrize("name", ["seed-001", "threshold"])
def test_unloads_are_as_many_as_unload_lines(
    name: str, seed: dict[str, Any], threshold: tuple[dict[str, Any], Path]
) -> None:
    findings = seed if name == "seed-001" else threshold[0]
    expected = unload_lines(RECORDINGS / name)
    assert expected > 0
    assert len(findings["unloads"]) == expected


def test_every_round_under_uniform_load_shedder_is_recomputed(tmp_path: Path) -> None:
    """Nine rounds, 88 rates printed with up to 17 digits, 88 bundles.

    Lookups between two bundles of a round set ranges aside, as ZooKeeper's log shows.  Three
    bundles were placed after a report that the leader looked at when the round was over.
    """
    findings = explained(RECORDINGS / "uniform", tmp_path)
    assert [r["recomputed"]["equal"] for r in findings["round_list"]] == [True] * 9
    assert len(findings["unloads"]) == unload_lines(RECORDINGS / "uniform") == 88
    placed = [u["recomputed"]["numbers"].get("placement_equal") for u in findings["unloads"]]
    assert Counter(placed) == {True: 88}
    jsonschema.validate(findings, SCHEMA)


def test_rounds_under_avg_shedder_are_recomputed_but_for_a_death_seen_late(
    tmp_path: Path,
) -> None:
    """A broker is killed; the recorder saw it seconds later than the leader did."""
    findings = explained(RECORDINGS / "avg", tmp_path)
    equal = [r["recomputed"]["equal"] for r in findings["round_list"]]
    assert equal == [True, True, True, True, None, None, True, True, True]
    assert "10.213.0.12:8080 left about then" in findings["round_list"][4]["recomputed"]["why"]
    assert len(findings["unloads"]) == unload_lines(RECORDINGS / "avg") == 15
    assert all(u["recomputed"]["equal"] for u in findings["unloads"])
    assert all(u["recomputed"]["numbers"]["placement_equal"] for u in findings["unloads"])


def test_findings_follow_their_schema(
    seed: dict[str, Any], threshold: tuple[dict[str, Any], Path]
) -> None:
    for findings in (seed, threshold[0]):
        jsonschema.validate(findings, SCHEMA)
        totals = findings["accounting"]
        parts = ("rows", "other", "continuation", "rejected")
        assert totals["lines"] == sum(totals[part] for part in parts) > 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(seed | {"unloads": [{"id": "u1"}]}, SCHEMA)


def test_every_piece_of_evidence_is_that_line_of_that_file(
    threshold: tuple[dict[str, Any], Path],
) -> None:
    findings, _ = threshold
    seen = 0
    for finding in findings["findings"] + findings["unloads"]:
        for evidence in finding["evidence"]:
            path = RECORDINGS / "threshold" / evidence["file"]
            with gzip.open(path, "rt", encoding="utf-8") as log:
                line = next(text for i, text in enumerate(log, 1) if i == evidence["line"])
            assert line.rstrip("\n").endswith(evidence["text"])
            seen += 1
    assert seen > 20


def test_a_missed_write_makes_rounds_undecidable_and_never_wrong(tmp_path: Path) -> None:
    """Four writes of the hot broker are left out, and a round falls between them."""
    spoiled = tmp_path / "spoiled"
    shutil.copytree(RECORDINGS / "threshold", spoiled, ignore=shutil.ignore_patterns("metrics"))
    path = spoiled / "store" / "brokers.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    hot, missed = "10.213.0.11:8080", range(18, 22)
    kept = [
        row for row in rows if (row["broker"], row["version"]) not in {(hot, v) for v in missed}
    ]
    assert len(kept) == len(rows) - len(missed)
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in kept)
    findings = explained(spoiled, tmp_path / "out")
    equal = [round_["recomputed"]["equal"] for round_ in findings["round_list"]]
    assert equal[:5] == [True] * 5
    assert equal[5] is None
    assert False not in equal
    why = findings["round_list"][5]["recomputed"]["why"]
    assert f"a write of {hot} was missed: version 18 was expected and 22 found" in why
    assert any(question["round"] == 6 for question in findings["undecidable"])


def test_the_page_says_the_headline_first(threshold: tuple[dict[str, Any], Path]) -> None:
    findings, output = threshold
    page = (output / "report.html").read_text(encoding="utf-8")
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    assert heading is not None
    # The page shortens the names of brokers.
    headline = findings["headline"]["text"].replace(":8080", "")
    assert headline in re.sub(r"<[^>]+>", "", heading[1])


def test_one_core_or_two_give_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for cores in ("1", "2"):
        output = tmp_path / cores
        subprocess.run(
            [sys.executable, "-m", "trimtab", "explain", str(RECORDINGS / "threshold"),
             "-o", str(output), "--cores", cores],
            check=True, capture_output=True, timeout=300,
        )  # fmt: skip
        files = sorted(path for path in output.rglob("*") if path.is_file())
        assert len(files) > 10
        digests.append(
            {str(p.relative_to(output)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
        )
    assert digests[0] == digests[1]
