"""A log is its broker's also where the folder is named by address and port and nothing says so."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pyspark import SparkContext

from trimtab.diagnose.deployment import named_by_address
from trimtab.explanation.explain import explain
from trimtab.ingest.recording import open_recording

NIGHT = Path(__file__).parent.parent / "recordings" / "avg"
BROKERS = ("10.213.0.11:8080", "broker-1.pulsar.svc:8080")


@pytest.mark.parametrize("folder", ["10.213.0.11_8080", "10.213.0.11-8080", "10.213.0.11:8080"])
def test_a_folder_by_address_and_port_is_the_brokers(folder: str) -> None:
    assert named_by_address({}, [folder, "other"], BROKERS) == {folder: "10.213.0.11:8080"}
    # What recording.toml says wins.
    assert named_by_address({folder: "b:1"}, [folder], BROKERS) == {folder: "b:1"}


def test_what_may_be_two_brokers_is_neither() -> None:
    two = ("a-b:8080", "a_b:8080")
    assert named_by_address({}, ["a_b_8080", "10.213.0.11"], (*two, *BROKERS)) == {}


def test_a_leader_whose_log_is_there_is_not_said_to_have_none(
    spark: SparkContext, tmp_path: Path
) -> None:
    night = tmp_path / "night"
    shutil.copytree(NIGHT, night)
    toml = (night / "recording.toml").read_text()
    ids = dict(re.findall(r'\[brokers\."?([^"\]]+)"?\]\nid = "([^"]+)"', toml))
    for folder, broker in ids.items():
        if (night / "logs" / folder).exists():
            (night / "logs" / folder).rename(night / "logs" / broker.replace(":", "_"))
    (night / "recording.toml").unlink()

    with open_recording(night) as recording:
        said = explain(spark, recording, tmp_path / "out").document

    texts = [said["headline"]["text"], said["headline"]["sting"]]
    texts += [each["why"] for each in said["undecidable"]]
    assert ids
    assert not [each for each in texts if re.search(r"[Nn]o log of 10\.213\.0\.1[12]:8080", each)]
