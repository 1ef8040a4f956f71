"""What all commands have in common: help, sections, loudness, and nothing that moves a terminal."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tools.shell_files import PLACES, completion, manual_pages
from trimtab.cli import main
from trimtab.cli.output import complain, note, say
from trimtab.cli.sections import SECTIONS
from trimtab.cli.trials import tell
from trimtab.files.version import __version__

CLI = Path(__file__).parents[1] / "src" / "trimtab" / "cli"
#: A name as somebody may give it to a broker, a file or a tenant.
HOSTILE = "\x1b]0;owned\x07\x1b[2Jbroker\u202e\r-1"
#: Prints what nobody but a program reads, which is JSON whether or not it is asked for.
WITHOUT_JSON = {"help"}


def shown(*words: str) -> str:
    """Return what a command prints on a terminal of 80 columns."""
    return CliRunner().invoke(main, words, terminal_width=80, catch_exceptions=False).output


def test_every_command_stands_in_one_section() -> None:
    names = [name for section in SECTIONS.values() for name in section]

    assert sorted(names) == sorted(main.commands)


def test_the_help_has_a_line_a_command() -> None:
    lines = shown("--help").splitlines()

    for title, commands in SECTIONS.items():
        assert f"{title}:" in lines
        for name, summary in commands.items():
            assert any(re.fullmatch(rf"  {name} +{re.escape(summary)}", line) for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", sorted(main.commands))
def test_each_help_has_exit_codes_and_an_example(name: str) -> None:
    page = " ".join(shown(name, "--help").split())

    assert re.search(r"Exit code 0: .*; 2: .*\.", page)
    assert re.search(rf"Examples?: trimtab {name}", page)
    assert {"-q", "-v", "-h"} <= {word.strip(",") for word in page.split()}


@pytest.mark.parametrize("name", sorted(set(main.commands) - WITHOUT_JSON))
def test_whatever_is_told_is_told_to_programs_too(name: str) -> None:
    options = {word for option in main.commands[name].params for word in option.opts}

    assert "--json" in options


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_is_told(option: str) -> None:
    assert shown(option) == f"trimtab, version {__version__}\n"


# ------------------------------------------------------------------- loudness


@pytest.fixture
def told() -> Iterator[None]:
    """A command that says something of each kind."""

    @click.command("told")
    def command() -> None:
        import logging

        say("result")
        note("warning: one")
        logging.getLogger("trimtab").info("step")
        complain("trimtab: error")

    main.add_command(command)
    yield
    del main.commands["told"]


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["warning: one", "trimtab: error"]),
        (("--quiet",), ["trimtab: error"]),
        (("-q",), ["trimtab: error"]),
        (("--verbose",), ["warning: one", "trimtab: step", "trimtab: error"]),
        # The last time is as the first: nothing of one call is left in the process.
        ((), ["warning: one", "trimtab: error"]),
    ],
)
def test_how_much_is_told(words: tuple[str, ...], expected: list[str]) -> None:
    result = CliRunner().invoke(main, ["told", *words])

    assert result.stdout == "result\n"
    assert result.stderr.splitlines() == expected


# ------------------------------------------------------------------- names of others


def test_commands_print_through_one_place_alone() -> None:
    """Whoever prints by other means may print what a recording holds."""
    for path in sorted(CLI.glob("*.py")):
        if path.name == "output.py":
            continue
        names = {
            ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute | ast.Name)
        }
        assert names.isdisjoint({"click.echo", "click.secho", "print", "sys.stdout.write"}), path


@dataclass(frozen=True)
class Result:
    """What a trial came to, all of it named by somebody else."""

    json: Path
    page: str = HOSTILE
    is_good: bool = True

    def lines(self) -> list[str]:
        return [HOSTILE, f"{HOSTILE}: 12 unloads"]


@pytest.mark.parametrize("as_json", [False, True])
def test_what_a_trial_tells_moves_no_terminal(
    as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps({"recording": HOSTILE}))

    tell(Result(path), as_json=as_json)  # type: ignore[arg-type]  # as much of one as is told

    printed = capsys.readouterr().out
    assert "owned" in printed
    assert printed.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "words",
    [
        ("explain", HOSTILE),
        ("blame", HOSTILE, "--broker", HOSTILE),
        ("lint", HOSTILE),
        ("decide", HOSTILE),
        ("simulate", HOSTILE, "--strategy", HOSTILE),
        ("compare", HOSTILE),
        ("sweep", HOSTILE, "-o", HOSTILE),
        ("rate", "--definition", HOSTILE),
        ("reproduce", "--only", HOSTILE),
        ("help", HOSTILE),
        ("ingest", HOSTILE, "-o", "tables"),
        ("record", HOSTILE, "--strategy", "AvgShedder", "-o", "night"),
    ],
    ids=lambda words: words[0],
)
def test_what_is_typed_moves_no_terminal(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, words)

    assert result.exit_code == 2
    assert result.output.replace("\n", "").isprintable()


# ------------------------------------------------------------------- shells and manual


@pytest.mark.parametrize("shell", PLACES)
def test_shells_are_told_where_words_come_from(shell: str) -> None:
    assert f"_TRIMTAB_COMPLETE={shell}_complete" in completion(shell)


@pytest.mark.parametrize(("typed", "expected"), [("expl", {"explain"}), ("r", {"rate", "record"})])
def test_words_are_completed(typed: str, expected: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trimtab"],
        env={
            "_TRIMTAB_COMPLETE": "bash_complete",
            "COMP_WORDS": f"trimtab {typed}",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert expected <= {line.partition(",")[2] for line in done.stdout.splitlines()}


def test_every_command_has_a_manual_page() -> None:
    pages = manual_pages("1.2.3")

    assert set(pages) == {"trimtab.1", *(f"trimtab-{name}.1" for name in main.commands)}
    for name, page in pages.items():
        assert page.startswith(".TH "), name
        assert "\b" not in page, name
        # A line that begins with a dot is an order to whoever lays the page out.
        orders = {line.split()[0] for line in page.splitlines() if line.startswith(".")}
        assert orders <= {".TH", ".SH", ".PP", ".B", ".TP", ".nf", ".fi"}, name
    example = "  trimtab explain recordings/threshold\n"
    assert example in pages["trimtab-explain.1"].partition(".nf\n")[2].partition(".fi")[0]
