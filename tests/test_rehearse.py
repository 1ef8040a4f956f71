"""`trimtab rehearse`, from files to its answer, and the page of the docs that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools import rehearsals
from tools.shop_nights import NIGHTS, write
from trimtab.cli import main

ROOT = Path(__file__).parent.parent
AVG = str(ROOT / "recordings" / "avg")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([AVG], "EVENT: found nothing, expected an event such as"),
        ([AVG, "loose b1"], "expected 'lose'"),
        ([AVG, "lose b1", "--rack", "a"], "--rack: found 'a', expected a rack and its brokers"),
        ([AVG, "lose b1", "--plan", "nowhere.toml"], "nowhere.toml"),
        (["nowhere.tar.gz", "add 1"], "no such file or folder"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], told: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["rehearse", *arguments, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert told in result.output
    assert len(result.output.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.spark
def test_a_plan_is_rehearsed_and_remedies_are_tried(tmp_path: Path) -> None:
    events = ["lose 10.213.0.12 at 06:48", "traffic lb/* x3"]
    few = ["--seeds", "2", "--peak", "30", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, ["rehearse", AVG, *events, *few, "--json"])
    assert result.exit_code == 1, result.output
    found = json.loads((tmp_path / "out" / "rehearsal.json").read_text(encoding="utf-8"))
    assert json.loads(result.stdout) == found
    assert found["fidelity"]["is_trusted"]
    planned, still = (found["courses"][name] for name in ("as planned", "undisturbed"))
    assert (planned["count"], planned["kept"]) == (2, 0)
    peaks = [each["measures"]["peak_percent"]["median"] for each in (planned, still)]
    assert peaks[0] > peaks[1]
    # A broker is killed either way, as it really was.
    low, high = 15.0, 25.0
    assert low < planned["measures"]["ownerless_s"]["median"] < high
    before = round(len(planned["course"]["median"]) * found["from_s"] / 3600 / found["hours"]) - 1
    assert planned["course"]["median"][:before] == still["course"]["median"][:before]
    titles = [each["event"] for each in found["remedies"]]
    assert "add 1" in titles
    assert "remove instead of lose" in titles
    assert any(title.startswith("split ") for title in titles)
    assert any(title.startswith("strategy ") for title in titles)
    page = (tmp_path / "out" / "rehearsal.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2


@pytest.mark.slow
@pytest.mark.spark
def test_what_the_recording_does_not_have_is_refused(tmp_path: Path) -> None:
    words = ["rehearse", AVG, "lose 10.213.0.21 at 06:48", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "found '10.213.0.21', expected '10.213.0.1" in result.output
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- the docs


#: Each command of each page.
COMMANDS = [
    (page, command)
    for page in rehearsals.PAGES
    for command in rehearsals.commands(page.read_text(encoding="utf-8"))
]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The nights of a simulated cluster that pages show."""
    folder = tmp_path_factory.mktemp("nights")
    write(folder)
    return folder


@pytest.mark.parametrize("page", rehearsals.PAGES, ids=lambda page: page.stem)
def test_the_page_shows_commands_of_the_recordings_that_come_along(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = rehearsals.commands(text)
    assert shown
    assert all(each.split()[1] in NIGHTS or (ROOT / each.split()[1]).exists() for each in shown)
    said = rehearsals.rewritten(text, lambda _: "said\n")
    assert said.count("said\n") == len(shown)
    assert rehearsals.commands(said) == shown


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("page", "command"), COMMANDS, ids=[f"{page.stem}: {it[:40]}" for page, it in COMMANDS]
)
def test_the_page_shows_what_a_command_prints(page: Path, command: str, nights: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert f"$ trimtab {command}\n{rehearsals.printed(command, nights)}```" in text


def test_the_page_shows_why_nights_are_refused(tmp_path: Path) -> None:
    both = [AVG, str(ROOT / "recordings" / "threshold")]
    result = CliRunner().invoke(main, ["size", *both, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    (line,) = [it for it in result.output.splitlines() if it.startswith("trimtab: ")]
    assert f"```text\n{line}\n```" in (ROOT / "docs" / "size.md").read_text(encoding="utf-8")
    assert not (tmp_path / "out").exists()
