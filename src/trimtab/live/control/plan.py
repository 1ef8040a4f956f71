"""A plan: moves in their order, why, what they should do, and the state that they go out from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from trimtab.files.fields import Field, FieldError
from trimtab.live.control.limits import Limits

#: %, lowest and highest.
Interval: TypeAlias = tuple[float, float]

_BOUNDS = "a lowest and a highest number"


@dataclass(frozen=True, slots=True)
class Expected:
    """Between which usages two brokers should stand; None where nothing is expected."""

    source: Interval | None = None
    destination: Interval | None = None


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """One bundle, from one broker to another."""

    bundle: str
    #: Broker ids.
    source: str
    destination: str
    #: For a person.
    reason: str
    #: bytes/s, in and out.
    traffic_bytes_s: float = 0.0
    before: Expected = Expected()
    after: Expected = Expected()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, frozen: it is carried out as it was read, or not at all."""

    cluster: str
    #: When the state was seen that it goes out from, s since 1970.
    made_s: float
    moves: tuple[PlannedMove, ...]
    limits: Limits = field(default_factory=Limits)
    #: Pulsar's own shedding may stay on meanwhile; says why. Empty: it may not.
    shedding_may_run_because: str = ""

    @property
    def digest(self) -> str:
        """Return a digest by which the plan is known from every other."""
        return hashlib.blake2b(plan_text(self).encode(), digest_size=8).hexdigest()


def plan_text(plan: Plan) -> str:
    """Return a plan as text that a person can read.

    Properties:
        `read_plan(plan_text(plan)) == plan`.
    """
    default = Limits()
    limits = {
        name: value
        for name, value in asdict(plan.limits).items()
        if value != getattr(default, name)
    }
    document = {
        "cluster": plan.cluster,
        "made_s": plan.made_s,
        "shedding_may_run_because": plan.shedding_may_run_because,
        "limits": limits,
        "moves": [asdict(move) for move in plan.moves],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def read_plan(text: str) -> Plan:
    """Return the plan that a text holds.

    Raises:
        FieldError: it is none, or moves a bundle twice, or one to where it is; says which key,
            what was found and what was expected.
    """
    try:
        whole = Field(json.loads(text))
    except ValueError as fault:
        raise FieldError("the plan", "no JSON", f"a plan ({fault})") from None
    fields = whole.members(["cluster", "made_s", "moves"], ["limits", "shedding_may_run_because"])
    moves = tuple(map(_move, fields["moves"].items()))
    bundles: set[str] = set()
    for move, at in zip(moves, fields["moves"].items(), strict=True):
        if move.bundle in bundles:
            raise at.at("bundle", value=move.bundle).wrong("a bundle that no earlier move names")
        if move.source == move.destination:
            raise at.at("destination", value=move.destination).wrong(
                "a broker other than the source"
            )
        bundles.add(move.bundle)
    may_run = fields.get("shedding_may_run_because")
    return Plan(
        cluster=fields["cluster"].text(),
        made_s=fields["made_s"].number(),
        moves=moves,
        limits=_limits(fields["limits"]) if "limits" in fields else Limits(),
        shedding_may_run_because=may_run.text() if may_run else "",
    )


def _move(field: Field) -> PlannedMove:
    at = field.members(
        ["bundle", "source", "destination", "reason"], ["traffic_bytes_s", "before", "after"]
    )
    taken: dict[str, Any] = {
        name: at[name].text() for name in ("bundle", "source", "destination", "reason")
    }
    if "traffic_bytes_s" in at:
        taken["traffic_bytes_s"] = at["traffic_bytes_s"].number()
    taken |= {name: _expected(at[name]) for name in ("before", "after") if name in at}
    return PlannedMove(**taken)


def _expected(field: Field) -> Expected:
    at = field.members([], ["source", "destination"])
    return Expected(**{name: _interval(each) for name, each in at.items()})


def _interval(field: Field) -> Interval | None:
    if field.value is None:
        return None
    low, high = field.numbers({2}, _BOUNDS)
    if not low <= high:
        raise field.wrong(_BOUNDS)
    return low, high


def _limits(field: Field) -> Limits:
    at: Mapping[str, Field] = field.members([], Limits.__slots__)
    for each in at.values():
        if not each.number() > 0:
            raise each.wrong("a number above 0")
    return Limits(**{name: each.number() for name, each in at.items()})
