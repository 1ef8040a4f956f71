"""`trimtab watch` as it is typed, beside brokers that answer as real ones did."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests import fake_admin as fake
from tests import prometheus_server as server
from trimtab.cli import main


@pytest.fixture
def cluster() -> Iterator[list[fake.Broker]]:
    with fake.brokers(3) as running:
        yield running


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["watch", *arguments], catch_exceptions=False)


def said(recording: Path) -> list[dict[str, object]]:
    lines = (recording / "watch" / "rounds.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_once_says_what_would_be_done_now(cluster: list[fake.Broker], tmp_path: Path) -> None:
    output = tmp_path / "now"
    result = run("--admin", cluster[0].address, "--once", "-o", str(output))

    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].endswith(f"{cluster[0].id} leads")
    assert "UniformLoadShedder would unload nothing (as if there were a round now)" in lines[1]
    assert lines[-1] == f"Recording: {output}"
    led, decided = said(output)
    assert led["said"] == "led"
    assert decided["said"] == "decided"
    shadow = decided["shadow"]
    assert isinstance(shadow, dict)
    assert {row["broker"] for row in shadow["brokers"]} == {each.id for each in cluster}


def test_any_strategy_may_be_asked(cluster: list[fake.Broker], tmp_path: Path) -> None:
    result = run(
        *("--admin", cluster[0].address, "--once", "-o", str(tmp_path / "now")),
        *("--strategy", "UniformLoadShedder+RoundRobinBrokerSelector"),
    )

    assert result.exit_code == 0, result.output
    assert "UniformLoadShedder would unload" in result.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--strategy", "Threshold"], "--strategy: found 'Threshold', expected one of AvgShedder"),
        (["--strategy", "AvgShedder+Best"], "--strategy: found 'Best', expected one of AvgShedder"),
        (
            ["--set", "loadBalancerSheddingIntervalMinutes=soon"],
            "found 'soon', expected",
        ),
        (["--logs", "."], "expected a folder with *.log files"),
    ],
)
def test_what_the_cluster_does_not_know_is_one_line(
    words: list[str], expected: str, cluster: list[fake.Broker], tmp_path: Path
) -> None:
    result = run("--admin", cluster[0].address, "-o", str(tmp_path / "now"), "--once", *words)

    assert result.exit_code == 2
    assert expected in result.output
    assert result.output.count("\n") == 1


def test_logs_of_nobody_are_one_line(cluster: list[fake.Broker], tmp_path: Path) -> None:
    logs = tmp_path / "somebody"
    logs.mkdir()
    (logs / "pulsar.log").write_text("")
    result = run(
        *("--admin", cluster[0].address, "--once", "-o", str(tmp_path / "now")),
        *("--logs", str(logs)),
    )

    assert result.exit_code == 2
    assert "named somebody, expected BROKER=DIR with one of 127.0.0.1:" in result.output


def test_the_extensible_load_manager_is_not_watched(
    cluster: list[fake.Broker], tmp_path: Path
) -> None:
    text = (fake.ANSWERS / "runtime.json").read_text()
    told = json.loads(text) | {"loadManagerClassName": "a.b.ExtensibleLoadManagerImpl"}
    for broker in cluster:
        broker.answers[fake.RUNTIME] = fake.said(200, json.dumps(told).encode())
    result = run("--admin", cluster[0].address, "--once", "-o", str(tmp_path / "now"))

    assert result.exit_code == 2
    assert "found a.b.ExtensibleLoadManagerImpl, expected the modular load manager" in result.output


@pytest.mark.slow
def test_being_asked_to_end_ends_it(cluster: list[fake.Broker], tmp_path: Path) -> None:
    output, port = tmp_path / "beside", server.free_port()
    command = [
        *(sys.executable, "-m", "trimtab", "watch", "--admin", cluster[0].address),
        *("-o", str(output), "--every", "1s", "--interval", "2s", "--metrics", str(port)),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", *sys.path])}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        last = time.monotonic() + 120
        rounds = output / "watch" / "rounds.jsonl"
        while not (rounds.exists() and '"decided"' in rounds.read_text()):
            assert process.poll() is None
            assert time.monotonic() < last
            time.sleep(0.1)
        cluster[2].vanish()
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=240)

    assert process.returncode == 0, printed
    assert "trimtab: ending; Ctrl-C once more ends it at once" in printed
    assert "would unload" in printed
    assert printed.splitlines()[-1] == f"Recording: {output}"
    assert (output / "recording.toml").is_file()


@pytest.mark.parametrize("what", ["rules", "dashboard"])
def test_what_is_shipped_is_printed(what: str) -> None:
    from trimtab.live.watch import metrics

    result = run(f"--print-{what}")

    assert result.exit_code == 0
    assert result.output == getattr(metrics, what)()
