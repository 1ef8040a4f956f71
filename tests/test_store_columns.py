"""What writes to the store say of the load is read in columns as it is row by row."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.test_columns import (
    AROUND,
    AVERAGES,
    BROKER_AVERAGES,
    BUNDLE,
    ODD,
    REPORT,
    STATE,
    STATS,
    changed,
    keys_into,
    parsed,
)
from tests.zookeeper_files import create, delete, log, multi, put, record
from trimtab.ingest import worker
from trimtab.ingest.store_columns import TimedWrite, Waiting
from trimtab.ingest.zookeeper import SOURCE
from trimtab.ingest.zookeeper_files.transactions import Operation
from trimtab.ingest.zookeeper_files.writes import Write

#: Which of the usual values, and keys into it.
Place: TypeAlias = tuple[int, tuple[str | int, ...]]
BROKER = "/loadbalance/brokers/b:1"
#: Nodes, each with a value as it usually is.
USUAL: tuple[tuple[str, dict[str, Any]], ...] = (
    (BROKER, REPORT),
    ("/loadbalance/brokers/b:2", REPORT | {"lastStats": {}, "bundleStats": {BUNDLE: STATS}}),
    (f"/loadbalance/bundle-data/{BUNDLE}", AVERAGES),
    ("/loadbalance/broker-time-average/b:1", BROKER_AVERAGES),
    (f"/service_unit_state/{BUNDLE}", STATE),
)
#: What else is written there.
OTHERS = (
    delete(BROKER),
    delete(f"/loadbalance/bundle-data/{BUNDLE}"),
    put(BROKER, None, 3),
    put(BROKER, b'{"webServiceUrl": "http://10.0.0.1:8080"}', 3),
    create("/loadbalance/bundle-data/public/default"),
    create("/loadbalance/leader", b'{"brokerId": "b:1"}', ephemeral=True),
    create(f"/namespace/{BUNDLE}", b'{"httpUrl": "http://b:1"}', ephemeral=True),
    create(f"/namespace/{BUNDLE}", b"{}"),
    delete(f"/service_unit_state/{BUNDLE}"),
    create("/service_unit_state/public/default", b""),
    create("/pulsar/migration-coordinator/migration", b'{"phase": "COMPLETED"}'),
)
#: What can be changed.
PLACES: list[Place] = [
    (i, keys) for i, (_, value) in enumerate(USUAL) for keys in keys_into(value, ())
]


def written(i: int, text: str | None = None) -> tuple[int, bytes]:
    """Write a usual value, or another text in its place."""
    path, value = USUAL[i]
    whole = json.dumps(value) if text is None else text
    return put(path, whole.encode("utf-8", "surrogatepass"), 7)


def changed_at(place: Place, how: str, text: str) -> tuple[int, bytes]:
    """Write a usual value, changed in one place."""
    i, keys = place
    return written(i, changed(USUAL[i][1], keys, how, text))


def agreed(path: Path, *operations: tuple[int, bytes]) -> tuple[str, str]:
    """Check that both ways say the same of a log, and give what they say."""
    path.write_bytes(log(*(record(n, it) for n, it in enumerate(operations, 1))))
    found = parsed(path, SOURCE, 1 << 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Waiting, "add_load", lambda *_: False)
        assert found == parsed(path, SOURCE, 1 << 20)
    return found


@pytest.mark.parametrize("i", range(len(USUAL)))
def test_what_is_usual_is_read_in_columns(i: int, tmp_path: Path) -> None:
    path, value = USUAL[i]
    write = Write(9, 1, 5, Operation.SET, path, json.dumps(value).encode(), 1, None)
    waiting = Waiting()
    assert waiting.add_load(TimedWrite(1, datetime.now(UTC), path, write))
    assert waiting.rows > 0

    account, rows = agreed(tmp_path / "log.1", written(i))

    assert "'rows': 1" in account
    assert "rejects" not in rows


@pytest.mark.slow
def test_every_value_is_odd_once(tmp_path: Path) -> None:
    # Each with a whole one before it and behind it, alone and in one transaction.
    changes = [(place, "odd", odd) for place in PLACES for odd in ("null", "[]", "2", '"NaN"')]
    changes += [(place, how, "1") for place in PLACES for how in ("without", "twice")]
    pairs = [(changed_at(*change), written(change[0][0])) for change in changes]
    path = tmp_path / "log.1"
    for operations in (chain(*pairs), (multi(usual, odd, usual) for odd, usual in pairs)):
        account, _ = agreed(path, *operations)
        assert "'rejected': 0" not in account


@pytest.mark.parametrize("i", range(len(USUAL)))
def test_every_oddity_in_values_that_count_and_in_one_that_does_not(i: int, tmp_path: Path) -> None:
    value = USUAL[i][1] | {"unknown": 1}
    keys = [*keys_into(value, ())]
    places = (keys[0], max(keys, key=len), ("unknown",))
    texts = [changed(value, place, "odd", odd) for place in places for odd in ODD]

    account, _ = agreed(tmp_path / "log.1", *(written(i, text) for text in texts))

    assert "'rows': 0" not in account
    assert "'rejected': 0" not in account


@pytest.mark.parametrize("odd", [b"", b"\xff", b"\xef\xbb\xbf{}", b"{},{}", b"[]", b"\x00"])
def test_bytes_that_are_no_value_are_rejected_either_way(odd: bytes, tmp_path: Path) -> None:
    for path, _ in USUAL:
        account, _ = agreed(tmp_path / "log.1", put(path, odd, 1), written(0))
        assert "'rejected': 1" in account


def test_a_time_that_no_calendar_has_costs_that_write(tmp_path: Path) -> None:
    path = tmp_path / "log.1"
    # The tests' clock goes by transactions.
    path.write_bytes(log(record(1, written(0)), record(10**13, written(0))))

    account, rows = parsed(path, SOURCE, 1 << 20)

    assert "'rejected': 1" in account
    assert "expected a time in ms" in rows
    assert "'store_writes': 1" in account


WHOLE = st.builds(written, st.integers(0, len(USUAL) - 1))
ODD_ONES = st.builds(
    changed_at,
    st.sampled_from(PLACES),
    st.sampled_from(["odd", "odd", "odd", "without", "renamed", "twice"]),
    st.sampled_from(ODD) | st.integers().map(str) | st.floats().map(json.dumps) | st.text(),
)
SURROUNDED = st.builds(
    lambda i, before, behind: written(i, before + json.dumps(USUAL[i][1]) + behind),
    st.integers(0, len(USUAL) - 1),
    st.sampled_from(AROUND),
    st.sampled_from(AROUND),
)
OPERATIONS = WHOLE | WHOLE | ODD_ONES | SURROUNDED | st.sampled_from(OTHERS)
#: As usual but for a number that JSON has no word for: read, but not in columns.
NAN = written(1, json.dumps(USUAL[1][1] | {"msgRateIn": "NaN"}))


@pytest.mark.slow
@given(
    st.lists(OPERATIONS | st.lists(OPERATIONS, max_size=5).map(lambda it: multi(*it)), max_size=12),
    st.sampled_from([1, 10, 4096]),
)
@example([multi(written(0), NAN, written(0), written(2)), written(0), NAN], 4096)
@settings(max_examples=400)
def test_any_writes_in_any_transactions(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[int, bytes]], batch_rows: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "_BATCH_ROWS", batch_rows)
        agreed(tmp_path_factory.getbasetemp() / "log.1", *operations)
