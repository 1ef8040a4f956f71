"""What a sweep is made of, without Spark: rows, parts, the folder, the copy of the program."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from trimtab.files.packing import unpacked
from trimtab.files.tables import SWEPT
from trimtab.lab.outcomes import MEASURES
from trimtab.pulsar.scores import mean_in_order
from trimtab.spark import program
from trimtab.spark.program import digest, packed
from trimtab.trials.sweep.folder import SweepError, opened
from trimtab.trials.sweep.jobs import sizes_of_job
from trimtab.trials.sweep.task import Ran, Task, by_seed, shuffled
from trimtab.trials.sweep.worker import ROWS, Call, Partition, lost_row, row_of, run_partition

TASK = Task("s", "A", "B", "4.0", "{}", 1)


def tasks(n: int) -> list[Task]:
    return [Task("s", "A", "B", "4.0", "{}", seed) for seed in range(n)]


def rows(some: list[Task]) -> pa.Table:
    made = [row_of(Call(lambda task: Ran({"unloads": float(task.seed)}), 60.0), it) for it in some]
    return pa.Table.from_pylist(made, ROWS)


# ------------------------------------------------------------------------- rows


def test_outcomes_have_a_column_for_every_measure_with_its_unit() -> None:
    keys = ["scenario", "shedder", "placement", "release", "settings", "seed", "status", "error"]
    schema = SWEPT["outcomes"]

    assert [*keys, *MEASURES, "numbers"] == schema.names
    assert [(name, measure.unit) for name, measure in MEASURES.items()] == [
        (name, (schema.field(name).metadata or {})[b"unit"].decode()) for name in MEASURES
    ]


def test_a_run_is_a_row() -> None:
    row = row_of(Call(lambda task: Ran({"unloads": 2.0, "wasted": math.nan}), 60.0), TASK)

    assert row.pop("wall_s") >= 0
    assert math.isnan(row.pop("wasted"))
    assert row == {
        "scenario": "s",
        "shedder": "A",
        "placement": "B",
        "release": "4.0",
        "settings": "{}",
        "seed": 1,
        "status": "ok",
        "error": None,
        "unloads": 2.0,
        "numbers": None,
    }


def test_what_else_was_asked_of_a_run_is_kept_with_it(tmp_path: Path) -> None:
    call = Call(lambda task: Ran({"unloads": 1.0}, numbers={"unloads of b1": 0.5}), 60.0)
    with opened(tmp_path / "swept", {}, anew=False) as kept:
        kept.keep(pa.Table.from_pylist([row_of(call, TASK)], ROWS))
        outcomes = kept.finish([TASK])

    assert [[("unloads of b1", 0.5)]] == outcomes["numbers"].to_pylist()


def test_a_run_that_ended_itself_is_cut() -> None:
    row = row_of(Call(lambda task: Ran({"unloads": math.nan}, is_cut=True), 60.0), TASK)

    assert ("cut", None) == (row["status"], row["error"])


def test_a_run_that_raises_says_what_and_where_in_the_program() -> None:
    def raises_here(task: Task) -> Ran:
        raise KeyError("b1")

    def raises_within(task: Task) -> Ran:
        mean_in_order("x")  # type: ignore[arg-type]  # raises, which is the point
        return Ran({})

    def leaves(task: Task) -> Ran:
        sys.exit("no more")

    found = [row_of(Call(work, 60.0), TASK) for work in (raises_here, raises_within, leaves)]

    assert ["error"] * 3 == [row["status"] for row in found]
    assert "KeyError: 'b1'" == found[0]["error"]
    assert "(pulsar/scores.py, line " in found[1]["error"]
    assert "SystemExit: no more" == found[2]["error"]


def test_a_run_that_does_not_end_is_out_of_time_even_if_it_catches_everything() -> None:
    def stubborn(task: Task) -> Ran:
        while True:
            try:
                time.sleep(10)
            except Exception:  # the run that is meant
                continue

    row = row_of(Call(stubborn, 0.05), TASK)

    assert ("timeout", "not done after 0.05 s") == (row["status"], row["error"])
    assert row["wall_s"] < 10


def test_a_run_that_no_signal_reaches_ends_its_process() -> None:
    # A loop of compiled code; what comes after it is never printed.
    code = (
        "import itertools; from trimtab.trials.sweep.worker import Call, row_of;"
        "row_of(Call(lambda task: sum(itertools.repeat(1)), 0.1), None); print('ended')"
    )

    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={"PYTHONPATH": str(Path(trimtab.__file__).parents[1])},
    )

    assert (1, "", "") == (run.returncode, run.stdout, run.stderr)


def test_an_outcome_without_a_column_is_an_error() -> None:
    row = row_of(Call(lambda task: Ran({"moves": 1.0, "unloads": 1.0}), 60.0), TASK)

    assert "ValueError: no column of the outcomes table: moves" == row["error"]


def test_partitions_give_a_table_each() -> None:
    partitions: list[Partition] = [tuple(tasks(2)), tuple(tasks(4)[2:])]
    call = Call(lambda task: Ran({"unloads": float(task.seed)}), 60.0)

    tables = [unpacked(run_partition(call, partitions, number)) for number in (1, 0)]

    assert [[2, 3], [0, 1]] == [table["seed"].to_pylist() for table in tables]
    assert all(ROWS == table.schema for table in tables)


# ------------------------------------------------------------------- partitions


@given(
    st.floats(1e-4, 1e4, allow_nan=False),
    st.integers(1, 100_000),
    st.integers(1, 500),
)
def test_a_job_takes_some_of_what_waits(mean_s: float, waiting: int, cores: int) -> None:
    sizes = sizes_of_job(mean_s, waiting, cores)

    assert min(sizes) >= 1
    assert 1 <= sum(sizes) <= waiting
    assert len(sizes) <= 4 * cores


def test_long_runs_stand_alone_and_short_ones_share_until_the_end() -> None:
    assert [1, 1] == sizes_of_job(30.0, 1000, 2)
    assert [15] * 4 == sizes_of_job(0.2, 1000, 2)
    assert [6] * 8 == sizes_of_job(0.2, 100, 2)
    assert [2, 2, 1] == sizes_of_job(0.2, 5, 2)


@given(st.permutations(tasks(30)))
def test_tasks_are_shuffled_in_one_way(order: list[Task]) -> None:
    found = shuffled(order)

    assert found == shuffled(tasks(30))
    assert {(task,) for task in order} == set(found)
    assert [task for (task,) in found] != tasks(30)


def test_tasks_of_a_seed_stand_together_but_for_many() -> None:
    several = [replace(task, shedder=name) for task in tasks(5) for name in "ABCDEF"]
    groups = by_seed(several)

    assert [[task.seed for task in group] for group in groups] == [
        [seed] * count for seed in range(5) for count in (4, 2)
    ]
    assert groups == by_seed(several[::-1])
    assert {task for group in groups for task in group} == set(several)


# ------------------------------------------------------------------- the folder


def test_tables_are_the_sorted_union_and_say_what_columns_mean(tmp_path: Path) -> None:
    with opened(tmp_path / "swept", {}, anew=False) as kept:
        kept.keep(rows(tasks(4)[2:]))
        kept.keep(rows(tasks(2)))
        outcomes = kept.finish(tasks(4))

    assert [0, 1, 2, 3] == outcomes["seed"].to_pylist()
    for name, schema in SWEPT.items():
        table = pq.read_table(tmp_path / "swept" / f"{name}.parquet")
        # Parquet has a name of its own for what a map holds.
        assert schema.equals(table.schema)
        assert schema.metadata == table.schema.metadata
        assert [it.metadata for it in schema] == [it.metadata for it in table.schema]
    assert {".lock", "sweep.json", "outcomes.parquet", "timings.parquet"} == {
        path.name for path in (tmp_path / "swept").iterdir()
    }


def test_only_what_is_asked_for_is_in_the_tables(tmp_path: Path) -> None:
    with opened(tmp_path / "swept", {}, anew=False) as kept:
        kept.keep(rows(tasks(4)))
        assert 2 == len(kept.finish(tasks(2)))


def test_a_row_that_is_kept_twice_counts_once(tmp_path: Path) -> None:
    # Killed between writing the tables and letting go of the parts.
    with opened(tmp_path / "swept", {}, anew=False) as kept:
        kept.keep(rows(tasks(3)))
        kept.finish(tasks(3))
    with opened(tmp_path / "swept", {}, anew=False) as kept:
        kept.keep(rows(tasks(3)[1:]))
        assert 3 == len(kept.tasks())
        assert 3 == len(kept.finish(tasks(3)))


def test_a_lost_run_has_no_time() -> None:
    table = pa.Table.from_pylist([lost_row(TASK)], ROWS)

    assert [None] == table["wall_s"].to_pylist()
    assert ["error"] == table["status"].to_pylist()


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("dear")

    with (
        pytest.raises(SweepError, match="holds something that is not a sweep"),
        opened(tmp_path / "letters", {}, anew=True),
    ):
        pass
    assert ["one.txt"] == [path.name for path in (tmp_path / "letters").iterdir()]
    with (
        pytest.raises(SweepError, match="it is a file"),
        opened(tmp_path / "letters" / "one.txt", {}, anew=False),
    ):
        pass


def test_a_folder_whose_sweep_died_before_it_began_can_be_used(tmp_path: Path) -> None:
    for name in (".lock", ".sweep.json.draft"):
        (tmp_path / name).write_text("")

    with opened(tmp_path, {}, anew=False) as kept:
        assert not kept.tasks()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(SweepError, match="file/swept: cannot be written: Not a directory"),
        opened(tmp_path / "file" / "swept", {}, anew=False),
    ):
        pass


def test_two_sweeps_do_not_write_in_one_folder(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "swept", {}, anew=False),
        pytest.raises(SweepError, match="another sweep is writing there"),
        opened(tmp_path / "swept", {}, anew=False),
    ):
        pass


def test_what_rows_rest_on_is_written_down_and_adds_up(tmp_path: Path) -> None:
    with opened(tmp_path / "swept", {"program": "1", "scenario a": "x"}, anew=False):
        pass
    with opened(tmp_path / "swept", {"program": "1", "scenario b": "y"}, anew=False):
        pass

    told = json.loads((tmp_path / "swept" / "sweep.json").read_text())
    assert {"program": "1", "scenario a": "x", "scenario b": "y"} == told["basis"]
    with (
        pytest.raises(SweepError, match="made with another program and another scenario a;"),
        opened(tmp_path / "swept", {"program": "2", "scenario a": "z"}, anew=False),
    ):
        pass


# ------------------------------------------------------------------ the program


@pytest.mark.slow
def test_the_copy_of_the_program_runs_without_the_original(tmp_path: Path) -> None:
    path = packed(tmp_path)
    (tmp_path / "again").mkdir()
    code = (
        "import trimtab.trials.sweep.worker as worker;"
        "from trimtab.lab.scenarios import scenario_of;"
        "print(worker.__file__); print(scenario_of('S05').n_machines)"
    )

    said = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(path)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout.splitlines()

    assert [f"{path}/trimtab/trials/sweep/worker.py", "5"] == said
    assert path.read_bytes() == packed(tmp_path / "again").read_bytes()


def test_a_changed_program_has_another_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "trimtab" / "spark" / "program.py"
    source.parent.mkdir(parents=True)
    source.write_text("x = 1\n")
    monkeypatch.setattr(program, "__file__", str(source))
    # A program that runs does not change, so that each keeps its own.
    taken = digest.__wrapped__
    before = taken()

    assert before == taken()
    source.write_text("x = 2\n")
    assert before != taken()
