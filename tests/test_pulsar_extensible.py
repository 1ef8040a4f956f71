"""A real cluster under the extensible load manager, held against what others say of it.

Three brokers of 4.0.8 in debug mode, each with a network card of its own.  `trimtab apply` brings
all bundles to one, the leader transfers some of them away, `trimtab drain` empties a broker, and
one is killed (kill -9) while a bundle is on its way to it.  Beside it Pulsar's own client reads
the topic of states, or ZooKeeper's the nodes, and lines of the logs are counted without any of
our parsers.  The table by nodes takes `--exhaustive`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as ds
import pytest

from beside import trimtab

pytestmark = pytest.mark.pulsar

_UNLOAD = re.compile(
    r"\[TransferShedder\] Unloading bundle: Unload\[sourceBroker=([^,]+), serviceUnit=([^,]+), "
    r"destBroker=Optional\[([^\]]+)\]"
)
_PUBLISHES = re.compile(r"publishing load report:.* updatedAt= (\d+),")
#: ms from what a line says to what its message says, at most: one object is printed and sent, and
#: whoever asks the broker for its metrics meanwhile (`ExtensibleLoadManagerImpl.getMetrics`, 4.0.8)
#: has it brought up to date; 2 ms were seen.
_ASKED_MEANWHILE_MS = 50
_ROUND = "Load balancer enabled: true, Shedding enabled: true."
_DIGITS = "usage is known to two decimals of a percent, and a digit hangs on the others"
#: What is no part of a recording's tables.
OTHERS = {"gather.jsonl", *(f"lab/{name}.json.gz" for name in ("done", "applied", "drained"))}
#: Of a record, as Pulsar writes it → columns of the table.
_FIELDS = {"state": "state", "dstBroker": "target", "sourceBroker": "source"}


@dataclass(frozen=True)
class Night:
    """What was done, what others read, and what trimtab made of it."""

    recording: Path
    #: As `cluster.extensible` has it: who was drained and killed, and what others read.
    done: dict[str, Any]
    #: What `trimtab apply` said in the end: `applied` and `drained`.
    accounts: dict[str, Any]
    document: dict[str, Any]
    transitions: list[dict[str, Any]]

    def lines(self) -> Iterator[str]:
        for path in sorted((self.recording / "logs").glob("*/*.gz")):
            yield from gzip.decompress(path.read_bytes()).decode().splitlines()


def read_night(recording: Path, told: Path, explained: Path) -> Night:
    """Explain a recording, and read what was told of it besides."""
    made = trimtab("explain", str(recording), "-o", str(explained), within_s=None)
    assert made.returncode == 0, made.stderr
    names = ("done", "applied", "drained")
    done, *accounts = (json.loads((told / f"{name}.json").read_text()) for name in names)
    document = json.loads((explained / "findings.json").read_text())
    rows = ds.dataset(explained / "tables" / "transitions").to_table().to_pylist()
    return Night(recording, done, dict(zip(names[1:], accounts, strict=True)), document, rows)


@pytest.fixture(scope="module", params=["topic", "store"])
def night(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, is_exhaustive: bool
) -> Night:
    from cluster import kernel
    from cluster.extensible import record

    if (obstacle := kernel.obstacle()) is not None:
        pytest.skip(f"no namespaces and groups for brokers: {obstacle}")
    if request.param == "store" and not is_exhaustive:
        pytest.skip("a second cluster: --exhaustive")
    folder = tmp_path_factory.mktemp("extensible") / request.param
    record(folder, request.param, is_quick=True)
    return read_night(folder / "night", folder, folder / "explained")


def key(bundle: str, record: dict[str, Any] | None) -> tuple[Any, ...]:
    """Return what one record is known by, whoever read it."""
    if record is None:
        return bundle, None
    fields = tuple(record.get(name) for name in _FIELDS)
    return bundle, *fields, record["versionId"], record["force"], record["timestamp"]


def row_key(row: dict[str, Any]) -> tuple[Any, ...]:
    if row["step"] == "forget":
        return row["bundle"], None
    stamped = round(row["stamped"].timestamp() * 1000)
    fields = tuple(row[name] for name in _FIELDS.values())
    return row["bundle"], *fields, row["version"], row["is_forced"], stamped


def test_every_record_is_in_the_table_once(night: Night) -> None:
    if "messages" in night.done:
        messages = night.done["messages"]
        last_ms = max(message["published_ms"] for message in messages)
        rows = [r for r in night.transitions if r["time"].timestamp() * 1000 < last_ms + 1]
        written = Counter(key(message["bundle"], message["record"]) for message in messages)
        assert Counter(map(row_key, rows)) == written
        assert len(messages) > 60
        assert {row["origin"] for row in rows} == {"topic"}
        return
    nodes = night.done["nodes"]
    for bundle, node in nodes.items():
        rows = [row for row in night.transitions if row["bundle"] == bundle]
        # A node that is removed begins anew, and none of these was.
        assert [row["version"] for row in rows][: node["writes"]] == [*range(1, node["writes"] + 1)]
        assert row_key(rows[node["writes"] - 1]) == key(bundle, node["record"])
    assert sum(node["writes"] for node in nodes.values()) > 60
    assert {row["origin"] for row in night.transitions} == {"store"}


def test_nothing_in_the_table_is_against_the_rules_of_the_channel(night: Night) -> None:
    verdicts = Counter(row["verdict"] for row in night.transitions)
    # Of two brokers that assign a bundle at once, the topic has the records of both.
    taken = {verdict for verdict in verdicts if not verdict.startswith("ignored: ")}
    assert taken == {"allowed", "forced"}, verdicts


def heard(night: Night, name: str) -> list[dict[str, Any]]:
    """Return what was recorded of one topic of loads."""
    path = night.recording / "store" / f"{name}-load-data.jsonl"
    packed = path.with_name(f"{path.name}.gz")
    if not path.exists() and not packed.exists():
        return []
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


def was_heard_throughout(night: Night) -> bool:
    """Return whether both topics were listened to from the beginning to the end."""
    topics = [heard(night, name) for name in ("broker", "top-bundles")]
    marks = [[line["is_heard"] for line in lines if "is_heard" in line] for lines in topics]
    return marks == [[True, False]] * 2


class Message(NamedTuple):
    """Who sent a load, of when it is, and when it was published; ms."""

    broker: str
    updated: int
    published: float


def is_of(line: tuple[str, int], message: Message) -> bool:
    """Return whether a line, a broker and when its load was of, and a message are of one load.

    A broker takes its load back as it begins to unload a bundle, and empties the object, perhaps
    between the line and the message: such a message is of no time.
    """
    broker, printed = line
    if not message.updated:
        is_near = abs(message.published - printed) <= _ASKED_MEANWHILE_MS
    else:
        is_near = 0 <= message.updated - printed <= _ASKED_MEANWHILE_MS
    return broker == message.broker and is_near


def test_every_load_that_a_broker_said_it_published_was_heard(night: Night) -> None:
    """The line is the broker's own, the message came by Pulsar's client."""
    lines = heard(night, "broker")
    messages = {
        Message(
            line["broker"],
            line["record"]["updatedAt"],
            1000 * datetime.fromisoformat(line["published"]).timestamp(),
        )
        for line in lines
        if line.get("record")
    }
    begin = datetime.fromisoformat(lines[0]["time"]).timestamp() * 1000
    end = max(message.updated for message in messages)
    ids = {re.sub(r"\W", "_", message.broker): message.broker for message in messages}
    printed = {
        (ids[path.parent.name.replace(".", "_")], int(match[1]))
        for path in (night.recording / "logs").glob("*/*.gz")
        for line in gzip.decompress(path.read_bytes()).decode().splitlines()
        if (match := _PUBLISHES.search(line))
    }
    # The one that was killed may have said it and not done it any more.
    while_heard = {
        each for each in printed if begin <= each[1] <= end and each[0] != night.done["killed"]
    }
    assert {it for it in messages if not any(is_of(line, it) for line in printed)} == set()
    assert len(while_heard) > 10
    if was_heard_throughout(night):
        unheard = {line for line in while_heard if not any(is_of(line, it) for it in messages)}
        assert unheard == set()


def test_every_round_equals_the_log_in_every_printed_digit(night: Night) -> None:
    """Where the topics of loads were not heard and no sample fell in between, digits may hang."""
    rounds = [it["recomputed"] for it in night.document["round_list"]]
    announced = sum(_ROUND in line for line in night.lines())
    equal = [it for it in rounds if it["equal"]]

    assert [it["why"] for it in rounds if it["equal"] is False] == []
    open_ = [it["why"] for it in rounds if it["equal"] is None]
    assert {why[: len(_DIGITS)] for why in open_} <= (
        set() if was_heard_throughout(night) else {_DIGITS}
    )
    assert len(rounds) == announced > 3
    assert 2 * len(equal) > len(rounds)
    assert sum(it["numbers"]["numbers_printed"] for it in equal) > 10


def test_the_reasons_are_those_that_the_leader_counted(night: Night) -> None:
    counted = {
        row["reason"]: (row["counted"], row["decided"])
        for row in night.document["reasons"]
        if row["decided"] is not None
    }
    assert counted
    assert all(logged == decided for logged, decided in counted.values()), counted
    assert not any("counted" in warning for warning in night.document["warnings"])


def test_the_unloads_are_those_of_the_log(night: Night) -> None:
    logged = [match.groups() for line in night.lines() if (match := _UNLOAD.search(line))]
    unloads = [(it["source"], it["bundle"], it["target"]) for it in night.document["unloads"]]
    assert sorted(unloads) == sorted(logged)
    assert len(logged) > 0
    unlike = [it for it in night.document["unloads"] if not it["recomputed"]["equal"]]
    assert all(it["recomputed"]["why"].startswith(_DIGITS) for it in unlike)
    assert not (unlike and was_heard_throughout(night))


def test_no_line_is_lost(night: Night) -> None:
    accounting = night.document["accounting"]
    assert accounting["rejected"] == 0
    assert {it["file"] for it in accounting["unused"]} <= OTHERS


def owned(night: Night, bundle: str, by_s: float) -> str | None:
    """Return who owned a bundle at a time, by the last record before it."""
    before = [
        row
        for row in night.transitions
        if row["bundle"] == bundle
        and row["time"].timestamp() <= by_s
        and not row["verdict"].startswith("ignored")
    ]
    return before[-1]["target"] if before and before[-1]["state"] == "Owned" else None


@pytest.mark.parametrize("name", ["applied", "drained"])
def test_what_was_moved_is_where_the_records_have_it(night: Night, name: str) -> None:
    account = night.accounts[name]

    assert account["is_done"]
    assert account["moves"]
    assert {move["state"] for move in account["moves"]} == {"verified"}
    for move in account["moves"]:
        # The clocks of brokers and of whoever looks are one machine's.
        owner = owned(night, move["bundle"], move["verified_s"] + 0.05)
        assert owner == move["destination"], move


def test_the_broker_that_was_drained_had_nothing_left(night: Night) -> None:
    moves = night.accounts["drained"]["moves"]
    end_s = max(move["verified_s"] for move in moves) + 0.05
    bundles = {row["bundle"] for row in night.transitions if row["bundle"].startswith("shop/")}
    left = [it for it in bundles if owned(night, it, end_s) == night.done["drained"]]
    assert left == []


def test_the_bundle_on_its_way_to_the_broker_that_was_killed(night: Night) -> None:
    """It was released for it and assigned to it, and then given to another by force."""
    killed, bundle = night.done["killed"], night.done["on_its_way"]
    mine = [row for row in night.transitions if row["bundle"] == bundle]
    assigned = max(
        i for i, row in enumerate(mine) if (row["state"], row["target"]) == ("Assigning", killed)
    )
    steps = [(row["state"], row["step"]) for row in mine[assigned - 1 : assigned + 1]]
    assert steps == [("Releasing", "transfer"), ("Assigning", "hand over")]
    after = mine[assigned + 1 :]
    assert after[0]["is_forced"]
    assert after[0]["ordered_by"] not in {None, killed}
    assert after[-1]["state"] == "Owned"
    assert after[-1]["target"] not in {None, killed}
    # It was on its way until the session of the broker had ended, and no longer.
    assert 0 < mine[assigned]["lasted_s"] < 60


def test_gather_recorded_all_that_there_was(night: Night) -> None:
    lines = (night.recording / "gather.jsonl").read_text().splitlines()
    said = [entry["said"] for entry in map(json.loads, lines) if "said" in entry]
    if "messages" in night.done:
        assert any("0 entries missed, 0 records gone before" in each for each in said), said
    assert any("0 missed" in each for each in said), said
    assert any("messages of loads and" in each for each in said), said
