"""What is copied, asked of a Prometheus, and counted of a watched store."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests import fake_admin as fake
from trimtab.diagnose.replay.missed_writes import missed_writes
from trimtab.ingest.load_reports import store_broker
from trimtab.ingest.outcome import Origin, Rows
from trimtab.live.gather.access import GatherError, read_access
from trimtab.live.gather.calls import CallError, Calls
from trimtab.live.gather.cluster import root_of
from trimtab.live.gather.copies import copy_logs, copy_zookeeper, log_folders, zookeeper_folders
from trimtab.live.gather.folder import Folder, folder_name
from trimtab.live.gather.nodes import Kind, Ledger, NodeVersion, kind_of
from trimtab.live.gather.prometheus import STEP, export
from trimtab.live.gather.settings import LEFT_OUT, without_secrets
from trimtab.live.gather.watched_store import WatchedStore, servers_of
from trimtab.pulsar.keys import KEYS

BROKER = "/loadbalance/brokers/b1:8080"
SPACE = "/namespace/shop/orders"
STATE = "/service_unit_state/shop/orders/0x00000000_0x80000000"
BUNDLE = f"{SPACE}/0x00000000_0x80000000"


@pytest.fixture
def output(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "night")


def unpacked(folder: Folder, name: str) -> bytes:
    return gzip.decompress((folder.path / name).read_bytes())


# ------------------------------------------------------------------------ copies


def test_logs_are_copied_up_to_their_last_whole_line(tmp_path: Path, output: Folder) -> None:
    logs = tmp_path / "pulsar"
    logs.mkdir()
    (logs / "broker.log").write_bytes(b"one\ntwo\nhal")
    (logs / "broker.log.1").write_bytes(b"")
    (logs / "broker-2026-11-20.log.gz").write_bytes(gzip.compress(b"old\n"))
    (logs / "broker.pid").write_bytes(b"7")

    (source,) = log_folders((f"b1:8080={logs}",))
    assert copy_logs(source, output) == 3

    assert unpacked(output, "logs/b1_8080/broker.log.gz") == b"one\ntwo\n"
    assert unpacked(output, "logs/b1_8080/broker.log.1.gz") == b""
    assert unpacked(output, "logs/b1_8080/broker-2026-11-20.log.gz") == b"old\n"
    assert len(list((output.path / "logs" / "b1_8080").iterdir())) == 3


def test_a_long_log_is_copied_whole(tmp_path: Path, output: Folder) -> None:
    logs = tmp_path / "b1"
    logs.mkdir()
    content = b"".join(b"%07d a line of the log\n" % i for i in range(100_000))
    (logs / "broker.log").write_bytes(content + b"half")

    copy_logs(*log_folders((str(logs),)), output)

    assert unpacked(output, "logs/b1/broker.log.gz") == content


def test_a_folder_of_folders_stands_for_those_with_logs(tmp_path: Path) -> None:
    for name in ("b1_8080", "b2_8080"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pulsar.log").touch()
    (tmp_path / "empty").mkdir()

    assert [it.name for it in log_folders((str(tmp_path),))] == ["b1_8080", "b2_8080"]
    with pytest.raises(GatherError, match=r"expected a folder with .* of one broker"):
        log_folders((f"b1:8080={tmp_path}",))
    with pytest.raises(GatherError, match="two folders called b1_8080"):
        log_folders((str(tmp_path), f"b1:8080={tmp_path / 'b2_8080'}"))
    with pytest.raises(GatherError, match=r"expected a folder with \*.log files"):
        log_folders((str(tmp_path / "empty"),))


def test_zookeepers_files_are_copied_from_its_data_folder(tmp_path: Path, output: Folder) -> None:
    for server in ("one", "two"):
        (tmp_path / server / "version-2").mkdir(parents=True)
        (tmp_path / server / "version-2" / "log.1").write_bytes(b"ZKLG" + server.encode())
        (tmp_path / server / "version-2" / "acceptedEpoch").write_bytes(b"1")

    (alone,) = zookeeper_folders((tmp_path / "one" / "version-2",))
    assert alone.name == "version-2"
    both = zookeeper_folders((tmp_path / "one", tmp_path / "two"))
    assert [copy_zookeeper(source, output) for source in both] == [1, 1]

    assert unpacked(output, "store/zookeeper/zk1/log.1.gz") == b"ZKLGone"
    assert unpacked(output, "store/zookeeper/zk2/log.1.gz") == b"ZKLGtwo"
    with pytest.raises(GatherError, match="expected a data folder with"):
        zookeeper_folders((tmp_path,))


@pytest.mark.parametrize(
    ("broker", "name"),
    [("b-1.x:8080", "b-1.x_8080"), ("[::1]:8080", "___1__8080"), ("../up", ".._up")],
)
def test_a_brokers_folder_is_inside(broker: str, name: str) -> None:
    assert folder_name(broker) == name


# ---------------------------------------------------------------------- settings


def test_no_setting_that_the_diagnosis_reads_is_left_out() -> None:
    given: dict[str, object] = dict.fromkeys(KEYS, "x")

    assert without_secrets(given) == given
    assert len(given) > 50


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tlsKeyStorePassword", "x"),
        ("tokenSecretKey", "file:///key"),
        ("brokerClientAuthenticationParameters", "x"),
        ("bookkeeperClientAuthenticationParameters", "x"),
        ("saslJaasServerRoleTokenSignerSecretPath", "x"),
        ("anything", "https://me:x@host/"),
        ("anything", "token:x"),
        ("anything", "data:;base64,eA=="),
        ("anything", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"),
    ],
)
def test_what_may_be_secret_is_left_out_unless_it_is_empty(key: str, value: str) -> None:
    assert without_secrets({key: value}) == {key: LEFT_OUT}
    assert without_secrets({key: ""}) == {key: ""}


# --------------------------------------------------------------------- Prometheus


@pytest.fixture
def prometheus() -> Iterator[fake.Broker]:
    with fake.brokers(1) as (server,):
        yield server


def test_a_long_time_is_asked_for_in_pieces(prometheus: fake.Broker, output: Folder) -> None:
    answer = {"status": "success", "data": {"resultType": "matrix", "result": []}}
    body = json.dumps(answer).encode()
    prometheus.answers["/api/v1/query_range"] = fake.said(200, body)
    begin = datetime(2026, 11, 21, tzinfo=UTC)
    end = begin + timedelta(hours=20)

    n = export(Calls(read_access(None)), prometheus.address, begin, end, output)

    asked = [parse_qs(urlsplit(path).query) for path, _ in prometheus.asked]
    times = [
        begin + timedelta(seconds=float(it["start"][0]) - begin.timestamp()) + STEP * i
        for it in asked
        for i in range(
            round((float(it["end"][0]) - float(it["start"][0])) / STEP.total_seconds()) + 1
        )
    ]
    assert n == len(asked) == 3
    # Every step once: none between two pieces is missed or asked for twice.
    assert times == [begin + STEP * i for i in range(len(times))]
    assert times[-1] == end
    assert len(list((output.path / "metrics" / "prometheus").iterdir())) == 3


def test_what_a_prometheus_refuses_is_said(prometheus: fake.Broker, output: Folder) -> None:
    body = b'{"status": "error", "error": "query timed out"}'
    prometheus.answers["/api/v1/query_range"] = fake.said(200, body)
    begin = datetime(2026, 11, 21, tzinfo=UTC)

    with pytest.raises(CallError, match="query timed out"):
        export(Calls(read_access(None)), prometheus.address, begin, begin, output)


# -------------------------------------------------------------------------- store


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (BROKER, Kind.REPORT),
        ("/loadbalance/leader", Kind.LEADER),
        ("/loadbalance/extension/leader", Kind.LEADER),
        ("/loadbalance/extension", Kind.PARENT),
        (STATE, Kind.STATE),
        ("/service_unit_state/pulsar/h1/b1:8080/0x00000000_0xffffffff", Kind.STATE),
        ("/service_unit_state/shop", Kind.PARENT),
        ("/service_unit_state", Kind.PARENT),
        ("/loadbalance/bundle-data/shop/orders/0x00000000_0x80000000", Kind.AVERAGE),
        ("/loadbalance/broker-time-average/b1:8080", Kind.AVERAGE),
        (BUNDLE, Kind.OWNER),
        ("/namespace/pulsar/h1/b1:8080/0x00000000_0xffffffff", Kind.OWNER),
        (SPACE, Kind.PARENT),
        ("/namespace", Kind.PARENT),
        ("/loadbalance", Kind.PARENT),
        ("/loadbalance/bundle-data/shop", Kind.PARENT),
        ("/loadbalance/resource-quota", None),
        ("/ledgers", None),
    ],
)
def test_what_a_node_is_to_a_recording(path: str, kind: Kind | None) -> None:
    assert kind_of(path) is kind


def begun(**nodes: Any) -> Ledger:
    """A ledger that has seen everything once."""
    ledger = Ledger()
    ledger.listed(SPACE, NodeVersion(1, 0, nodes.get("children", 0)))
    ledger.is_new(BROKER, NodeVersion(5, nodes.get("version", 0), 0))
    ledger.is_begun = True
    return ledger


def test_versions_that_follow_each_other_are_all_there() -> None:
    ledger = begun(version=7)

    assert ledger.is_new(BROKER, NodeVersion(5, 8, 0))
    assert not ledger.is_new(BROKER, NodeVersion(5, 8, 0))
    assert ledger.is_new(BROKER, NodeVersion(5, 9, 0))
    assert ledger.count().reports_missed == 0


def test_versions_that_are_skipped_are_missed() -> None:
    ledger = begun(version=7)

    assert ledger.is_new(BROKER, NodeVersion(5, 11, 0))

    assert ledger.count().reports_missed == 3


def test_what_was_written_before_is_not_missed_and_what_a_new_node_had_is() -> None:
    ledger = begun(version=40)
    assert ledger.count().reports_missed == 0

    assert ledger.is_gone(BROKER)
    assert not ledger.is_gone(BROKER)
    assert ledger.is_new(BROKER, NodeVersion(9, 2, 0))

    assert ledger.count().reports_missed == 2


def test_a_node_that_was_made_again_is_another() -> None:
    ledger = begun(version=7)

    assert ledger.was_made_again(BROKER, NodeVersion(9, 7, 0))
    assert not ledger.was_made_again(BROKER, NodeVersion(5, 8, 0))
    assert ledger.is_new(BROKER, NodeVersion(9, 7, 0))


@pytest.mark.parametrize(("happened", "missed"), [(3, 0), (4, 1), (9, 6)])
def test_changes_of_owners_are_counted_by_the_namespace(happened: int, missed: int) -> None:
    ledger = begun(children=100)

    ledger.is_new(BUNDLE, NodeVersion(20, 0, 0))  # somebody got it
    ledger.is_new(BUNDLE, NodeVersion(30, 0, 0))  # it was taken away, and somebody got it
    ledger.listed(SPACE, NodeVersion(1, 0, 100 + happened))

    assert ledger.count().owners_missed == missed


def test_of_a_namespace_that_is_new_everything_counts() -> None:
    ledger = begun()
    other = "/namespace/shop/late"

    ledger.listed(other, NodeVersion(50, 0, 2))
    ledger.is_new(f"{other}/0x00000000_0xffffffff", NodeVersion(51, 0, 0))

    assert ledger.count().owners_missed == 1


@pytest.mark.parametrize(
    ("given", "servers"),
    [
        ("zk://z:2181", ("z:2181", "")),
        ("zk:z:2181", ("z:2181", "")),
        ("zk://z1:2181,z2:2181/shop/", ("z1:2181,z2:2181/shop", "/shop")),
    ],
)
def test_where_zookeeper_is(given: str, servers: tuple[str, str]) -> None:
    assert servers_of(given) == servers


@pytest.mark.parametrize("given", ["", "z:2181", "http://z:2181", "zk://", "zk://me:x@z:2181"])
def test_where_it_is_not(given: str) -> None:
    with pytest.raises(GatherError, match="expected zk://host:port/path"):
        servers_of(given)


@pytest.mark.parametrize(
    ("store", "root"),
    [("zk:z:2181", ""), ("zk:z1:2181,z2:2181/shop", "/shop"), ("etcd:http://e/x", ""), ("", "")],
)
def test_where_in_zookeeper_a_cluster_is(store: str, root: str) -> None:
    assert root_of(store) == root


def test_every_version_of_a_state_is_recorded_and_those_that_were_skipped_are_counted(
    tmp_path: Path,
) -> None:
    """Written twice, written unseen, removed, and made again with a write that was not seen."""
    folder = Folder(tmp_path / "night")
    store = object.__new__(WatchedStore)
    store._folder, store._ledger, store._brokers, store._n_reports = folder, Ledger(), set(), 0
    store._ledger.is_begun = True
    for made_by, version in ((1, 0), (1, 1), (1, 1), (1, 3), (2, 1)):
        value = json.dumps({"state": "Owned", "versionId": version + 1}).encode()
        time = 1_000_000 * (made_by * 10 + version)
        stat = SimpleNamespace(
            czxid=made_by, version=version, cversion=0, mtime=time, ctime=made_by * 10_000_000
        )
        store._record(STATE, (value, stat), {}, {})
    store._record(STATE, None, {}, {})
    folder.close()

    path = tmp_path / "night" / "store" / "service-unit-state.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    versions = [line["record"] and line["record"]["versionId"] for line in lines]
    assert versions == [1, 2, 4, None, 2, None]
    assert {line["bundle"] for line in lines} == {"shop/orders/0x00000000_0x80000000"}
    assert [line["time"] for line in lines[:-1]] == sorted(line["time"] for line in lines[:-1])
    counts = store._ledger.count()
    assert (counts.states_seen, counts.states_missed) == (4, 2)


def test_a_broker_that_came_back_is_seen_to_have_gone_before_it_came(tmp_path: Path) -> None:
    """Its node was removed and made again between two looks: one write of each, none missed."""
    folder = Folder(tmp_path / "night")
    store = object.__new__(WatchedStore)
    store._folder, store._ledger, store._brokers, store._n_reports = folder, Ledger(), set(), 0
    path = "/loadbalance/brokers/b1:8080"
    report = (fake.ANSWERS / "load-report.json").read_bytes()
    for made_by, version, mtime in ((1, 7, 1_000_000), (2, 0, 2_000_000), (2, 1, 3_000_000)):
        stat = SimpleNamespace(czxid=made_by, version=version, cversion=0, mtime=mtime, ctime=mtime)
        store._record(path, (report, stat), {}, {})
        store._ledger.is_begun = True
    folder.close()

    lines = (tmp_path / "night" / "store" / "brokers.jsonl").read_text().splitlines()
    outcomes = [store_broker(line, Origin("brokers.jsonl", "", UTC, None)) for line in lines]
    whole = [each for each in outcomes if isinstance(each, Rows)]
    assert len(whole) == len(lines)
    reports = [row for each in whole for table, row in each.rows if table == "load_reports"]
    assert [row["is_gone"] for row in reports] == [False, True, False, False]
    assert store._ledger.count().reports_missed == 0
    (begin,) = missed_writes(reports)
    assert "the recording begins after" in begin[3]
