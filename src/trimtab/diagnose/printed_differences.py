"""What each shedder prints of a round, beside what was recomputed, to the last digit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trimtab.diagnose.night import Event, Round

_MIB = 1_048_576.0
#: Significant digits from which a number counts as a double written whole.
_DIGITS = 15

Row = Mapping[str, Any]


def printed_differences(logged: Round, replayed: Row, threshold: float) -> dict[str, str]:
    """Return where the numbers that the shedder printed in a round differ from the recomputation.

    Args:
        logged: the round as logged.
        replayed: its row of `replayed_rounds`, with `brokers` as columns.
        threshold: fraction above the average at which ThresholdShedder sheds.

    Returns:
        Broker, or "" for the whole cluster → the first difference in words; what agrees is
        absent.
    """
    differences: dict[str, str] = {}
    for event in logged.events:
        compare = _COMPARE.get(event.kind)
        why = None if compare is None else compare(event, logged, replayed, threshold)
        if why is not None:
            differences.setdefault(event.broker or "", why)
    return differences | _left_alone(logged, replayed)


def _left_alone(logged: Round, replayed: Row) -> dict[str, str]:
    """Return brokers that shed in the recomputation and that the log does not mention."""
    attempts = {e.broker for e in logged.events if e.kind in ("shed-attempt", "avg-shed-attempt")}
    sources = {row["source"] for row in replayed["unloads"]}
    if not attempts:
        return {}
    return {
        broker: f"{broker} was left alone, recomputed it sheds" for broker in sources - attempts
    }


def _threshold_shedder(event: Event, logged: Round, replayed: Row, threshold: float) -> str | None:
    del logged
    state = state_of(replayed, event.broker)
    if state is None or state["offload"] is None:
        return f"{event.broker} was shed, recomputed it is not above the bar"
    carried, offload = state["throughput"], state["offload"]
    return _first_difference(
        event,
        {
            "usage_percent": state["score"] * 100,
            "average_percent": replayed["average"] * 100,
            "threshold_percent": threshold * 100,
            "offload_mbyte_s": offload / _MIB,
            "left_mbyte_s": (carried - offload) / _MIB,
        },
    )


def _overload_shedder(event: Event, logged: Round, replayed: Row, threshold: float) -> str | None:
    del logged, threshold
    state = state_of(replayed, event.broker)
    if state is None or state["offload"] is None:
        return f"{event.broker} was shed, recomputed it is not over the threshold"
    numbers = {
        "usage_percent": state["score"] * 100,
        "usage": state["score"],
        "offload_mbyte_s": state["offload"] / _MIB,
    }
    return _first_difference(
        event, {name: value for name, value in numbers.items() if name in event.numbers}
    )


def _shed_attempt(event: Event, logged: Round, replayed: Row, threshold: float) -> str | None:
    """Return how an attempt differs, by the shedder whose line it is."""
    compare = _overload_shedder if event.logger == "OverloadShedder" else _threshold_shedder
    return compare(event, logged, replayed, threshold)


def _avg_shedder(event: Event, logged: Round, replayed: Row, threshold: float) -> str | None:
    del logged, threshold
    hot, cold = state_of(replayed, event.broker), state_of(replayed, event.target)
    if hot is None or cold is None:
        return f"{event.broker} or {event.target} has no report"
    return _first_difference(
        event,
        {
            "score_percent": hot["score"],
            "throughput": hot["throughput"],
            "rate": hot["rate"],
            "target_score_percent": cold["score"],
            "target_throughput": cold["throughput"],
            "target_rate": cold["rate"],
        },
    )


def _ranking(event: Event, logged: Round, replayed: Row, threshold: float) -> str | None:
    del logged, threshold
    states = replayed["brokers"]
    scores = dict(zip(states["broker"], states["score"], strict=True))
    if set(event.brokers) != set(scores):
        return f"brokers were {_names(event.brokers)}, recomputed {_names(scores)}"
    ranked = [scores[broker] for broker in event.brokers]
    if ranked != sorted(ranked):
        return f"brokers were ranked {_names(event.brokers)}, recomputed scores {ranked}"
    return None


def _hit_counts(event: Event, logged: Round, replayed: Row, threshold: float) -> str | None:
    """Return how the counters differ; a round that fires has cleared some since it printed."""
    del threshold
    if any(other.kind == "avg-shed-attempt" for other in logged.events):
        return None
    low = {k.removeprefix("low:"): v for k, v in event.numbers.items() if k.startswith("low:")}
    for name, was in (("hits_high", event.scores), ("hits_low", low)):
        # A row just made has a map here, one of a table a list of pairs.
        now = {broker: count for broker, count in dict(replayed[name] or ()).items() if count}
        if {broker: count for broker, count in was.items() if count} != now:
            return f"{name} were {dict(was)}, recomputed {now}"
    return None


def _uniform_load_shedder(
    event: Event, logged: Round, replayed: Row, threshold: float
) -> str | None:
    """Return how the whole list differs, at its first line: lines name no bundle, only numbers."""
    del threshold
    mine = [other for other in logged.events if other.kind == event.kind]
    if event is not mine[0]:
        return None
    name = "rate" if event.kind == "uniform-shed-rate" else "throughput"
    was = [other.numbers.get(name) for other in mine]
    now = [row[name] for row in replayed["unloads"]]
    return None if was == now else f"{name} of the bundles were {was}, recomputed {now}"


_COMPARE: Mapping[str, Callable[[Event, Round, Row, float], str | None]] = {
    "shed-attempt": _shed_attempt,
    "avg-shed-attempt": _avg_shedder,
    "brokers-ranked": _ranking,
    "hit-counts": _hit_counts,
    "uniform-shed-rate": _uniform_load_shedder,
    "uniform-shed-throughput": _uniform_load_shedder,
}


def state_of(replayed: Row, broker: str | None) -> Row | None:
    """Return what a row of `replayed_rounds` says of one broker; None if it is not there."""
    states = replayed["brokers"]
    if broker not in states["broker"]:
        return None
    at = states["broker"].index(broker)
    return {name: values[at] for name, values in states.items()}


def _first_difference(event: Event, recomputed: Mapping[str, float]) -> str | None:
    """Return the first number that differs; equal to the digits that a line prints is equal."""
    decimals = _printed_decimals(event.numbers.values())
    for name, value in recomputed.items():
        was = event.numbers.get(name)
        if was != value and (was is None or decimals is None or was != round(value, decimals)):
            return f"{name} of {event.broker} was {was!r}, recomputed {value!r}"
    return None


def _printed_decimals(numbers: Iterable[float]) -> int | None:
    """Return to how many decimals a line prints its numbers; None where it prints whole doubles.

    Java writes as many digits of a double as tell it apart, mostly sixteen or seventeen: a line
    none of whose numbers has fifteen was written with fewer.
    """
    parts = [f"{number!r}".lstrip("-").partition(".") for number in numbers]
    if any(
        "e" in after or len((before + after).strip("0")) >= _DIGITS for before, _, after in parts
    ):
        return None
    return max((len(after) for _, _, after in parts), default=None)


def _names(brokers: Any) -> str:
    return ", ".join(brokers)
