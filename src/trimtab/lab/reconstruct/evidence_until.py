"""What a recording tells → what it had told by some time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from trimtab.lab.reconstruct.evidence import (
    Averages,
    Evidence,
    Lines,
    Owners,
    ProcessCpu,
    Reports,
    Round,
)
from trimtab.pulsar.model import Floats

_Columns = TypeVar("_Columns", Reports, Lines, Owners, ProcessCpu, Averages)


def evidence_until(evidence: Evidence, time_s: float) -> Evidence:
    """Return what was told up to a time, s from 1970; brokers and bundles keep their positions.

    Properties:
        Nothing later than the time is in it.
        The same of a later time holds all of it.
    """
    return replace(
        evidence,
        reports=_up_to(evidence.reports, evidence.reports.time_s, time_s),
        lines=_up_to(evidence.lines, evidence.lines.time_s, time_s),
        owners=_up_to(evidence.owners, evidence.owners.time_s, time_s),
        leaders=tuple(each for each in evidence.leaders if each[0] <= time_s),
        stops=tuple(each for each in evidence.stops if each.time_s <= time_s),
        rounds=_rounds(evidence.rounds, time_s),
        process_cpu=_up_to(evidence.process_cpu, evidence.process_cpu.time_s, time_s),
        averages=_up_to(evidence.averages, evidence.averages.time_s, time_s),
    )


def _rounds(rounds: Sequence[Round], time_s: float) -> tuple[Round, ...]:
    """Return the rounds up to a time; how long the last waited at last, the next one tells."""
    known = [each for each in rounds if each.time_s <= time_s]
    if known:
        waits = known[-1].waited_s[: max(0, len(known[-1].unloads) - 1)]
        known[-1] = replace(known[-1], waited_s=waits)
    return tuple(known)


def _up_to(columns: _Columns, times_s: Floats, time_s: float) -> _Columns:
    """Return the rows up to a time."""
    rows = np.asarray(times_s <= time_s)
    return replace(columns, **{it.name: getattr(columns, it.name)[rows] for it in fields(columns)})
