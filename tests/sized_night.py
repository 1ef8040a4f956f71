"""What `trimtab size` says of a made-up night."""

from __future__ import annotations

import math
from typing import Any

from rehearsed_rows import rehearsal
from trimtab.lab.sizing.need import Need
from trimtab.trials.size.command import GROWTHS, document_of
from trimtab.trials.size.document import answer
from trimtab.trials.size.needs import Needs, curve
from trimtab.trials.size.nights import all_nights, night_needs


def needs_of(*numbers: float, nights: int = 1) -> Needs:
    """Give the needs of seeds, which take some nights in turn."""
    return Needs(tuple(Need(each, night=i % nights) for i, each in enumerate(numbers)))


NEEDS = (4, 4, 5, 4, 6, 5, 5, 4, 4, 5)
GROWN = needs_of(6, 6, 7, 6, 9, 7)


def sized(
    *, is_trusted: bool = True, price: float | None = 350.0, nights: int = 1
) -> dict[str, Any]:
    """Give a size as `size.json` has it."""
    night = rehearsal(is_trusted=is_trusted)
    names = [night["recording"], *(f"night-{i + 2}" for i in range(nights - 1))]
    shared = all_nights([{**night, "recording": name} for name in names])
    needs = needs_of(*NEEDS, nights=nights)
    kept = ("recording", "release", "from", "to", "hours", "brokers", "bundles", "fidelity")
    document: dict[str, Any] = {
        "trimtab": "0.1.0",
        "command": "trimtab size night -o sized",
        **{
            name: shared[name]
            for name in (*kept, "nights", "strategy", "bar_text", "bar", "untold")
        },
        "assumed": ["every broker is like the median one of the recording"],
        "today": 4,
        "seeds": 10,
        "sure": 0.99,
        **document_of([], None, 4, price),  # type: ignore[arg-type]  # nothing was tried
    }
    if is_trusted:
        points = curve(needs, range(3, 8))
        document |= {
            "need": needs.document(),
            "by_night": night_needs(needs),
            "curve": [
                {**it, "price": None if price is None else price * it["brokers"]} for it in points
            ],
            "growth": [{"percent": percent, "need": GROWN.document()} for percent in GROWTHS]
            + [{"percent": 200, "need": needs_of(math.inf).document()}],
            "bundle_count": {
                "per_broker": 7.0,
                "unevenness": 0.04,
                "giants": [{"bundle": "shop/orders/0x0_0x8", "percent": 61.0}],
                "verdict": "enough",
            },
        }
    return {"answer": answer(document), **document}
