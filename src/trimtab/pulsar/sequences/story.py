"""A sequence's decisions told to a person: the numbers, the bar, who passed it and who did not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from trimtab.pulsar.model import MEBIBYTE, ClusterLoad, Decision, Floats, Reason
from trimtab.pulsar.place import placer
from trimtab.pulsar.sequences.decide import Decided, Selected, Shed, entry_of, settings_of
from trimtab.pulsar.sequences.sequences import Sequence
from trimtab.pulsar.sequences.wording import (
    Column,
    beside,
    mebibytes,
    messages,
    told_bar,
    told_rows,
)
from trimtab.pulsar.shed import ShedderEntry, shedder

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
_RESOURCE_HEADINGS = ("cpu", "heap", "direct", "net in", "net out")


def story(sequence: Sequence, rounds: Iterable[Decided]) -> Iterator[str]:
    """Return the story of a sequence, line by line."""
    settings = settings_of(sequence)
    yield f"{sequence.id}: {sequence.strategy} of Pulsar {sequence.release}"
    yield from (f"  {name}={text}" for name, text in sequence.conf.items())
    yield from (f"  {name} counts for nothing in this release" for name in sequence.ignored)
    yield from _rules(sequence, settings)
    for number, decided in enumerate(rounds, 1):
        load = decided.load
        yield ""
        yield f"round {number}: {len(load.brokers)} brokers, {len(load.bundles)} bundles"
        if decided.shed is not None:
            yield from _told_shedding(sequence, settings, load, decided.shed)
        for selected in decided.selected:
            yield from _told_selection(sequence, settings, load, selected)
        if decided.shed is None and not decided.selected:
            yield "nothing is asked"


def _rules(sequence: Sequence, settings: object) -> Iterator[str]:
    """Return what a class goes by."""
    entry = entry_of(sequence)
    if entry.rules is not None:
        yield from entry.rules(settings)
        return
    function = entry.shed if isinstance(entry, ShedderEntry) else entry.place
    yield (function.__doc__ or "").partition("\n")[0]


# ------------------------------------------------------------------ shedding


def _told_shedding(
    sequence: Sequence, settings: object, load: ClusterLoad, shed: Shed
) -> Iterator[str]:
    entry = shedder(sequence.strategy, sequence.release)
    assert entry is not None
    decision = shed.decision
    columns = [*_reported(load), *_hits(load, shed)]
    if decision is None:
        yield from told_rows(columns)
        yield f"the class throws {shed.error}, and the round is lost"
        return
    bar = entry.bar(decision, settings)
    if not math.isnan(bar):
        yield told_bar(decision.average, bar, decision.scores)
    if not entry.is_ranked_by_traffic:  # else the scores are a column of the reports
        columns.append(("score", [beside(score, bar) for score in decision.scores.tolist()]))
    yield from told_rows([*columns, ("", _verdicts(decision))])
    if not shed.unloads:
        yield "nothing is unloaded"
    position = {name: i for i, name in enumerate(load.bundles)}
    for unload in shed.unloads:
        traffic = _bundle_traffic(load, position[unload.bundle])
        target = f" to {unload.target}" if unload.target else ""
        yield f"unload {unload.bundle} ({traffic}) from {unload.source}{target}"


def _verdicts(decision: Decision) -> list[str]:
    """Return of each broker why it sheds or not, and what it was to lose."""
    is_rate = decision.offload_is_rate
    if is_rate is None:
        is_rate = np.zeros(len(decision.reasons), np.bool_)
    rows = zip(decision.reasons, decision.offload.tolist(), is_rate.tolist(), strict=True)
    return [
        f"{reason}: {_VERDICTS.get(reason, 'no more is known')}"
        + ("" if math.isnan(lost) else f"; to lose {(messages if rate else mebibytes)(lost)}")
        for reason, lost, rate in rows
    ]


def _hits(load: ClusterLoad, shed: Shed) -> Iterator[Column]:
    """Yield the rounds counted so far, if the class counts any."""
    for key, heading in (("hit_low", "low hits"), ("hit_high", "high hits")):
        if key in shed.state:
            yield heading, [str(shed.state[key].get(name, "-")) for name in load.brokers]


# ------------------------------------------------------------------ placement


def _told_selection(
    sequence: Sequence, settings: object, load: ClusterLoad, selected: Selected
) -> Iterator[str]:
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
    entry = placer(sequence.strategy, sequence.release)
    assert placement is not None
    assert entry is not None
    bar = entry.bar(placement, settings)
    if not math.isnan(bar):
        yield f"  {told_bar(placement.average, bar, placement.scores)}"
    passed = set() if placement.is_fallback else set(selected.best)
    rows = zip(selected.candidates, placement.scores.tolist(), strict=True)
    for name, score in rows:
        if not math.isnan(score) or name in passed:
            number = "" if math.isnan(score) else f" {beside(score, bar)}"
            yield f"  {name}{number}{' passes' if name in passed else ''}"
    if selected.planned is not None and selected.planned not in passed:
        yield f"  {selected.planned} is planned, and no candidate"
    who = ", ".join(selected.best) or "nobody"
    yield f"  draw from {'all, since nobody passes: ' if placement.is_fallback else ''}{who}"


# ------------------------------------------------------------------ numbers


def _reported(load: ClusterLoad) -> Iterator[Column]:
    """Yield what brokers report: usage of each resource, traffic, bundles."""
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
    if rate.any():
        yield "messages/s", [f"{value:.0f}" for value in rate.tolist()]
    if throughput.any():
        yield "MiB/s", [f"{value / MEBIBYTE:.2f}" for value in throughput.tolist()]
    yield "bundles", [str(count) for count in load.bundle_count.tolist()]


def _traffic(load: ClusterLoad) -> tuple[Floats, Floats]:
    """Return what goes in and out of each broker: messages/s, bytes/s."""
    with np.errstate(all="ignore"):
        return load.rate_in + load.rate_out, load.throughput_in + load.throughput_out


def _bundle_traffic(load: ClusterLoad, bundle: int) -> str:
    traffic = load.bundle_traffic()
    with np.errstate(all="ignore"):
        rate = float(traffic.rate_in[bundle] + traffic.rate_out[bundle])
        carried = float(traffic.throughput_in[bundle] + traffic.throughput_out[bundle])
    rates = [messages(rate)] * (rate != 0) + [mebibytes(carried)] * (carried != 0)
    return ", ".join(rates) or "no traffic"
