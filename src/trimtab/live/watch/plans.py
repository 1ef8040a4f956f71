"""A proposal as a plan that may be carried out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from trimtab.files.fields import expected_name
from trimtab.live.control.account import VERIFIED, Account
from trimtab.live.control.expected import Costs, Step, effects
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Plan, PlannedMove
from trimtab.live.control.trust import Trust, limits_by
from trimtab.live.gather.access import GatherError
from trimtab.live.watch.nouns import Settings
from trimtab.live.watch.proposals import Proposal

#: Reliefs smaller than this drown in the swings.
_RELIEF_MIN_POINTS = 2.0


def limits_of(
    settings: Settings, limits: Mapping[str, float], trust: Trust | None = None
) -> Limits:
    """Return the limits of continuous control: the cluster's grace and rounds, unless given.

    Those of pace hang on how far what is predicted is to be believed, where it is predicted.

    Raises:
        ValueError: one cannot be; says which, what was found and what was expected.
    """
    own = {"grace_s": settings.ran.manager.grace_period_s, "round_s": settings.interval_s}
    by_trust = {} if trust is None else limits_by(trust.level)
    return Limits(**{**own, **by_trust, **limits})


def limits_in(texts: Sequence[str]) -> Mapping[str, float]:
    """Return the limits that texts NAME=VALUE set.

    Raises:
        GatherError: a text has no value, or there is no such limit.
    """
    limits = {}
    for each in texts:
        name, equals, value = each.partition("=")
        if not equals:
            raise GatherError(f"--limit: found {each!r}, expected NAME=VALUE")
        if name not in Limits.__slots__:
            expected = expected_name(name, Limits.__slots__)
            raise GatherError(f"--limit: found {name!r}, expected {expected}")
        try:
            limits[name] = float(value)
        except ValueError:
            raise GatherError(f"--limit: {name}: found {value!r}, expected a number") from None
        if not limits[name] > 0:
            raise GatherError(f"--limit: {name}: found {value}, expected more than 0")
    return limits


@dataclass(frozen=True, slots=True)
class Basis:
    """What a plan goes out from, besides the proposal."""

    #: Who decides.
    shedder: str
    limits: Limits
    #: As they are known now.
    costs: Costs


@dataclass(frozen=True, slots=True)
class Relief:
    """What a source is to be rid of by one move."""

    source: str
    #: %, before any move of the round.
    usage: float
    #: Of CPU, by what costs are known to be; NaN if that is not known.
    points: float


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """A plan, and what each of its moves is meant to bring."""

    plan: Plan
    reliefs: tuple[Relief, ...]


def planned(proposal: Proposal, count: int, cluster: str, basis: Basis) -> PlannedRound:
    """Return a plan of the first moves of a proposal.

    What is expected of each has the interval that what is known of costs leaves open.
    """
    wanted = proposal.moves[:count]
    steps = [Step(each.bundle, each.source, each.destination) for each in wanted]
    moves: list[PlannedMove] = []
    reliefs: list[Relief] = []
    expected = effects(basis.costs, steps, basis.limits.settle_s)
    for each, effect in zip(wanted, expected, strict=True):
        reliefs.append(Relief(each.source, each.source_percent, effect.relief))
        moves.append(
            PlannedMove(
                bundle=each.bundle,
                source=each.source,
                destination=each.destination,
                reason=f"{basis.shedder}: {each.reason}",
                traffic_bytes_s=each.throughput,
                before=effect.before,
                after=effect.after,
            )
        )
    per_round = max(1.0, float(count))
    if proposal.trust is not None:
        per_round = min(per_round, basis.limits.moves_per_round)
    paced = replace(basis.limits, moves_per_round=per_round)
    plan = Plan(cluster, proposal.time.timestamp(), tuple(moves), paced)
    return PlannedRound(plan, tuple(reliefs))


def effect_share(round_: PlannedRound, account: Account) -> float:
    """Return how much of the expected relief of the sources came; NaN if it cannot be seen.

    Only moves count that were verified and whose effect was read, and only sources that
    were to be rid of enough to be seen.
    """
    expected: dict[str, float] = {}
    came: dict[str, float] = {}
    for relief, move in zip(round_.reliefs, account.moves, strict=True):
        after = move.source_percent
        if move.state != VERIFIED or after is None or math.isnan(after + relief.points):
            continue
        expected[relief.source] = expected.get(relief.source, 0.0) + relief.points
        came[relief.source] = relief.usage - after
    measurable = [source for source, points in expected.items() if points >= _RELIEF_MIN_POINTS]
    total = sum(expected[source] for source in measurable)
    return sum(came[source] for source in measurable) / total if total else math.nan


def unloaded_by(account: Account) -> list[tuple[datetime, str]]:
    """Return what a plan has unloaded, and when."""
    return [
        (datetime.fromtimestamp(move.asked_s, UTC), move.bundle)
        for move in account.moves
        if move.asked_s is not None and move.unloads
    ]
