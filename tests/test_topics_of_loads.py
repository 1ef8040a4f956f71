"""What brokers publish of their loads: heard through Pulsar's client, written down, and read."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests import fake_admin as fake
from trimtab.ingest.outcome import Origin, Other, Rejected, Rows
from trimtab.ingest.published_loads import published_bundles, published_load
from trimtab.live.gather import Gathered, GatherRequest, gather, read_access

MANAGER = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
STATS = "/admin/v2/persistent/pulsar/system/loadbalancer-service-unit-state/internalStats"
LOADS, TOPS = "broker-load-data", "top-bundles-load-data"
NIGHT = Path(__file__).parent / "testdata" / "recordings" / "loads" / "store"
ORIGIN = Origin("store/x.jsonl", "", UTC, date(2026, 11, 21))
COMING = {
    "time": "2026-11-21T06:00:00.250Z",
    "published": "2026-11-21T06:00:00.240Z",
    "broker": "b:1",
}
USAGE = {"usage": 3.5, "limit": 200.0}
TRAFFIC = {"msgThroughputIn": 31782.582914709063, "msgThroughputOut": 2.0, "msgRateIn": 1.5}
LOAD = {
    **dict.fromkeys(("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut"), USAGE),
    **TRAFFIC,
    **{"msgRateOut": 2, "bundleCount": 4, "topics": 6, "maxResourceUsage": 0.16},
    **{"weightedMaxEMA": 0.07038386382761103, "msgThroughputEMA": 62840.943144795},
    **{"updatedAt": 1795459744983, "reportedAt": 0},
}
COUNTS = {"consumerCount": 2, "producerCount": 2, "topics": 2, "cacheSize": 0}
BUNDLE = {"bundleName": "t/n/0x0_0x1", "stats": {**TRAFFIC, "msgRateOut": 2.0, **COUNTS}}
HEARD = {"time": COMING["time"], "is_heard": True}


def rows(read: Callable[[str, Origin], Any], **line: object) -> list[dict[str, Any]]:
    outcome = read(json.dumps(line), ORIGIN)
    assert isinstance(outcome, Rows), outcome
    return [row for _, row in outcome.rows]


# ------------------------------------------------------------------ what a line means


def test_a_load_is_read_to_its_last_digit() -> None:
    (row,) = rows(published_load, **COMING, record=LOAD)
    assert row["published"] == datetime(2026, 11, 21, 6, 0, 0, 240_000, tzinfo=UTC)
    assert (row["broker"], row["is_gone"], row["is_heard"]) == ("b:1", False, None)
    assert row["usage_smoothed"] == 0.07038386382761103
    assert row["throughput_in"] == 31782.582914709063
    assert row["updated"] == datetime(2026, 11, 23, 18, 49, 4, 983_000, tzinfo=UTC)
    assert row["reported"] == datetime(1970, 1, 1, tzinfo=UTC)


def test_what_is_taken_back_and_whether_anybody_listened_are_rows_too() -> None:
    for read in (published_load, published_bundles):
        (gone,) = rows(read, **COMING, record=None)
        assert (gone["broker"], gone["is_gone"]) == ("b:1", True)
        (mark,) = rows(read, **HEARD)
        assert (mark["broker"], mark["is_gone"], mark["is_heard"]) == (None, False, True)


def test_bundles_are_a_row_each_in_their_order() -> None:
    other = BUNDLE | {"bundleName": "t/n/0x1_0x2"}
    listed = rows(published_bundles, **COMING, record={"topBundlesLoadData": [other, BUNDLE]})
    assert [(row["place"], row["bundle"]) for row in listed] == [
        (1, "t/n/0x1_0x2"),
        (2, "t/n/0x0_0x1"),
    ]
    (none,) = rows(published_bundles, **COMING, record={"topBundlesLoadData": []})
    assert (none["broker"], none["place"], none["bundle"]) == ("b:1", None, None)


@pytest.mark.parametrize(
    ("read", "line", "reason"),
    [
        (published_load, COMING, "key record: missing"),
        (published_load, COMING | {"record": 3}, "key record: found 3, expected an object"),
        (published_load, {"time": "x"}, 'key time: found "x", expected ISO 8601'),
        (published_load, HEARD | {"is_heard": 1}, "key is_heard: found 1, expected true or false"),
        (
            published_load,
            COMING | {"record": LOAD | {"weightedMaxEMA": "high"}},
            'key record.weightedMaxEMA: found "high", expected a number',
        ),
        (
            published_load,
            COMING | {"record": {k: v for k, v in LOAD.items() if k != "reportedAt"}},
            "key record.reportedAt: missing",
        ),
        (
            published_bundles,
            COMING | {"record": {}},
            "key record.topBundlesLoadData: found null, expected a list of bundles",
        ),
        (
            published_bundles,
            COMING | {"record": {"topBundlesLoadData": [BUNDLE, 7]}},
            "key record.topBundlesLoadData[1]: found 7, expected an object",
        ),
        (
            published_bundles,
            COMING | {"record": {"topBundlesLoadData": [{"bundleName": "t/n/0x0_0x1"}]}},
            "key record.topBundlesLoadData[0].stats: missing",
        ),
    ],
)
def test_a_damaged_line_is_rejected_with_the_key(
    read: Callable[[str, Origin], Any], line: dict[str, Any], reason: str
) -> None:
    outcome = read(json.dumps(line), ORIGIN)
    assert isinstance(outcome, Rejected)
    assert outcome.reason.startswith(reason)


def test_a_blank_line_is_understood() -> None:
    assert isinstance(published_load(" ", ORIGIN), Other)


def test_every_line_is_accounted_for_and_damaged_ones_are_named(tmp_path: Path) -> None:
    import gzip

    from trimtab.ingest.pipeline import ingest
    from trimtab.ingest.recording import open_recording
    from trimtab.spark.runner import Here

    store = tmp_path / "night" / "store"
    store.mkdir(parents=True)
    whole = {}
    for name in (LOADS, TOPS):
        lines = gzip.decompress((NIGHT / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()
        whole[name] = len(lines)
        lines[2] = lines[2][:-30]
        (store / f"{name}.jsonl").write_text("\n".join([*lines, "", "[]"]) + "\n")
    with open_recording(tmp_path / "night") as opened:
        summary = ingest(Here(), opened, tmp_path / "tables")
    counts = {(it.file, it.lines, it.rows, it.other, it.rejected) for it in summary.files}
    assert counts == {
        (f"store/{name}.jsonl", whole[name] + 2, whole[name] - 1, 1, 2) for name in (LOADS, TOPS)
    }


# ------------------------------------------------------------------ who listens


class FakeClient(ModuleType):
    """Stands for Pulsar's client: what comes of a topic is a script."""

    class PulsarException(Exception):  # noqa: N818  # Pulsar's name of it
        pass

    class Timeout(PulsarException):
        pass

    def __init__(self, scripts: dict[str, list[Any]], is_done: threading.Event) -> None:
        super().__init__("pulsar")
        self.scripts, self.is_done = scripts, is_done
        self.options: dict[str, Any] = {}
        self.MessageId = SimpleNamespace(latest=None)
        self.LoggerLevel = SimpleNamespace(Error=3)
        self.n_closed = 0

    def FileLogger(self, level: int, file: str) -> None:  # noqa: N802  # as the client has it
        return None

    def AuthenticationToken(self, token: Callable[[], str]) -> str:  # noqa: N802  # as the client has it
        return f"token {token()}"

    def AuthenticationBasic(self, user: str, password: str) -> str:  # noqa: N802  # as the client has it
        return f"basic {user} {password}"

    def AuthenticationTLS(self, certificate: str, key: str) -> str:  # noqa: N802  # as the client has it
        return f"tls {certificate} {key}"

    def Client(self, address: str, **options: object) -> FakeClient:  # noqa: N802  # as the client has it
        self.options = {"address": address, **options}
        return self

    def create_reader(self, topic: str, begin: object) -> FakeReader:
        script = self.scripts[topic.rpartition("loadbalancer-")[2]]
        if script and isinstance(script[0], Exception):
            raise script.pop(0)
        return FakeReader(self, script)

    def shutdown(self) -> None:
        self.n_closed += 1


class FakeReader:
    """Gives what a script has: a message, whether it is connected, or what it raises."""

    def __init__(self, client: FakeClient, script: list[Any]) -> None:
        self.client, self.script, self.is_there = client, script, True

    def is_connected(self) -> bool:
        if self.script and isinstance(self.script[0], bool):
            self.is_there = self.script.pop(0)
        return self.is_there

    def read_next(self, timeout_millis: int) -> Any:
        if self.script and not isinstance(self.script[0], bool):
            step = self.script.pop(0)
            if isinstance(step, Exception):
                raise step
            return step
        if not any(self.client.scripts.values()):
            self.client.is_done.set()
        time.sleep(0.001)
        raise self.client.Timeout("nothing came")

    def close(self) -> None:
        return


def message(broker: str, value: bytes) -> SimpleNamespace:
    return SimpleNamespace(
        partition_key=lambda: broker,
        data=lambda: value,
        publish_timestamp=lambda: 1_795_459_744_984,
    )


@pytest.fixture
def broker() -> Iterator[fake.Broker]:
    with fake.brokers(1) as (only,):
        settings = {"clusterName": "h1", "loadManagerClassName": MANAGER}
        only.answers[fake.RUNTIME] = fake.said(200, json.dumps(settings).encode())
        stats = {"lastConfirmedEntry": "5:-1", "ledgers": [{"ledgerId": 5, "entries": 0}]}
        only.answers[STATS] = fake.said(200, json.dumps(stats).encode())
        yield only


def listened(
    broker: fake.Broker,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    scripts: dict[str, list[Any]],
    client_conf: Path | None = None,
) -> tuple[Gathered, FakeClient]:
    """Record until both scripts are at their ends."""
    is_done = threading.Event()
    client = FakeClient({LOADS: [], TOPS: []} | scripts, is_done)
    monkeypatch.setitem(sys.modules, "pulsar", client)
    wanted = GatherRequest(admin=broker.address, duration_s=60.0, every_s=60.0)
    return gather(wanted, read_access(client_conf), output, is_done), client


def lines(output: Path, name: str) -> list[dict[str, Any]]:
    path = output / "store" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_times(those: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in it.items() if key != "time"} for it in those]


def test_messages_are_recorded_as_they_are(
    broker: fake.Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = json.dumps(LOAD).encode()
    scripts = {LOADS: [message("b:1", value), message("b:2", b"")], TOPS: [message("b:1", b"{}")]}

    found, client = listened(broker, tmp_path / "night", monkeypatch, scripts)

    published = {"published": "2026-11-23T18:49:04.984Z"}
    assert without_times(lines(tmp_path / "night", LOADS)) == [
        {"is_heard": True},
        {**published, "broker": "b:1", "record": LOAD},
        {**published, "broker": "b:2", "record": None},
        {"is_heard": False},
    ]
    assert found.loads == (
        "2 messages of loads and 1 of heaviest bundles by 2 brokers; listened to all the time"
    )
    assert not any("loads" in warning for warning in found.warnings)
    assert client.options["address"] == broker.address
    assert client.n_closed == 1


def test_a_break_is_written_down_and_warned_of(
    broker: fake.Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = FakeClient.PulsarException("AlreadyClosed")
    scripts = {
        LOADS: [False, True, message("b:1", b"null"), gone, gone, message("b:1", b"null")],
        TOPS: [message("b:1", b"no JSON")],
    }

    found, _ = listened(broker, tmp_path / "night", monkeypatch, scripts)

    marks = [line.get("is_heard") for line in lines(tmp_path / "night", LOADS)]
    assert marks[-4:] == [False, True, None, False]
    assert [mark for mark in marks if mark is not None][:2] == [True, False] or not marks[0]
    (warning,) = [it for it in found.warnings if "loads" in it]
    assert "Not all that brokers published of their loads is in the recording" in warning
    assert re.search(r"not listened to \d times, \d+\.\d s in all", warning)
    assert any("loadBalancerDebugModeEnabled=false" in it for it in found.warnings)
    text = (tmp_path / "night" / "gather.jsonl").read_text().splitlines()
    asked = [it for it in map(json.loads, text) if LOADS in it.get("asked", "")]
    assert [it.get("error", it.get("event")) for it in asked] == ["AlreadyClosed", "answers again"]
    assert any("found no JSON" in it for it in text)


def test_without_the_client_one_line_says_what_to_install(
    broker: fake.Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pulsar", None)
    found = gather(
        GatherRequest(admin=broker.address), read_access(None), tmp_path / "n", threading.Event()
    )
    (warning,) = [it for it in found.warnings if "loads" in it]
    assert "not listened to: this needs pulsar, which is not installed" in warning
    assert "pip install 'trimtab[client]'" in warning
    assert not (tmp_path / "n" / "store" / f"{LOADS}.jsonl").exists()


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("authPlugin=AuthenticationToken\nauthParams=token:abc\n", "token abc"),
        (
            'authPlugin=AuthenticationBasic\nauthParams={"userId":"me","password":"se:cret"}\n',
            "basic me se:cret",
        ),
        ("", None),
    ],
)
def test_who_asks_is_who_the_client_conf_says(
    broker: fake.Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    keys: str,
    expected: str | None,
) -> None:
    conf = tmp_path / "client.conf"
    conf.write_text(f"brokerServiceUrl=pulsar+ssl://b:6651\n{keys}")
    _, client = listened(broker, tmp_path / "night", monkeypatch, {}, conf)
    assert client.options["authentication"] == expected
    assert client.options["address"] == "pulsar+ssl://b:6651"
    assert client.options["tls_validate_hostname"] is True
    assert client.options["tls_allow_insecure_connection"] is False


def test_under_the_modular_manager_nobody_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pulsar", None)
    with fake.brokers(1) as (broker,):
        wanted = GatherRequest(admin=broker.address)
        found = gather(wanted, read_access(None), tmp_path / "night", threading.Event())
        assert found.loads is None
        assert found.warnings == ()
