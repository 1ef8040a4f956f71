"""What traffic costs → lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Return what things cost, with the intervals in which they are in nine of ten cases."""
    cores = f"{document['cores']:g}"
    yield f"{document['recording']}: percent of the CPU of a host of {cores} cores"
    yield "(in brackets nine cases in ten; ?: the night does not tell)"
    yield ""
    yield f"  all traffic of the median broker   {_price(document['traffic'])}"
    for name, price in document["units"].items():
        yield f"  {name:34} {_price(price)}"
    yield f"  exponent of work (1: straight)     {_price(document['exponent'], 2)}"
    yield ""
    yield "  broker                       now     at rest                    speed beside others"
    for row in document["brokers"]:
        rest, speed = document["rest"][row["broker"]], document["speed"][row["broker"]]
        yield (
            f"  {row['broker']:24} {row['cpu_percent']:5.1f} %   {_price(rest):26} "
            f"{_price(speed, 2)}"
        )
    yield ""
    deviation = 100 * document["deviation"]
    yield f"  a bundle costs what its traffic does, give or take {deviation:.0f} % (one deviation)"
    for jump in document["jumps"]:
        than = "more" if jump["points"] > 0 else "less"
        yield (
            f"  {jump['broker']} contradicts itself: since about {jump['from'][11:16]} it uses "
            f"{abs(jump['points']):.1f} points {than} than before, and no traffic explains it; "
            "what it takes at rest is learned from then on"
        )
    for sentence in document["untold"]:
        yield f"  cannot be told: {sentence}"


def _price(price: Mapping[str, Any], digits: int | None = None) -> str:
    """Return a price with its interval; whatever is not told says so."""
    value, low, high = (_number(price[name], digits) for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})" + ("" if price["is_told"] else " ?")


def _number(value: float, digits: int | None) -> str:
    if digits is not None:
        return f"{value:.{digits}f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"
