"""Two recorded clusters under the extensible load manager: states in the topic, and in the store.

The nights of `cluster.extensible` with the clocks of a released Pulsar, in recordings/: what is
asked of a cluster that has just run is asked of them, and their counts are held.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from beside import ROOT
from test_pulsar_extensible import (
    Night,
    read_night,
    test_every_record_is_in_the_table_once,
    test_every_round_equals_the_log_in_every_printed_digit,
    test_no_line_is_lost,
    test_nothing_in_the_table_is_against_the_rules_of_the_channel,
    test_the_broker_that_was_drained_had_nothing_left,
    test_the_bundle_on_its_way_to_the_broker_that_was_killed,
    test_the_reasons_are_those_that_the_leader_counted,
    test_the_unloads_are_those_of_the_log,
    test_what_was_moved_is_where_the_records_have_it,
)

__all__ = [
    "test_every_record_is_in_the_table_once",
    "test_every_round_equals_the_log_in_every_printed_digit",
    "test_no_line_is_lost",
    "test_nothing_in_the_table_is_against_the_rules_of_the_channel",
    "test_the_broker_that_was_drained_had_nothing_left",
    "test_the_bundle_on_its_way_to_the_broker_that_was_killed",
    "test_the_reasons_are_those_that_the_leader_counted",
    "test_the_unloads_are_those_of_the_log",
    "test_what_was_moved_is_where_the_records_have_it",
]

pytestmark = pytest.mark.slow

#: Records, rounds, unloads, numbers printed in the rounds, moves by `apply` and by `drain`.
COUNTS = {
    "extensible-topic": (88, 5, 7, 62, 6, 4),
    "extensible-store": (89, 4, 7, 62, 8, 4),
}


@pytest.fixture(scope="module", params=list(COUNTS))
def night(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Night:
    recording = ROOT / "recordings" / request.param
    folder = tmp_path_factory.mktemp(request.param)
    for path in sorted((recording / "lab").glob("*.json.gz")):
        (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return read_night(recording, folder, folder / "explained")


def test_the_counts_are_those_of_the_recording(night: Night) -> None:
    document = night.document
    assert COUNTS[night.recording.name] == (
        len(night.transitions),
        len(document["round_list"]),
        len(document["unloads"]),
        sum(it["recomputed"]["numbers"]["numbers_printed"] for it in document["round_list"]),
        len(night.accounts["applied"]["moves"]),
        len(night.accounts["drained"]["moves"]),
    )
    assert document["findings"] == []


def test_few_states_were_possible_in_each_round(night: Night) -> None:
    states = [it["recomputed"]["numbers"]["states"] for it in night.document["round_list"]]
    assert max(states) <= 4


def test_a_recording_is_small(night: Night) -> None:
    files = [path for path in night.recording.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 400_000
    assert Path(night.recording, "recording.toml") in files
