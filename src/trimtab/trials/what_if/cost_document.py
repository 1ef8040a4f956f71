"""The costs that were fitted → what is said of them: values, intervals and what they miss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import Costs, fitted_costs, missed
from trimtab.pulsar.model import MEBIBYTE
from trimtab.trials.rerun.comparison import finite

#: Ends of the intervals.
_LOW, _HIGH = 0.05, 0.95
#: What each cost is of, its unit, and how much of that.
_COLUMNS = (
    ("messages, both ways", "points by 1,000 messages/s", 1000.0),
    ("bytes in", "points by MiB/s", MEBIBYTE),
    ("bytes out", "points by MiB/s", MEBIBYTE),
    ("nothing", "points", 1.0),
)


def cost_document(rebuilt: Rebuilt, drawn: Sequence[Costs]) -> dict[str, Any]:
    """Return what traffic costs the brokers.

    Args:
        rebuilt: the recorded cluster.
        drawn: costs that the recording does not speak against.

    Returns:
        A document of plain values; what is not known is None.
    """
    fitted, used = fitted_costs(rebuilt), rebuilt.used
    draws = np.array([each.cpu for each in drawn])
    wire = np.array([each.overhead for each in drawn])
    return {
        "cpu": {
            "terms": [
                {
                    "of": of,
                    "unit": unit,
                    "cost": fitted.cpu[i] * scale,
                    "low": float(np.quantile(draws[:, i], _LOW)) * scale,
                    "high": float(np.quantile(draws[:, i], _HIGH)) * scale,
                }
                for i, (of, unit, scale) in enumerate(_COLUMNS)
            ],
            "error_points": finite(used.cpu.error_points),
            "r_squared": finite(used.cpu.r_squared),
            "windows": used.cpu.n_windows,
            "by_broker": [asdict(each) for each in missed(rebuilt)],
        },
        "network": {
            "overhead": fitted.overhead,
            "low": float(np.quantile(wire, _LOW)),
            "high": float(np.quantile(wire, _HIGH)),
            "error_points": finite(used.network.error_points),
            "r_squared": finite(used.network.r_squared),
            "windows": used.network.n_windows,
        },
        "draws": len(drawn),
    }
