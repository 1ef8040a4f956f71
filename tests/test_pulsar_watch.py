"""A real leader is watched: every round of its log is recomputed to the last digit.

Its rounds are fifteen seconds apart (see `testbed/cluster/quick.py`) and it sheds at the least
difference, so that each of them has something to compare.

Everybody is asked for a token (see `testbed/cluster/tokens.py`): what docs/permissions.md names
is enough for each command, and the next smaller role, the administrator of the tenant, is
told in one line what it may not do.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cluster import certificates, tokens
from cluster.run import FOLDER, down, stopped_on_failure, up
from cluster.state import STORE, State, broker_id, web
from cluster.tokens import SUPER_USER, TENANT_ADMIN

from beside import ROOT, WAIT_S, running, wait_until
from loopback_cluster import asked
from tests import prometheus_server as server

pytestmark = pytest.mark.pulsar

STEADY = ROOT / "testbed" / "cluster" / "profiles" / "steady.toml"
ADMIN, STORE_URL = web(1), f"zk://{STORE}:2181"
COMMANDS = ("gather", "watch", "apply", "drain")
ROUNDS = 5
#: An outcome is made of samples that are so far apart.
INTERVAL_S = 15
#: Brokers write as often as they do by default: a round in which one writes may be undecided.
SETTINGS = {
    "loadBalancerSheddingIntervalMinutes": str(INTERVAL_S),
    "loadBalancerMsgRateDifferenceShedderThreshold": "3",
    "statsUpdateFrequencyInSecs": "5",
}


def lines_of(recording: Path) -> list[dict[str, Any]]:
    path = recording / "watch" / "rounds.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def said(recording: Path, what: str) -> list[dict[str, Any]]:
    return [line for line in lines_of(recording) if line["said"] == what]


class Watched:
    """A watch that has been ended, and what it left."""

    def __init__(self, recording: Path, printed: str, unanswered: list[str], ill: list[str]):
        self.recording, self.printed = recording, printed
        self.unanswered, self.ill = unanswered, ill


@dataclass(frozen=True)
class Cluster:
    """A cluster whose rounds are seconds apart."""

    folder: Path
    #: How it is reached by a super-user.
    words: tuple[str, ...]
    #: Its leader's logs.
    logs: tuple[str, ...]
    #: Closed before the cluster is stopped.
    beside: ExitStack

    def conf(self, role: str) -> str:
        return str(tokens.client_conf(self.folder, role))

    def leaks(self, text: bytes) -> list[bytes]:
        """Find tokens, and signatures of tokens alone."""
        whole = [tokens.token(self.folder, role) for role in (SUPER_USER, TENANT_ADMIN)]
        parts = [part.encode() for each in whole for part in (each, each.rpartition(".")[2])]
        return [part for part in parts if part in text]

    def switch_shedding_off(self) -> None:
        path = "brokers/configuration/loadBalancerSheddingEnabled/false"
        known = {"Authorization": f"Bearer {tokens.token(self.folder, SUPER_USER)}"}

        def is_off(number: int) -> bool:
            settings = asked(web(number), "brokers/configuration/runtime", headers=known)
            return bool(settings["loadBalancerSheddingEnabled"] == "false")

        def all_are_off() -> bool:
            asked(ADMIN, path, "POST", headers=known)
            return all(map(is_off, (1, 2, 3)))

        # Each broker learns of it on its own, and who has only just started may miss it.
        wait_until("no shedding", all_are_off)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with stopped_on_failure(FOLDER):
        settings = SETTINGS | certificates.settings()
        up(State(FOLDER, settings=settings, is_quick=True, asks_for_tokens=True), 3)
        conf = tokens.client_conf(FOLDER, SUPER_USER)
        words = ("--admin", ADMIN, "--metadata", STORE_URL, "--client-conf", str(conf))
        with ExitStack() as beside:
            yield Cluster(FOLDER, words, ("--logs", str(FOLDER / "logs")), beside)
        down(FOLDER)


def is_enough(recording: Path) -> bool:
    """Return whether rounds were compared, and what came of them was scored, often enough.

    A report that is written as the leader decides or goes on may be looked at before or after:
    such a round is undecided.  Where many of the first ones are, more of them are watched.
    """
    equal = [each["equal"] for each in said(recording, "compared")]
    is_compared = equal.count(True) >= ROUNDS and equal.count(None) <= len(equal) // 4
    return is_compared and len(said(recording, "scored")) >= ROUNDS - 2


@pytest.fixture(scope="module")
def watched(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """A watch beside a real leader, until it has seen enough rounds; scraped meanwhile."""
    folder = tmp_path_factory.mktemp("watch")
    recording, port = folder / "beside", server.free_port()
    command = (
        *("trimtab", "watch", *cluster.words, *cluster.logs, "--every", "5s"),
        *("--interval", f"{INTERVAL_S}s", "--metrics", str(port)),
        *("--strategy", "AvgShedder", "--set", "loadBalancerAvgShedderHighThreshold=1"),
        *("-o", str(recording)),
    )
    with running("-m", *command) as process:
        wait_until("the first look", (recording / "recording.toml").exists)
        # Only now, so that the watch knows all that the leader averages.
        cluster.beside.enter_context(running("-m", "cluster.load", str(STEADY)))
        with server.prometheus(f"127.0.0.1:{port}", folder / "prometheus") as prometheus:
            wait_until(
                "rounds",
                lambda: is_enough(recording) or process.poll() is not None,
                # Where a busy machine leaves many of the first rounds undecided.
                within_s=2 * WAIT_S,
                instead=lambda: [
                    f"{each['said']} {each.get('round')} {each.get('why', '')}"
                    for each in lines_of(recording)
                ],
            )
            queries = server.shipped_queries(server.variables(prometheus))
            # Pulsar's classes have no turns and predict nothing.
            queries = [query for query in queries if "trimtab_steering" not in query]
            unanswered = server.unanswered(prometheus, queries)
            ill = server.ill_rules(prometheus)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == 0, printed
    return Watched(recording, printed, unanswered, ill)


def test_every_round_is_recomputed_to_the_last_digit(watched: Watched) -> None:
    compared = said(watched.recording, "compared")

    decidable = [each for each in compared if each["equal"] is not None]
    assert len(decidable) >= ROUNDS
    assert [each for each in decidable if not each["equal"]] == []
    undecided = [each["why"] for each in compared if each["equal"] is None]
    assert len(undecided) <= len(compared) // 4, undecided
    # There was something to compare: bundles, each with a rate of many digits.
    assert sum(len(each["unloaded"]) for each in compared) >= ROUNDS
    assert all(any(len(word) > 12 for word in each["lines"][0].split()) for each in compared)


def test_another_strategy_has_decided_the_same_rounds(watched: Watched) -> None:
    decided = said(watched.recording, "decided")
    compared = {each["round"] for each in said(watched.recording, "compared")}

    assert compared <= {each["round"] for each in decided}
    assert all(each["shadow"] is not None for each in decided)
    assert "compared with the leader's log" in watched.printed


def test_both_are_scored(watched: Watched) -> None:
    scored = said(watched.recording, "scored")

    assert len(scored) >= ROUNDS - 2
    assert all(each["pulsar"]["unloads"] >= 0 for each in scored)


def test_every_query_and_rule_that_is_shipped_answers(watched: Watched) -> None:
    assert watched.unanswered == []
    assert watched.ill == []


def test_what_it_leaves_is_its_owners_alone(watched: Watched) -> None:
    files = [path for path in watched.recording.rglob("*") if path.is_file()]

    assert len(files) > 5
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_what_is_decided_is_carried_out(watched: Watched, cluster: Cluster, tmp_path: Path) -> None:
    # It comes after the other: Pulsar's own shedding goes off.
    assert watched.printed
    words = ("trimtab", "watch", *cluster.words, "--every", "5s", "--interval", "5s")
    code, said_, _ = run([*words, "--act", "--yes", "-o", str(tmp_path / "refused")])
    assert code == 2
    assert b"--act: found loadBalancerSheddingEnabled true, expected false" in said_
    cluster.switch_shedding_off()
    recording = tmp_path / "acting"
    patient = {"bar_percent": 1e9, "broker_age_min_s": 1, "settle_s": 1, "grace_s": 1}
    limits = [word for name, value in patient.items() for word in ("--limit", f"{name}={value:g}")]
    command = (
        *(*words, "-o", str(recording), "--strategy", "UniformLoadShedder"),
        *("--act", "--yes", *limits, "--throttle", "1", "2"),
    )
    with running("-m", *command) as process:
        wait_until("moves", lambda: len(verified(recording)) >= 2 or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=120)
        assert process.returncode == 0, printed

    for plan in sorted((recording / "watch" / "plans").glob("*.json")):
        journal = plan.with_name(f"{plan.name}.journal").read_text().splitlines()
        entries = [json.loads(line) for line in journal]
        # Whatever was asked for was seen to land, also what was in flight in the end.
        wanted = [each["move"] for each in entries if each["entry"] == "asked"]
        landed = [each for each in entries if each["entry"] in {"verified", "astray"}]
        assert [each["move"] for each in landed] == wanted
        # Pulsar may forget a destination, also that of the one retry; then the plan stops.
        if landed and landed[-1]["entry"] == "astray":
            assert "did not arrive" in entries[-1]["why"]
        assert entries[-1]["entry"] in {"done", "stopped"}
    assert "moves of this watch: " in printed
    assert "Traceback" not in printed
    assert leaking(cluster, recording, printed.encode()) == []


def verified(recording: Path) -> list[tuple[str, str]]:
    """Give the bundles that plans have moved."""
    states = [each["states"] for each in said(recording, "acted")]
    return [item for each in states for item in each.items() if item[1] == "verified"]


def leaking(cluster: Cluster, folder: Path, *texts: bytes) -> list[bytes]:
    """Look for tokens in every file of a folder, and in some texts."""
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert any(files)
    return [leak for text in (*files, *texts) for leak in cluster.leaks(text)]


def test_no_token_is_in_what_a_watch_leaves(watched: Watched, cluster: Cluster) -> None:
    assert leaking(cluster, watched.recording, watched.printed.encode()) == []
    runtime = sorted((watched.recording / "runtime-config").glob("*.json"))[0]
    told = json.loads(runtime.read_text())
    assert told["brokerClientAuthenticationParameters"] == "(left out)"
    assert told["superUserRoles"]


# -------------------------------------------------------------------------- rights


def words_of(command: str, folder: Path) -> list[str]:
    """Give a command as it is typed, but for who asks."""
    move = {
        "bundle": "shop/orders/0x00000000_0x10000000",
        "source": broker_id(1),
        "destination": broker_id(2),
        "reason": "a test",
    }
    plan = {"cluster": "loopback", "made_s": time.time(), "moves": [move]}
    (folder / "plan.json").write_text(json.dumps(plan))
    state = ["--state", str(folder / "state")]
    rest = {
        "gather": ["-o", str(folder / "night"), "--once"],
        "watch": ["-o", str(folder / "beside"), "--once"],
        "apply": [str(folder / "plan.json"), *state],
        "drain": [broker_id(1), "-o", str(folder / "drain.json"), "--bar", "100", *state],
    }
    return ["trimtab", command, *rest[command], "--admin", ADMIN]


def run(words: Sequence[str]) -> tuple[int, bytes, list[bytes]]:
    """Run a command; return its exit code, all it printed, and how it stood in the process list."""
    with running("-m", *words) as process:
        listed = []
        last = time.monotonic() + WAIT_S
        while process.poll() is None and time.monotonic() < last:
            listed.append(Path(f"/proc/{process.pid}/cmdline").read_bytes())
            time.sleep(0.2)
        process.kill()
        said_, _ = process.communicate()
    return process.returncode, said_.encode(), listed


@pytest.mark.parametrize("command", COMMANDS)
def test_the_documented_role_is_enough_and_its_token_goes_nowhere(
    command: str, cluster: Cluster, tmp_path: Path
) -> None:
    words = [*words_of(command, tmp_path), "--client-conf", cluster.conf(SUPER_USER)]
    code, said_, listed = run(words)

    # 1: a guard objects, as to brokers that have only just started.
    assert code in {0, 1}, said_.decode()
    assert b"not authorized" not in said_
    assert b"not authenticated" not in said_
    assert any(listed)
    assert leaking(cluster, tmp_path, said_, *listed) == []


def owned(cluster: Cluster, broker: str) -> list[str]:
    """Ask a broker which bundles of those that get load it owns."""
    known = {"Authorization": f"Bearer {tokens.token(cluster.folder, SUPER_USER)}"}
    path = f"brokers/loopback/{broker}/ownedNamespaces"
    names = asked(f"http://{broker}", path, headers=known)
    return sorted(name for name in names if name.startswith("shop/"))


@pytest.fixture(scope="module")
def loaded(cluster: Cluster) -> Cluster:
    """The cluster without shedding of its own, with load if it had none."""
    cluster.switch_shedding_off()
    if not any(owned(cluster, broker_id(number)) for number in (1, 2, 3)):
        cluster.beside.enter_context(running("-m", "cluster.load", str(STEADY)))
    wait_until("owners", lambda: any(owned(cluster, broker_id(number)) for number in (1, 2, 3)))
    return cluster


@pytest.mark.parametrize("admin", [ADMIN, certificates.web_tls(1)], ids=["plain", "tls"])
@pytest.mark.parametrize("role", [SUPER_USER, TENANT_ADMIN])
def test_a_bundle_is_moved_by_who_may_and_by_nobody_else(
    role: str, admin: str, loaded: Cluster, tmp_path: Path
) -> None:
    brokers = sorted(map(broker_id, (1, 2, 3)), key=lambda each: -len(owned(loaded, each)))
    source, *_, target = brokers
    bundle = owned(loaded, source)[0]
    move = {"bundle": bundle, "source": source, "destination": target, "reason": "a test"}
    limits = {"bar_percent": 1e9, "broker_age_min_s": 1, "settle_s": 1, "grace_s": 1}
    plan = {"cluster": "loopback", "made_s": time.time(), "limits": limits, "moves": [move]}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    words = ("apply", str(path), "--state", str(tmp_path / "state"), "--yes")

    conf = tmp_path / "client.conf"
    trust = f"tlsTrustCertsFilePath={certificates.TRUSTED}\n"
    conf.write_text(Path(loaded.conf(role)).read_text() + trust)
    code, said_, listed = run(["trimtab", *words, "--admin", admin, "--client-conf", str(conf)])

    assert code in ({0, 3} if role == SUPER_USER else {2}), said_.decode()
    journal = path.with_name("plan.json.journal")
    lines = journal.read_text().splitlines() if journal.exists() else []
    entries = [json.loads(each)["entry"] for each in lines]
    if role == SUPER_USER:
        assert entries[:3] == ["begun", "asked", "answered"]
        assert entries[-1] in {"done", "stopped"}
        assert ("verified" in entries) == (code == 0)
    else:
        assert entries == []
        assert bundle in owned(loaded, source)
    assert leaking(loaded, tmp_path, said_, *listed) == []


def test_a_certificate_that_nobody_vouches_for_is_told_in_one_line(
    cluster: Cluster, tmp_path: Path
) -> None:
    words = words_of("apply", tmp_path)
    words[words.index(ADMIN)] = certificates.web_tls(1)
    code, said_, _ = run([*words, "--client-conf", cluster.conf(SUPER_USER)])

    assert code == 2
    assert b"certificate" in said_
    assert said_.count(b"\n") == 1, said_.decode()
    assert leaking(cluster, tmp_path, said_) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_one_less_is_told_in_one_line(command: str, cluster: Cluster, tmp_path: Path) -> None:
    words = [*words_of(command, tmp_path), "--client-conf", cluster.conf(TENANT_ADMIN)]
    code, said_, _ = run(words)

    assert code == 2, said_.decode()
    assert b"401 not authorized" in said_
    assert said_.count(b"\n") == 1, said_.decode()
    assert leaking(cluster, tmp_path, said_) == []


def test_whoever_shows_no_token_is_not_known(cluster: Cluster, tmp_path: Path) -> None:
    code, said_, _ = run(words_of("gather", tmp_path))

    assert code == 2
    assert b"401 not authenticated: see --client-conf" in said_
    assert said_.count(b"\n") == 1, said_.decode()
