"""Columns of a recording's tables → positions of names, and the report of each line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from trimtab.lab.reconstruct.evidence import Lines, Owners, Reports
from trimtab.lab.reconstruct.host_windows import owners_at
from trimtab.lab.reconstruct.looks import sorted_reports
from trimtab.trials.recorded_cluster.columns import Names


@pytest.mark.parametrize("is_coded", [False, True])
def test_positions_are_those_of_each_name_by_itself(is_coded: bool) -> None:
    chunks = [["b", None, "a"], [], ["x", "a", "c"]]
    column = pa.chunked_array(chunks, pa.string())
    if is_coded:
        # Each part of a table has numbers of its own.
        coded = [pa.array(chunk, pa.string()).dictionary_encode() for chunk in chunks]
        column = pa.chunked_array(coded)
    names = Names(["c", "a", "b"])
    assert names.of(column).tolist() == [1, -1, 0, -1, 0, 2]
    assert names.of(column).tolist() == names.all(column.to_pylist()).tolist()


def test_no_rows_have_no_positions() -> None:
    assert Names(["a"]).of(pa.chunked_array([], pa.string())).tolist() == []


def test_a_line_stands_in_the_last_report_of_its_broker_and_time() -> None:
    # The second broker wrote twice at one time; nobody wrote at 25, nor the first one at 20.
    time_s, broker = np.array([10.0, 10.0, 20.0, 20.0]), np.array([0, 1, 1, 1])
    usage, no = np.full((4, 5), 50.0), np.zeros(4, np.bool_)
    reports = Reports(time_s, broker, no, no, np.full(4, np.nan), usage, np.full((4, 5), 100.0))
    heard_s, of = np.array([10.0, 10.0, 20.0, 20.0, 25.0]), np.array([1, 0, 1, 0, 1])
    nothing = np.zeros(5)
    lines = Lines(heard_s, of, np.arange(5), np.zeros((5, 4)), nothing, nothing, nothing > 0)
    found = sorted_reports(reports, lines)
    assert found.report.tolist() == [1, 0, 3]
    assert found.bundle.tolist() == [0, 1, 2]


def test_owners_are_those_since_the_last_change_and_the_first_before_it() -> None:
    changes = [(5.0, 0, 2), (6.0, 2, -1), (7.0, 0, 1), (8.0, 2, 0)]
    time_s, bundle, broker = map(np.array, zip(*changes, strict=True))
    flags = np.zeros(4, np.bool_)
    owner = owners_at(Owners(time_s, bundle, broker, flags, flags), 3, np.array([4.0, 7.0, 9.0]))
    assert owner.tolist() == [[2, -1, 0], [1, -1, 0], [1, -1, 0]]
