"""`trimtab gather` as it is typed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from click.testing import CliRunner, Result

from tests import fake_admin as fake
from trimtab.cli import main

#: Who would wait for an answer that never comes waits longer than this.
WITHOUT_END_S = 9.0

SECRET = "hush-hush-hush"


@pytest.fixture
def cluster() -> Iterator[list[fake.Broker]]:
    with fake.brokers(2) as running:
        yield running


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, ["gather", *arguments], catch_exceptions=False)


def test_one_look(cluster: list[fake.Broker], tmp_path: Path) -> None:
    output = tmp_path / "now"

    result = run("--admin", f"{cluster[0].address}/", "--once", "-o", str(output))

    assert result.exit_code == 0, result.output
    assert "h1: 2 brokers, 1 looks" in result.output
    assert f"Recording: {output}" in result.output
    assert (output / "recording.toml").is_file()


def test_who_asks_and_where_stand_in_a_client_conf(
    cluster: list[fake.Broker], tmp_path: Path
) -> None:
    conf = tmp_path / "client.conf"
    plugin = "org.apache.pulsar.client.impl.auth.AuthenticationToken"
    conf.write_text(
        f"webServiceUrl={cluster[0].address}\nauthPlugin={plugin}\nauthParams=token:{SECRET}\n"
    )

    result = run("--once", "-o", str(tmp_path / "now"), PULSAR_CLIENT_CONF=str(conf))

    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
    asked = [headers for broker in cluster for _, headers in broker.asked]
    assert {headers["Authorization"] for headers in asked} == {f"Bearer {SECRET}"}


def test_a_careless_client_conf_is_warned_of_before_anybody_is_asked(tmp_path: Path) -> None:
    conf = tmp_path / "client.conf"
    conf.write_text(
        "webServiceUrl=http://no.such.host.invalid:1\ntlsAllowInsecureConnection=true\n"
    )

    result = run("--once", "--client-conf", str(conf), "-o", str(tmp_path / "now"))

    warning, error = result.output.splitlines()
    key = f"{conf}: key tlsAllowInsecureConnection"
    assert (
        warning
        == f"warning: {key} is true: certificates are not checked, so a token may go to anybody."
    )
    assert "no such host" in error


def test_what_failed_is_told_in_the_end(cluster: list[fake.Broker], tmp_path: Path) -> None:
    cluster[1].answers[fake.METRICS] = fake.said(500, b"")

    result = run("--admin", cluster[0].address, "--once", "-o", str(tmp_path / "now"))

    assert result.exit_code == 0
    assert (
        "warning: 1 calls failed, so their answers are missing; gather.jsonl says which."
        in result.output
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--admin: found nothing, expected it or webServiceUrl in a client.conf"),
        (["--admin", "broker:8080"], "--admin: found 'broker:8080', expected http://host:port"),
        (["--admin", "http://b:1", "--metadata", "b:2181"], "expected zk://host:port/path"),
        (
            ["--admin", "http://b:1", "--logs", "/nowhere"],
            "--logs: found /nowhere, expected",
        ),
        (["--admin", "http://b:1", "--zookeeper-data", "/nowhere"], "--zookeeper-data: found /now"),
        (
            ["--admin", "http://b:1", "--time-zone", "Asia/Shangai"],
            "--time-zone: found 'Asia/Shangai', expected such as '+08:00'",
        ),
        (["--admin", "http://b:1", "--prometheus", "p"], "--prometheus: found 'p', expected http"),
        (["--admin", "http://no.such.host.invalid:1"], "no such host"),
        (["--admin", "http://b:1", "--for", "30"], "found '30', expected a time such as 90s"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    result = run(*arguments, "-o", str(tmp_path / "now"))

    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_being_asked_to_end_keeps_what_there_is(cluster: list[fake.Broker], tmp_path: Path) -> None:
    output, logs = tmp_path / "night", tmp_path / "broker-1"
    logs.mkdir()
    (logs / "pulsar-broker.log").write_text("a whole line\nhalf a l")
    command = [
        *(sys.executable, "-m", "trimtab", "gather", "--admin", cluster[0].address),
        *("--every", "1h", "--logs", str(logs), "-o", str(output)),
    ]
    first_look = Event()
    listing = cluster[1].answers[fake.METRICS]

    def scraped(request: fake.Request) -> None:
        listing(request)
        first_look.set()

    cluster[1].answers[fake.METRICS] = scraped
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", *sys.path])}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert first_look.wait(120)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=120)
    finally:
        process.kill()

    assert process.returncode == 0, said
    assert "1 looks" in said
    ended = (output / "gather.jsonl").read_text().splitlines()[-1]
    assert json.loads(ended)["event"] == "end"
    assert (output / "logs" / "broker-1" / "pulsar-broker.log.gz").is_file()


def test_a_broker_that_comes_meanwhile_has_its_logs_copied_too(
    cluster: list[fake.Broker], tmp_path: Path
) -> None:
    output, logs = tmp_path / "night", tmp_path / "logs"
    listing = cluster[0].answers[fake.METRICS]

    def logged(broker: str) -> None:
        (logs / broker).mkdir(parents=True)
        (logs / broker / "pulsar.log").write_text("a whole line\n")

    def joined(request: fake.Request) -> None:
        listing(request)
        if not (logs / "late_8080").exists():
            logged("late_8080")

    logged("early_8080")
    cluster[0].answers[fake.METRICS] = joined

    result = run(
        *("--admin", cluster[0].address, "--for", "1s", "--every", "1s"),
        *("--logs", str(logs), "-o", str(output)),
    )

    assert result.exit_code == 0, result.output
    assert sorted(it.name for it in (output / "logs").iterdir()) == ["early_8080", "late_8080"]


@pytest.mark.parametrize("command", ["gather", "watch"])
@pytest.mark.parametrize(
    ("path", "ending"),
    [
        # Before anything was recorded, and after.
        (fake.RUNTIME, (130, "trimtab: stopped; nothing half written was left behind")),
        (fake.LIST, (0, "Recording: ")),
        (fake.REPORT, (0, "Recording: ")),
    ],
)
def test_an_end_is_not_kept_waiting_by_whoever_never_answers(
    command: str, path: str, ending: tuple[int, str], cluster: list[fake.Broker], tmp_path: Path
) -> None:
    ended_s: list[float] = []
    for broker in cluster:
        broker.answers[path] = fake.silent(30)

    def end() -> None:
        while path not in [asked for asked, _ in cluster[0].asked]:
            time.sleep(0.02)
        time.sleep(0.3)
        ended_s.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    Thread(target=end, daemon=True).start()
    words = [command, "--admin", cluster[0].address, "-o", str(tmp_path / "night")]
    result = CliRunner().invoke(main, words, catch_exceptions=False)

    assert time.monotonic() - ended_s[0] < WITHOUT_END_S
    code, line = ending
    assert result.exit_code == code, result.output
    assert [each for each in result.output.splitlines() if each.startswith(line)]


@contextmanager
def silent_store() -> Iterator[tuple[str, Event]]:
    """Take connections and never answer; say where, and when somebody has come."""
    is_there, taken = Event(), list[socket.socket]()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listening.accept()[0])
                    is_there.set()

        Thread(target=take, daemon=True).start()
        yield f"zk://127.0.0.1:{listening.getsockname()[1]}", is_there
        listening.shutdown(socket.SHUT_RDWR)
    for each in taken:
        each.close()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["gather", "watch", "apply"])
def test_an_end_is_not_kept_waiting_by_a_silent_zookeeper(
    command: str, cluster: list[fake.Broker], tmp_path: Path
) -> None:
    ended_s: list[float] = []
    plan = tmp_path / "plan.json"
    plan.write_text('{"cluster": "standalone", "made_s": 0, "moves": []}', encoding="utf-8")
    output = ["-o", str(tmp_path / "night")] if command != "apply" else [str(plan)]
    with silent_store() as (metadata, is_there):

        def end() -> None:
            is_there.wait(120)
            # Within the connection, and not yet at its limit.
            time.sleep(0.5)
            ended_s.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        Thread(target=end, daemon=True).start()
        words = [command, "--admin", cluster[0].address, "--metadata", metadata, *output]
        result = CliRunner().invoke(main, words, catch_exceptions=False)
        took_s = time.monotonic() - ended_s[0]

    assert took_s < WITHOUT_END_S
    assert result.exit_code == 130, result.output
    assert "trimtab: stopped; nothing half written was left behind" in result.output
