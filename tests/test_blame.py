"""Stories of bundles and brokers: which is meant, what is told, and that names do nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

import datadriven
from report_nights import HOSTILE, night, renamed_night
from trimtab.cli import main
from trimtab.explanation.blame import BlameError, BlameOptions, document, lines
from trimtab.explanation.blame.command import story
from trimtab.files.visible import visible, visible_name

DATA = Path(__file__).parent / "testdata"
NO_TABLES = DATA / "blame" / "tables-that-are-not-there"
FINDINGS = json.loads((DATA / "report" / "threshold.json").read_text("utf-8"))["findings"]

NAMES = st.text(st.characters(categories=None), min_size=1, max_size=60) | st.sampled_from(HOSTILE)


class Bench:
    """The commands of the stories."""

    def bundle(self, name: str) -> str:
        return told(BlameOptions(name, None))

    def broker(self, name: str) -> str:
        return told(BlameOptions(None, name.replace("\\x1b", "\x1b")))


def told(question: BlameOptions) -> str:
    try:
        return "\n".join(lines(story(FINDINGS, question, NO_TABLES), ""))
    except BlameError as error:
        return f"error: {error}"


def test_stories(file_regression: FileRegressionFixture) -> None:
    path = DATA / "blame" / "stories.txt"
    file_regression.check(datadriven.run(path, Bench()), fullpath=path)


@given(NAMES, NAMES)
@example(*HOSTILE[:2])
@example(*HOSTILE[2:4])
@example(*HOSTILE[4:6])
@example(HOSTILE[7], HOSTILE[7])
def test_any_name_has_a_story_of_printable_lines(bundle: str, broker: str) -> None:
    findings, _ = renamed_night(bundle, broker)
    for question in (BlameOptions(bundle, None), BlameOptions(None, broker)):
        found = story(findings, question, NO_TABLES)
        assert found.name == visible_name(question.name, 240)
        for line in lines(found, ""):
            assert line.isprintable()
            assert len(line) < 700
        json.dumps(document(found)).encode("ascii")


@given(NAMES)
def test_a_name_that_nobody_has_is_one_printable_message(name: str) -> None:
    known = {*(each["bundle"] for each in FINDINGS["unloads"]), *FINDINGS["brokers"]}
    for question in (BlameOptions(name, None), BlameOptions(None, name)):
        try:
            found = story(FINDINGS, question, NO_TABLES)
        except BlameError as error:
            assert str(error).isprintable()
            assert len(str(error)) < 1000
        else:
            assert found.name in known


@given(st.text(st.characters(categories=None), max_size=80), st.integers(1, 90))
def test_what_is_visible_is_printable_and_keeps_what_was(text: str, longest: int) -> None:
    seen = visible(text)
    assert seen.isprintable()
    seen.encode("utf-8")
    assert visible(seen) == seen
    assert seen == text or not text.isprintable()
    assert len(visible(text, longest)) <= 10 * longest + 30


def test_what_every_bundle_and_every_broker_tells_adds_up_to_the_moves() -> None:
    findings, _ = night(9, 30, 200)
    bundles = {each["bundle"] for each in findings["unloads"]}
    assert len(bundles) > 100
    assert sum(
        story(findings, BlameOptions(each, None), NO_TABLES).moves for each in sorted(bundles)[:40]
    ) == sum(each["bundle"] in sorted(bundles)[:40] for each in findings["unloads"])
    # A move is told at both of its ends, and once where they are the same.
    ends = [len({each["source"], each["target"]}) for each in findings["unloads"]]
    told_by_brokers = [
        story(findings, BlameOptions(None, each), NO_TABLES).moves for each in findings["brokers"]
    ]
    assert sum(told_by_brokers) == sum(ends)


# ------------------------------------------------------------------ the command


@pytest.fixture
def explained(tmp_path: Path) -> Path:
    (tmp_path / "findings.json").write_text(json.dumps(FINDINGS), encoding="utf-8")
    return tmp_path


@pytest.fixture
def blame() -> Callable[..., Result]:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["blame", *arguments], catch_exceptions=False)

    return run


def test_the_command_reads_what_explain_wrote(
    explained: Path, blame: Callable[..., Result]
) -> None:
    for path in (explained, explained / "findings.json"):
        result = blame(str(path), "--bundle", "0xa8")
        assert result.exit_code == 0
        assert result.stdout.startswith("bundle lb/ns1/0xa8000000_0xb0000000\nthreshold · 21 Nov")
    found = json.loads(blame(str(explained), "--broker", "10.213.0.12", "--json").stdout)
    assert found["kind"] == "broker"
    assert found["moves"] == sum(step["move"] is not None for step in found["steps"]) == 6


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param([], "found neither, expected either", id="nobody"),
        pytest.param(["--bundle", "a", "--broker", "b"], "found both", id="both"),
        pytest.param(["--bundle", "0xa9000000"], "the nearest: lb/ns1/0xa8000000", id="a slip"),
        pytest.param(["--broker", "\x1b[2J"], "found '\\x1b[2J'", id="an escape"),
    ],
)
def test_a_wrong_use_is_one_line_and_exit_code_2(
    explained: Path, blame: Callable[..., Result], asked: list[str], said: str
) -> None:
    result = blame(str(explained), *asked)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("broken", ["", "[]", "{", '"x"'])
def test_what_is_no_findings_file_is_named(
    explained: Path, blame: Callable[..., Result], broken: str
) -> None:
    (explained / "findings.json").write_text(broken, encoding="utf-8")
    result = blame(str(explained), "--bundle", "x")
    assert result.exit_code == 2
    assert "findings.json: found no" in result.stderr


def test_owners_and_elections_of_the_tables_stand_between_the_moves(
    explained: Path, blame: Callable[..., Result]
) -> None:
    bundle, other = "lb/ns1/0xa8000000_0xb0000000", "lb/ns1/0x00000000_0x08000000"
    _write(
        explained / "tables" / "log_events",
        [
            ("06:37:31", "ownership-acquired", "broker1", bundle, "Successfully acquired"),
            ("06:47:22.911", "bundle-lock-released", "broker1", bundle, "Released resource lock"),
            ("06:47:23", "bundle-loading", "broker3", bundle, "Loading all topics"),
            ("06:38:00", "ownership-acquired", "broker1", "lb/ns1/else", "Successfully acquired"),
        ],
        ("time", "kind", "log_broker", "bundle", "text"),
    )
    _write(
        explained / "tables" / "ownership",
        [("06:37:00", other, "10.213.0.11:8080"), ("06:40:00", other, "10.213.0.11:8080"),
         ("06:45:00", other, None), ("06:45:01", other, "10.213.0.12:8080")],
        ("time", "bundle", "broker"),
    )  # fmt: skip
    _write(
        explained / "tables" / "leaders",
        [("06:37:26", "10.213.0.11:8080"), ("06:48:38", "10.213.0.14:8080")],
        ("time", "broker"),
    )
    _write(
        explained / "tables" / "load_reports",
        [("06:40:00", "10.213.0.14:8080", "store", None), ("06:47:05", "10.213.0.14:8080", "store",
         True), ("06:47:30", "10.213.0.14:8080", "store", None)],
        ("time", "broker", "origin", "is_gone"),
    )  # fmt: skip

    def steps(*asked: str) -> list[str]:
        found = json.loads(blame(str(explained), *asked, "--json").stdout)
        return [f"{step['time'][11:19]} {step['text']}" for step in found["steps"]]

    taken, moved, *_, released = steps("--bundle", bundle)
    assert taken == "06:37:31 broker1 took it"
    assert moved.startswith("06:47:22 moved from 10.213.0.11 to 10.213.0.13")
    assert released == "06:47:22 broker1 let it go"
    # Never moved by the leader, and yet it changed its owner.
    assert steps("--bundle", other) == [
        "06:37:00 owned by 10.213.0.11:8080",
        "06:45:00 without an owner",
        "06:45:01 owned by 10.213.0.12:8080",
    ]
    assert steps("--broker", "10.213.0.14:8080") == [
        "06:47:05 its load report was gone",
        "06:47:30 its load report was back",
        "06:48:38 became the leader",
    ]


def _write(folder: Path, rows: list[tuple[Any, ...]], columns: tuple[str, ...]) -> None:
    """Write a table of a folder that explain wrote: times of the recorded day, one file."""
    folder.mkdir(parents=True)
    made = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    made["time"] = [datetime.fromisoformat(f"2026-11-21T{each}+00:00") for each in made["time"]]
    made["file"], made["line"] = ["a file"] * len(rows), list(range(len(rows)))
    table = pa.table(made)
    if "is_gone" in columns:
        at = table.schema.get_field_index("is_gone")
        table = table.set_column(at, "is_gone", table["is_gone"].cast(pa.bool_()))
    pq.write_table(table, folder / "part-0.parquet")
