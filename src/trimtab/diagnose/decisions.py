"""All rounds that were decided again, as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.columns import lists, words
from trimtab.diagnose.night import Decisions, Unfit
from trimtab.pulsar.model import Floats


def decisions(table: pa.Table) -> Decisions:
    """Return `replayed_rounds` as columns."""
    states = lists(table["brokers"])

    def names(name: str) -> tuple[Any, ...]:
        return tuple(words(states.fields[name]).part(0, int(states.offsets[-1])))

    def column(name: str) -> Floats:
        floats: Floats = pc.fill_null(states.fields[name], np.nan).to_numpy(zero_copy_only=False)
        return floats

    return Decisions(
        times=tuple(table["time"].to_pylist()),
        terms=tuple(table["term"].to_pylist()),
        numbers=tuple(number or 0 for number in table["round"].to_pylist()),
        unloads=tuple(pc.fill_null(pc.list_value_length(table["unloads"]), 0).to_pylist()),
        averages=tuple(table["average"].to_pylist()),
        offsets=states.offsets,
        brokers=names("broker"),
        usage=column("usage"),
        scores=column("score"),
        throughput=column("throughput"),
        reasons=names("reason"),
        too_large=tuple(
            Unfit(i, *row.values())
            for i, rows in enumerate(table["too_large"].to_pylist())
            for row in rows or ()
        ),
    )
