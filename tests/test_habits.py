"""What others meet first when they join: fragments, forms and hooks are such as work."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
TOWNCRIER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "towncrier"
]
PARTS = [section["path"] for section in TOWNCRIER["section"]]
TYPES = [kind["directory"] for kind in TOWNCRIER["type"]]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


# ------------------------------------------------------------- changelog


def test_every_fragment_lies_where_a_release_finds_it() -> None:
    folder = ROOT / "changelog.d"
    names = re.compile(rf"[+\w][\w.-]*\.(?:{'|'.join(TYPES)})\.md")
    fragments = [path.relative_to(folder) for path in folder.rglob("*.md")]

    assert [
        str(path)
        for path in fragments
        if path.parent.as_posix() not in {part or "." for part in PARTS}
        or not names.fullmatch(path.name)
    ] == []


def test_a_release_collects_a_fragment_of_every_part_and_type(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md", "changelog.d/.template.md.jinja"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    expected = []
    for part in PARTS:
        (tmp_path / "changelog.d" / part).mkdir(exist_ok=True)
        for kind in TYPES:
            sentence = f"What {kind} in {part or 'all'}."
            (tmp_path / "changelog.d" / part / f"+name.{kind}.md").write_text(sentence + "\n")
            expected.append(f"- {sentence}")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert "## 9.9.9" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("- ")] == expected


def test_the_changelog_has_the_version_that_the_program_says() -> None:
    from trimtab import __version__

    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.findall(r"(?m)^## (\S+) \(\d{4}-\d\d-\d\d\)$", changelog)[0] == __version__


# ------------------------------------------------------- issues and hooks


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_form_can_be_filled_in(path: Path) -> None:
    form = read(path)
    if path.stem == "config":
        assert form == {"blank_issues_enabled": False}
        return
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    ids = [each["id"] for each in fields]

    assert form["name"]
    assert form["description"]
    assert {"attached"} < set(ids)
    assert len(set(ids)) == len(ids)
    assert all(each["attributes"]["label"] for each in fields)
    assert any(each.get("validations", {}).get("required") for each in fields)


def test_there_are_forms() -> None:
    assert {path.stem for path in FORMS} == {"bug", "config", "question", "strategy"}


def test_hooks_are_the_project_s_own_and_fetch_nothing() -> None:
    repositories = read(ROOT / ".pre-commit-config.yaml")["repos"]
    hooks = [hook for repository in repositories for hook in repository["hooks"]]
    programs = [hook["entry"].split()[0] for hook in hooks]

    assert {repository["repo"] for repository in repositories} == {"local"}
    assert {hook["language"] for hook in hooks} == {"system"}
    assert {".venv/bin/ruff", ".venv/bin/codespell", ".venv/bin/mypy"} <= set(programs)
    # As CI checks: each of these programs is one that the Makefile runs.
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [name for name in programs if Path(name).name not in makefile] == []
