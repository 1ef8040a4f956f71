"""What docs/first-hour.md shows is what a real cluster answers; `--regen-all` rewrites it.

Each console block of the page is a command and its output.  The commands are run in order in
an empty folder, with the page's addresses replaced by the cluster's; `pulsar-admin` is not
there, so the one call that the page makes with it is made without.  The cluster's leader is
the page's broker-1.

Outputs are compared by the shapes of their lines, see `shape`: one that comes several times
counts once, where it first comes, and one that is absent on either side fails.

The cluster is one of its own: what others did with a shared one would stand in its logs.
Three brokers on one machine all see its CPU, so usage is made to be that of their direct
memory, and one is started with so much that it stands half as high as the others.  They have
only just started: the limits that would wait for minutes are lowered in the plan between
`trimtab plan` and `trimtab apply`, as the page says.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cluster.run import FOLDER, add, down, stopped_on_failure, up
from cluster.state import STORE, State, broker_id, log, web

from beside import ROOT, running, wait_until
from loopback_cluster import asked, load_report
from trimtab.live.apply.files import write_plan
from trimtab.live.control.plan import read_plan

pytestmark = pytest.mark.pulsar

PAGE = ROOT / "docs" / "first-hour.md"
#: UniformLoadShedder is to have something to unload, wherever the bundles went at first.
LOAD = ROOT / "testbed" / "cluster" / "profiles" / "giant.toml"
WAIT_S = 120.0
#: Brokers that have only just started are slow to answer.
ANSWER_S = 30.0
N_MOVES = 2
#: For a plan of so many; and after how many that are not so bundles are placed anew.
PLANNED_S, TRIES = 300.0, 5
#: Direct memory in MiB of the broker that stands lower than the others.  Netty takes an arena
#: of 4 MiB for each whole 24 of them: of 47 it takes 4, of the others' 96 it takes 16.
LOW_MIB = 47
#: Of broker.conf: bundles stay where they are unless a command moves them, and usage is direct
#: memory.
SETTINGS = {
    "loadBalancerSheddingEnabled": "false",
    "loadBalancerCPUResourceWeight": "0",
    "loadBalancerDirectMemoryResourceWeight": "1",
}
_CONSOLE = re.compile(r"(?ms)^```console\n\$ (.*?[^\\])\n(.*?)^```$")
#: In this order: what a number or a name may be replaced by another of its kind.
_SHAPES = (
    (r"\b0 missed", "none missed"),
    (r"[\w.-]+/[\w.-]+/0x[0-9a-f]{8}_0x[0-9a-f]{8}", "BUNDLE"),
    (r"broker-\d+:8080", "BROKER"),
    (r"\b[0-9a-f]{8,64}\b", "ID"),
    (r"\d+(?:[.,]\d+)*", "N"),
    # As many moves as there are, of which the first three are told.
    (r"BUNDLE from BROKER to BROKER(?:, BUNDLE from BROKER to BROKER)*(?: and N more)?", "MOVES"),
    (r"\s+", " "),
    (r"[─━-]{2,}", "--"),
)
#: A destination is good for one look-up: of two at a time one may go elsewhere, and it is
#: unloaded once more.  What takes less than a look is not waited for, nor does a broker stay young.
_AGAIN = re.compile(
    r"^trimtab: N\. BUNDLE: (?:went to BROKER instead|has no owner; looked up, so that .*)$"
    r"|^trimtab: waiting: BUNDLE was unloaded; BROKER has not taken it yet$|; N unloads"
    r"|^trimtab: waiting: the unload of BUNDLE was called; it is not at its destination yet$"
    r"|^BROKER(?:, BROKER)*: started less than N s ago: its usage is not yet usual$"
)


@dataclass(frozen=True)
class Step:
    """A command of the page, and the lines that it shows."""

    command: str
    shown: str


def steps(text: str) -> list[Step]:
    """Read the console blocks of a page."""
    return [Step(*found) for found in _CONSOLE.findall(text)]


def shape(line: str) -> str:
    """Reduce a line to what is the same in every run."""
    for pattern, name in _SHAPES:
        line = re.sub(pattern, name, line)
    return _AGAIN.sub("", line).strip()


def shapes(text: str) -> list[str]:
    """Give the shapes of an output's lines, each once."""
    found = dict.fromkeys(shape(line) for line in text.splitlines())
    return [each for each in found if each]


def rate(broker: str) -> float:
    return float(load_report(f"http://{broker}", within_s=ANSWER_S)["msgRateIn"])


def configured(key: str, value: str) -> None:
    asked(web(1), f"brokers/configuration/{key}/{value}", "POST", within_s=ANSWER_S)


@dataclass(frozen=True)
class Cluster:
    """A cluster under load, and what the page calls its parts."""

    #: What the page says → what is there.
    names: Mapping[str, str]

    def run(self, command: str, folder: Path) -> tuple[int, str]:
        """Run a command of the page; return its exit code and output, in the page's words."""
        for said, there in self.names.items():
            command = command.replace(said, there)
        words = shlex.split(command.replace("\\\n", " "))
        if words[0] == "pulsar-admin":
            assert words[1:3] == ["brokers", "update-dynamic-config"]
            assert words[3::2] == ["--config", "--value"]
            configured(*words[4::2])
            return 0, ""
        path = os.pathsep.join([str(ROOT / "src"), *sys.path])
        assert words[0] == "trimtab"
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path, "TRIMTAB_STATE": str(folder / "state")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=WAIT_S,
        )
        output = done.stdout
        for said, there in self.names.items():
            output = output.replace(there, said)
        return done.returncode, output


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """The cluster under an uneven load, one broker of it low, where nothing moves by itself."""
    state = up(State(FOLDER, settings=SETTINGS), 2)
    with stopped_on_failure(FOLDER):
        state.memory = replace(state.memory, direct=LOW_MIB)
        add(state)
    leader = asked(web(1), "brokers/leaderBroker", within_s=ANSWER_S)["brokerId"]
    brokers = sorted((broker_id(i) for i in (1, 2, 3)), key=lambda each: each != leader)
    logs = log(state.folder, f"broker{1 + [broker_id(i) for i in (1, 2, 3)].index(leader)}").parent
    names = {f"broker-{i}:8080": each for i, each in enumerate(brokers, start=1)}
    names |= {"zookeeper-1:2181": f"{STORE}:2181", "/var/log/pulsar": str(logs)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        with running("-m", "cluster.load", str(LOAD), **quiet):
            wait_until("traffic", lambda: all(rate(each) > 10 for each in brokers), within_s=WAIT_S)
            yield Cluster(names)
    finally:
        down(FOLDER)


#: What `explain` says of seconds in which a round fell.
QUIET = "The balancer moved nothing."
#: What `plan` says of a broker that is to stay as it is: none on the page.
NO_HELP = "No move helps"


def patient(plan: Path) -> None:
    """Let a plan move bundles between brokers that have only just started, and soon."""
    found = read_plan(plan.read_text())
    lowered = replace(
        found.limits, broker_age_min_s=0.1, settle_s=3.0, attempts=6, moves_per_round=99
    )
    write_plan(plan, replace(found, limits=lowered))


def planned(cluster: Cluster, step: Step, folder: Path) -> tuple[int, str]:
    """Plan, until it is as the page shows: it changes nothing in the cluster.

    Bundles need enough traffic, and where they lie is chance: as long as they allow no such
    plan some go elsewhere.
    """
    plan, tries = folder / "plan.json", 0
    last = time.monotonic() + PLANNED_S
    while True:
        code, output = cluster.run(step.command, folder)
        is_long = plan.exists() and len(read_plan(plan.read_text()).moves) == N_MOVES
        if is_long and NO_HELP not in output:
            patient(plan)
            return code, output
        assert time.monotonic() < last, f"no plan as on the page:\n{output}"
        tries += 1
        if tries % TRIES == 0:
            for namespace in asked(web(1), "namespaces/shop", within_s=ANSWER_S):
                asked(web(1), f"namespaces/{namespace}/unload", "PUT", within_s=ANSWER_S)
        time.sleep(0.5)


def test_the_first_hour_is_as_it_is_told(
    cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    told = steps(text)
    assert [step.command.split()[1] for step in told] == [
        *("gather", "explain", "watch", "plan"),
        *("brokers", "apply", "apply"),
    ]
    told_now: list[str] = []
    for step in told:
        is_plan = step.command.startswith("trimtab plan ")
        code, output = (
            planned(cluster, step, tmp_path) if is_plan else cluster.run(step.command, tmp_path)
        )
        assert code == 0, f"$ {step.command}\n{output}"
        told_now.append(output)
        if not request.config.getoption("regen_all"):
            if step.command.startswith("trimtab explain "):
                # Whether a round falls into the few seconds is chance; the page says so.
                output = output.replace(QUIET, step.shown.splitlines()[0])
            assert shapes(output) == shapes(step.shown), f"$ {step.command}\n{output}"
    if request.config.getoption("regen_all"):
        outputs = iter(told_now)
        told_again = _CONSOLE.sub(
            lambda found: f"```console\n$ {found[1]}\n{next(outputs)}```", text
        )
        PAGE.write_text(told_again, encoding="utf-8")


def test_a_line_is_known_by_its_shape() -> None:
    one = "1. shop/orders/0x90000000_0xa0000000: broker-1:8080 → broker-3:8080, 1.2 MiB/s"
    other = "2.  shop/events/0x00000000_0x20000000: broker-2:8080 → broker-1:8080, 13 MiB/s"

    assert shape(one) == shape(other) == "N. BUNDLE: BROKER → BROKER, N MiB/s"
    assert shape("2 missed") != shape("2 answers")
    assert shapes("1 a\n2 b\n3 a\n") == ["N a", "N b"]


def test_an_absent_line_is_seen() -> None:
    (step,) = steps("```console\n$ trimtab x \\\n  -o y\n1 a\n2 b\n```\n")

    assert step.command == "trimtab x \\\n  -o y"
    assert shapes("3 a\n") != shapes(step.shown)
    assert shapes("3 a\n4 b\n5 c\n") != shapes(step.shown)
