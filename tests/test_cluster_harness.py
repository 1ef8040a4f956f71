"""The harness of the real cluster, as far as it can be tested without one."""

from __future__ import annotations

import base64
import hmac
import json
import os
import signal
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cluster import tokens
from cluster.java import ClusterError, Memory
from cluster.processes import Process, end, end_all, start
from cluster.profile import read_profile
from cluster.quick import HOST_USAGE, quickened
from cluster.run import down, leave, prepare, stopped_on_failure
from cluster.state import LOOPBACK, Mode, State, broker_id, load, log

from loopback_cluster import CLUSTERS

PROFILES = Path(__file__).parent.parent / "testbed" / "cluster" / "profiles"
MARK = "pytest.mark.pulsar"
GROUP = '[[group]]\nnamespace = "a/b"\ntopics = 2\nmessages_per_s = [[0, 10], [10, 30]]\n'


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Process]:
    process = start([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "out")
    yield process
    end(process, signal.SIGKILL)


# --------------------------------------------------------------------- processes


def test_a_process_ends_when_it_is_asked_to(sleeper: Process) -> None:
    assert sleeper.is_alive

    end(sleeper)

    assert not sleeper.is_alive


def test_one_that_does_not_listen_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cluster.processes.STOP_S", 0.2)
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('deaf', flush=True); time.sleep(60)"
    )
    printed = tmp_path / "out"
    process = start([sys.executable, "-c", deaf], printed)
    while "deaf" not in printed.read_text():
        assert process.is_alive

    end_all([process])

    assert not process.is_alive


def test_a_process_that_was_born_at_another_time_is_somebody_elses(sleeper: Process) -> None:
    other = replace(sleeper, born=sleeper.born - 1)

    assert not other.is_alive
    end(other, signal.SIGKILL)
    assert sleeper.is_alive


def test_a_process_whose_first_thread_has_ended_is_alive_while_another_runs(
    tmp_path: Path,
) -> None:
    """A killed Java's first thread ends before the others, which hold its ports until they do."""
    first_ends = (
        "import ctypes, platform, threading, time; "
        "threading.Thread(target=time.sleep, args=(60,)).start(); "
        "print('ends', flush=True); "
        "ctypes.CDLL(None).syscall({'x86_64': 60}.get(platform.machine(), 93), 0)"
    )
    printed = tmp_path / "out"
    process = start([sys.executable, "-c", first_ends], printed)
    status = Path(f"/proc/{process.pid}/status")
    while "zombie" not in status.read_text(encoding="utf-8"):
        time.sleep(0.01)

    assert process.is_alive

    end(process, signal.SIGKILL)
    assert not process.is_alive


def test_what_a_process_prints_is_in_its_file(tmp_path: Path) -> None:
    printed = tmp_path / "out"
    process = start([sys.executable, "-c", "print('here')"], printed)
    while process.is_alive:
        pass

    assert printed.read_text() == "here\n"


# ------------------------------------------------------------------------- state


def test_what_runs_is_found_again(tmp_path: Path) -> None:
    state = State(
        tmp_path,
        memory=Memory(100, 50),
        settings={"loadBalancerEnabled": "false"},
        processes={"broker1": Process(7, 8)},
    )
    state.save()

    assert load(tmp_path) == state


def test_nothing_was_started(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"no cluster in .*: start one with `make pulsar-up`"):
        down(tmp_path)


def test_down_ends_what_runs_and_forgets_it(tmp_path: Path, sleeper: Process) -> None:
    gone = Process(os.getpid(), 1)
    State(tmp_path, processes={"broker1": sleeper, "bookie": gone}).save()

    assert down(tmp_path) == 1

    assert not sleeper.is_alive
    assert load(tmp_path).processes == {}


def test_a_failure_leaves_nothing_running(tmp_path: Path, sleeper: Process) -> None:
    State(tmp_path, processes={"broker1": sleeper}).save()

    with pytest.raises(ZeroDivisionError), stopped_on_failure(tmp_path):
        raise ZeroDivisionError

    assert not sleeper.is_alive


def test_being_asked_to_end_leaves_nothing_running(tmp_path: Path, sleeper: Process) -> None:
    State(tmp_path, processes={"broker1": sleeper}).save()

    with pytest.raises(SystemExit) as raised, stopped_on_failure(tmp_path):
        os.kill(os.getpid(), signal.SIGTERM)

    assert raised.value.code == 128 + signal.SIGTERM
    assert not sleeper.is_alive


@pytest.mark.parametrize("mode", ["plain", "namespaces"])
def test_of_clusters_side_by_side_those_in_namespaces_are_one(
    tmp_path: Path, sleeper: Process, mode: Mode
) -> None:
    beside = tmp_path / "run2"
    beside.mkdir()
    State(beside, mode="namespaces", processes={"broker1": sleeper}).save()

    prepare(State(tmp_path / "run", mode=mode))

    assert sleeper.is_alive == (mode == "plain")


def test_the_files_that_need_a_cluster_are_those_that_make_pulsar_test_names() -> None:
    tests = Path(__file__).parent
    marked = {path.name for path in tests.glob("test_*.py") if MARK in path.read_text()}

    assert marked - {Path(__file__).name} == {path.name for path in tests.glob("test_pulsar_*.py")}
    assert all((tests.parent / file).exists() for files in CLUSTERS.values() for file in files)


def test_no_two_workers_make_namespaces_of_the_same_names() -> None:
    tests = Path(__file__).parent
    making = {path for path in tests.glob("test_pulsar_*.py") if "kernel" in path.read_text()}

    assert {f"tests/{path.name}" for path in making} <= CLUSTERS["namespaces"]


def test_a_broker_that_does_not_run_cannot_leave(tmp_path: Path) -> None:
    state = State(tmp_path, processes={"broker1": Process(os.getpid(), 1)})

    with pytest.raises(ClusterError, match="found no broker2 running, expected one of: broker1"):
        leave(state, 2, signal.SIGTERM)


def test_names_and_addresses(tmp_path: Path) -> None:
    assert broker_id(3) == f"{LOOPBACK}.3:8080"
    assert log(tmp_path, "broker3") == tmp_path / "logs" / f"{LOOPBACK}.3_8080" / "pulsar.log"
    assert log(tmp_path, "bookie").parent.parent.name == "logs-of-others"
    with pytest.raises(ClusterError, match="found broker 0, expected a number from 1"):
        broker_id(0)


# ----------------------------------------------------------------------- profiles


def profile(folder: Path, text: str) -> Path:
    path = folder / "profile.toml"
    path.write_text(text)
    return path


def test_a_rate_is_on_a_straight_line_between_what_is_said(tmp_path: Path) -> None:
    (group,) = read_profile(profile(tmp_path, GROUP))

    assert [group.rate(second) for second in (0, 5, 10, 99)] == [10, 20, 30, 30]
    assert group.topic_names == ("persistent://a/b/group0-0", "persistent://a/b/group0-1")
    assert group.shares.tolist() == [0.5, 0.5]


def test_shares_fall_with_the_exponent(tmp_path: Path) -> None:
    (group,) = read_profile(profile(tmp_path, GROUP.replace("topics = 2", "topics = 4\nzipf = 1")))

    np.testing.assert_allclose(group.shares, np.array([12, 6, 4, 3]) / 25)


def test_the_profiles_that_are_there_can_be_read() -> None:
    profiles = sorted(PROFILES.glob("*.toml"))

    assert len(profiles) >= 2
    for path in profiles:
        assert read_profile(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found nothing, expected \\[\\[group\\]\\]"),
        ("[[group]\n", "profile.toml: "),
        (GROUP.replace("topics = 2", ""), r"group\[0\].topics: found 'nothing', expected int"),
        (GROUP + "topcs = 3\n", r"group\[0\].topcs: unknown"),
        (GROUP.replace("[[0, 10], [10, 30]]", "[[10, 1], [0, 1]]"), "the seconds rising"),
        (GROUP.replace("[[0, 10], [10, 30]]", "[[0, -1]]"), "the seconds rising"),
        (GROUP.replace("[[0, 10], [10, 30]]", "[]"), "the seconds rising"),
        (GROUP.replace("30", "30000"), "found 30000, expected at most 20000 in all"),
    ],
)
def test_a_slip_in_a_profile_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ClusterError, match=said):
        read_profile(profile(tmp_path, text))


# ------------------------------------------------------------- quick rounds, tokens

TASK = "org/apache/pulsar/broker/loadbalance/LoadSheddingTask.class"


def jar_with(
    content: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch, file: str = TASK
) -> None:
    monkeypatch.setattr("cluster.quick.BUILD", folder)
    monkeypatch.setattr("cluster.quick.jars", lambda release: folder / "jars")
    (folder / "jars").mkdir()
    with zipfile.ZipFile(folder / "jars" / "pulsar-broker-9.jar", "w") as jar:
        jar.writestr(file, content)


def test_one_word_of_the_task_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar_with(b"\x00a\x01\x00\x07MINUTESb\x01\x00\x0dsheddingMINUTES", tmp_path, monkeypatch)

    made = quickened("9") / TASK

    assert made.read_bytes() == b"\x00a\x01\x00\x07SECONDSb\x01\x00\x0dsheddingMINUTES"
    assert quickened("9") / TASK == made


@pytest.mark.parametrize(
    "content", [b"none", b"\x01\x00\x07MINUTES" * 2, b"\x01\x00\x07MINUTES\x01\x00\x07SECONDS"]
)
def test_a_task_that_is_not_as_expected_is_left_alone(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar_with(content, tmp_path, monkeypatch)

    with pytest.raises(ClusterError, match=r"LoadSheddingTask.* expected once"):
        quickened("9")


def test_a_class_may_have_seconds_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"a\x01\x00\x07SECONDSb\x01\x00\x07MINUTES"
    jar_with(content, tmp_path, monkeypatch, HOST_USAGE.file)

    made = quickened("9", HOST_USAGE) / HOST_USAGE.file

    assert made.read_bytes() == b"a\x01\x00\x07SECONDSb\x01\x00\x07SECONDS"


def test_a_token_is_signed_by_the_clusters_secret(tmp_path: Path) -> None:
    keys = tokens.settings(tmp_path)
    head, payload, signature = tokens.token(tmp_path, "someone").split(".")

    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "HS256"}
    assert json.loads(base64.urlsafe_b64decode(payload + "==")) == {"sub": "someone"}
    secret = (tmp_path / "secret.key").read_bytes()
    signed = hmac.new(secret, f"{head}.{payload}".encode(), "sha256").digest()
    assert base64.urlsafe_b64decode(signature + "=") == signed
    assert len(secret) == 32
    assert tokens.settings(tmp_path) == keys


def test_what_says_who_asks_is_its_owners_alone(tmp_path: Path) -> None:
    tokens.settings(tmp_path)
    conf = tokens.client_conf(tmp_path, "someone")

    assert tokens.token(tmp_path, "someone") not in conf.read_text()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
