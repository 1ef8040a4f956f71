"""The surface for programs: what `import trimtab` gives, what it loads, and what it refuses."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark import SparkContext

import trimtab

ROOT = Path(__file__).resolve().parent.parent
RECORDINGS = ROOT / "recordings"
HEAVY = ("pyspark", "py4j", "numpy", "pandas", "pyarrow", "highspy", "click", "rich", "jinja2")


def python(script: str, *arguments: str) -> Any:
    """Run a script in a process of its own, and return what it prints as JSON."""
    # What this run's own Spark has set: without it workers take the first python3 on PATH.
    ours = ("PYSPARK_PYTHON", "SPARK_HOME")
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if key not in ours}
        | {"SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sequences() -> list[str]:
    """Return lines that `trimtab decide` takes."""
    path = ROOT / "docs" / "strategies" / "examples" / "threshold_shedder.jsonl"
    return path.read_text(encoding="utf-8").splitlines(keepends=True)[:2]


# ------------------------------------------------------------------ the import


def test_the_import_is_light() -> None:
    loaded = python("import sys, json, trimtab; print(json.dumps(sorted(sys.modules)))")

    assert [name for name in HEAVY if name in loaded] == []
    rooms = {name.split(".")[1] for name in loaded if name.startswith("trimtab.")}
    assert rooms == {"files"}


def test_every_public_name_is_there_and_nothing_else_is_listed() -> None:
    assert dir(trimtab) == sorted(trimtab.__all__) == trimtab.__all__
    for name in trimtab.__all__:
        assert getattr(trimtab, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = trimtab.nothing


def test_no_room_takes_the_place_of_a_public_name() -> None:
    rooms = {path.parent.name for path in (ROOT / "src" / "trimtab").glob("*/__init__.py")}

    assert rooms
    assert rooms.isdisjoint(trimtab.__all__)


def test_results_are_frozen() -> None:
    types = [getattr(trimtab, name) for name in trimtab.__all__ if name[0].isupper()]
    plain = [each for each in types if not issubclass(each, Exception)]

    assert len(plain) > 10
    for each in plain:
        assert is_dataclass(each), each
        assert each.__dataclass_params__.frozen, each


# ------------------------------------------------------------ without any Spark


def test_settings_are_checked_as_text_and_as_a_file(tmp_path: Path) -> None:
    text = "loadBalancerSheddingEnabled=no\nloadBalancerEnable=true\n"
    path = tmp_path / "broker.conf"
    path.write_text(text, encoding="utf-8")

    of_text = trimtab.lint(text, release="4.0.8", severity="error")
    of_file = trimtab.lint(path, release="4.0.8", severity="error")

    assert of_text
    assert [(it.code, it.line) for it in of_text] == [(it.code, it.line) for it in of_file]
    assert {it.file for it in of_text} == {"text"}
    assert {it.file for it in of_file} == {str(path)}
    code = of_text[0].code
    assert code not in {it.code for it in trimtab.lint(text, release="4.0.8", ignore=[code])}


def test_an_upgrade_is_checked_and_a_recording_knows_its_release() -> None:
    unknown = trimtab.lint("loadBalancerEnabled=true\n")
    assert {it.code: it.releases for it in unknown}["even-distribution"] == "before 5.0.0"
    upgrade = trimtab.lint("loadBalancerEnabled=true\n", before="3.0.7", after="5.0.1")

    assert [it for it in upgrade if it.code.startswith("upgrade") or it.instead]
    assert trimtab.lint(RECORDINGS / "threshold")


def test_a_sequence_is_decided_as_the_command_does() -> None:
    from click.testing import CliRunner

    from trimtab.cli import main

    lines = sequences()
    printed = CliRunner().invoke(main, ["decide", "-"], input="".join(lines)).stdout
    answers = [json.loads(line) for line in printed.splitlines()]

    assert len(answers) == 2
    for line, answer in zip(lines, answers, strict=True):
        for given in (line, line.encode(), json.loads(line)):
            decided = trimtab.decide(given)
            assert (decided.id, list(decided.results)) == (answer["id"], answer["results"])
            assert decided.story == ()
    assert trimtab.decide(lines[0], explain=True).story


def test_a_simulated_run_is_that_of_the_command() -> None:
    from click.testing import CliRunner

    from trimtab.cli import main

    run = trimtab.simulate("S01", "ThresholdShedder", 1, minutes=33)
    words = ["simulate", "S01", "--strategy", "ThresholdShedder", "--seed", "1", "--minutes", "33"]
    printed = CliRunner().invoke(main, words).stdout

    assert run.history + "\n" == printed
    assert json.loads(json.dumps(run.document))["outcomes"]["unloads"] == run.outcomes["unloads"]
    assert run.failed == ()
    assert "ThresholdShedder" in repr(run)


def test_settings_are_spelt_as_broker_conf_has_them() -> None:
    key = "loadBalancerBrokerThresholdShedderPercentage"
    run = trimtab.simulate("S01", "ThresholdShedder", settings={key: 30}, minutes=33)

    assert run.document["settings"][key] == "30"
    assert f"--set {key}=30" in run.command


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no path": (lambda: trimtab.explain(None), "path: found None, expected a path"),
    "nowhere": (lambda: trimtab.explain("nowhere"), "nowhere: no such file or folder"),
    "cores": (lambda: trimtab.read("nowhere", cores=0), "cores: found 0, expected a whole number"),
    "cores as text": (lambda: trimtab.read("x", cores="2"), "cores: found '2', expected"),
    "output": (lambda: trimtab.explain("nowhere", output=""), "output: found '', expected a path"),
    "time without prometheus": (
        lambda: trimtab.explain(RECORDINGS / "threshold", begin=datetime(2026, 1, 1, tzinfo=UTC)),
        "begin and end: found nobody who is asked, expected prometheus or a store, such",
    ),
    "prometheus": (
        lambda: trimtab.explain(RECORDINGS / "seed-001", prometheus="no address"),
        "prometheus: ",
    ),
    "no release": (
        lambda: trimtab.lint("loadBalancerEnabled=true\n", release="four"),
        "release 'four' is not understood",
    ),
    "half an upgrade": (
        lambda: trimtab.lint("loadBalancerEnabled=true\n", before="3.0.7"),
        "before and after go together",
    ),
    "severity": (
        lambda: trimtab.lint("loadBalancerEnabled=true\n", release="4.0.8", severity="bad"),
        "severity: found 'bad', expected one of error, warning, note",
    ),
    "rule": (lambda: trimtab.lint("a=b\n", ignore="none-such"), "ignore: found 'none-such'"),
    "conf": (lambda: trimtab.lint("nowhere.conf", release="4.0.8"), "nowhere.conf: No such file"),
    "no sequence": (lambda: trimtab.decide(3), "sequence: found 3, expected"),
    "no json": (lambda: trimtab.decide("{"), "expected JSON"),
    "a release of a sequence": (
        lambda: trimtab.decide(sequences()[0], release="4"),
        "release: found '4', expected a release like",
    ),
    "scenario": (lambda: trimtab.simulate("S99", "none"), "scenario 'S99': expected"),
    "strategy": (lambda: trimtab.simulate("S01", "AvgSheder"), "strategy: found 'AvgSheder'"),
    "no strategy": (lambda: trimtab.simulate("S01", ""), "strategy: found '', expected"),
    "seed": (lambda: trimtab.simulate("S01", "none", -1), "seed: found -1, expected"),
    "minutes": (
        lambda: trimtab.simulate("S01", "none", minutes=float("nan")),
        "minutes: found nan, expected a number above 0",
    ),
    "a key": (lambda: trimtab.simulate("S01", "none", settings={"x": 1}), "settings: found 'x'"),
    "a value": (
        lambda: trimtab.simulate("S01", "none", settings={"x": None}),
        "settings['x']: found None, expected text, a number, True or False",
    ),
    "settings": (
        lambda: trimtab.simulate("S01", "none", settings="x=1"),
        "settings: found 'x=1', expected a mapping",
    ),
    "no scenarios": (lambda: trimtab.compare([]), "scenarios: found [], expected at least one"),
    "strategies": (lambda: trimtab.compare("S01", strategies=["Avg"]), "strategies: found 'Avg'"),
    "seeds": (lambda: trimtab.compare("S01", seeds=0), "seeds: found 0, expected"),
    "two recordings": (
        lambda: trimtab.compare([RECORDINGS / "avg", RECORDINGS / "uniform"]),
        "expected scenarios, or one recording",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_argument_is_one_clear_error(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, message = REFUSED[case]

    def started(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started for what cannot be")

    monkeypatch.setattr("trimtab.spark.session.started", started)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    with pytest.raises(trimtab.TrimtabError) as refused:
        call()

    assert message in str(refused.value)
    assert "--" not in str(refused.value)
    assert "\n" not in str(refused.value)


# ------------------------------------------------------------------- with Spark


@pytest.fixture(scope="module")
def night(spark: SparkContext, tmp_path_factory: pytest.TempPathFactory) -> trimtab.Explained:
    """A night with unloads, explained in the run's Spark."""
    explained = trimtab.explain(
        RECORDINGS / "threshold", output=tmp_path_factory.mktemp("door") / "night"
    )
    assert SparkContext._active_spark_context is spark
    return explained


def test_what_was_found_is_what_the_document_says(night: trimtab.Explained) -> None:
    document = json.loads(night.report.with_name("findings.json").read_text(encoding="utf-8"))

    assert document == night.document
    assert night.headline.startswith(document["headline"]["text"])
    assert night.recording == "threshold"
    assert [it["code"] for it in document["findings"]] == [it.code for it in night.findings]
    for entry, finding in zip(document["findings"], night.findings, strict=True):
        assert {*entry} - {"page"} == {field.name for field in fields(finding)}
        assert finding.time.tzinfo is not None
        assert datetime.fromisoformat(entry["time"]) == finding.time
        assert [it["line"] for it in entry["evidence"]] == [it.line for it in finding.evidence]
    assert [it["id"] for it in document["unloads"]] == [it.id for it in night.unloads]
    useless = [it["id"] for it in document["unloads"] if it["useless"]]
    assert useless
    assert [it.id for it in night.unloads if it.is_useless] == useless
    assert len(night.changes) == len(document["changes"])


def test_the_gravest_finding_is_the_first_of_the_worst(night: trimtab.Explained) -> None:
    gravities = [it.severity for it in night.by_gravity()]

    assert night.gravest is not None
    assert night.gravest == next(it for it in night.findings if it.severity == "high")
    assert gravities == sorted(gravities, key=["high", "medium", "low"].index)
    assert len(set(gravities)) == 3


def test_tables_are_datasets_with_cluster_and_day(night: trimtab.Explained) -> None:
    unloads = night.tables["log_events"].to_table(filter=pc.field("kind") == "unload")

    assert unloads.num_rows == len(night.unloads)
    assert {"cluster", "day"} <= set(unloads.column_names)
    assert set(unloads["day"].to_pylist()) == {night.unloads[0].time.date()}
    assert {"replayed_rounds", "log_events"} <= set(night.tables)
    assert len(night.tables) == len(list(night.tables.folder.glob("*/")))
    with pytest.raises(KeyError):
        _ = night.tables["nothing"]


def test_a_notebook_shows_the_headline_and_the_findings_as_text(night: trimtab.Explained) -> None:
    shown = night._repr_html_()

    assert night.gravest is not None
    assert shown.index(night.headline[:20]) < shown.index(f">{night.gravest.title}</td>")
    assert str(night.report) in shown
    assert repr(night).startswith("<Explained threshold: ")


def test_the_whole_page_is_shown_in_a_frame_or_in_the_browser(
    night: trimtab.Explained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import ModuleType, SimpleNamespace

    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    night.show()
    assert opened == [night.report.resolve().as_uri()]

    shown: list[Any] = []
    notebook, display = ModuleType("IPython"), ModuleType("IPython.display")
    notebook.get_ipython = lambda: SimpleNamespace(kernel=None)
    display.display = shown.append
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    night.show(height=600)
    frame = shown[0]._repr_html_()
    assert 'height="600"' in frame
    (page,) = re.findall(r'src="data:text/html;charset=utf-8;base64,([^"]*)"', frame)
    assert base64.b64decode(page) == night.report.read_bytes()
    assert len(opened) == 1


@pytest.mark.spark
def test_tables_of_a_cluster_whose_name_is_a_number(
    spark: SparkContext, recordings: Path, tmp_path: Path
) -> None:
    import shutil

    shutil.copytree(recordings / "mixed", tmp_path / "night")
    meta = tmp_path / "night" / "recording.toml"
    meta.write_text(meta.read_text("utf-8").replace('"mixed"', '"7"'), "utf-8")

    tables = trimtab.read(tmp_path / "night")

    assert SparkContext._active_spark_context is spark
    assert set(tables["settings"].to_table()["cluster"].to_pylist()) == {"7"}
    assert tables.lines["lines"] > tables.lines["rows"] > 0
    for name, table in tables.items():
        assert table.to_table().num_rows == table.count_rows(), name
    with pytest.raises(trimtab.TrimtabError, match="master: found spark://x:1, expected none, or"):
        trimtab.read(tmp_path / "night", master="spark://x:1")


@pytest.mark.spark
def test_strategies_are_compared_as_the_document_says(spark: SparkContext, tmp_path: Path) -> None:
    compared = trimtab.compare(
        "S01", output=tmp_path, strategies=["ThresholdShedder", "none"], seeds=1
    )

    assert SparkContext._active_spark_context is spark
    assert compared.is_trusted is None
    assert [it.shedder for it in compared.contenders] == ["ThresholdShedder", "none"]
    assert [it.is_baseline for it in compared.contenders] == [True, False]
    assert compared.contenders[1].measures["unloads"].median == 0.0
    assert compared.page.is_file()
    assert "trimtab compare S01 --strategies ThresholdShedder,none" in compared.document["command"]


#: Explains twice in one process, beside a Spark of the user's own or without one.
TWICE = """
import json, sys
import trimtab
from pyspark import SparkContext
own = None
if sys.argv[1] == "own":
    from pyspark.sql import SparkSession
    own = SparkSession.builder.master("local[1]").appName("mine").getOrCreate()
java, ids = SparkContext._gateway, []
for _ in range(2):
    tables = trimtab.read(sys.argv[2], cores=1)
    context = SparkContext._active_spark_context
    ids.append(context.applicationId)
    java = java or SparkContext._gateway
last = own or __import__("pyspark.sql").sql.SparkSession.builder.getOrCreate()
rows = last.read.parquet(str(tables.folder / "log_events")).count()
print(json.dumps([ids, java is SparkContext._gateway, context.appName, rows]))
"""


@pytest.mark.spark
@pytest.mark.parametrize(("whose", "name"), [("own", "mine"), ("none", "trimtab")])
def test_spark_is_started_once_a_process_and_a_notebooks_own_is_used(
    recordings: Path, whose: str, name: str
) -> None:
    ids, is_same_java, app, rows = python(TWICE, whose, str(recordings / "mixed"))

    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert is_same_java
    assert (name, 1) == (app, rows)
