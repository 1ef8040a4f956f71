"""Three real brokers are restarted: by us, and one after the other while Pulsar sheds.

Each has CPU and a network card of its own, clients count every message, and both restarts are
measured in one run: how many changes of owners there were, how much of the traffic one broker
had at most, and for how long a bundle had nobody.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import statistics
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cluster import kernel
from cluster.run import FOLDER, begin, down, leave, stopped_on_failure, up
from cluster.state import NETWORKS, State, load

from beside import ENVIRONMENT, ROOT, running, wait_until
from loopback_cluster import asked
from test_pulsar_moves import counting
from tools.catalogue import table
from trimtab.live.apply.journal import entries_of
from trimtab.live.control.rollout.account import rollout_account
from trimtab.live.control.rollout.entries import read_rollout_entry
from trimtab.live.control.rollout.plan import read_rollout

pytestmark = pytest.mark.pulsar

NETWORK = NETWORKS["namespaces"]
BROKERS = [f"{NETWORK}.{i}:8080" for i in (1, 2, 3)]
NAMESPACE = "shop/rolled"
N_TOPICS, N_BUNDLES = 24, 16
TOPICS = [f"persistent://{NAMESPACE}/t-{i}" for i in range(N_TOPICS)]
#: What takes a minute elsewhere takes five seconds here.  Usage is that of the network card, of
#: which all of the traffic is about what one broker can bear.
SETTINGS = {
    "loadBalancerHostUsageCheckIntervalMinutes": "10",
    "loadBalancerSheddingIntervalMinutes": "5",
    "loadBalancerLoadSheddingStrategy": (
        "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder"
    ),
    "loadBalancerCPUResourceWeight": "0",
    "loadBalancerMemoryResourceWeight": "0",
    "loadBalancerDirectMemoryResourceWeight": "0",
    "loadBalancerOverrideBrokerNicSpeedGbps": "0.006",
    "loadBalancerBundleUnloadMinThroughputThreshold": "0.01",
}
#: Of a message: what is asked of brokers meanwhile is little beside them.
BYTES = 1024
SHEDDING = "loadBalancerSheddingEnabled"
PAGE = ROOT / "docs" / "rollout.md"
BEGIN, END = "<!-- measured -->", "<!-- end -->"
#: What the page has in place of the cluster's own command.
HOOK = "restart-broker {host}"
#: Lines of single moves, and of what is waited for.
_OF_MOVES = re.compile(r"trimtab: (?:\d+\. |waiting: |done$|begun; |\S+ not yet: )|warning: ")
#: In this order: what a number or a name may be replaced by another of its kind.
_SHAPES = (
    (r"broker-\d:8080", "BROKER"),
    (r"\d{4}-\d\d-\d\dT[\d:+]+", "TIME"),
    (r"emptied, but for \d+ bundles", "emptied"),
    (r"least loaded first|most loaded first|by name", "RULE"),
    (r"\b[0-9a-f]{16}\b", "ID"),
    (r"\d+ (?:s|min)\b", "AGE"),
    (r"\d+(?:\.\d+)?", "N"),
    (r" +", " "),
)
#: Between one restart in order and the next: twelve rounds.
BETWEEN_S = 60.0


def called(method: str, path: str, body: object = None) -> Any:
    """Call the admin API of whichever broker answers."""
    for broker in BROKERS:
        try:
            return asked(f"http://{broker}", path, method, body)
        except OSError as error:
            if getattr(error, "code", 0) == 409:
                return None
    raise AssertionError("no broker answers")


@pytest.fixture(scope="module")
def cluster(is_exhaustive: bool) -> Iterator[State]:
    if not is_exhaustive:
        pytest.skip("two restarts of three brokers take nine minutes; asked for by --exhaustive")
    if (obstacle := kernel.obstacle()) is not None:
        pytest.skip(f"no namespaces and groups for brokers: {obstacle}")
    asked_for = State(
        FOLDER, mode="namespaces", settings=SETTINGS, is_quick=True, is_sampled_quickly=True
    )
    with stopped_on_failure(FOLDER):
        state = up(asked_for, 3)
        called("PUT", "tenants/shop", {"allowedClusters": ["loopback"]})
        called("PUT", f"namespaces/{NAMESPACE}", {"bundles": {"numBundles": N_BUNDLES}})
        yield state
        down(FOLDER)


# ------------------------------------------------------------------------- what is seen


def bundle_of(topic: str) -> int:
    return zlib.crc32(topic.encode()) * N_BUNDLES >> 32


@dataclass
class Witness:
    """Looks at owners several times a second."""

    #: Bundle → its last owner.
    owners: dict[int, str] = field(default_factory=dict)
    moves: int = 0
    #: Topics of the broker that had most of them, look by look.
    highest: list[int] = field(default_factory=list)
    #: Bundle → when it was seen with an owner, s.
    seen_s: dict[int, float] = field(default_factory=dict)
    ownerless_s: float = 0.0
    is_over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        now = time.monotonic()
        current: dict[int, str] = {}
        for broker in BROKERS:
            try:
                path = f"brokers/loopback/{broker}/ownedNamespaces"
                names = asked(f"http://{broker}", path, within_s=2.0)
            except OSError:
                continue
            for name in names:
                if name.startswith(f"{NAMESPACE}/"):
                    first = int(name.rpartition("/")[2].partition("_")[0], 16)
                    current[first * N_BUNDLES >> 32] = broker
        for bundle, owner in current.items():
            self.moves += self.owners.get(bundle, owner) != owner
            self.ownerless_s = max(self.ownerless_s, now - self.seen_s.get(bundle, now))
            self.seen_s[bundle] = now
        self.owners |= current
        counts = [current.get(bundle_of(topic)) for topic in TOPICS]
        self.highest.append(max(counts.count(broker) for broker in BROKERS))

    def run(self) -> None:
        while not self.is_over.wait(0.2):
            self.look()

    def spread(self) -> list[int]:
        """Count the topics of each broker."""
        owners = [self.owners.get(bundle_of(topic)) for topic in TOPICS]
        return [owners.count(broker) for broker in BROKERS]


@contextmanager
def witness() -> Iterator[Witness]:
    looking = Witness()
    looking.look()
    thread = threading.Thread(target=looking.run)
    thread.start()
    try:
        yield looking
    finally:
        looking.is_over.set()
        thread.join()


def measured(what: str, looking: Witness, took_s: float) -> dict[str, Any]:
    """What is measured of a restart, printed for whoever writes it down."""
    figures = {
        "restart": what,
        "moves": looking.moves,
        "peak_percent": round(100 * max(looking.highest) / N_TOPICS, 1),
        "mean_highest_percent": round(100 * statistics.mean(looking.highest) / N_TOPICS, 1),
        "ownerless_s": round(looking.ownerless_s, 1),
        "in_the_end": looking.spread(),
        "took_s": round(took_s),
    }
    sys.stderr.write(f"\n{json.dumps(figures)}\n")
    return figures


# --------------------------------------------------------------------------- the restarts


def levelled(looking: Witness) -> bool:
    is_served = {bundle_of(topic) for topic in TOPICS} <= set(looking.owners)
    return is_served and max(looking.spread()) <= N_TOPICS // 2


def in_order() -> dict[str, Any]:
    """Restart one after the other, while Pulsar sheds."""
    began = time.monotonic()
    with witness() as looking:
        for number in (1, 2, 3):
            leave(load(FOLDER), number, signal.SIGTERM)
            begin(load(FOLDER), number)
            time.sleep(BETWEEN_S)
    return measured("in order, with shedding on", looking, time.monotonic() - began)


def by_us(tmp_path: Path) -> tuple[dict[str, Any], str]:
    """Have them restarted by a command, as `trimtab rollout` conducts it."""
    # Broker 198.18.1.2 is number 2.
    code = (
        "import sys; from cluster.broker import main; "
        "main(['restart', sys.argv[1].rpartition('.')[2]])"
    )
    hook = shlex.join([sys.executable, "-c", code, "{host}"])
    words = ("--every", "0.5s", "--warm", "30s", "--bar", "100", "--hook", hook, "--yes")
    path = tmp_path / "rollout.json"
    began = time.monotonic()
    with witness() as looking:
        command = ("rollout", str(path), "--admin", f"http://{BROKERS[0]}")
        with running("-m", "trimtab", *command, *words) as process:
            out, _ = process.communicate(timeout=420)
    sys.stderr.write(out)
    assert process.returncode == 0, out
    plan = read_rollout(path.read_text())
    journal = entries_of(Path(f"{path}.journal"), plan.digest, read_rollout_entry)
    done = rollout_account(plan, journal)
    assert done.is_done
    assert [(each.state, each.hand_overs) for each in done.brokers] == [("restarted", 1)] * 3
    figures = measured("trimtab rollout", looking, time.monotonic() - began)
    # Words of a command stand without quotes where it is said.
    command_words = " ".join(shlex.split(hook))
    return figures, shown(out, {str(path): "friday.json", command_words: HOOK})


def shown(output: str, names: dict[str, str]) -> str:
    """Give what is said of brokers, without the moves of bundles, in the page's words."""
    for there, name in names.items():
        output = output.replace(there, name)
    output = re.sub(rf"{re.escape(NETWORK)}\.(\d):8080", r"broker-\1:8080", output)
    lines = output.splitlines()
    return "".join(f"{line}\n" for line in lines if not _OF_MOVES.match(line))


def shapes(text: str) -> set[str]:
    """Reduce lines to what is the same in every run."""
    for pattern, name in _SHAPES:
        text = re.sub(pattern, name, text)
    return set(text.splitlines())


def page_with(text: str, restarts: list[dict[str, Any]], output: str) -> str:
    """Give the page with what was measured and said."""
    titles = (
        *("restart", "changes of owners", "highest, of all traffic", "on average"),
        *("longest without an owner", "topics in the end", "took"),
    )
    rows = [
        [
            each["restart"],
            str(each["moves"]),
            f"{each['peak_percent']:g} %",
            f"{each['mean_highest_percent']:g} %",
            f"{each['ownerless_s']:g} s",
            ", ".join(map(str, each["in_the_end"])),
            f"{each['took_s']} s",
        ]
        for each in restarts
    ]
    head, _, rest = text.partition(BEGIN)
    measured_now = f"{table(titles, rows).rstrip()}\n\n```text\n{output}```"
    return f"{head}{BEGIN}\n\n{measured_now}\n\n{END}{rest.partition(END)[2]}"


def processes() -> dict[str, int]:
    return {name: each.pid for name, each in load(FOLDER).processes.items() if "broker" in name}


def settled() -> None:
    """Wait until every bundle is served and the traffic of all is known."""
    with witness() as looking:
        wait_until("every bundle", lambda: levelled(looking), within_s=120)
    time.sleep(30)


def test_three_brokers_are_restarted_and_no_message_is_lost(
    cluster: State, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "COUNTED_BYTES", str(BYTES))
    with counting(TOPICS, NETWORK) as counted:
        settled()
        before = processes()
        ours, output = by_us(tmp_path)
        after = processes()
        # As it was: by the file, and no dynamic setting.
        assert called("GET", "brokers/configuration/values") == {}
        for broker in BROKERS:
            settings = asked(f"http://{broker}", "brokers/configuration/runtime")
            assert settings[SHEDDING] == "true", broker
        settled()
        naive = in_order()
    assert set(before.values()).isdisjoint(after.values())
    assert len(counted) == N_TOPICS
    for each in counted:
        assert each["sent"] == each["acknowledged"] == each["received"] > 0, each
    assert ours["moves"] < naive["moves"]
    assert ours["peak_percent"] < naive["peak_percent"]
    # None is left empty, and none has more than half.
    assert min(ours["in_the_end"]) >= N_TOPICS // 6
    assert max(ours["in_the_end"]) <= N_TOPICS // 2
    page = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("regen_all"):
        PAGE.write_text(page_with(page, [ours, naive], output), encoding="utf-8")
    else:
        (block,) = re.findall(r"(?s)```text\n(.*?)```", page.partition(BEGIN)[2].partition(END)[0])
        assert shapes(output) == shapes(block), output
