"""Which tests a file can break."""

from __future__ import annotations

import pytest

from tools.near import ROOT, Imports


@pytest.fixture(scope="module")
def imports() -> Imports:
    return Imports()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "near", "far"),
    [
        pytest.param(
            "src/trimtab/live/control/guards.py",
            "test_control.py test_apply.py",
            "test_tim_sort.py test_splits.py",
            id="what imports it",
        ),
        pytest.param(
            "src/trimtab/trials/sweep/worker.py",
            "test_sweep.py",
            "test_lint.py",
            id="what names it for another process",
        ),
        pytest.param(
            "src/trimtab/cli/lint.py",
            "test_lint_command.py test_follow_kills.py",
            "test_simulate_command.py test_decide.py",
            id="who runs the command, or any",
        ),
        pytest.param(
            "src/trimtab/spark/gateway.py",
            "test_ingest.py",
            "test_control.py test_tim_sort.py",
            id="who asks for the fixture that imports it",
        ),
        pytest.param(
            "src/trimtab/ingest/splits.py", "splits.py", "partitions.py", id="examples in texts"
        ),
        pytest.param(
            "src/trimtab/lab/scenarios/__init__.py",
            "test_scenario.py test_scenario_draw.py",
            "test_tim_sort.py",
            id="whoever imports from the package",
        ),
        pytest.param(
            "tests/testdata/shed/avg_shedder.txt",
            "test_datadriven.py test_house_rules.py",
            "test_control.py",
            id="who names the folder",
        ),
        pytest.param(
            "tests/leader_parts.py", "test_leader_parts.py", "test_datadriven.py", id="a helper"
        ),
        pytest.param("tests/test_splits.py", "test_splits.py", "test_blocks.py", id="a test"),
    ],
)
def test_tests_are_near_that_the_file_can_break(
    imports: Imports, changed: str, near: str, far: str
) -> None:
    assert (ROOT / changed).is_file()
    found = {path.name for path in imports.near(ROOT / changed)}

    assert {*near.split()} <= found
    assert not {*far.split()} & found


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed", ["tests/conftest.py", "pyproject.toml", "requirements/dev.lock"]
)
def test_everything_is_near_where_anything_may_break(imports: Imports, changed: str) -> None:
    assert (ROOT / changed).is_file()
    assert imports.test_files == imports.near(ROOT / changed)
    assert not [path for path in imports.test_files if path.name.startswith("test_pulsar_")]


def test_every_file_of_tests_is_near_itself(imports: Imports) -> None:
    files = imports.test_files

    assert len(files) > 100
    assert [path for path in files if path not in imports.near(path)] == []
