"""Stories of bundles and brokers: which is meant, what is told, and that names do nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

import datadriven
from report_nights import HOSTILE, night, renamed_night
from trimtab.blame import BlameError, Question, document, lines
from trimtab.blame.command import story
from trimtab.cli import main
from trimtab.visible import visible, visible_name

DATA = Path(__file__).parent / "testdata"
FINDINGS = json.loads((DATA / "report" / "threshold.json").read_text("utf-8"))["findings"]

NAMES = st.text(st.characters(categories=None), min_size=1, max_size=60) | st.sampled_from(HOSTILE)


class Bench:
    """The commands of the stories."""

    def bundle(self, name: str) -> str:
        return told(Question(name, None))

    def broker(self, name: str) -> str:
        return told(Question(None, name.replace("\\x1b", "\x1b")))


def told(question: Question) -> str:
    try:
        return "\n".join(lines(story(FINDINGS, question), ""))
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
    for question in (Question(bundle, None), Question(None, broker)):
        found = story(findings, question)
        assert found.name == visible_name(question.name, 240)
        for line in lines(found, ""):
            assert line.isprintable()
            assert len(line) < 700
        json.dumps(document(found)).encode("ascii")


@given(NAMES)
def test_a_name_that_nobody_has_is_one_printable_message(name: str) -> None:
    known = {*(each["bundle"] for each in FINDINGS["unloads"]), *FINDINGS["brokers"]}
    for question in (Question(name, None), Question(None, name)):
        try:
            found = story(FINDINGS, question)
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
    assert sum(story(findings, Question(each, None)).moves for each in sorted(bundles)[:40]) == sum(
        each["bundle"] in sorted(bundles)[:40] for each in findings["unloads"]
    )
    # A move is told at both of its ends, and once where they are the same.
    ends = [len({each["source"], each["target"]}) for each in findings["unloads"]]
    told_by_brokers = [story(findings, Question(None, each)).moves for each in findings["brokers"]]
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
