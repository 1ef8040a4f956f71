"""A cluster that answers, refuses, hangs and vanishes is recorded all the same."""

from __future__ import annotations

import gzip
import json
import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from tests import fake_admin as fake
from trimtab.ingest.outcome import Origin
from trimtab.ingest.recording import open_recording
from trimtab.ingest.split_result import SplitAccount
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import parse_split
from trimtab.live.gather import Gathered, GatherError, GatherRequest, gather, read_access
from trimtab.live.gather.folder import Folder

SECRET = "hush-hush-hush"
#: Longer than a test takes, and not for ever if it fails.
LONG_S = 30.0


@pytest.fixture
def cluster() -> Iterator[list[fake.Broker]]:
    with fake.brokers(3) as running:
        yield running


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "night"


def once(cluster: list[fake.Broker], output: Path, **more: Any) -> Gathered:
    wanted = GatherRequest(admin=cluster[0].address, **more)
    return gather(wanted, read_access(None), output, threading.Event())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def trouble(output: Path) -> list[dict[str, Any]]:
    return [line for line in lines(output / "gather.jsonl") if "error" in line]


def folder(broker: fake.Broker) -> str:
    return broker.id.replace(":", "_")


def rejects(output: Path) -> list[str]:
    """Read a recording as ingest does, and name the file of each line that it rejects."""
    found, n_rows = [], 0
    with open_recording(output) as recording:
        assert [it.name for it in recording.unused] == ["gather.jsonl"]
        for source, files in recording.files.items():
            for file in files if source != "recording" else ():
                origin = Origin(file.name, file.log_broker, UTC, None)
                for split in cut(file.path, origin, source):
                    *_, account = parse_split(split)
                    assert isinstance(account, SplitAccount)
                    n_rows += account.rows
                    found += [file.name] * account.rejected
    assert n_rows > 0
    return found


# ------------------------------------------------------------------- all is well


def test_one_look_records_what_every_broker_says(cluster: list[fake.Broker], output: Path) -> None:
    found = once(cluster, output)

    assert (found.cluster, found.looks, found.failed) == ("h1", 1, 0)
    assert set(found.brokers) == {broker.id for broker in cluster}
    reports = lines(output / "load-reports.jsonl")
    assert {line["broker"] for line in reports} == {broker.id for broker in cluster}
    assert all(line["report"]["loadReportType"] == "LocalBrokerData" for line in reports)
    (leader,) = lines(output / "store" / "leader.jsonl")
    assert leader["leader"]["brokerId"] == cluster[0].id
    (owned,) = lines(output / "store" / "ownership.jsonl")
    assert owned["full"] is True
    assert set(owned["change"].values()) == {broker.id for broker in cluster}
    for broker in cluster:
        (scrape,) = (output / "metrics" / folder(broker)).iterdir()
        assert b"pulsar_lb_cpu_usage" in gzip.decompress(scrape.read_bytes())
    assert trouble(output) == []
    assert rejects(output) == []


def test_the_recording_says_who_is_who(cluster: list[fake.Broker], output: Path) -> None:
    once(cluster, output, time_zone="+08:00")

    with open_recording(output) as recording:
        assert recording.meta["cluster"] == "h1"
        assert recording.meta["pulsar"] == "4.0.8"
        assert recording.meta["time_zone"] == "+08:00"
        for broker in cluster:
            assert recording.meta[f"brokers.{folder(broker)}.id"] == broker.id
    # What is not known is not said.
    assert "store_root" not in (output / "recording.toml").read_text()


def test_each_broker_is_asked_itself(cluster: list[fake.Broker], output: Path) -> None:
    once(cluster, output)

    for broker in cluster:
        paths = [path for path, _ in broker.asked]
        assert paths.count(fake.REPORT) == 1
        assert paths.count(fake.METRICS) == 1
        assert broker.owned(broker.id) in paths


def test_only_changes_of_owners_are_recorded_after_the_first_look(
    cluster: list[fake.Broker], output: Path
) -> None:
    first, second, _ = cluster
    mine, yours = first.owned(first.id), second.owned(second.id)
    bundle = {"lb/moved/0x00000000_0xffffffff": {"is_active": True}}

    def moves(n_looks: int) -> None:
        if n_looks == 2:
            first.answers[mine] = fake.said(200, b"{}")
            second.answers[yours] = fake.said(200, json.dumps(bundle).encode())

    looked(cluster, output, moves)

    full, *changes = lines(output / "store" / "ownership.jsonl")
    assert full["full"] is True
    (change,) = changes
    assert change["full"] is False
    assert change["change"]["lb/moved/0x00000000_0xffffffff"] == second.id
    gone = {bundle for bundle, owner in change["change"].items() if owner is None}
    assert gone == {it for it, owner in full["change"].items() if owner in (first.id, second.id)}
    assert rejects(output) == []


def looked(
    cluster: list[fake.Broker], output: Path, before: Callable[[int], None], looks: int = 4
) -> Gathered:
    """Record so many looks, and do something to the cluster before each."""
    is_over = threading.Event()
    n_looks = 0
    listing = cluster[0].answers[fake.LIST]

    def listed(request: fake.Request) -> None:
        nonlocal n_looks
        n_looks += 1
        before(n_looks)
        if n_looks > looks:
            is_over.set()
        listing(request)

    cluster[0].answers[fake.LIST] = listed
    wanted = GatherRequest(
        admin=cluster[0].address, duration_s=LONG_S, every_s=0.01, metrics_every_s=0.01
    )
    return gather(wanted, read_access(None), output, is_over)


# ----------------------------------------------------------------- what goes wrong


def test_a_broker_that_refuses_is_noted_and_the_others_are_recorded(
    cluster: list[fake.Broker], output: Path
) -> None:
    cluster[1].answers[fake.REPORT] = fake.recorded("not-permitted-401.json", 401)

    found = once(cluster, output)

    (noted,) = trouble(output)
    assert noted["broker"] == cluster[1].id
    assert noted["status"] == 401
    assert "requires super-user access" in noted["error"]
    assert found.failed == 1
    assert len(lines(output / "load-reports.jsonl")) == 2
    # It refused that question only.
    assert (output / "metrics" / folder(cluster[1])).is_dir()
    assert rejects(output) == []


@pytest.mark.parametrize("status", [403, 409, 412, 500, 503])
def test_no_status_ends_the_recording(
    cluster: list[fake.Broker], output: Path, status: int
) -> None:
    for path in (fake.REPORT, fake.METRICS, fake.RUNTIME, cluster[2].owned(cluster[2].id)):
        cluster[2].answers[path] = fake.said(status, b"")

    once(cluster, output)

    assert {line["status"] for line in trouble(output)} == {status}
    assert len(trouble(output)) == 4
    assert rejects(output) == []


def test_half_an_answer_is_none(cluster: list[fake.Broker], output: Path) -> None:
    cluster[1].answers[fake.REPORT] = fake.broken_off(b'{"cpu":', 5000)
    cluster[2].answers[fake.REPORT] = fake.said(200, b'{"cpu":')

    once(cluster, output)

    said = {line["broker"]: line["error"] for line in trouble(output)}
    assert "breaks off after 7 bytes" in said[cluster[1].id]
    assert "the answer of 7 bytes is not JSON" in said[cluster[2].id]
    assert [line["broker"] for line in lines(output / "load-reports.jsonl")] == [cluster[0].id]
    assert rejects(output) == []


def test_the_last_line_of_metrics_is_whole(cluster: list[fake.Broker], output: Path) -> None:
    cluster[0].answers[fake.METRICS] = fake.said(200, b"pulsar_lb_a 1.0\npulsar_lb_cpu_usa")

    once(cluster, output)

    (scrape,) = (output / "metrics" / folder(cluster[0])).iterdir()
    assert gzip.decompress(scrape.read_bytes()) == b"pulsar_lb_a 1.0\n"


def test_a_broker_that_vanishes_is_missed_and_then_forgotten(
    cluster: list[fake.Broker], output: Path
) -> None:
    gone = cluster[2]

    def happens(n_looks: int) -> None:
        if n_looks == 2:
            gone.vanish()
        if n_looks == 4:
            ids = [broker.id for broker in cluster[:2]]
            answers.append(fake.said(200, json.dumps(ids).encode()))

    answers = [cluster[0].answers[fake.LIST]]

    def listing(request: fake.Request) -> None:
        answers[-1](request)

    cluster[0].answers[fake.LIST] = listing
    found = looked(cluster, output, happens, looks=5)

    # Looks 2 and 3 found it listed and silent: one line, not two.
    (noted,) = trouble(output)
    assert (noted["broker"], noted["error"]) == (gone.id, "connection refused")
    assert found.failed >= 2
    full, lost = lines(output / "store" / "ownership.jsonl")
    assert set(lost["change"].values()) == {None}
    assert set(lost["change"]) == {it for it, owner in full["change"].items() if owner == gone.id}
    assert rejects(output) == []


def test_a_broker_that_answers_again_is_noted_too(cluster: list[fake.Broker], output: Path) -> None:
    healthy = cluster[1].answers[fake.REPORT]

    def happens(n_looks: int) -> None:
        cluster[1].answers[fake.REPORT] = fake.said(503, b"") if n_looks in (2, 3) else healthy

    looked(cluster, output, happens)

    noted = [line for line in lines(output / "gather.jsonl") if line.get("broker")]
    assert [(it.get("status"), it.get("event"), it.get("failed")) for it in noted] == [
        (503, None, None),
        (None, "answers again", 2),
    ]


def test_if_the_broker_asked_first_vanishes_the_others_tell_who_is_there(
    cluster: list[fake.Broker], output: Path
) -> None:
    first, second, third = cluster
    is_over = threading.Event()
    n_looks = 0
    listing = second.answers[fake.LIST]

    def listed(request: fake.Request) -> None:
        nonlocal n_looks
        n_looks += 1
        if n_looks == 2:
            is_over.set()
        listing(request)

    second.answers[fake.LIST] = third.answers[fake.LIST] = listed
    healthy = second.answers[fake.METRICS]

    def metrics(request: fake.Request) -> None:
        first.vanish()
        healthy(request)

    second.answers[fake.METRICS] = metrics
    wanted = GatherRequest(admin=first.address, duration_s=LONG_S, every_s=0.01)
    found = gather(wanted, read_access(None), output, is_over)

    assert n_looks == 2
    assert found.looks >= 2
    assert rejects(output) == []


def test_the_extensible_load_manager_has_no_report_and_is_asked_once(
    cluster: list[fake.Broker], output: Path
) -> None:
    for broker in cluster:
        broker.answers[fake.REPORT] = fake.recorded("no-load-report-500.json", 500)

    looked(cluster, output, lambda n_looks: None)

    for broker in cluster:
        assert [path for path, _ in broker.asked].count(fake.REPORT) == 1
    assert not (output / "load-reports.jsonl").exists()
    assert len(lines(output / "store" / "ownership.jsonl")) == 1
    assert rejects(output) == []


# ---------------------------------------------------------------- what is not begun


def test_an_admin_api_that_does_not_answer_is_said_at_once(output: Path) -> None:
    with fake.brokers(1) as (broker,):
        pass

    with pytest.raises(GatherError, match=rf"{broker.address}/.*: connection refused"):
        once([broker], output)


def test_something_else_than_pulsar_is_said_at_once(
    cluster: list[fake.Broker], output: Path
) -> None:
    cluster[0].answers[fake.RUNTIME] = fake.said(200, b'{"status": "ok"}')

    with pytest.raises(GatherError, match="expected the admin API of Pulsar"):
        once(cluster, output)


def test_a_folder_with_files_is_left_alone(cluster: list[fake.Broker], output: Path) -> None:
    output.mkdir()
    (output / "mine").write_text("precious")

    with pytest.raises(GatherError, match="found files in it"):
        once(cluster, output)

    assert (output / "mine").read_text() == "precious"
    assert cluster[0].asked == []


@pytest.mark.parametrize(
    "admin",
    ["broker-1:8080", "ftp://broker-1", "http://", "http://b:x", "http://b:8080?a=1", "pulsar://b"],
)
def test_an_address_that_is_none_is_said(output: Path, admin: str) -> None:
    with pytest.raises(GatherError, match=r"--admin: found .*, expected http://host:port"):
        gather(GatherRequest(admin=admin), read_access(None), output, threading.Event())


def test_a_password_does_not_belong_into_an_address(output: Path) -> None:
    with pytest.raises(GatherError) as raised:
        once_at = GatherRequest(admin=f"http://me:{SECRET}@broker-1:8080")
        gather(once_at, read_access(None), output, threading.Event())

    assert "client.conf" in str(raised.value)
    assert SECRET not in str(raised.value)


# -------------------------------------------------------------------------- secrets


def test_no_secret_is_written_anywhere(cluster: list[fake.Broker], output: Path) -> None:
    settings = {
        "clusterName": "h1",
        "metadataStoreUrl": "zk:z:2181/shop",
        "loadBalancerEnabled": "true",
        "tlsKeyStorePassword": SECRET,
        "brokerClientAuthenticationParameters": f"token:{SECRET}",
        "properties": f"{{tokenSecretKey={SECRET}}}",
        "httpProxy": f"http://me:{SECRET}@proxy:3128",
        "managedLedgerPassword": "",
    }
    for broker in cluster:
        broker.answers[fake.RUNTIME] = fake.said(200, json.dumps(settings).encode())
        broker.answers[fake.REPORT] = fake.said(401, b"")
    access = replace(read_access(None), header=lambda: {"Authorization": f"Bearer {SECRET}"})

    gather(GatherRequest(admin=cluster[0].address), access, output, threading.Event())

    assert cluster[0].asked[0][1]["Authorization"] == f"Bearer {SECRET}"
    written = [path for path in output.rglob("*") if path.is_file()]
    assert len(written) > 5
    for path in written:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        assert SECRET.encode() not in content, path
    kept = json.loads((output / "runtime-config" / f"{folder(cluster[0])}.json").read_text())
    assert kept["loadBalancerEnabled"] == "true"
    assert kept["managedLedgerPassword"] == ""
    assert kept["tlsKeyStorePassword"] == "(left out)"
    assert 'store_root = "/shop"' in (output / "recording.toml").read_text()


def test_a_prometheus_is_not_told_who_asks(cluster: list[fake.Broker], output: Path) -> None:
    answer = b'{"status": "success", "data": {"resultType": "matrix", "result": []}}'
    with fake.brokers(1) as (prometheus,):
        prometheus.answers["/api/v1/query_range"] = fake.said(200, answer)
        access = replace(read_access(None), header=lambda: {"Authorization": f"Bearer {SECRET}"})
        wanted = GatherRequest(admin=cluster[0].address, prometheus=prometheus.address)

        found = gather(wanted, access, output, threading.Event())

    assert found.warnings == ()
    ((_, headers),) = prometheus.asked
    assert "Authorization" not in headers
    assert rejects(output) == []


def test_a_prometheus_that_is_not_there_is_a_warning(
    cluster: list[fake.Broker], output: Path
) -> None:
    with fake.brokers(1) as (prometheus,):
        pass

    found = once(cluster, output, prometheus=prometheus.address)

    (warning,) = found.warnings
    assert warning.startswith("Prometheus: GET http://127.0.0.1")
    assert "connection refused" in warning


def test_a_disk_that_is_full_is_said_in_one_line(
    cluster: list[fake.Broker], output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Folder, name: str, **values: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "line", full)

    with pytest.raises(GatherError, match="night: No space left on device"):
        once(cluster, output)


def test_nobody_else_may_read_it(cluster: list[fake.Broker], output: Path) -> None:
    before = os.umask(0)
    try:
        once(cluster, output)
    finally:
        os.umask(before)

    paths = [output, *output.rglob("*")]
    assert len(paths) > 10
    assert {path.stat().st_mode & 0o077 for path in paths} == {0}


# ------------------------------------------------------------------------ ending early


def test_ending_does_not_wait_for_who_does_not_answer(
    cluster: list[fake.Broker], output: Path
) -> None:
    is_over = threading.Event()
    hanging = threading.Event()

    def hangs(request: fake.Request) -> None:
        is_over.set()
        hanging.wait(LONG_S)

    cluster[2].answers[fake.REPORT] = hangs
    try:
        wanted = GatherRequest(admin=cluster[0].address, duration_s=LONG_S)
        began = time.monotonic()
        gather(wanted, read_access(None), output, is_over)
        took_s = time.monotonic() - began
    finally:
        hanging.set()

    assert took_s < LONG_S
    assert "to = " in (output / "recording.toml").read_text()
    assert lines(output / "gather.jsonl")[-1]["event"] == "end"
    assert rejects(output) == []


# ------------------------------------------------------------------------------- TLS


def test_over_https_a_broker_is_asked_where_it_redirects_to(output: Path) -> None:
    tls = Path(__file__).parent / "testdata" / "gather" / "tls"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls / "broker.pem")
    access = replace(read_access(None), tls=ssl.create_default_context(cafile=str(tls / "ca.pem")))
    with fake.brokers(2, context) as (first, second):
        # Its id has the port of http, where nobody listens.
        name = "127.0.0.1:1"
        path = first.owned(name)
        first.answers[fake.LIST] = fake.said(200, json.dumps([first.id, name]).encode())
        first.answers[path] = fake.said(307, b"", second.address + path)
        second.answers[path] = second.answers[second.owned(second.id)]

        found = gather(GatherRequest(admin=first.address), access, output, threading.Event())

        assert set(found.brokers) == {first.id, name}
        assert found.failed == 0
        assert {line["broker"] for line in lines(output / "load-reports.jsonl")} == {first.id, name}
        assert fake.REPORT in [path for path, _ in second.asked]
