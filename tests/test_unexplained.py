"""Changes of owners that no line explains are moves, whatever the leader's log says."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkContext

from trimtab.diagnose.advice import headline as sentences
from trimtab.diagnose.night import Event, Handover, Night, Round
from trimtab.diagnose.unexplained import changes_of_owners, unexplained
from trimtab.diagnose.usages import usages_of
from trimtab.explanation.explain import explain
from trimtab.files.tables import INGESTED
from trimtab.ingest.recording import open_recording

ROOT = Path(__file__).parent.parent
TIME = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
BUNDLE = "shop/orders/0x00000000_0x40000000"
MOVED = Handover(TIME + timedelta(minutes=5), BUNDLE, "b1:8080", "b2:8080")
IDLE = Round(1, 1, TIME, TIME, "b1", "ThresholdShedder", (), (), {})


def after(minutes: float) -> datetime:
    return TIME + timedelta(minutes=minutes)


def owned(*rows: tuple[float, str, str | None]) -> pa.Table:
    columns = ("time", "bundle", "broker", "file", "line")
    listed = [
        (after(at), name, broker, "store/ownership.jsonl", i)
        for i, (at, name, broker) in enumerate(rows)
    ]
    schema = pa.schema([INGESTED["ownership"].field(name) for name in columns])
    return pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in listed], schema)


def report(at: float, *, gone: bool = False, started: float | None = None) -> Mapping[str, Any]:
    begun = None if started is None else after(started)
    return {"time": after(at), "broker": "b1:8080", "is_gone": gone, "started": begun}


def line(kind: str, at: float, text: str = "", bundle: str | None = BUNDLE) -> Event:
    return Event(after(at), "b1", "logs/b1.log", 1, kind, text, bundle=bundle)


WENT = owned((0, BUNDLE, "b1:8080"), (4.9, BUNDLE, None), (5, BUNDLE, "b2:8080"))
THERE = [report(0), report(9)]


def found(lines: list[Event], reports: list[Mapping[str, Any]]) -> tuple[Handover, ...]:
    return unexplained(changes_of_owners(WENT, "4.0.8"), lines, reports)


def test_who_has_never_had_another_owner_has_not_moved() -> None:
    times = ((0, None), (1, "b1:8080"), (2, None), (3, "b1:8080"))
    stays = owned(*((at, BUNDLE, broker) for at, broker in times))
    own = "pulsar/b1:8080/0x00000000_0xffffffff"
    assert changes_of_owners(stays, "4.0.8") == []
    assert changes_of_owners(owned((0, own, "b1:8080"), (1, own, "b2:8080")), "4.0.8") == []


@pytest.mark.parametrize(
    ("lines", "reports", "is_explained"),
    [
        pytest.param([], THERE, False, id="nobody says why"),
        pytest.param([line("unload", 4.8)], THERE, True, id="the leader ordered it"),
        pytest.param([line("admin-unload", 4.8)], THERE, True, id="somebody asked for it"),
        pytest.param([line("unload", -9)], THERE, False, id="an order of long ago"),
        pytest.param(
            [line("unload", 4.8, bundle=BUNDLE.replace("orders", "carts"))], THERE, False,
            id="an order for another namespace",
        ),
        pytest.param(
            [line("split-done", 4.5, "Split shop/orders/0x00000000_0x80000000")],
            THERE, True, id="its half was split off",
        ),
        pytest.param([], [report(0), report(4, gone=True), report(9)], True, id="it left"),
        pytest.param([], [report(0), report(9, started=4.95)], True, id="it started anew"),
        pytest.param([], [report(0), report(4)], True, id="nobody knows whether it stayed"),
    ],
)  # fmt: skip
def test_what_explains_a_change_of_owners(
    lines: list[Event], reports: list[Mapping[str, Any]], is_explained: bool
) -> None:
    assert found(lines, reports) == (() if is_explained else (MOVED,))


def test_the_headline_lists_them_and_says_what_could_not_be_read() -> None:
    names = {"b1": "b1:8080"}
    night = Night(
        (IDLE,), usages_of(()), 0.1, 0.1, 1800.0, 60.0, names=names, logs=frozenset({"b1"})
    )
    unread = "2 lines of the log of b1:8080 would tell of moves and could not be read."
    went = f"{BUNDLE} went from b1:8080 to b2:8080 at 22:05:00"

    assert sentences(replace(night, misread={"b1": 2}), {}) == ("No move is known.", unread)
    told = replace(night, unexplained=(MOVED,), misread={"b1": 2})
    moved = "Moves were made that no log explains: 1 change of owners."
    assert sentences(told, {}) == (moved, f"{went}. {unread}")
    # Whose log is missing may have ordered them.
    silent = replace(night, unexplained=(MOVED,), logs=frozenset())
    absent = "No log of the leader is in the recording."
    assert sentences(silent, {})[1] == f"{went}. {absent}"
    many = replace(night, unexplained=(MOVED,) * 5)
    assert sentences(many, {})[1] == f"{went}; {went}; {went}; and 2 more."


def test_a_leader_whose_lines_cannot_be_read_has_not_moved_nothing(
    spark: SparkContext, tmp_path: Path
) -> None:
    # As 5.0 logs where the pattern leaves the attributes out: the message, and no bundle.
    night = tmp_path / "night"
    shutil.copytree(ROOT / "recordings" / "uniform", night)
    shutil.rmtree(night / "store" / "zookeeper")
    for path in sorted(night.glob("logs/*/*.gz")):
        text = gzip.decompress(path.read_bytes()).decode()
        text = re.sub(r"(\[UniformLoadShedder\] Unloading bundle:) .*", r"\1", text)
        kept = [
            each for each in text.splitlines()
            if "UniformLoadShedder -" not in each and "Unloading namespace bundle" not in each
        ]  # fmt: skip
        path.write_bytes(gzip.compress("\n".join(kept).encode()))

    with open_recording(night) as recording:
        said = explain(spark, recording, tmp_path / "out").document

    headline = f"{said['headline']['text']} {said['headline']['sting']}"
    assert "moved nothing" not in headline
    assert "Moves were made that no log explains" in headline
    assert len(said["unexplained"]) > 5
