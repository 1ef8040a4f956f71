"""A sequence → what Pulsar's class would have decided in each round, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trimtab.pulsar.map_order import HashMapKeys, hash_map_order
from trimtab.pulsar.model import (
    ClusterLoad,
    Decision,
    LostRoundError,
    NoCandidatesError,
    Placement,
    Unload,
    UnreportedCandidateError,
)
from trimtab.pulsar.place import PlacerEntry, placer
from trimtab.pulsar.sequences.extensible.rounds import Selection
from trimtab.pulsar.sequences.leader_maps import LeaderMaps, same_names
from trimtab.pulsar.sequences.sequences import Round, Sequence
from trimtab.pulsar.shed import ShedderEntry, shedder

# What the Java throws.
_NO_CANDIDATES = "java.lang.ArithmeticException"
_UNREPORTED = "java.lang.NullPointerException"


@dataclass(frozen=True, slots=True)
class Shed:
    """What came of one round of shedding."""

    #: None if the class threw.
    decision: Decision | None
    #: In the order in which the leader walks them.
    unloads: tuple[Unload, ...]
    #: What the class threw.
    error: str | None
    #: What it remembers, in the words of the recorded decisions.
    state: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Selected:
    """What came of one placement."""

    selection: Selection
    #: The candidates as they are walked.
    candidates: tuple[str, ...]
    #: None if the class threw, and if it hangs on an earlier draw.
    placement: Placement | None
    #: Those among whom is drawn.
    best: tuple[str, ...]
    #: Where the bundle was to go before it was placed; None if nothing was planned.
    planned: str | None
    #: What the class threw.
    error: str | None
    #: What it remembers, in the words of the recorded decisions.
    state: Mapping[str, object]
    #: A broker was drawn and remembered before, so that what came of this is not known.
    is_after_draw: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """One round: what the strategy saw, and what it decided."""

    load: ClusterLoad
    #: None if no shedding was asked for.
    shed: Shed | None
    selected: tuple[Selected, ...]


def decide(sequence: Sequence) -> Iterator[Decided]:
    """Run one strategy object through its rounds.

    Quirks:
        Whoever is drawn at random is not known here, so the brokers are named among whom
        is drawn.  Up to 5.0.0-M1 AvgShedder remembers its draws: what it places after the
        first of them is not decided.  From 5.0.1 on its plans end when the leader has gone
        through them; nobody says here when that is, so they stay until the next shedding.

    Raises:
        FieldError: a round names what is not there.
    """
    run = _Run(sequence)
    for round_ in sequence.rounds:
        yield run.round(round_)


def settings_of(sequence: Sequence) -> Any:  # noqa: ANN401  # every strategy has its own settings
    """Return the settings that a sequence's strategy goes by."""
    return entry_of(sequence).settings(sequence.conf, sequence.release)


def entry_of(sequence: Sequence) -> ShedderEntry[Any, Any] | PlacerEntry[Any, Any]:
    """Return what both roles of a sequence's class share."""
    entry = shedder(sequence.strategy, sequence.release) or placer(
        sequence.strategy, sequence.release
    )
    if entry is None:
        raise LookupError(f"{sequence.strategy} is not in {sequence.release}")
    return entry


def result(sequence: Sequence, rounds: Iterable[Decided]) -> Mapping[str, object]:
    """Return a sequence's decisions in the words of the recorded decisions."""
    ignored = {"conf_ignored": list(sequence.ignored)} if sequence.ignored else {}
    is_planner = _is_planner(sequence)
    results = [_round_result(decided, is_planner) for decided in rounds]
    return {"id": sequence.id, **ignored, "results": results}


@dataclass(slots=True)
class _Run:
    """One strategy object's life."""

    sequence: Sequence
    settings: Any = field(init=False)
    memory: Any = field(init=False)
    maps: LeaderMaps = field(init=False)
    #: The class plans destinations, and remembers those that it has drawn.
    is_planner: bool = field(init=False)
    #: The map in which the class collects what it unloads; emptied every round.
    sources: HashMapKeys = field(default_factory=HashMapKeys)
    has_drawn: bool = False

    def __post_init__(self) -> None:
        """Make a strategy object as a leader that was just elected does."""
        self.settings, self.memory = settings_of(self.sequence), entry_of(self.sequence).memory
        self.maps = LeaderMaps(self.sequence.release)
        self.is_planner = _is_planner(self.sequence)

    def round(self, round_: Round) -> Decided:
        """Apply what changed, then decide."""
        self.maps.update(round_)
        if round_.active_brokers is not None:
            self.memory = entry_of(self.sequence).forget(self.memory, round_.active_brokers)
        load = self.maps.load()
        shed = self._shed(load) if round_.sheds else None
        selected = tuple(self._selected(load, round_, i) for i in range(len(round_.selections)))
        return Decided(load, shed, selected)

    def _shed(self, load: ClusterLoad) -> Shed:
        entry = shedder(self.sequence.strategy, self.sequence.release)
        assert entry is not None
        decision, error = None, None
        unloads: tuple[Unload, ...] = ()
        try:
            decision, self.memory = entry.shed(load, self.memory, self.settings)
            unloads = self._walked(load, decision.unloads)
        except LostRoundError as lost:
            error, self.memory = lost.throws, lost.memory
        state = entry.state(load, self.memory, self.settings)
        return Shed(decision, unloads, error, state)

    def _walked(self, load: ClusterLoad, unloads: Iterable[Unload]) -> tuple[Unload, ...]:
        """Return unloads in the order of the leader's walk, with the destination that it finds."""
        groups: dict[str, list[Unload]] = {}
        # AvgShedder makes a new map each round; the others clear theirs, which keeps its size.
        if self.is_planner:
            self.sources = HashMapKeys()
        self.sources.clear()
        for unload in unloads:
            self.sources.put(unload.source)
            groups.setdefault(unload.source, []).append(unload)
        walked = [unload for source in self.sources.walk() for unload in groups[source]]
        return tuple(replace(u, target=self._planned(load, u.bundle)) for u in walked)

    def _selected(self, load: ClusterLoad, round_: Round, index: int) -> Selected:
        selection = round_.selections[index]
        candidates = _walked_candidates(round_, index)
        if self.is_planner and not self.maps.knows(selection.bundle):
            where = round_.where.at("select", index, "bundle", value=selection.bundle)
            raise where.wrong("a bundle that has bundle_data")
        if self.has_drawn:
            return Selected(selection, candidates, None, (), None, None, {}, is_after_draw=True)
        planned = self._planned(load, selection.bundle)
        placement, error = self._placed(load, selection.bundle, candidates)
        names = self._names(load, candidates)
        best = () if placement is None else tuple(names[i] for i in placement.best.tolist())
        if self._placer().remembers_draws and placement is not None:
            self.has_drawn = placement.is_fallback
        state = self._placer().state(load, self.memory, self.settings)
        return Selected(selection, candidates, placement, best, planned, error, state)

    def _placed(
        self, load: ClusterLoad, bundle: str, candidates: Iterable[str]
    ) -> tuple[Placement | None, str | None]:
        """Place a bundle, or say what the class throws; remember either."""
        names = self._names(load, candidates)
        position = {name: i for i, name in enumerate(names)}
        positions = np.array([position.get(name, -1) for name in candidates], dtype=np.int64)
        load = replace(load, brokers=names)
        try:
            placement, self.memory = self._placer().place(
                load, bundle, positions, self.memory, self.settings
            )
        except UnreportedCandidateError as error:
            self.memory = error.memory
            return None, _UNREPORTED
        except NoCandidatesError as error:
            self.memory = error.memory
            return None, _NO_CANDIDATES
        return placement, None

    def _planned(self, load: ClusterLoad, bundle: str) -> str | None:
        """Return where a bundle is planned to go."""
        entry = placer(self.sequence.strategy, self.sequence.release)
        if entry is None or entry.planned is None:
            return None
        return entry.planned(load, bundle, self.memory)

    def _names(self, load: ClusterLoad, candidates: Iterable[str]) -> tuple[str, ...]:
        """Return the brokers of the load, and those that the class knows without a report."""
        if not self._placer().is_by_name:
            return load.brokers
        return tuple(dict.fromkeys((*load.brokers, *candidates)))

    def _placer(self) -> PlacerEntry[Any, Any]:
        entry = placer(self.sequence.strategy, self.sequence.release)
        assert entry is not None
        return entry


def _is_planner(sequence: Sequence) -> bool:
    """Return whether a class plans destinations, and remembers those that it has drawn."""
    entry = placer(sequence.strategy, sequence.release)
    return entry is not None and entry.planned is not None


def _walked_candidates(round_: Round, index: int) -> tuple[str, ...]:
    """Return candidates as a new HashSet walks them, unless the order is given."""
    candidates = round_.selections[index].candidates
    orders = round_.orders.candidates[index : index + 1]
    if not orders or orders[0] is None:
        return hash_map_order(candidates)
    where = round_.orders.where.at("candidate_orders", index)
    return same_names(where, orders[0], tuple(dict.fromkeys(candidates)))


# ------------------------------------------------------------------ the words of the vectors


def _round_result(decided: Decided, is_planner: bool) -> Mapping[str, object]:
    answer: dict[str, object] = {}
    if decided.shed is not None:
        answer.update(_shed_result(decided.load, decided.shed))
    if decided.selected:
        answer["select"] = [_selected_result(s, is_planner) for s in decided.selected]
    return answer


def _shed_result(load: ClusterLoad, shed: Shed) -> Mapping[str, object]:
    if shed.decision is None:
        return {"error": shed.error, "state": shed.state}
    answer: dict[str, object] = {"unload": [[u.source, u.bundle] for u in shed.unloads]}
    if targets := [unload.target for unload in shed.unloads if unload.target is not None]:
        answer["dest"] = targets
    reasons = dict(zip(load.brokers, map(str, shed.decision.reasons), strict=True))
    return {**answer, "state": shed.state, "reasons": reasons}


def _selected_result(selected: Selected, is_planner: bool) -> Mapping[str, object]:
    if selected.is_after_draw:
        return {"after_random": True}
    answer: dict[str, object] = {}
    if selected.candidates != selected.selection.candidates:
        answer["candidate_order"] = list(selected.candidates)
    is_drawn = is_planner and (selected.placement is None or selected.placement.is_fallback)
    if selected.best:
        is_all = selected.best == selected.candidates
        answer["set"] = "all" if is_all else list(selected.best)
    if selected.error is None or is_planner:
        is_certain = len(selected.best) == 1 and not is_drawn
        answer["placed"] = selected.best[0] if is_certain else None
    if is_planner:
        answer["planned"] = selected.planned
    if is_drawn:
        answer["random"] = True
    if selected.error is not None:
        answer["error"] = selected.error
    return {**answer, **selected.state}
