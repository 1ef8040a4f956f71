"""Linear programs whose variables are whole but for the last, solved by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import highspy
import numpy as np

from trimtab.pulsar.model import Floats, Ints

_STATUS = highspy.HighsModelStatus
# What the solver ends with where there may be a solution, not proved to be the best.
_BROKEN_OFF = (_STATUS.kSolutionLimit, _STATUS.kIterationLimit)


class Rows(NamedTuple):
    """Sums of variables, and between what each lies; entries are (n_entries,)."""

    row: Ints
    column: Ints
    factor: Floats
    #: (n_rows,)
    low: Floats
    high: Floats


class Program(NamedTuple):
    """What is to be lowest, between what the variables lie, and what they keep to."""

    #: (n_variables,) each.
    objective: Floats
    low: Floats
    high: Floats
    constraints: Sequence[Rows]


class Effort(NamedTuple):
    """After how many nodes the search gives up, and what share may be left open."""

    nodes_max: int
    gap: float


class Solution(NamedTuple):
    """What the search came to."""

    #: (n_variables,); nothing if none was reached.
    values: Floats | None
    #: What the objective is not below; infinite if nothing keeps to the constraints.
    bound: float
    #: Whether there are no better values, or none at all.
    is_proved: bool


def solved(program: Program, effort: Effort) -> Solution:
    """Return the values of a program's variables at which its objective is lowest.

    Properties:
        The same for the same program, on whatever machine: nodes are counted, not seconds.
    """
    solver = highspy.Highs()  # type: ignore[no-untyped-call]  # has no types
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_max_nodes", effort.nodes_max)
    solver.setOptionValue("mip_rel_gap", effort.gap)
    if solver.passModel(_model(program)) == highspy.HighsStatus.kError:
        raise ValueError("a program that the solver refuses")
    solver.run()
    status, info = solver.getModelStatus(), solver.getInfo()
    if status == _STATUS.kInfeasible:
        return Solution(None, np.inf, is_proved=True)
    is_proved = status == _STATUS.kOptimal
    is_reached = status in _BROKEN_OFF and info.objective_function_value < highspy.kHighsInf
    if not (is_proved or is_reached):
        return Solution(None, -np.inf, is_proved=False)
    values = np.array(solver.getSolution().col_value)
    return Solution(values, float(info.mip_dual_bound), is_proved)


def _model(program: Program) -> highspy.HighsLp:
    """Return a program as the solver takes it, column by column."""
    n, parts = program.objective.size, program.constraints
    first = np.cumsum([0, *(part.low.size for part in parts)])
    row = np.concatenate([part.row + start for part, start in zip(parts, first, strict=False)])
    column = np.concatenate([part.column for part in parts])
    order = np.lexsort((row, column))
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n, int(first[-1])
    model.col_cost_, model.col_lower_, model.col_upper_ = program[:3]
    model.row_lower_ = np.concatenate([part.low for part in parts])
    model.row_upper_ = np.concatenate([part.high for part in parts])
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.num_col_, matrix.num_row_ = model.num_col_, model.num_row_
    matrix.start_ = np.searchsorted(column[order], np.arange(n + 1)).astype(np.int32)
    matrix.index_ = row[order].astype(np.int32)
    matrix.value_ = np.concatenate([part.factor for part in parts])[order]
    whole = highspy.HighsVarType.kInteger
    model.integrality_ = [whole] * (n - 1) + [highspy.HighsVarType.kContinuous]
    return model
