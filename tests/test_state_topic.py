"""The topic of bundles' states is read entry by entry, over the admin API alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import fake_admin as fake
from trimtab.live.gather import Gathered, GatherRequest, gather, read_access
from trimtab.live.gather.batches import Message, messages_of
from trimtab.live.gather.cluster import has_state_topic
from trimtab.pulsar.channel import IN_STORE

TOPIC = "/admin/v2/persistent/pulsar/system/loadbalancer-service-unit-state"
STATS = f"{TOPIC}/internalStats"
TIME = "2026-11-23T14:00:00.123Z"
TIME_MS = 1_795_442_400_123
MANAGER = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
OWNED = {"state": "Owned", "dstBroker": "b1:8080", "sourceBroker": None, "versionId": 2}


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def packed(*messages: tuple[str, bytes | None, bool]) -> bytes:
    """Pack messages as a producer does: key, value or None, left out by compaction."""
    out = b""
    for key, value, is_left_out in messages:
        header = b"\x12" + varint(len(key)) + key.encode()
        header += b"\x18" + varint(len(value or b""))
        header += b"\x20\x01" if is_left_out else b""
        # An event's time, and a property, which nobody asks for here.
        header += b"\x28" + varint(TIME_MS) + b"\x0a\x04\x0a\x00\x12\x00"
        header += b"\x48\x01" if value is None else b""
        out += len(header).to_bytes(4, "big") + header + (value or b"")
    return out


def entry(body: bytes, **headers: str) -> fake.Answer:
    """Answer as the admin API does with one entry."""

    def answer(request: fake.Request) -> None:
        request.send_response(200)
        request.send_header("X-Pulsar-publish-time", TIME)
        for name, value in headers.items():
            request.send_header("X-Pulsar-" + name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def in_turn(answers: list[fake.Answer]) -> fake.Answer:
    """Answer each time as the next of them does."""
    left = iter(answers)

    def answer(request: fake.Request) -> None:
        next(left)(request)

    return answer


def stats(last: str, *ledgers: tuple[int, int]) -> fake.Answer:
    listed = [{"ledgerId": ledger, "entries": entries} for ledger, entries in ledgers]
    found = {"lastConfirmedEntry": last, "ledgers": listed}
    return fake.said(200, json.dumps(found).encode())


@pytest.fixture
def broker() -> Iterator[fake.Broker]:
    with fake.brokers(1) as (only,):
        settings = {"clusterName": "h1", "loadManagerClassName": MANAGER}
        only.answers[fake.RUNTIME] = fake.said(200, json.dumps(settings).encode())
        yield only


def said(messages: int, missed: int, lost: int) -> str:
    counted = f"{messages} messages of the topic of states, {missed} entries missed"
    return f"{counted}, {lost} records gone before"


def once(broker: fake.Broker, output: Path) -> Gathered:
    wanted = GatherRequest(admin=broker.address)
    return gather(wanted, read_access(None), output, threading.Event())


def lines(output: Path, name: str = "store/service-unit-state.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / name).read_text().splitlines()]


def test_single_and_packed_messages_are_recorded_in_their_order(
    broker: fake.Broker, tmp_path: Path
) -> None:
    value = json.dumps(OWNED).encode()
    broker.answers |= {
        STATS: stats("7:0", (5, 2), (7, 0)),
        f"{TOPIC}/ledger/5/entry/0": entry(value, partition_key="t/n/0x0_0x1"),
        f"{TOPIC}/ledger/5/entry/1": entry(
            packed(
                ("t/n/0x1_0x2", value, False),
                ("t/n/0x0_0x1", b"?", True),
                ("t/n/0x0_0x1", None, False),
            ),
            num_batch_message="3",
        ),
        f"{TOPIC}/ledger/7/entry/0": entry(b"", partition_key="t/n/0x1_0x2", null_value="true"),
    }

    found = once(broker, tmp_path / "night")

    assert (
        found.states == "4 messages of the topic of states, 0 entries missed, 2 records gone before"
    )
    assert lines(tmp_path / "night") == [
        {"time": TIME, "bundle": "t/n/0x0_0x1", "record": OWNED},
        {"time": TIME, "bundle": "t/n/0x1_0x2", "record": OWNED},
        {"time": TIME, "bundle": "t/n/0x0_0x1", "record": None},
        {"time": TIME, "bundle": "t/n/0x1_0x2", "record": None},
    ]
    # Each entry is asked for once, and nothing is left behind.
    paths = [path for path, _ in broker.asked if path.startswith(f"{TOPIC}/ledger")]
    assert sorted(paths) == sorted(set(paths))
    assert not any("subscription" in path for path, _ in broker.asked)


def test_an_entry_that_is_not_answered_is_asked_for_again_before_those_behind_it(
    broker: fake.Broker, tmp_path: Path
) -> None:
    value = json.dumps(OWNED).encode()
    answers = [fake.said(500, b"{}"), entry(value, partition_key="t/n/0x0_0x1")]
    broker.answers |= {
        STATS: stats("5:1", (5, 0)),
        f"{TOPIC}/ledger/5/entry/0": in_turn(answers),
        f"{TOPIC}/ledger/5/entry/1": entry(b"null", partition_key="t/n/0x0_0x1"),
    }

    found = once(broker, tmp_path / "night")

    assert (
        found.states == "2 messages of the topic of states, 0 entries missed, 1 records gone before"
    )
    assert [line["record"] for line in lines(tmp_path / "night")] == [OWNED, None]
    troubles = lines(tmp_path / "night", "gather.jsonl")
    (failed,) = [it for it in troubles if "error" in it and it["asked"].startswith(TOPIC)]
    assert failed["asked"] == f"{TOPIC}/ledger/5/entry/0"


def test_what_is_trimmed_before_it_is_read_is_counted(broker: fake.Broker, tmp_path: Path) -> None:
    answers = [stats("5:9", (5, 0)), stats("9:0", (9, 0))]
    broker.answers |= {
        STATS: in_turn(answers),
        **{f"{TOPIC}/ledger/5/entry/{i}": fake.said(404, b"{}") for i in range(10)},
        f"{TOPIC}/ledger/9/entry/0": entry(b"null", partition_key="t/n/0x0_0x1"),
    }

    found = once(broker, tmp_path / "night")

    assert found.states == said(1, 10, 0)
    (warning,) = [each for each in found.warnings if "states of bundles" in each]
    assert warning.startswith("Some states of bundles are not in the recording: 1 messages")


def test_an_entry_that_is_none_is_counted_and_those_behind_it_are_read(
    broker: fake.Broker, tmp_path: Path
) -> None:
    broker.answers |= {
        STATS: stats("5:1", (5, 0)),
        f"{TOPIC}/ledger/5/entry/0": entry(b"\x00\x00\x00\xff", num_batch_message="1"),
        f"{TOPIC}/ledger/5/entry/1": entry(b"null", partition_key="t/n/0x0_0x1"),
    }

    found = once(broker, tmp_path / "night")

    assert (
        found.states == "1 messages of the topic of states, 1 entries missed, 0 records gone before"
    )
    assert len(lines(tmp_path / "night")) == 1


def test_records_that_no_message_has_are_counted_by_their_own_numbers(
    broker: fake.Broker, tmp_path: Path
) -> None:
    """From the third on, one skipped, a race, a removal, and two of a new life."""
    versions = [3, 5, 5, 6, None, 1, 2]
    values = [
        b"null" if version is None else json.dumps(OWNED | {"versionId": version}).encode()
        for version in versions
    ]
    broker.answers |= {
        STATS: stats("5:6", (5, 0)),
        **{
            f"{TOPIC}/ledger/5/entry/{i}": entry(value, partition_key="t/n/0x0_0x1")
            for i, value in enumerate(values)
        },
    }

    found = once(broker, tmp_path / "night")

    assert found.states == said(7, 0, 3)


def test_what_comes_before_an_end_that_was_asked_for_is_read(
    broker: fake.Broker, tmp_path: Path
) -> None:
    broker.answers |= {
        STATS: in_turn([stats("5:0", (5, 0)), stats("5:1", (5, 0))]),
        **{
            f"{TOPIC}/ledger/5/entry/{i}": entry(b"null", partition_key=f"t/n/{i}")
            for i in range(2)
        },
    }
    output, is_over = tmp_path / "night", threading.Event()
    wanted = GatherRequest(admin=broker.address, duration_s=60.0, every_s=60.0)

    def ends(name: str, line: str) -> None:
        if name == "store/service-unit-state.jsonl":
            is_over.set()

    found = gather(wanted, read_access(None), output, is_over, ends)

    assert found.states == said(2, 0, 0)
    assert [line["bundle"] for line in lines(output)] == ["t/n/0", "t/n/1"]


def test_who_prints_nothing_of_its_load_is_warned_of(broker: fake.Broker, tmp_path: Path) -> None:
    broker.answers[STATS] = stats("5:-1", (5, 0))
    settings = {"clusterName": "h1", "loadManagerClassName": MANAGER}
    assert any("DebugModeEnabled=false" in it for it in once(broker, tmp_path / "a").warnings)

    settings |= {"loadBalancerDebugModeEnabled": "true"}
    broker.answers[fake.RUNTIME] = fake.said(200, json.dumps(settings).encode())
    assert not any("DebugMode" in it for it in once(broker, tmp_path / "b").warnings)


def test_under_the_modular_manager_the_topic_is_not_asked_for(tmp_path: Path) -> None:
    with fake.brokers(1) as (broker,):
        found = once(broker, tmp_path / "night")
        assert found.states is None
        assert not any(path.startswith(TOPIC) for path, _ in broker.asked)


@pytest.mark.parametrize(
    ("settings", "is_there"),
    [
        ({"loadManagerClassName": MANAGER}, True),
        ({"loadManagerClassName": "org.apache.ModularLoadManagerImpl"}, False),
        ({}, False),
        (
            {
                "loadManagerClassName": MANAGER,
                "table": IN_STORE,
            },
            False,
        ),
        (
            {
                "loadManagerClassName": MANAGER,
                "table": IN_STORE,
                "loadBalancerServiceUnitTableViewSyncer": "MetadataStoreToSystemTopicSyncer",
            },
            True,
        ),
    ],
)
def test_the_settings_tell_whether_there_is_such_a_topic(
    settings: dict[str, str], is_there: bool
) -> None:
    renamed = {
        "loadManagerServiceUnitStateTableViewClassName" if key == "table" else key: value
        for key, value in settings.items()
    }
    assert has_state_topic(renamed) is is_there


@pytest.mark.parametrize("damage", [b"", b"\x00\x00", b"\xff" * 40, b"\x00\x00\x00\x02\x0b\x01"])
def test_a_batch_that_is_none_is_refused(damage: bytes) -> None:
    with pytest.raises(ValueError, match="found"):
        messages_of({"x-pulsar-publish-time": TIME, "x-pulsar-num-batch-message": "1"}, damage)


def test_a_message_alone_is_as_it_is() -> None:
    headers = {"x-pulsar-publish-time": TIME, "x-pulsar-partition-key": "a"}
    assert messages_of(headers, b"{}") == [Message("a", TIME_MS, b"{}")]
