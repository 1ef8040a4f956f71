"""Decides a sequence again, and says where the outcome is not the Java's."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oracle import extensible_agreement
from oracle.extensible_states import ROLES as EXTENSIBLE
from oracle.record import forgets_draws, repeatable
from tests.golden_vectors import Recorded, read_vector
from trimtab.pulsar.map_order import hash_map_order
from trimtab.pulsar.model import (
    AvgShedderMemory,
    ClusterLoad,
    Decision,
    LostRoundError,
    NoCandidatesError,
    Placement,
    Unload,
    UnreportedCandidateError,
)
from trimtab.pulsar.place import extensible_placer, placer
from trimtab.pulsar.sequences.decide import decide, result
from trimtab.pulsar.sequences.sequences import sequence
from trimtab.pulsar.shed import extensible_shedder, shedder


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a sequence went."""

    #: Rounds of shedding compared.
    shed: int
    #: Selections compared.
    selected: int
    #: The first difference; None if there is none.
    difference: str | None = None
    #: The round of the difference.
    round: int = 0


def is_known(strategy: str, release: str) -> bool:
    """Return whether a class is ours to decide in a release."""
    looks_up = (shedder, placer, extensible_shedder, extensible_placer)
    return any(look_up(strategy, release) is not None for look_up in looks_up)


def agreement(answered: Mapping[str, Any], release: str) -> Agreement:
    """Decide every round of an answered sequence again until one differs.

    It is done twice: with the orders in which the Java walked its maps, and then from the
    question alone, so that the orders themselves are compared too.  For the extensible load
    manager it is the question alone.
    """
    if answered["strategy"] in EXTENSIBLE:
        return _extensible_agreement(answered)
    given = _agreement_given_orders(answered, release)
    if given.difference is not None:
        return given
    try:
        found = _first_of_computed(answered)
    except Exception as error:
        found = 0, f"raised {type(error).__name__}: {error}"
    if found is None:
        return given
    number, difference = found
    return dataclasses.replace(given, difference=f"by its own orders: {difference}", round=number)


def _extensible_agreement(answered: Mapping[str, Any]) -> Agreement:
    shed = sum("unload" in answer for answer in answered["expect"])
    selected = sum(len(answer.get("select", ())) for answer in answered["expect"])
    try:
        found = extensible_agreement.difference(answered)
    except Exception as error:
        found = 0, f"raised {type(error).__name__}: {error}"
    number, difference = (0, None) if found is None else found
    return Agreement(shed, selected, difference, number)


def _first_of_computed(answered: Mapping[str, Any]) -> tuple[int, str] | None:
    """Decide from the question alone, and find the first round that differs."""
    question = {key: answered[key] for key in ("id", "strategy", "version", "conf", "rounds")}
    read = sequence(question)
    ours = json.loads(json.dumps(result(read, decide(read))))
    javas = repeatable(copy.deepcopy(dict(answered)))
    ignored = [side.get("conf_ignored", []) for side in (javas, ours)]
    if ignored[0] != ignored[1]:
        return 0, f"expected settings {ignored[0]} to be ignored, ignored {ignored[1]}"
    pairs = zip(ours["results"], javas["expect"], strict=True)
    for number, (found, expected) in enumerate(pairs):
        if forgets_draws(answered):
            _tell_sole(found, expected, answered["expect"][number])
        parts = [(key, found.get(key) or {}, expected.get(key) or {}) for key in _COMPUTED]
        selections = zip(found.get("select", ()), expected.get("select", ()), strict=True)
        parts += [("select", _without_notes(f, e), _without_notes(e, e)) for f, e in selections]
        for key, mine, its in parts:
            if not _is_same(its, mine):
                return number, f"expected {key} {its}, found {mine}"
    return None


def _tell_sole(
    found: Mapping[str, Any], expected: Mapping[str, Any], answered: Mapping[str, Any]
) -> None:
    """Let a draw in place of an overloaded plan be a choice where one broker alone was left.

    The class does not tell among whom it drew; that it drew the one that ours leaves is compared.
    """
    selections = zip(
        found.get("select", ()),
        expected.get("select", ()),
        answered.get("select", ()),
        strict=True,
    )
    for ours, javas, whole in selections:
        is_left = whole.get("planned") is not None and whole.get("random")
        is_ours = ours.get("placed") in (whole.get("drawn"), None) and "random" not in ours
        if is_left and "drawn" in whole and is_ours:
            del javas["random"]
            javas["placed"] = ours.get("placed")


#: What is compared of a round that was decided from the question alone.
_COMPUTED = ("unload", "dest", "error", "state")


def _without_notes(selection: Mapping[str, Any], javas: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is a matter of wording, and among whom is drawn if the Java is silent."""
    silent = {"set", "placed"} - javas.keys()
    notes = {"error_message", "logs", *silent}
    return {key: value for key, value in selection.items() if key not in notes}


def _agreement_given_orders(answered: Mapping[str, Any], release: str) -> Agreement:
    vector = read_vector(answered, release)
    ours = _Ours(answered["strategy"], release, vector.conf)
    for number, recorded in enumerate(vector.rounds):
        try:
            difference = next(ours.differences(recorded), None)
        except Exception as error:
            difference = f"raised {type(error).__name__}: {error}"
        if difference is not None:
            return Agreement(ours.rounds, ours.selections, difference, number)
    return Agreement(ours.rounds, ours.selections)


class _Ours:
    """Our strategy with its memory, asked what the Java was asked."""

    def __init__(self, strategy: str, release: str, conf: Mapping[str, str]) -> None:
        self.shedder, self.placer = shedder(strategy, release), placer(strategy, release)
        entry = self.shedder or self.placer
        assert entry is not None, f"{strategy} is not of {release}"
        self.forget = entry.forget
        self.settings = entry.settings(conf, release)
        self.memory = entry.memory
        self.rounds = self.selections = 0

    def differences(self, recorded: Recorded) -> Iterator[str]:
        """Yield what differs in a round; what comes after the first means little."""
        asked, answered = recorded.asked, recorded.answered
        if "active_brokers" in asked:
            self.memory = self.forget(self.memory, asked["active_brokers"])
        if asked.get("shed"):
            self.rounds += 1
            yield from self._shed_differences(recorded)
        pairs = zip(asked.get("select", ()), answered.get("select", ()), strict=True)
        for number, (selection, selected) in enumerate(pairs):
            if "after_random" in selected:
                continue  # it hangs on a draw that is not recorded
            self.selections += 1
            for difference in self._place_differences(recorded.load, selection, selected):
                yield f"selection {number}: {difference}"

    def _shed_differences(self, recorded: Recorded) -> Iterator[str]:
        assert self.shedder is not None
        answered, load = recorded.answered, recorded.load
        decision: Decision | None = None
        thrown: tuple[str, str] | None = None
        try:
            decision, self.memory = self.shedder.shed(load, self.memory, self.settings)
        except LostRoundError as error:
            self.memory = error.memory
            thrown = error.throws, str(error).partition(": ")[2]
        expected = answered.get("error"), answered.get("error_message", "")
        if thrown != (expected if "error" in answered else None):
            yield f"expected to throw {expected}, threw {thrown}"
        unloads = () if decision is None else decision.unloads
        found = self._by_broker(load, unloads)
        if _by_broker(answered) != found:
            yield f"expected unloads {_by_broker(answered)}, found {found}"
        state = dict(self.shedder.state(load, self.memory, self.settings))
        if "score" in state and decision is not None:
            state["score"] = dict(zip(load.brokers, decision.scores.tolist(), strict=True))
        yield from _state_differences(answered.get("state", {}), state)
        if isinstance(self.memory, AvgShedderMemory):
            # The order of its map of scores decides the Java's ties.
            walked = hash_map_order(load.brokers, self.memory.table_size)
            if list(answered["state"]["score"]) != list(walked):
                yield f"expected scores in the order {list(answered['state']['score'])}"

    def _place_differences(
        self, load: ClusterLoad, asked: Mapping[str, Any], answered: Mapping[str, Any]
    ) -> Iterator[str]:
        assert self.placer is not None
        bundle = asked["bundle"]
        order = answered.get("candidate_order", asked["candidates"])
        if "planned" in answered and load.brokers:
            # A plan for a broker that left cannot be seen from outside.
            expected = answered["planned"] if answered["planned"] in load.brokers else None
            plan = self._plan(load, bundle)
            if expected != plan:
                yield f"expected plan {expected}, found {plan}"
        if self.placer.is_by_name:
            brokers = tuple(dict.fromkeys((*load.brokers, *order)))
            load = dataclasses.replace(load, brokers=brokers)
        placement = self._place(load, bundle, order, is_final=True)
        best = None if placement is None else _names(load, placement)
        remembers = self.placer.remembers_draws
        if answered.get("planned") is not None and answered.get("random") and not remembers:
            # The class leaves an overloaded plan, and does not tell among whom it drew instead.
            if answered["drawn"] not in (best or ()):
                yield f"expected {answered['drawn']} in place of the plan, found {best}"
        elif best != _best(order, answered):
            yield f"expected a draw from {_best(order, answered)}, found {best}"
        if answered.get("drawn"):
            self.memory = self.placer.drawn(self.memory, bundle, answered["drawn"])
        elif best:
            self.memory = self.placer.drawn(self.memory, bundle, best[0])
        state = self.placer.state(load, self.memory, self.settings)
        yield from _state_differences(_after_selection(answered), _after_selection(state))

    def _by_broker(self, load: ClusterLoad, unloads: Iterable[Unload]) -> Unloads:
        """Lay unloads out by broker, with the destination that the leader will find.

        That is not always the one that was planned: bundles of equal averages share a plan,
        and the last of them decides for all.
        """
        found: Unloads = {}
        for unload in unloads:
            target = unload.target and self._plan(load, unload.bundle)
            found.setdefault(unload.source, []).append((unload.bundle, target))
        return found

    def _plan(self, load: ClusterLoad, bundle: str) -> str | None:
        """Find where a bundle is to go: among all brokers nothing else is chosen.

        From 5.0.1 on something else is, where the destination is overloaded by now; there the
        plan itself can be asked.
        """
        assert self.placer is not None
        if self.placer.planned is not None and not self.placer.remembers_draws:
            return self.placer.planned(load, bundle, self.memory)
        placement = self._place(load, bundle, load.brokers)
        if placement is None or placement.is_fallback:
            return None
        return _names(load, placement)[0]

    def _place(
        self, load: ClusterLoad, bundle: str, order: Iterable[str], *, is_final: bool = False
    ) -> Placement | None:
        """Place among brokers; None where the placer refuses."""
        assert self.placer is not None
        position = {broker: i for i, broker in enumerate(load.brokers)}
        candidates = np.array([position.get(broker, -1) for broker in order], dtype=np.int64)
        placement: Placement | None = None
        try:
            placement, memory = self.placer.place(
                load, bundle, candidates, self.memory, self.settings
            )
        except (NoCandidatesError, UnreportedCandidateError) as error:
            memory = error.memory
        self.memory = memory if is_final else self.memory
        return placement


Unloads = dict[str, list[tuple[str, str | None]]]


def _by_broker(answered: Mapping[str, Any]) -> Unloads:
    """Lay unloads out by broker: the order between brokers means nothing."""
    unloads: Unloads = {}
    pairs = answered.get("unload", ())
    for (broker, bundle), target in zip(
        pairs, answered.get("dest", [None] * len(pairs)), strict=True
    ):
        unloads.setdefault(broker, []).append((bundle, target))
    return unloads


def _names(load: ClusterLoad, placement: Placement) -> list[str]:
    return [load.brokers[i] for i in placement.best]


def _best(order: list[str], answered: Mapping[str, Any]) -> list[str] | None:
    """Name the brokers among which the Java drew; None where it threw."""
    if "error" in answered:
        return None
    if answered.get("random") or answered.get("set") == "all":
        return list(order)
    placed = answered.get("placed")
    best: list[str] = answered.get("set", [placed] if placed else [])
    return best


def _after_selection(state: Mapping[str, Any]) -> dict[str, Any]:
    """Keep of a memory what the Java's answer to a selection tells."""
    return {name: state[name] for name in ("avg", "count") if name in state}


def _state_differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    if expected.keys() != found.keys():
        yield f"expected {sorted(expected)} in memory, found {sorted(found)}"
        return
    for name, values in expected.items():
        if not _is_same(values, found[name]):
            yield f"expected {name} {values!r}, remembered {found[name]!r}"


def _is_same(expected: object, found: object) -> bool:
    """Compare texts, numbers or maps of them to the last bit; NaN equals NaN."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        return expected.keys() == found.keys() and all(
            _is_same(value, found[key]) for key, value in expected.items()
        )
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(found, float) and math.isnan(found)
    return bool(expected == found)
