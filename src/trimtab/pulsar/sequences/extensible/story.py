"""What the extensible load manager decided, told to a person."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from trimtab.pulsar.model import MEBIBYTE, ExtensibleLoad, Reason, Transfer
from trimtab.pulsar.place import extensible_placer
from trimtab.pulsar.sequences.extensible.decide import (
    ExtensibleDecided,
    ExtensiblySelected,
    Transferred,
)
from trimtab.pulsar.sequences.extensible.rounds import ExtensibleSequence
from trimtab.pulsar.sequences.wording import Column, beside, mebibytes, told_bar, told_rows
from trimtab.pulsar.shed import extensible_shedder

_SECOND_MS = 1000.0

#: Why a round or a pair ends without an unload.
_WHY: Mapping[Reason, str] = {
    Reason.HIT_COUNT: "in balance, or not out of balance for enough rounds",
    Reason.COOL_DOWN: "a broker has published nothing long enough after its last unload",
    Reason.OUTDATED_DATA: "all load data are too old",
    Reason.NO_BROKERS: "there are no load data",
    Reason.NO_LOAD_DATA: "load data or bundles of a broker are missing",
    Reason.NO_BUNDLES: "nothing may go, or fits",
    Reason.SOLE_BUNDLE: "its only bundle stays",
}


def story(sequence: ExtensibleSequence, rounds: Iterable[ExtensibleDecided]) -> Iterator[str]:
    """Return the story of a sequence, line by line."""
    yield f"{sequence.id}: {sequence.strategy} of Pulsar {sequence.release}"
    yield from (f"  {name}={text}" for name, text in sequence.conf.items())
    yield from (f"  {name} counts for nothing in this release" for name in sequence.ignored)
    yield from _rules(sequence)
    for number, decided in enumerate(rounds, 1):
        load = decided.load
        yield ""
        yield f"round {number}: {len(load.brokers)} brokers, {len(load.bundles)} bundles"
        if load.brokers and decided.shed is not None:
            yield from told_rows(_published(load))
        if decided.shed is not None:
            yield from _told_shedding(load, decided.shed)
        for selected in decided.selected:
            yield from _told_selection(sequence, selected)
        if decided.shed is None and not decided.selected:
            yield "nothing is asked"


def _rules(sequence: ExtensibleSequence) -> Iterator[str]:
    """Return what the class goes by."""
    for_shedding = extensible_shedder(sequence.strategy, sequence.release)
    if for_shedding is not None:
        yield from for_shedding.rules(for_shedding.settings(sequence.conf, sequence.release))
    for_placing = extensible_placer(sequence.strategy, sequence.release)
    if for_placing is not None:
        yield from for_placing.rules(for_placing.settings(sequence.conf, sequence.release))


def _published(load: ExtensibleLoad) -> Iterator[Column]:
    """Yield what brokers publish."""
    is_known = load.has_load_data.tolist()

    def cells(texts: Iterable[str]) -> list[str]:
        return [text if known else "-" for text, known in zip(texts, is_known, strict=True)]

    with np.errstate(all="ignore"):
        throughput = (load.throughput_in + load.throughput_out) / MEBIBYTE
        smoothed = load.throughput_smoothed / MEBIBYTE
    ages = (load.now_ms - load.updated_at_ms) / _SECOND_MS
    counts = np.bincount(load.bundle_broker, minlength=len(load.brokers))
    yield "broker", list(load.brokers)
    yield "usage", cells(f"{value:.4f}" for value in load.usage.tolist())
    yield "MiB/s", cells(f"{value:.2f}" for value in throughput.tolist())
    yield "smoothed", cells(f"{value:.2f}" for value in smoothed.tolist())
    yield "age in s", cells(f"{value:g}" for value in ages.tolist())
    yield "bundles", [str(count) for count in counts.tolist()]
    yield "", ["" if there else "not registered" for there in load.is_available.tolist()]


def _told_shedding(load: ExtensibleLoad, shed: Transferred) -> Iterator[str]:
    decision = shed.decision
    if decision.average or decision.deviation:
        yield f"average {decision.average:.4f}, deviation {decision.deviation:.4f}"
    for transfer in decision.transfers:
        yield from _told_transfer(load, transfer)
    yield from (f"{name} no longer counts as just unloaded" for name in decision.rested)
    yield f"rounds out of balance: {shed.hits}"
    if decision.skipped is not None:
        yield f"nothing is unloaded: {decision.skipped}, {_WHY[decision.skipped]}"


def _told_transfer(load: ExtensibleLoad, transfer: Transfer) -> Iterator[str]:
    source, target = load.brokers[transfer.source], load.brokers[transfer.target]
    yield f"{transfer.cause}: {source} is to lose {mebibytes(transfer.offload)} to {target}"
    listed = zip(load.bundles, load.bundle_throughput_in, load.bundle_throughput_out, strict=True)
    traffic = {name: float(inward) + float(outward) for name, inward, outward in listed}
    for unload in transfer.unloads:
        where = f" to {unload.target}" if unload.target else ""
        weight = mebibytes(traffic[unload.bundle])
        yield f"  unload {unload.bundle} ({weight}) from {unload.source}{where}"
    if transfer.refusal is not None:
        yield f"  {transfer.refusal}: {_WHY[transfer.refusal]}"
        return
    gained = f" and gains {mebibytes(transfer.gained)}" if transfer.gained else ""
    yield f"  it loses {mebibytes(transfer.lost)}{gained}; deviation {transfer.deviation:.4f} then"


def _told_selection(sequence: ExtensibleSequence, selected: ExtensiblySelected) -> Iterator[str]:
    entry = extensible_placer(sequence.strategy, sequence.release)
    assert entry is not None
    placement = selected.placement
    bar = entry.bar(placement, entry.settings(sequence.conf, sequence.release))
    yield f"place {selected.asked.bundle} among {', '.join(selected.candidates) or 'nobody'}"
    yield f"  {told_bar(placement.average, bar, placement.scores)}"
    passed = set() if placement.is_fallback else set(selected.best)
    for name, score in zip(selected.candidates, placement.scores.tolist(), strict=True):
        number = "has no load data" if math.isnan(score) else beside(score, bar)
        yield f"  {name} {number}{' passes' if name in passed else ''}"
    who = ", ".join(selected.best) or "nobody"
    yield f"  draw from {'all, since nobody passes: ' if placement.is_fallback else ''}{who}"
