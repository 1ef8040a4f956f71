"""What was learned of a recording → a document of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from trimtab.lab.costs import Knowledge, Windows, learned, nothing_known, priced
from trimtab.lab.costs.arrays import among
from trimtab.lab.costs.predict import carried, level_now, traffic_cpu
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.trials.backtest.looks import looks


def knowledge(evidence: Evidence, windows: Windows, before: Knowledge | None = None) -> Knowledge:
    """Return what a whole recording tells of its costs, and what was known before it."""
    known = before or nothing_known((), ())
    known = among(known, evidence.brokers, evidence.bundles)
    for look in looks(evidence, windows.host_s):
        known = learned(known, look, windows)
    return known


def document(recording: str, known: Knowledge) -> dict[str, Any]:
    """Return what things cost, as plain values; percent of the CPU of a host.

    Properties:
        The same knowledge gives the same document.
    """
    prices = asdict(priced(known))
    rows = np.flatnonzero(~np.isnan(known.brokers.level)).tolist()
    load, level, by_traffic = carried(known), level_now(known), traffic_cpu(known)
    return {
        "recording": recording,
        **prices,
        "untold": list(prices["untold"]),
        "brokers": [
            {
                "broker": known.broker_names[i],
                "cpu_percent": float(level[i]),
                "traffic_percent": float(by_traffic[i]),
                "rest_percent": float(known.brokers.rest[i]),
                "messages_per_s": float(1000.0 * (load[i, 0] + load[i, 1])),
            }
            for i in rows
        ],
    }
