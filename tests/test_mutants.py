"""Which changes are tried, and what becomes of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tools.mutants.__main__ as command
from tools.mutants.__main__ import EQUIVALENT, equivalent
from tools.mutants.mutations import ROOT, mutants

CODE = '''
"""A file that could be ours."""
LIMIT = 7  # outside of functions nothing is changed


def waits(age_s: float, bound_s: float = 3.0) -> bool:
    """Return whether it waits; 4 and 5 in a text are no numbers."""
    if not age_s:
        raise ValueError(f"found {age_s + 1}, expected more than {bound_s}")
    least: float = max(bound_s, 1)
    return 0 < age_s <= least and isinstance(age_s, int | float)
'''


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("tools.mutants.mutations.ROOT", tmp_path)
    path = tmp_path / "waits.py"
    path.write_text(CODE)
    return path


def test_each_boundary_is_changed_once(file: Path) -> None:
    assert [mutant.name.removeprefix("waits.py waits: ") for mutant in mutants(file)] == [
        "not age_s -> not not age_s",
        "max -> min",
        "1 -> 2",
        "0 < age_s <= least and isinstance(age_s, int | float)"
        " -> 0 < age_s <= least or isinstance(age_s, int | float)",
        "0 < age_s <= least -> 0 <= age_s <= least",
        "0 < age_s <= least -> 0 < age_s < least",
        "0 -> 1",
    ]


def test_the_changed_code_is_that_of_the_function(file: Path) -> None:
    there: dict[str, object] = {}
    exec(compile(CODE, str(file), "exec"), there)
    waits = there["waits"]
    original = waits.__code__
    changed = {mutant.change: mutant for mutant in mutants(file)}

    def answers(change: str) -> tuple[bool, bool]:
        mutant = changed[change]
        assert (mutant.line, original.co_name) == (original.co_firstlineno, mutant.code.co_name)
        waits.__code__ = mutant.code
        return waits(3), waits(0.5)

    assert answers("0 < age_s <= least -> 0 < age_s < least") == (False, True)
    assert answers("0 -> 1") == (True, False)
    assert answers("max -> min") == (False, True)


def test_mutants_are_killed_by_who_reaches_them(tmp_path: Path) -> None:
    """In a process of its own, as pytest runs there, and forks."""
    (tmp_path / "waits.py").write_text(CODE)
    (tmp_path / "test_waits.py").write_text(
        "import gc, functools, waits\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "waits = functools.cache(waits.waits)\n"
        "def test_at_the_bound():\n    gc.freeze()\n    with ThreadPoolExecutor() as pool:\n"
        "        assert [*pool.map(waits, (3, 4))] == [True, False]\n"
    )
    program = (
        "import sys, pytest; sys.path.insert(0, '.')\n"
        "from pathlib import Path\n"
        "from tools.mutants import mutations\n"
        "from tools.mutants.trial import Trial\n"
        "mutations.ROOT = Path.cwd()\n"
        "trial = Trial([*mutations.mutants(Path('waits.py').resolve())], "
        "lambda mutant, verdict: print(verdict, mutant.change, sep=': '))\n"
        "pytest.main(['-q', '-p', 'no:cacheprovider', 'test_waits.py'], plugins=[trial])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{program}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )

    assert "killed: 0 < age_s <= least -> 0 < age_s < least" in done.stdout
    assert "killed: max -> min" in done.stdout
    assert "survived: 0 -> 1" in done.stdout


@pytest.mark.slow
def test_what_is_listed_as_equivalent_exists_and_has_a_reason() -> None:
    listed = equivalent()
    paths = {ROOT / name.split()[0] for name in listed}
    every = {mutant.name for path in paths for mutant in mutants(path)}

    assert listed
    assert [name for name in listed if name not in every] == [], f"see {EQUIVALENT}"
    assert [name for name, reason in listed.items() if len(reason) < 10] == []


def test_a_room_that_nothing_was_tried_in_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "tried", lambda *_: iter(()))

    assert command.main(["guards"]) == 1
