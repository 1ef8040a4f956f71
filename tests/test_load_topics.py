"""Rounds of TransferShedder decided again from the topics in which brokers publish their loads.

The night is of a real cluster (`cluster.extensible`, the quick form, without metrics and of its
logs the load manager's lines): five rounds, of which one moves six bundles.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from trimtab.diagnose.diagnosis import diagnose
from trimtab.diagnose.transfers.heard import heard, together
from trimtab.diagnose.transfers.published import LoadData, TakenBack, TopBundles, Usage
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.spark.runner import Here

NIGHT = Path(__file__).parent / "testdata" / "recordings" / "loads"
LOADS, TOPS = (f"store/{name}-load-data.jsonl.gz" for name in ("broker", "top-bundles"))
#: The round that moves something.
MOVING = "2026-11-23T18:49:26"
#: What a leader prints without debug mode as well.
ALWAYS = re.compile(r"UnloadScheduler - \[TransferShedder\] Unloading bundle|BrokerRegistry")
START = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)


def changed(
    folder: Path, *changes: tuple[str, Callable[[Sequence[str]], Sequence[str]]]
) -> dict[str, Any]:
    """Explain the night with the lines of some files changed."""
    copy = folder / "night"
    shutil.copytree(NIGHT, copy)
    for files, change in changes:
        for path in sorted(copy.glob(files)):
            lines = gzip.decompress(path.read_bytes()).decode().splitlines()
            text = "".join(f"{line}\n" for line in change(lines))
            path.write_bytes(gzip.compress(text.encode(), mtime=0))
    with open_recording(copy) as opened:
        ingest(Here(), opened, folder / "tables")
    return diagnose(Here(), folder / "tables", "loopback").findings


def without_debug(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if ALWAYS.search(line)]


SILENT = ("logs/*/*.gz", without_debug)


def verdicts(document: dict[str, Any]) -> dict[str, bool | None]:
    return {it["time"][:19]: it["recomputed"]["equal"] for it in document["round_list"]}


def why(document: dict[str, Any]) -> str:
    (round_,) = [it for it in document["round_list"] if it["time"].startswith(MOVING)]
    return str(round_["recomputed"]["why"])


def last_before(lines: Sequence[str], broker: str) -> int:
    """Return which message of a broker was its last before the round that moves something."""
    messages = [json.loads(line) for line in lines]
    mine = [
        i
        for i, it in enumerate(messages)
        if it.get("broker") == broker and it["published"] < MOVING
    ]
    return mine[-1]


@pytest.mark.slow
def test_every_round_is_decided_without_metrics(tmp_path: Path) -> None:
    """The lines have two decimals; the messages have all, so one state alone is possible."""
    document = changed(tmp_path)
    assert list(verdicts(document).values()) == [True] * 5
    numbers = [each["recomputed"]["numbers"] for each in document["round_list"]]
    assert [each["states"] for each in numbers] == [1] * 5
    assert sum(each["numbers_printed"] for each in numbers) == 56
    assert [each["recomputed"]["equal"] for each in document["unloads"]] == [True] * 6


@pytest.mark.slow
def test_by_lines_alone_digits_hang_on_others(tmp_path: Path) -> None:
    document = changed(tmp_path, ("store/*load-data*", lambda _: []))
    assert None in verdicts(document).values()
    assert False not in verdicts(document).values()


@pytest.mark.slow
def test_by_messages_alone_a_round_is_decided_without_debug_mode(tmp_path: Path) -> None:
    """Rounds that move nothing print nothing then."""
    document = changed(tmp_path, SILENT)
    assert verdicts(document) == {MOVING: True}
    assert [each["recomputed"]["equal"] for each in document["unloads"]] == [True] * 6
    assert not any("recomputation" in each["what"] for each in document["undecidable"])


@pytest.mark.slow
def test_another_number_in_a_message_is_a_difference(tmp_path: Path) -> None:
    def other(lines: Sequence[str]) -> list[str]:
        at = last_before(lines, "198.18.1.3:8080")
        message = json.loads(lines[at])
        message["record"]["weightedMaxEMA"] *= 1.1
        return [*lines[:at], json.dumps(message), *lines[at + 1 :]]

    document = changed(tmp_path, (LOADS, other))
    assert verdicts(document)[MOVING] is False


@pytest.mark.slow
@pytest.mark.parametrize("file", [LOADS, TOPS])
def test_a_lost_message_leaves_the_round_open_unless_a_log_has_it(
    tmp_path: Path, file: str
) -> None:
    def lost(lines: Sequence[str]) -> list[str]:
        at = last_before(lines, "198.18.1.3:8080")
        time = json.loads(lines[at])["time"]
        breaks = [{"time": time, "is_heard": is_heard} for is_heard in (False, True)]
        return [*lines[:at], *map(json.dumps, breaks), *lines[at + 1 :]]

    silent = changed(tmp_path / "silent", SILENT, (file, lost))
    assert verdicts(silent) == {MOVING: None}
    assert why(silent).startswith("not all that ")
    assert why(silent).endswith("198.18.1.3:8080 published was heard, and no log has it")
    assert verdicts(changed(tmp_path / "printed", (file, lost)))[MOVING] is not False


# ------------------------------------------------------------------ what is known of one topic


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def load(second: float, reported: float | None, *, is_gone: bool = False) -> dict[str, Any]:
    """Make a row of `published_loads`; `reported` None: the broker had published nothing."""
    before = at(reported) if reported is not None else datetime.fromtimestamp(0, UTC)
    return {
        **{"time": at(second), "published": at(second), "broker": "b:1", "is_gone": is_gone},
        **{"is_heard": None, "updated": at(second), "reported": None if is_gone else before},
        **{"usage_smoothed": 0.5, "throughput_smoothed": 3.0, "throughput_in": 1.0},
        **{"throughput_out": 2.0, "file": "f", "line": round(second * 10)},
    }


def mark(second: float, *, is_heard: bool) -> dict[str, Any]:
    nothing = dict.fromkeys(load(0, 0))
    line = {"file": "f", "line": round(second * 10)}
    return nothing | line | {"time": at(second), "is_gone": False, "is_heard": is_heard}


@pytest.mark.parametrize(
    ("rows", "second", "is_known"),
    [
        # One follows the other, whether anybody says that he listened or not.
        ([load(10, 5), load(20, 10.01)], 15, True),
        # Between them there was another.
        ([load(10, 5), load(20, 15)], 18, False),
        ([load(10, 5), load(20, 11.5)], 10.5, False),
        # The first one: there was one before it, or before whoever looks began; or it is not said.
        ([load(10, 5)], 7, False),
        ([load(10, -3)], 7, True),
        ([load(10, None)], 7, False),
        ([mark(-1, is_heard=True), load(10, None)], 7, True),
        # Nothing follows: what counts is whether anybody listened all the time.
        ([load(10, 5)], 15, False),
        ([mark(3, is_heard=True), load(10, 5), mark(20, is_heard=False)], 15, True),
        ([mark(3, is_heard=True), load(10, 5), mark(20, is_heard=False)], 21, False),
        ([mark(3, is_heard=True), load(10, 5), mark(12, is_heard=False)], 15, False),
        ([mark(3, is_heard=True), load(10, 5)], 10, False),
        # It took back what it had, and nothing says whether it had published since.
        ([load(10, 5), load(12, None, is_gone=True), load(20, None)], 15, False),
        ([mark(9, is_heard=True), load(12, None, is_gone=True), load(20, None)], 15, True),
        ([load(12, None, is_gone=True), load(20, 12.5)], 14, False),
        ([load(10, 5), load(20, None, is_gone=True)], 15, False),
        # It began anew without taking anything back.
        ([load(10, 5), load(20, None)], 15, False),
        ([mark(9, is_heard=True), load(10, 5), load(20, None)], 15, True),
    ],
)
def test_what_was_lost_shows(rows: list[dict[str, Any]], second: float, *, is_known: bool) -> None:
    _, known = heard(rows, [], {})
    assert known.loads.is_known("b:1", at(0), at(second)) is is_known


def test_a_clock_that_is_off_is_taken_off() -> None:
    ((load_,), known) = heard([load(10, 5)], [], {"b:1": timedelta(seconds=2)})
    assert load_.time == at(8)
    assert known.loads.messages["b:1"][0].before == at(3)


def test_what_lines_and_messages_tell_of_counts_once() -> None:
    printed = [
        LoadData(at(1), "b:1", Usage((0.5,), is_whole=False), 3.0, (1.0, 2.0), 1000),
        LoadData(at(2), "b:1", Usage((0.6,), is_whole=False), 3.0, (1.0, 2.0), 2000),
        TopBundles(at(2), "b:1", (("x", 1.0, 2.0),)),
        TopBundles(at(2.5), "b:1", (("x", 1.0, 2.5),)),
        TakenBack(at(3), "b:1", has_load=True, has_bundles=False),
        TakenBack(at(9), "b:1", has_load=True, has_bundles=False),
    ]
    messages = [
        LoadData(at(1.001), "b:1", Usage((0.51,), is_whole=True), 3, (1, 2), 1000, is_whole=True),
        TopBundles(at(2.002), "b:1", (("x", 1.0, 2.0),)),
        TakenBack(at(2.9), "b:1", has_load=True, has_bundles=False),
    ]
    assert together(printed, messages) == [
        messages[0],
        printed[1],
        messages[1],
        printed[3],
        messages[2],
        printed[5],
    ]
