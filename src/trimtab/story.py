"""A sequence's decisions told to a person: the numbers, the bar, who passed it and who did not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from trimtab.decide import Decided, Selected, Shed, settings_of
from trimtab.model import ClusterLoad, Decision, Floats, Reason
from trimtab.sequences import Sequence
from trimtab.settings import (
    AvgShedderSettings,
    LeastLongTermMessageRateSettings,
    LeastResourceUsageWithWeightSettings,
    OverloadShedderSettings,
    ThresholdShedderSettings,
    UniformLoadShedderSettings,
)

_MEBIBYTE = 1048576.0

#: What a broker's verdict means.
_VERDICTS: Mapping[Reason, str] = {
    Reason.OVERLOADED: "sheds",
    Reason.UNDERLOADED: "the one that is too far below",
    Reason.BALANCED: "not over the bar",
    Reason.NO_BUNDLES: "has nothing that may go and fits",
    Reason.SOLE_BUNDLE: "its only bundle stays",
    Reason.LOW_THROUGHPUT: "too little would go to be worth a move",
    Reason.HIT_COUNT: "too far from its partner, not yet for enough rounds",
}
# Numbers that are closer may look the same when rounded.
_HARD_TO_TELL = 1e-4
_RESOURCE_HEADINGS = ("cpu", "heap", "direct", "net in", "net out")

#: A heading and a cell for each row.
_Column: TypeAlias = tuple[str, list[str]]


def story(sequence: Sequence, rounds: Iterable[Decided]) -> Iterator[str]:
    """Tell a sequence line by line."""
    settings = settings_of(sequence)
    yield f"{sequence.id}: {sequence.strategy} of Pulsar {sequence.release}"
    yield from (f"  {name}={text}" for name, text in sequence.conf.items())
    yield from (f"  {name} counts for nothing in this release" for name in sequence.ignored)
    yield from _RULES[sequence.strategy](settings)
    for number, decided in enumerate(rounds, 1):
        load = decided.load
        yield ""
        yield f"round {number}: {len(load.brokers)} brokers, {len(load.bundles)} bundles"
        if decided.shed is not None:
            yield from _told_shedding(sequence.strategy, settings, load, decided.shed)
        for selected in decided.selected:
            yield from _told_selection(settings, load, selected)
        if decided.shed is None and not decided.selected:
            yield "nothing is asked"


# ------------------------------------------------------------------ what a class goes by


def _threshold_rules(settings: ThresholdShedderSettings) -> Iterator[str]:
    yield f"sheds: who is at least {settings.threshold:.4f} above the average"
    yield f"{_mebibytes(settings.throughput_min)} to lose are worth a move, less is not"
    if settings.is_lower_boundary_enabled:
        yield f"if nobody does: the busiest, for one more than {settings.threshold:.4f} below"


def _overload_rules(settings: OverloadShedderSettings) -> Iterator[str]:
    yield f"sheds: who is at least at {settings.threshold:.4f}, whatever the others do"


def _uniform_rules(settings: UniformLoadShedderSettings) -> Iterator[str]:
    for what, limit, much in (
        ("messages/s", settings.rate_difference_percent, "% more than"),
        ("throughput", settings.throughput_ratio, "times"),
    ):
        condition = f"if that is above {limit:g} {much} the lowest" if limit > 0 else "never"
        yield f"sheds: who has the highest {what}, {condition}"
    yield f"{settings.unload_share:g} of the difference moves, {_floor(settings)} at least"


def _avg_rules(settings: AvgShedderSettings) -> Iterator[str]:
    for gap, hits in (
        (settings.low_threshold_points, settings.low_hits),
        (settings.high_threshold_points, settings.high_hits),
    ):
        yield f"sheds: who is {gap:g} points or more above its partner; rounds in a row: {hits}"
    yield f"{settings.unload_share:g} of the difference moves, if above {_floor(settings)}"
    yield "gets a bundle: who is planned for it, else any"


def _floor(settings: UniformLoadShedderSettings | AvgShedderSettings) -> str:
    return f"{_messages(settings.rate_min)} or {_mebibytes(settings.throughput_min)}"


def _below_average_rules(settings: LeastResourceUsageWithWeightSettings) -> Iterator[str]:
    yield f"gets a bundle: who is at least {settings.difference_threshold:.4f} below the average"


def _least_rate_rules(settings: LeastLongTermMessageRateSettings) -> Iterator[str]:
    yield "gets a bundle: who has the fewest messages/s in the long term"
    yield f"a usage above {settings.overloaded_threshold:.4f} counts as endlessly many"


def _turn_rules(settings: None) -> Iterator[str]:
    del settings
    yield "gets a bundle: whose turn it is"


_RULES: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "AvgShedder": _avg_rules,
    "LeastLongTermMessageRate": _least_rate_rules,
    "LeastResourceUsageWithWeight": _below_average_rules,
    "OverloadShedder": _overload_rules,
    "RoundRobinBrokerSelector": _turn_rules,
    "ThresholdShedder": _threshold_rules,
    "UniformLoadShedder": _uniform_rules,
}


# ------------------------------------------------------------------ shedding


def _told_shedding(strategy: str, settings: object, load: ClusterLoad, shed: Shed) -> Iterator[str]:
    decision = shed.decision
    columns = [*_reported(load), *_hits(load, shed)]
    if decision is None:
        yield from _table(columns)
        yield f"the class throws {shed.error}, and the round is lost"
        return
    bar = math.nan
    if isinstance(settings, OverloadShedderSettings):
        bar = settings.threshold
    if isinstance(settings, ThresholdShedderSettings):
        bar = decision.average + settings.threshold
        nobody = ": nobody sheds" if decision.average == 0 else ""
        yield f"average {decision.average:.4f}, the bar is {_bar(bar, decision.scores)}{nobody}"
    if strategy != "UniformLoadShedder":  # whose scores are a column of the reports
        columns.append(("score", [_beside(score, bar) for score in decision.scores.tolist()]))
    is_rate = _COUNTS_MESSAGES.get(strategy, _never)(settings, load, decision)
    yield from _table([*columns, ("", _verdicts(decision, is_rate))])
    if not shed.unloads:
        yield "nothing is unloaded"
    position = {name: i for i, name in enumerate(load.bundles)}
    for unload in shed.unloads:
        traffic = _bundle_traffic(load, position[unload.bundle])
        target = f" to {unload.target}" if unload.target else ""
        yield f"unload {unload.bundle} ({traffic}) from {unload.source}{target}"


def _verdicts(decision: Decision, is_rate: list[bool]) -> list[str]:
    """Say of each broker why it sheds or not, and what it was to lose."""
    rows = zip(decision.reasons, decision.offload.tolist(), is_rate, strict=True)
    return [
        f"{reason}: {_VERDICTS.get(reason, 'no more is known')}"
        + ("" if math.isnan(lost) else f"; to lose {(_messages if rate else _mebibytes)(lost)}")
        for reason, lost, rate in rows
    ]


def _hits(load: ClusterLoad, shed: Shed) -> Iterator[_Column]:
    """Show the rounds counted so far, if the class counts any."""
    for key, heading in (("hit_low", "low hits"), ("hit_high", "high hits")):
        if key in shed.state:
            yield heading, [str(shed.state[key].get(name, "-")) for name in load.brokers]


def _uniform_counts_messages(
    settings: UniformLoadShedderSettings, load: ClusterLoad, decision: Decision
) -> list[bool]:
    """Tell by the scores, which are what is counted."""
    del settings
    is_rate = np.array_equal(decision.scores, _traffic(load)[0], equal_nan=True)
    return [is_rate] * len(load.brokers)


def _avg_counts_messages(
    settings: AvgShedderSettings, load: ClusterLoad, decision: Decision
) -> list[bool]:
    """Tell by whether a difference of messages gives what a broker was to lose."""
    rate, _ = _traffic(load)
    with np.errstate(all="ignore"):
        shares = (rate[:, None] - rate[None, :]) * settings.unload_share
    found: list[bool] = (shares == decision.offload[:, None]).any(axis=1).tolist()
    return found


def _never(settings: object, load: ClusterLoad, decision: Decision) -> list[bool]:
    del settings, decision
    return [False] * len(load.brokers)


#: Class → whether it is messages that each broker was to lose; the others count bytes.
_COUNTS_MESSAGES: Mapping[str, Callable[[Any, ClusterLoad, Decision], list[bool]]] = {
    "AvgShedder": _avg_counts_messages,
    "UniformLoadShedder": _uniform_counts_messages,
}


# ------------------------------------------------------------------ placement


def _told_selection(settings: object, load: ClusterLoad, selected: Selected) -> Iterator[str]:
    yield f"place {selected.asked.bundle} among {', '.join(selected.candidates) or 'nobody'}"
    if selected.is_after_draw:
        yield "  hangs on who was drawn before, which is not known"
        return
    if selected.error is not None:
        missing = [name for name in selected.candidates if name not in load.brokers]
        yield f"  the class throws {selected.error}"
        yield from (f"  {name} has no report" for name in missing)
        return
    placement = selected.placement
    assert placement is not None
    bar = math.nan
    if isinstance(settings, LeastResourceUsageWithWeightSettings):
        bar = placement.average - settings.difference_threshold
        yield f"  average {placement.average:.4f}, the bar is {_bar(bar, placement.scores)}"
    passed = set() if placement.is_fallback else set(selected.best)
    rows = zip(selected.candidates, placement.scores.tolist(), strict=True)
    for name, score in rows:
        if not math.isnan(score) or name in passed:
            number = "" if math.isnan(score) else f" {_beside(score, bar)}"
            yield f"  {name}{number}{' passes' if name in passed else ''}"
    if selected.planned is not None and selected.planned not in passed:
        yield f"  {selected.planned} is planned, and no candidate"
    who = ", ".join(selected.best) or "nobody"
    yield f"  draw from {'all, since nobody passes: ' if placement.is_fallback else ''}{who}"


# ------------------------------------------------------------------ numbers


def _reported(load: ClusterLoad) -> Iterator[_Column]:
    """Show what brokers report: usage of each resource, traffic, bundles."""
    yield "broker", list(load.brokers)
    with np.errstate(all="ignore"):
        percent = 100 * load.resource_usage / load.resource_limit
    is_known = load.resource_limit > 0
    for column, heading in enumerate(_RESOURCE_HEADINGS):
        pairs = zip(is_known[:, column].tolist(), percent[:, column].tolist(), strict=True)
        cells = [f"{value:.1f} %" if known else "-" for known, value in pairs]
        if set(cells) != {"-"}:
            yield heading, cells
    rate, throughput = _traffic(load)
    yield "messages/s", [f"{value:.0f}" for value in rate.tolist()]
    yield "MiB/s", [f"{value / _MEBIBYTE:.2f}" for value in throughput.tolist()]
    yield "bundles", [str(count) for count in load.bundle_count.tolist()]


def _table(columns: Iterable[_Column]) -> Iterator[str]:
    """Align columns: names to the left, numbers to the right, words behind."""
    lines = zip(*([heading, *cells] for heading, cells in columns), strict=True)
    rows = [list(line) for line in lines]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        first, *middle = zip(row, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in middle[:-1])]
        yield "  " + "  ".join([*cells, middle[-1][0]]).rstrip()


def _traffic(load: ClusterLoad) -> tuple[Floats, Floats]:
    """Add what goes in and out of each broker: messages/s, bytes/s."""
    with np.errstate(all="ignore"):
        return load.rate_in + load.rate_out, load.throughput_in + load.throughput_out


def _bundle_traffic(load: ClusterLoad, bundle: int) -> str:
    with np.errstate(all="ignore"):
        rate = float(load.bundle_rate_in[bundle] + load.bundle_rate_out[bundle])
        carried = float(load.bundle_throughput_in[bundle] + load.bundle_throughput_out[bundle])
    return f"{_messages(rate)}, {_mebibytes(carried)}"


def _beside(score: float, bar: float) -> str:
    """Round a score for reading, unless it would be hard to tell from the bar."""
    return repr(score) if abs(score - bar) < _HARD_TO_TELL else f"{score:.4f}"


def _bar(bar: float, scores: Floats) -> str:
    """Round the bar, unless a score would be hard to tell from it."""
    with np.errstate(all="ignore"):
        is_hard = bool((np.abs(scores - bar) < _HARD_TO_TELL).any())
    return repr(bar) if is_hard else f"{bar:.4f}"


def _messages(rate: float) -> str:
    return f"{rate:.0f} messages/s"


def _mebibytes(throughput: float) -> str:
    return f"{throughput / _MEBIBYTE:.2f} MiB/s"
