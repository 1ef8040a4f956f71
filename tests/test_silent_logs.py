"""What is known where logs tell of nothing, or of less than the leader remembers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from trimtab.diagnose.cluster_tables import logs_without_events
from trimtab.diagnose.course import Basis, Course, beginning
from trimtab.diagnose.deployment import deployment
from trimtab.diagnose.night import Event
from trimtab.diagnose.terms import terms
from trimtab.diagnose.whole_night import Beside, whole_night
from trimtab.files.tables import DIAGNOSED, INGESTED

TIME = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)


def account(file: str, rows: int, other: int, rejected: int) -> dict[str, object]:
    return {"file": file, "source": "log", "rows": rows, "other": other, "rejected": rejected}


def test_a_log_without_a_known_line_is_there_and_one_without_a_readable_line_is_told_apart() -> (
    None
):
    files = [
        account("logs/b1/pulsar-broker.log", 4, 9, 0),
        account("logs/b2/pulsar-broker.log", 0, 9, 1),
        account("logs/b3/pulsar-broker.log", 0, 0, 7),
        account("logs/b4/old.log", 0, 0, 7),
        account("logs/b4/new.log", 0, 2, 0),
        account("broker.log", 0, 3, 0),
        account("conf/b5.conf", 0, 9, 0) | {"source": "conf"},
    ]
    assert logs_without_events(files) == ({"b2", "b4", "broker"}, {"b3"})


@pytest.mark.parametrize(
    ("logs", "begin", "known"),
    [
        ({"b1"}, None, [0, 1, 2, 3]),
        ({"b1"}, TIME + timedelta(minutes=2), [2, 3]),
        (set(), None, [3]),
    ],
    ids=["log and election", "the recording begins later", "no log of the leader"],
)
def test_silent_rounds_count_where_a_log_would_tell_of_moves(
    logs: set[str], begin: datetime | None, known: list[int]
) -> None:
    """Round 3 is logged; the others were decided again, and nobody logged that nothing was done."""
    elected = Event(TIME, "b1", "store/leader.jsonl", 1, "elected-leader", "")
    rows = [
        {
            "term": 1,
            "time": TIME + timedelta(minutes=minute),
            "round": 3 if minute == 3 else None,
            "brokers": [],
        }
        for minute in range(4)
    ]
    ran = deployment({}, [], [], ((), ()))
    none = INGESTED["load_reports"].empty_table()
    basis = Basis({"b1": "b1:8080"}, {}, (), (elected,), none, ran, (), begin)
    course = Course(TIME, terms((), [elected], TIME), None, ())
    beside = Beside((), {}, {}, {}, {}, {}, (), frozenset(logs))
    replayed = {name: schema.empty_table() for name, schema in DIAGNOSED.items()}
    replayed["replayed_rounds"] = pa.Table.from_pylist(rows, DIAGNOSED["replayed_rounds"])

    night = whole_night(basis, course, beside, replayed)

    assert [(time - TIME).seconds // 60 for time in night.decisions.times] == known


@pytest.mark.parametrize(
    ("meta", "begin"),
    [
        ({"from": "2026-11-21T22:10:00Z"}, TIME + timedelta(minutes=10)),
        ({"from": "2026-11-21T22:10:00"}, TIME + timedelta(minutes=10)),
        ({}, TIME),
    ],
)
def test_a_recording_begins_as_it_says_or_with_its_first_line(
    meta: dict[str, str], begin: datetime
) -> None:
    line = Event(TIME, "b1", "logs/b1.log", 1, "elected-leader", "", logger="PulsarService")
    stored = Event(TIME - timedelta(hours=9), "b1", "store/leader.jsonl", 1, "elected-leader", "")
    assert beginning(meta, [stored, line], INGESTED["load_reports"].empty_table()) == begin
