"""What the diagnosis makes of ZooKeeper's log: it wins over what was polled, and lookups show."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext

from trimtab.diagnose.diagnosis import diagnose
from trimtab.diagnose.replay.busy_leader import looks, unloading
from trimtab.diagnose.replay.lookups import answer, is_lookup, owners
from trimtab.diagnose.store_source import best_rows, covered, is_logged
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.pulsar.leader.load import broker_load
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.view import LeaderView

UNIFORM = Path(__file__).parent.parent / "recordings" / "uniform"
START = datetime(2026, 11, 21, 7, tzinfo=UTC)
LOGGED, POLLED = "store/zookeeper/one/log.1", "store/brokers.jsonl"


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def row(file: str, second: float, version: int | None = 0, **more: Any) -> dict[str, Any]:
    """A report that took a second from the store to the recorder, or news that one is gone."""
    is_gone = version is None
    written = None if is_gone else at(second)
    late = 0 if file == LOGGED else 1
    return {
        "file": file,
        "time": at(second + late),
        "broker": "b1",
        "version": version,
        "written": written,
        **more,
    }


def store_file(first: int, last: int, start: float, end: float) -> dict[str, Any]:
    return {"first": first, "last": last, "start": at(start), "end": at(end)}


# ------------------------------------------------------------ which rows count


def test_logs_that_follow_on_each_other_cover_one_span() -> None:
    second_leader = 1 << 32
    files = [
        store_file(1, 50, 0, 10),
        {"first": None, "last": None, "start": None, "end": None},
        store_file(30, 70, 6, 14),
        store_file(71, 99, 15, 20),
        store_file(second_leader + 1, second_leader + 9, 30, 40),
        store_file(second_leader + 20, second_leader + 29, 50, 60),
    ]

    assert covered(reversed(files)) == ((at(0), at(40)), (at(50), at(60)))
    assert covered([]) == ()


def test_polled_rows_count_where_no_log_has_them() -> None:
    spans = ((at(10), at(20)),)
    kept = [
        row(POLLED, 5),
        row(LOGGED, 12, 1),
        row(LOGGED, 15, None),
        row(POLLED, 20.5, 3),
        row("load-reports.jsonl", 15),
        row(POLLED, 25, None),
    ]
    left_out = [row(POLLED, 12, 1), row(POLLED, 14, 2), row(POLLED, 15, None)]

    assert best_rows([*kept, *left_out], spans) == kept
    assert best_rows(left_out, ()) == left_out


def test_a_node_in_a_snapshot_and_polled_counts_once() -> None:
    """Its write came before the first log; the broker's next one is not in any."""
    taken, seen = row("store/zookeeper/snapshot.5", 3, 7), row(POLLED, 3, 7)

    assert best_rows([taken, seen, row(POLLED, 4, 8)], ()) == [taken, row(POLLED, 4, 8)]
    assert is_logged(taken)
    assert not is_logged(seen)


# ------------------------------------------------------------------- lookups


def selection(second: float, thread: str | None = "pulsar-2-1") -> dict[str, Any]:
    return {"time": at(second), "bundle": "t/n/a", "thread": thread}


def test_a_lookup_is_told_from_the_shedding_task_by_its_thread() -> None:
    assert is_lookup(selection(0))
    assert not is_lookup(selection(0, "pulsar-load-manager-1-1"))
    assert not is_lookup(selection(0, None))


def test_an_answer_is_the_only_candidate_or_the_next_owner() -> None:
    known = owners(
        {"time": at(second), "bundle": bundle, "broker": broker}
        for second, bundle, broker in (
            (9, "t/n/a", "b3"),
            (1, "t/n/a", "b1"),
            (5, "t/n/a", None),
            (6, "t/n/other", "b1"),
            (7, None, None),
        )
    )

    assert answer(selection(5), ["b2"], known) == "b2"
    assert answer(selection(0), ["b1", "b3"], known) == "b1"
    assert answer(selection(5), ["b1", "b3"], known) == "b3"
    assert answer(selection(5), ["b1", "b2"], known) is None
    assert answer(selection(10), ["b1", "b3"], known) is None
    assert answer(selection(-30), ["b1", "b3"], known) is None


def view_of(**bundles: tuple[str, ...]) -> LeaderView:
    view = LeaderView()
    for broker, names in bundles.items():
        samples = np.tile([10.0, 10.0, 1.0, 1.0, 1.0], (len(names), 1))
        usage, limit, totals = np.full(5, 10.0), np.full(5, 100.0), np.full(4, 1.0)
        view.take(Report(broker, usage, limit, totals, names, names, samples))
    return view


def test_what_a_lookup_gave_counts_at_once_and_until_the_next_look() -> None:
    view = view_of(b1=("t/n/a",), b2=("t/n/b",), b3=("t/other/c",))
    assert view.brokers_with_fewest("t/n") == ("b3",)

    view.give("t/n/d", "b3")
    view.give("t/n/e", "b1")
    assert view.brokers_with_fewest("t/n") == ("b2", "b3")
    ahead = broker_load(view).preallocations
    brokers = [view.order()[i] for i in ahead.broker.tolist()]
    assert sorted(brokers) == ["b1", "b3"]
    assert ahead.rate_in.tolist() == [50.0, 50.0]

    view.recompute()
    assert view.brokers_with_fewest("t/n") == ("b3",)
    assert broker_load(view).preallocations.broker.size == 0


def test_what_the_leader_gave_itself_counts_until_it_reports_it() -> None:
    view = view_of(b1=(), b2=())
    view.own = {"t/n/a"}
    view.give("t/n/a", "b1")
    view.recompute()
    assert view.brokers_with_fewest("t/n") == ("b2",)
    view.drop("b1")
    assert view.preallocated.by_broker == {}


# ------------------------------------------------------- while the leader unloads


def owned(second: float, bundle: str, broker: str | None) -> dict[str, Any]:
    return {"time": at(second), "bundle": bundle, "broker": broker}


def test_a_round_lasts_until_its_last_bundle_is_free() -> None:
    ticks = [(at(0), None), (at(60), 1), (at(120), 2), (at(180), 3), (at(240), 4)]
    unloads = [(at(62), "b"), (at(61), "a"), (at(121), "a"), (at(182), "c")]
    freed = [owned(61.5, "a", None), owned(63, "b", None), owned(121.2, "a", "b2")]
    slow = owned(240, "c", None)

    found = unloading(ticks, unloads, [slow, *reversed(freed)])

    assert found == [(at(60), at(63)), (at(120), at(121)), (at(180), at(182))]
    assert unloading(ticks, [], freed) == []


def test_what_is_written_in_a_round_is_heard_of_at_its_end_and_together() -> None:
    spans = [(at(60), at(63)), (at(120), at(121))]
    written = [(at(second), second) for second in (59, 60, 62, 63, 64, 120.5)]

    assert sorted(looks(written, spans)) == [
        (at(59), [59]),
        (at(63), [60, 62]),
        (at(63), [63]),
        (at(64), [64]),
        (at(121), [120.5]),
    ]
    assert [*looks(written, ())] == [(time, [what]) for time, what in written]


# ---------------------------------------------------------------- a whole run


def diagnosed(
    spark: SparkContext, folder: Path, ahead_s: Mapping[str, float]
) -> tuple[dict[str, Any], Path]:
    """Diagnose a cluster of which nobody recorded the store: logs, settings, ZooKeeper's log.

    Args:
        spark: session.
        folder: to work in.
        ahead_s: broker's log → s by which its clock was ahead.
    """
    recorded = ("*.jsonl.gz", "*.jsonl")
    shutil.copytree(UNIFORM, folder / "night", ignore=shutil.ignore_patterns(*recorded))
    for broker, shift_s in ahead_s.items():
        log = folder / "night/logs" / broker / "pulsar-broker.log.gz"
        text = gzip.decompress(log.read_bytes()).decode()
        log.write_bytes(gzip.compress(shifted(text, timedelta(seconds=shift_s)).encode()))
    with open_recording(folder / "night") as recording:
        ingest(spark, recording, folder / "tables")
    return diagnose(spark, folder / "tables", "uniform").findings, folder / "tables"


def shifted(text: str, by: timedelta) -> str:
    """Set the clock of whoever wrote a log."""

    def other(found: re.Match[str]) -> str:
        time = datetime.strptime(found[0], "%Y-%m-%dT%H:%M:%S,%f") + by
        return f"{time:%Y-%m-%dT%H:%M:%S},{time.microsecond // 1000:03}"

    return re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{3}", other, text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def alone(
    spark: SparkContext, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    return diagnosed(spark, tmp_path_factory.mktemp("alone"), {})


def test_zookeepers_log_alone_is_enough_to_decide_every_round_again(
    alone: tuple[dict[str, Any], Path],
) -> None:
    findings, _ = alone
    assert [r["recomputed"]["equal"] for r in findings["round_list"]] == [True] * 9
    assert Counter(u["recomputed"]["equal"] for u in findings["unloads"]) == {True: 88}
    assert findings["undecidable"] == []


def test_every_placement_of_the_run_is_recomputed(
    alone: tuple[dict[str, Any], Path],
) -> None:
    """All 124 selections, 36 of them lookups, had the candidates that come out.

    What lookups gave away is seen in the owners.  Three were made after a broker had written
    that it had one more bundle of the namespace, and two of them after another broker had
    come back: of neither did the leader hear before its round was over.
    """
    findings, tables = alone
    equal = [u["recomputed"]["numbers"].get("placement_equal") for u in findings["unloads"]]
    assert Counter(equal) == {True: 88}
    counts = {
        (event["file"], event["line"]): event["count"]
        for event in pq.read_table(tables / "log_events").to_pylist()
        if event["kind"] == "candidates-considered"
    }
    placed = pq.read_table(tables / "replayed_placements").to_pylist()
    assert len(placed) == 124
    assert [counts[p["file"], p["line"]] for p in placed] == [len(p["candidates"]) for p in placed]
    (begin, end) = (datetime(2026, 11, 21, 7, 17, 47, ms * 1000, tzinfo=UTC) for ms in (627, 981))
    late = [p["candidates"] for p in placed if begin < p["time"] < end]
    assert late == [["10.213.0.14:8080", "10.213.0.11:8080"]] * 3


def test_polling_beside_the_log_changes_nothing(
    spark: SparkContext, alone: tuple[dict[str, Any], Path], tmp_path: Path
) -> None:
    with open_recording(UNIFORM) as recording:
        ingest(spark, recording, tmp_path / "tables")
    both = diagnose(spark, tmp_path / "tables", "uniform").findings

    for part in ("round_list", "unloads", "undecidable"):
        assert json.dumps(both[part], default=str) == json.dumps(alone[0][part], default=str)
    for table in ("replayed_rounds", "replayed_placements"):
        first, second = (pq.read_table(at / table) for at in (alone[1], tmp_path / "tables"))
        assert first.equals(second)


def test_clocks_that_are_off_are_measured_and_change_nothing(
    spark: SparkContext, alone: tuple[dict[str, Any], Path], tmp_path: Path
) -> None:
    """The leader is 1.25 s ahead, one broker 3.7 s and one 2 s behind."""
    ahead_s = {"broker1": 1.25, "broker3": 3.7, "broker4": -2.0}
    findings, _ = diagnosed(spark, tmp_path, ahead_s)

    right = {each["broker"]: each for each in alone[0]["clocks"]["brokers"]}
    wrong = {each["broker"]: each for each in findings["clocks"]["brokers"]}
    assert findings["clocks"]["reference"] == "the metadata store"
    assert [each["is_corrected"] for each in right.values()] == [False] * 4
    assert [each["ahead_s"] for each in wrong.values()] == pytest.approx(
        [1.25, 0.0, 3.7, None], abs=0.003
    )
    assert max(each["bound_s"] or 0.0 for each in wrong.values()) <= 0.003
    assert min(each["pairs"] for each in wrong.values()) > 50
    (jump,) = (each for each in findings["warnings"] if "jumped" in each)
    assert jump.startswith("the clock of 10.213.0.14:8080 jumped: it was ahead of")
    (off, more) = (each for each in findings["warnings"] if "have NTP keep" in each)
    assert "10.213.0.11:8080 is 1.250 s" in off
    assert "10.213.0.13:8080 is 3.700 s" in more
    for part in ("round_list", "unloads"):
        assert [each["recomputed"] for each in findings[part]] == [
            each["recomputed"] for each in alone[0][part]
        ]
