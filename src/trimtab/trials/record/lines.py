"""What a broker's classes log; the statements, word by word, stand in `log_lines.toml`."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from trimtab.pulsar.model import MEBIBYTE, AvgShedderMemory, ClusterLoad, Decision, Reason

#: Thread of shedding, and of what the broker writes of itself.
SHEDDING = "pulsar-load-manager-1-1"
#: Event → its lines, from the first to the last, with names in braces to be filled in.
LINES = {
    event: text.splitlines()
    for event, text in tomllib.loads(
        files("trimtab.trials.record").joinpath("log_lines.toml").read_text("utf-8")
    ).items()
}

# From here on to 1e7 Java prints a double as Python does.
_PLAIN_MIN, _PLAIN_MAX = 1e-3, 1e7


def log_lines(event: str, **values: object) -> list[str]:
    """Return what is logged of an event, a float as Java prints it, without the time in front."""
    java = {key: double(of) if isinstance(of, float) else of for key, of in values.items()}
    return [line.format(**java) for line in LINES[event]]


def log_line(thread: str, logger: str, text: str, level: str = "INFO") -> str:
    """Return a line as Pulsar's layout prints it, without the time in front."""
    return f"[{thread}] {level:5} {logger} - {text}"


def double(value: float) -> str:
    """Return a number as Java's Double.toString prints it."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0.0 or _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return repr(value)
    digits, _, exponent = repr(value).partition("e")
    sign = "-" if digits.startswith("-") else ""
    whole, _, fraction = digits.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    power = int(exponent or 0) + len(whole) - 1
    figures = (whole + fraction).lstrip("0")
    power -= len(whole + fraction) - len(figures)
    figures = figures.rstrip("0")
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"


@dataclass(frozen=True, slots=True)
class Shed:
    """A round, decided."""

    shedder: str
    load: ClusterLoad
    decision: Decision
    settings: Any
    #: What the shedder remembered before.
    before: Any


def shedder_lines(shed: Shed) -> Iterator[str]:
    """Return what the shedder logs while it decides; nothing of one that is not known."""
    lines_of = _SAYS.get(shed.shedder)
    return iter(()) if lines_of is None else lines_of(shed)


def _threshold_shedder(shed: Shed) -> Iterator[str]:
    average, carried = shed.decision.average, shed.load.throughput_in + shed.load.throughput_out
    if average == 0:
        yield from log_lines("nothing_is_used")
    for i, values in _losing(shed):
        left = float((carried[i] - shed.decision.offload[i]) / MEBIBYTE)
        yield from log_lines("above_average", average=float(average * 100), left=left, **values)
        yield from _warnings(shed, i)


def _overload_shedder(shed: Shed) -> Iterator[str]:
    for i, values in _losing(shed):
        yield from log_lines("above_threshold", **values)
        yield from _warnings(shed, i)


def _uniform_load_shedder(shed: Shed) -> Iterator[str]:
    load, decision = shed.load, shed.decision
    if not decision.unloads:
        return
    is_rate = bool(decision.offload_is_rate is not None and decision.offload_is_rate.any())
    carried = load.bundle_traffic()
    if is_rate:
        what, traffic = "msgRate", carried.rate_in + carried.rate_out
    else:
        what, traffic = "throughput", carried.throughput_in + carried.throughput_out
    at = {(load.brokers[o], b): i for i, (o, b) in enumerate(_listed(load))}
    for unload in decision.unloads:
        value = float(traffic[at[unload.source, unload.bundle]])
        yield from log_lines("uniform_bundle", what=what, value=value)


def _avg_shedder(shed: Shed) -> Iterator[str]:
    load, decision = shed.load, shed.decision
    ranked = np.argsort(decision.scores, kind="stable").tolist()
    ripe = {Reason.LOW_THROUGHPUT, Reason.OVERLOADED, Reason.SOLE_BUNDLE, Reason.NO_BUNDLES}
    half = (len(ranked) + 1) // 2
    pairs = [
        (high, low)
        for low, high in zip(ranked[:half], ranked[::-1][:half], strict=True)
        if decision.reasons[high] in ripe and decision.reasons[low] == Reason.UNDERLOADED
    ]
    high, low = _hit_counts(shed, ranked)
    brokers = ", ".join(load.brokers[i] for i in ranked)
    yield from log_lines("avg_ranks", brokers=brokers, high=high, low=low)
    for source, target in pairs:
        yield from _planned(shed, source, target)


def _hit_counts(shed: Shed, ranked: list[int]) -> Iterator[str]:
    """Return both counts as they are before those of pairs whose turn has come are cleared."""
    settings, before = shed.settings, shed.before
    assert isinstance(before, AvgShedderMemory)
    counts: tuple[dict[str, int], dict[str, int]] = {}, {}
    half = (len(ranked) + 1) // 2
    for low, high in zip(ranked[:half], ranked[::-1][:half], strict=True):
        gap = shed.decision.scores[high] - shed.decision.scores[low]
        is_wide = not gap < settings.low_threshold_points
        for now, old, is_hit in (
            (counts[0], before.hits_high, is_wide and not gap < settings.high_threshold_points),
            (counts[1], before.hits_low, is_wide),
        ):
            for i in (low, high) if is_hit else ():
                name = shed.load.brokers[i]
                now[name] = now.get(name, old.get(name, 0)) + 1
    return ("{" + ", ".join(f"{b}={n}" for b, n in now.items()) + "}" for now in counts)


def _planned(shed: Shed, high: int, low: int) -> list[str]:
    load, decision, settings = shed.load, shed.decision, shed.settings
    names = {"source": load.brokers[high], "target": load.brokers[low]}
    rates, throughputs = load.rate_in + load.rate_out, load.throughput_in + load.throughput_out
    if decision.reasons[high] == Reason.LOW_THROUGHPUT:
        rate, throughput = (
            float(total[high] - total[low]) * settings.unload_share
            for total in (rates, throughputs)
        )
        return log_lines(
            "avg_plan_too_small",
            **names,
            throughput=float(throughput / MEBIBYTE),
            throughput_min=float(settings.throughput_min / MEBIBYTE),
            rate=float(rate),
            rate_min=float(settings.rate_min),
        )
    source_stats, target_stats = (
        f"scores:{double(decision.scores[i])}, throughput:{double(throughputs[i])}, "
        f"msgRate:{double(rates[i])}"
        for i in (high, low)
    )
    is_rate = decision.offload_is_rate is not None and bool(decision.offload_is_rate[high])
    return log_lines(
        "avg_plan",
        **names,
        source_stats=source_stats,
        target_stats=target_stats,
        is_rate="true" if is_rate else "false",
        offload=float(decision.offload[high]),
    )


def _losing(shed: Shed) -> Iterator[tuple[int, dict[str, object]]]:
    """Return the brokers that are to lose enough, and what is logged of each."""
    decision = shed.decision
    for i, broker in enumerate(shed.load.brokers):
        is_to_lose = not np.isnan(decision.offload[i])
        if is_to_lose and decision.reasons[i] != Reason.LOW_THROUGHPUT:
            values: dict[str, object] = {
                "broker": broker,
                "score": float(decision.scores[i] * 100),
                "threshold": float(shed.settings.threshold * 100),
                "offload": float(decision.offload[i] / MEBIBYTE),
                "resources": _resources(shed.load, i),
            }
            yield i, values


def _resources(load: ClusterLoad, i: int) -> str:
    # A limit that is not known counts as nothing used.
    limit = np.where(load.resource_limit[i] > 0, load.resource_limit[i], np.inf)
    percent = (load.resource_usage[i] / limit * 100).tolist()
    names = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
    return ", ".join(f"{n}: {value:.2f}%" for n, value in zip(names, percent, strict=True))


def _warnings(shed: Shed, i: int) -> list[str]:
    """Return the warnings of a broker that cannot be relieved."""
    names = {"shedder": shed.shedder, "broker": shed.load.brokers[i]}
    if shed.load.bundle_count[i] == 0:
        return log_lines("no_bundles", **names)
    if shed.decision.reasons[i] == Reason.SOLE_BUNDLE:
        sole = next((b for owner, b in _listed(shed.load) if owner == i), "")
        return log_lines("sole_bundle", bundle=sole, **names)
    return []


def _listed(load: ClusterLoad) -> Iterator[tuple[int, str]]:
    return zip(load.bundle_broker.tolist(), load.bundles, strict=True)


_SAYS: Mapping[str, Callable[[Shed], Iterator[str]]] = {
    "ThresholdShedder": _threshold_shedder,
    "OverloadShedder": _overload_shedder,
    "UniformLoadShedder": _uniform_load_shedder,
    "AvgShedder": _avg_shedder,
}
