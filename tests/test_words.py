"""`trimtab help`: every name that the program prints has a page, from the wheel as from a clone."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trimtab.cli import main
from trimtab.explanation.words import WordError, known_words, pages_of

ROOT = Path(__file__).resolve().parent.parent


def helped(*words: str) -> Result:
    """What `trimtab help` prints of some words."""
    return CliRunner().invoke(main, ["help", *words], prog_name="trimtab")


def printed_names() -> dict[str, set[str]]:
    """The names that the code knows, by what they are."""
    from tools.catalogue import all_tables
    from trimtab.diagnose.findings import FINDINGS
    from trimtab.explanation.lint import RULES
    from trimtab.ingest.messages import MESSAGES
    from trimtab.lab.outcomes import MEASURES
    from trimtab.lab.scenarios import built_in
    from trimtab.pulsar.keys import KEYS
    from trimtab.pulsar.place import EXTENSIBLE_PLACERS, PLACERS
    from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS, SHEDDERS

    entries = (SHEDDERS, PLACERS, EXTENSIBLE_SHEDDERS, EXTENSIBLE_PLACERS)
    return {
        "finding": set(FINDINGS),
        "strategy": {key[0] for each in entries for key in each},
        "setting": set(KEYS),
        "outcome": set(MEASURES),
        "scenario": set(built_in()),
        "rule of lint": set(RULES),
        "log message": {message.kind for message in MESSAGES},
        "table": set(all_tables()),
    }


def test_every_name_of_the_program_has_a_page() -> None:
    known = known_words()

    for kind, names in printed_names().items():
        assert len(names) > 5, kind
        assert sorted(names - set(known[kind])) == [], kind
        assert [name for name in names if not known[kind][name].strip()] == [], kind


def test_every_page_can_be_printed() -> None:
    known = known_words()

    for kind, texts in known.items():
        for name in texts:
            first, *others = pages_of(name, known)
            assert any(f"\n{kind.capitalize()}.\n" in page for page in [first, *others]), name
            assert "<!--" not in first


@pytest.mark.parametrize("spelling", ["ping-pong", "Ping Pong", "ping_pong", "pingpong"])
def test_spelling_does_not_count(spelling: str) -> None:
    result = helped(*spelling.split())

    assert result.exit_code == 0
    assert result.output.startswith(
        "# ping-pong\n\nFinding.\n\n**A bundle was moved there and back"
    )


def test_strategy_is_known_by_its_class_and_by_its_file() -> None:
    name = "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder"

    assert helped(name).output == helped("threshold_shedder").output
    assert helped(name).output.startswith("# ThresholdShedder\n\nStrategy.\n")


def test_word_of_two_meanings_has_both_pages() -> None:
    output = helped("chatty-reports").output

    assert "\nFinding.\n" in output
    assert "\nRule of lint.\n" in output


def test_setting_says_what_it_decides_and_its_defaults_by_release() -> None:
    assert helped("loadBalancerMemoryResourceWeight").output == (
        "# loadBalancerMemoryResourceWeight\n\nSetting.\n\n"
        "- Decides: weight of the heap; without effect from 3.0 on, but in the extensible load "
        "manager.\n"
        "- Default: `1.0`, `0.0` from 4.0.0.\n"
        "- Takes: a number.\n"
        "- Can be changed on a running cluster: yes.\n"
    )


def test_scenario_is_its_file() -> None:
    from trimtab.lab.scenarios import scenario_text

    assert scenario_text("S05").strip() in helped("S05").output


def test_command_is_its_help() -> None:
    assert "Usage: trimtab explain [OPTIONS] [RECORDING]" in helped("explain").output


def test_every_row_of_the_glossary_is_a_word() -> None:
    rows = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").count("\n| ")

    # All but the headings.
    assert len(known_words()["word of the glossary"]) == rows - 1
    assert "# account\n\nWord of the glossary.\n" in helped("account").output
    assert helped("best", "possible", "spread").exit_code == 0


def test_tables_are_lists_and_links_within_are_words() -> None:
    text = (
        "see [b](b.md) and [c](https://c.test)\n\n"
        "| x | y |\n| --- | --- |\n| 1 | 2 \\| 3 |\n| 4 | |\n"
    )

    assert pages_of("A", {"strategy": {"A": text}}) == [
        "# A\n\nStrategy.\n\nsee b and [c](https://c.test)\n\n- 1; y: 2 | 3\n- 4\n"
    ]


def test_without_a_word_all_words_are_listed() -> None:
    result = helped()

    assert result.exit_code == 0
    for kind, texts in known_words().items():
        assert f"{kind.capitalize()} ({len(texts)})" in result.output
    assert {"even-distribution-override", "S01-staggered", "restart-plan"} <= set(
        result.output.replace(",", "").split()
    )


def test_unknown_word_is_told_in_one_line_with_the_nearest() -> None:
    result = helped("pingpongs")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        "trimtab: found 'pingpongs', expected a word of `trimtab help`; nearest: ping-pong\n"
    )


def test_word_like_nothing_is_told_in_one_line() -> None:
    with pytest.raises(WordError, match=r"nearest: none that is alike$"):
        pages_of("\x1b[31m" + "x" * 10_000, known_words())
    assert helped("\x1b[31mqqqq").stderr.count("\x1b") == 0


def test_terminal_gets_it_laid_out() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    command = [sys.executable, "-m", "trimtab", "help", "ping-pong"]
    subprocess.run(command, stdout=theirs, env=environment, check=True)
    os.close(theirs)
    output = os.read(ours, 100_000).decode()
    os.close(ours)

    assert "\x1b[" in output
    assert "What it means" in output
    assert "## What it means" not in output


def test_wheel_brings_every_page_along(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    done = subprocess.run(
        [
            sys.executable,
            *(
                "-c",
                "import trimtab.explanation.words as words;"
                "print(words.__file__, words.known_words(), sep='\\n')",
            ),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    file, _, words = done.stdout.partition("\n")

    assert file.startswith(str(tmp_path))
    assert words.strip() == str(known_words())


def test_pages_of_the_wheel_do_not_change_the_digest_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import trimtab
    from trimtab.spark.program import digest

    (tmp_path / "docs").mkdir()
    (tmp_path / "code.py").write_text("x = 1\n")
    monkeypatch.setattr(trimtab, "__file__", str(tmp_path / "__init__.py"))
    before = digest()
    (tmp_path / "docs" / "page.md").write_text("page\n")

    assert digest() == before
