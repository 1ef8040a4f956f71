"""What `trimtab size` says of a made-up night."""

from __future__ import annotations

import math
from typing import Any

from rehearsed_rows import rehearsal
from trimtab.trials.size.command import GROWTHS, document_of
from trimtab.trials.size.document import Needs, answer, curve

NEEDS = Needs((4, 4, 5, 4, 6, 5, 5, 4, 4, 5))
GROWN = Needs((6, 6, 7, 6, 9, 7))


def sized(*, is_trusted: bool = True, price: float | None = 350.0) -> dict[str, Any]:
    """Give a size as `size.json` has it."""
    shared = rehearsal(is_trusted=is_trusted)
    kept = ("recording", "release", "from", "to", "hours", "brokers", "bundles", "fidelity")
    document: dict[str, Any] = {
        "trimtab": "0.1.0",
        "command": "trimtab size night -o sized",
        **{name: shared[name] for name in (*kept, "strategy", "bar_text", "bar", "untold")},
        "assumed": ["every broker is like the median one of the recording"],
        "today": 4,
        "seeds": 10,
        "sure": 0.99,
        **document_of([], None, 4, price),  # type: ignore[arg-type]  # nothing was tried
    }
    if is_trusted:
        points = curve(NEEDS, range(3, 8))
        document |= {
            "need": NEEDS.document(),
            "curve": [
                {**it, "price": None if price is None else price * it["brokers"]} for it in points
            ],
            "growth": [{"percent": percent, "need": GROWN.document()} for percent in GROWTHS]
            + [{"percent": 200, "need": Needs((math.inf,)).document()}],
            "bundle_count": {
                "per_broker": 7.0,
                "unevenness": 0.04,
                "giants": [{"bundle": "shop/orders/0x0_0x8", "percent": 61.0}],
                "verdict": "enough",
            },
        }
    return {"answer": answer(document), **document}
