"""A comparison → lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Said of a round whose trigger is not decided by what the recording tells.
_BEFORE = "hangs on what was before the recording"


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Return a comparison."""
    strategies = document["strategies"]
    yield (
        f"{document['recording']}: {strategies['shedding']} + {strategies['placement']}, "
        f"Pulsar {document['release']}, {_clock(document['from'])} to {_clock(document['to'])}"
    )
    yield ""
    yield from _fit(document["fit"])
    yield ""
    yield f"Not told, and taken instead (simulated in ticks of {document['tick_s']:g} s):"
    yield from (f"  {words}" for words in document["untold"])
    yield ""
    yield from _round_by_round(document["held"])
    yield ""
    yield from _free(document["free"])


def _clock(time: str) -> str:
    return time[11:19]


def _fit(fit: Mapping[str, Any]) -> Iterator[str]:
    yield "What learned costs miss of usage, in windows of a minute:"
    for name, words in (("cpu", "CPU"), ("network", "NIC")):
        resource = fit[name]
        if resource["r_squared"] is None:
            yield f"  {words}: too few windows ({resource['windows']}) to say"
            continue
        error = f"misses {resource['error_points']:.1f} points, R² {resource['r_squared']:.2f}"
        yield f"  {words}: {error}, {resource['windows']} windows"


def _round_by_round(rounds: Mapping[str, Any]) -> Iterator[str]:
    yield "Bundles move as they did; what would the simulated leader have done?"
    yield "      time  unloads: real  simulated  same   placed so   score off"
    for row in rounds["rounds"]:
        off = "?" if row["score_error"] is None else f"{100 * row['score_error']:.1f} %"
        placed = f"{row['placed']}/{row['real']}" if row["real"] else ""
        differs = not row["real"] == row["simulated"] == row["same"]
        doubts = [] if row["is_sure"] else [_BEFORE]
        # What may be otherwise matters where it is otherwise.
        doubts += [row["doubt"]] if differs and row["doubt"] else []
        doubt = f"   {'; '.join(doubts)}" if doubts else ""
        yield (
            f"  {_clock(row['time'])}  {row['real']:13}  {row['simulated']:9}  {row['same']:4}"
            f"  {placed:>10}  {off:>10}{doubt}"
        )
    count = len(rounds["rounds"])
    yield (
        f"  agreed whether to shed in {rounds['same_trigger']} of {count} rounds; "
        f"{rounds['unloads_same']} of {rounds['unloads_real']} unloads the same bundle, "
        f"{rounds['unloads_placed']} placed alike"
    )
    if rounds["sure"] < count:
        yield (
            f"  {count - rounds['sure']} of {count} rounds hang on what was before; in the others "
            f"agreed {rounds['same_trigger_sure']} of {rounds['sure']}"
        )


def _free(free: Mapping[str, Any]) -> Iterator[str]:
    yield f"The simulated leader instead of the real one, {free['seeds']} seeds:"
    yield (
        "      time  unloads: real  simulated, median (10 to 90 %)  same  seeds that shed"
        "  later, s (10 to 90 %)"
    )
    for row in free["rounds"]:
        share = f"{100 * row['triggered_share']:.0f} %"
        later = "" if row["later_s"] is None else _range(row["later_s"], 1)
        yield (
            f"  {_clock(row['time'])}  {row['real']:13}  {_range(row):>30}"
            f"  {row['same']['median']:4g}  {share:>15}  {later:>21}"
        ).rstrip()
    for name in ("triggers", "unloads"):
        yield f"  {name}: real {free[name]['real']}, simulated {_range(free[name])}"
    for name, words in (("rate", "message rates, messages/s"), ("usage", "usage, points")):
        spread = free["spread"][name]
        yield f"  spread of {words}: {_spread(spread)}"


def _spread(spread: Mapping[str, Any] | None) -> str:
    if spread is None:
        return "not known"
    related = spread["correlation"]
    correlation = "not known" if related is None else _range(related, 2)
    return f"real {spread['real']:.1f}, simulated {_range(spread, 1)}; correlation {correlation}"


def _range(quantiles: Mapping[str, float], digits: int | None = None) -> str:
    """Return a median and the range from the 10th to the 90th percentile, as text."""
    median, low, high = (
        f"{quantiles[name]:g}"
        if digits is None
        else f"{round(quantiles[name], digits) + 0.0:.{digits}f}"
        for name in ("median", "p10", "p90")
    )
    return f"{median} ({low} to {high})"
