"""The plan of a rolling restart: which brokers, in which order, and how each is treated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from trimtab.files.fields import Field, FieldError, expected_name
from trimtab.live.control.drain import emptying_limits
from trimtab.live.control.limits import Limits

#: Whether bundles come back: each broker's own; so many to the last as make all level; none.
GIVE_BACK = ("level", "all", "none")


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """What is to be done, frozen: it is carried out as it was read, or not at all."""

    cluster: str
    #: When it was made, s since 1970.
    made_s: float
    #: In the order in which they are restarted.
    brokers: tuple[str, ...]
    #: Why in this order; for a person.
    rule: str
    #: One of GIVE_BACK.
    give_back: str
    #: %, above which nobody takes a bundle; 100 for no bar.
    bar_percent: float
    #: s, at least between two moves.
    every_s: float
    #: s, since a broker began, before it takes bundles.
    warm_s: float
    #: s, for which a broker may be away, or anything else is waited for, before the run stops.
    back_s: float

    @property
    def digest(self) -> str:
        """Return a digest by which the plan is known from every other."""
        return hashlib.blake2b(rollout_text(self).encode(), digest_size=8).hexdigest()

    def fills(self, turn: int, turns: int) -> bool:
        """Return whether a broker is filled again, of so many that are restarted."""
        is_last = turn == turns - 1
        return self.give_back == "all" or (self.give_back == "level" and is_last)

    @property
    def limits(self) -> Limits:
        """Return the limits of its moves."""
        return emptying_limits(self.bar_percent, self.every_s, self.warm_s)


def rollout_text(plan: RolloutPlan) -> str:
    """Return a plan as text that a person can read.

    Properties:
        `read_rollout(rollout_text(plan)) == plan`.
    """
    return json.dumps(asdict(plan), indent=1, ensure_ascii=False) + "\n"


def read_rollout(text: str) -> RolloutPlan:
    """Return the plan that a text holds.

    Raises:
        FieldError: it is none, or names a broker twice; says which key, what was found and what
            was expected.
    """
    try:
        whole = Field(json.loads(text))
    except ValueError as fault:
        raise FieldError("the plan", "no JSON", f"a plan of a restart ({fault})") from None
    given = whole.members(list(RolloutPlan.__slots__), [])
    brokers = given["brokers"].names()
    for number, broker in enumerate(brokers):
        if broker in brokers[:number]:
            raise given["brokers"].at(number, value=broker).wrong("a broker that is not named yet")
    give_back = given["give_back"].text()
    if give_back not in GIVE_BACK:
        raise FieldError("give_back", repr(give_back), expected_name(give_back, GIVE_BACK))
    texts: dict[str, Any] = {key: given[key].text() for key in ("cluster", "rule")}
    return RolloutPlan(**texts, **_numbers(given), brokers=brokers, give_back=give_back)


def _numbers(given: Mapping[str, Field]) -> dict[str, Any]:
    numbers = {
        key: given[key].number() for key in ("made_s", "bar_percent", "every_s", "warm_s", "back_s")
    }
    for key, number in numbers.items():
        if not number > 0:
            raise given[key].wrong("a number above 0")
    return numbers
