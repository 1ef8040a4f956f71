"""All rounds that were decided again, as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.night import Decided
from trimtab.model import Floats


def decided(table: pa.Table) -> Decided:
    """Lay out `replayed_rounds` as columns."""
    lists = table["brokers"].combine_chunks()
    states = pc.list_flatten(lists)
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()

    def names(name: str) -> tuple[str, ...]:
        # Each name is one object, however often it stands there.
        encoded = pc.struct_field(states, name).dictionary_encode()
        known = [*encoded.dictionary.to_pylist(), None]
        codes = pc.fill_null(encoded.indices, len(known) - 1).to_numpy()
        return tuple([known[code] for code in codes.tolist()])

    def column(name: str) -> Floats:
        values = pc.struct_field(states, name)
        floats: Floats = pc.fill_null(values, np.nan).to_numpy(zero_copy_only=False)
        return floats

    return Decided(
        times=tuple(table["time"].to_pylist()),
        terms=tuple(table["term"].to_pylist()),
        numbers=tuple(number or 0 for number in table["round"].to_pylist()),
        unloads=tuple(pc.fill_null(pc.list_value_length(table["unloads"]), 0).to_pylist()),
        averages=tuple(table["average"].to_pylist()),
        offsets=np.append(0, np.cumsum(counts)).astype(np.int64),
        brokers=names("broker"),
        usage=column("usage"),
        scores=column("score"),
        throughput=column("throughput"),
        reasons=names("reason"),
    )
