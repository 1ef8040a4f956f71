"""A sequence → what the extensible load manager's class would have decided in each round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.map_order import hash_map_order
from trimtab.pulsar.model import ExtensibleLoad, Placement, TransferDecision
from trimtab.pulsar.place import extensible_placer
from trimtab.pulsar.sequences.extensible.rounds import ExtensibleSequence, Selection
from trimtab.pulsar.sequences.extensible.stores import LoadStores
from trimtab.pulsar.settings import broker_load_settings
from trimtab.pulsar.shed import extensible_shedder


@dataclass(frozen=True, slots=True)
class Transferred:
    """What came of one round of shedding."""

    decision: TransferDecision
    #: Rounds in a row that were out of balance, as it is remembered.
    hits: int


@dataclass(frozen=True, slots=True)
class ExtensiblySelected:
    """What came of one placement."""

    selection: Selection
    #: The candidates as they are walked.
    candidates: tuple[str, ...]
    placement: Placement
    #: Those among whom is drawn.
    best: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExtensibleDecided:
    """One round: what the strategy saw, and what it decided."""

    load: ExtensibleLoad
    #: Broker → usage and throughput that it has smoothed and published in this round.
    smoothed: Mapping[str, tuple[float, ...]]
    #: None if no shedding was asked for.
    shed: Transferred | None
    selected: tuple[ExtensiblySelected, ...]


def decide(sequence: ExtensibleSequence) -> Iterator[ExtensibleDecided]:
    """Run one strategy object through its rounds.

    Quirks:
        Whoever is drawn at random is not known here, so the brokers are named among whom
        is drawn; nothing hangs on it.
    """
    stores = LoadStores(broker_load_settings(sequence.conf, sequence.release))
    hits = 0
    for round_ in sequence.rounds:
        stores.update(round_)
        smoothed = {
            name: stores.smoothed(name)
            for name, published in round_.load_data.items()
            if published is not None and published.smoothed is None
        }
        load, shed = stores.load(), None
        if round_.sheds:
            shed = _transferred(sequence, load, hits)
            hits = shed.hits
            stores.rest(shed.decision.rested)
        selected = tuple(_selected(sequence, stores, s) for s in round_.selections)
        yield ExtensibleDecided(load, smoothed, shed, selected)


def result(
    sequence: ExtensibleSequence, rounds: Iterable[ExtensibleDecided]
) -> Mapping[str, object]:
    """Return a sequence's decisions in the words of the recorded decisions."""
    ignored = {"conf_ignored": list(sequence.ignored)} if sequence.ignored else {}
    return {"id": sequence.id, **ignored, "results": [_round_result(d) for d in rounds]}


def _transferred(sequence: ExtensibleSequence, load: ExtensibleLoad, hits: int) -> Transferred:
    entry = extensible_shedder(sequence.strategy, sequence.release)
    assert entry is not None
    settings = entry.settings(sequence.conf, sequence.release)
    return Transferred(*entry.shed(load, hits, settings))


def _selected(
    sequence: ExtensibleSequence, stores: LoadStores, selection: Selection
) -> ExtensiblySelected:
    entry = extensible_placer(sequence.strategy, sequence.release)
    assert entry is not None
    walked = hash_map_order(selection.candidates)
    load = stores.load(walked)
    position = {name: i for i, name in enumerate(load.brokers)}
    candidates = np.array([position[name] for name in walked], dtype=np.int64)
    settings = entry.settings(sequence.conf, sequence.release)
    placement = entry.place(load, candidates, settings)
    best = tuple(load.brokers[i] for i in placement.best.tolist())
    return ExtensiblySelected(selection, walked, placement, best)


# ------------------------------------------------------------------ the words of the vectors


def _round_result(decided: ExtensibleDecided) -> Mapping[str, object]:
    answer: dict[str, object] = {}
    if decided.smoothed:
        answer["load_data"] = {name: list(values) for name, values in decided.smoothed.items()}
    if decided.shed is not None:
        answer.update(_shed_result(decided.load, decided.shed))
    if decided.selected:
        answer["select"] = [_selected_result(selected) for selected in decided.selected]
    return answer


def _shed_result(load: ExtensibleLoad, shed: Transferred) -> Mapping[str, object]:
    decision = shed.decision
    answer: dict[str, object] = {
        "unload": [
            [unload.source, unload.bundle, unload.target, str(transfer.cause)]
            for transfer in decision.transfers
            for unload in transfer.unloads
        ]
    }
    if decision.skipped is not None:
        answer["skip"] = str(decision.skipped)
    last = decision.transfers[-1].deviation if decision.transfers else decision.deviation
    answer["state"] = {"hits": shed.hits, "avg": decision.average, "std": last}
    if load.unloaded_at_ms:
        answer["recently_unloaded_brokers"] = sorted(load.unloaded_at_ms.keys() - decision.rested)
    return answer


def _selected_result(selected: ExtensiblySelected) -> Mapping[str, object]:
    answer: dict[str, object] = {}
    if selected.candidates != selected.selection.candidates:
        answer["candidate_order"] = list(selected.candidates)
    if selected.best:
        is_all = selected.best == selected.candidates
        answer["set"] = "all" if is_all else list(selected.best)
    answer["placed"] = selected.best[0] if len(selected.best) == 1 else None
    return answer
