"""The wheel as somebody installs it: it is typed, and says which release it is."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import trimtab

ROOT = Path(__file__).resolve().parent.parent

#: What somebody may write; `assert_type` fails where the type is another one, or not known.
USERS_OWN = """\
from datetime import datetime
from pathlib import Path
from typing import assert_type

import trimtab
from trimtab import Explained, Finding, TrimtabError


def gravest(path: Path) -> Finding | None:
    try:
        night: Explained = trimtab.explain(path, cores=4, what_if=True)
    except TrimtabError:
        return None
    assert_type(night.findings, tuple[Finding, ...])
    assert_type(night.unloads, tuple[trimtab.Unload, ...])
    assert_type(night.tables, trimtab.Tables)
    assert_type(night.report, Path)
    for finding in night.by_gravity():
        assert_type(finding.time, datetime)
        assert_type(finding.evidence[0].line, int)
    return night.gravest


def rehearsed(settings: dict[str, object]) -> float | None:
    run = trimtab.simulate("S01", "AvgShedder", 3, settings=settings)
    compared = trimtab.compare(["S01", "S02"], strategies="AvgShedder,none", seeds=2)
    assert_type(compared.contenders[0].measures["unloads"].median, float | None)
    return run.outcomes["unloads"]


def slips(conf: str) -> list[str]:
    return [finding.message for finding in trimtab.lint(conf, release=trimtab.__version__)]


assert_type(trimtab.read("night").lines["rows"], int)
assert_type(trimtab.decide("{}").story, tuple[str, ...])
"""
#: What the types refuse.
WRONG = """\
import trimtab

trimtab.explain(3)
trimtab.explain("night", core=2)
trimtab.nothing
trimtab.simulate("S01", "AvgShedder").unknown
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has this package as a wheel, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    assert wheel.name.startswith(f"trimtab-{trimtab.__version__}-")
    venv.create(folder / "venv", with_pip=False)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    return folder / "venv" / "bin" / "python"


def checked(python: Path, source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Check a program as its author would, by what is installed alone."""
    (folder / "program.py").write_text(source, encoding="utf-8")
    words = ["--strict", "--config-file=", "--python-executable", str(python), "program.py"]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *words, "--cache-dir", str(python.parents[2] / "mypy")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_program_is_checked_strictly_against_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = checked(installed, USERS_OWN, tmp_path)

    assert (0, "") == (done.returncode, done.stderr), done.stdout


@pytest.mark.slow
def test_what_is_not_of_the_surface_is_refused(installed: Path, tmp_path: Path) -> None:
    done = checked(installed, WRONG, tmp_path)

    lines = {line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line}
    assert lines == {"3", "4", "5", "6"}, done.stdout


@pytest.mark.slow
def test_the_import_needs_nothing_that_is_not_installed(installed: Path) -> None:
    script = "import trimtab; print(trimtab.__version__, trimtab.TrimtabError.__name__)"
    done = subprocess.run([installed, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == f"{trimtab.__version__} TrimtabError\n"
