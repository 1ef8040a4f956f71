"""What the replay of the real strategy says, beside what really happened → may it be believed?

And what traffic costs the brokers, on which it rests.

Four rules, each a number with a bar.  Whatever else is said of a recording rests on them, so
where one of them is not met nothing is ranked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np

from trimtab.lab.costs import priced
from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import drawn_overheads, missed
from trimtab.trials.rerun.comparison import explained_document

#: Share of the rounds in which the replay must decide as the leader did, to shed or not.
AGREED_MIN = 0.8
#: Unloads by which the replay may be off: so many, or that share of the real ones.
UNLOADS_OFF_MAX = 3.0
UNLOADS_OFF_SHARE_MAX = 0.3
#: Points by which the mean spread of the brokers' usage may be off: half of what counts as
#: out of balance.
SPREAD_OFF_MAX = 7.5
#: Points by which the costs may miss a broker's usage: what a report lets pass by default.
USAGE_ERROR_MAX = 10.0


# Ends of the intervals of what the wire takes, and draws from which they are taken.
_LOW, _HIGH = 0.05, 0.95
_DRAWS = 200

#: A rule: its name, what was found in words, the rule in words, and whether it is met.
_Check: TypeAlias = tuple[str, str, str, bool | None]


def fidelity(
    again: Mapping[str, Any], usage_error_points: float, *, is_shedding: bool
) -> dict[str, Any]:
    """Return the judgement of a replay: `checks`, and whether it `is_trusted`.

    It rests on what `trimtab rerun` says of the recording, and on the root mean square of what
    the costs alone miss, NaN if that is not known.  Of each check there are a name, what was
    found in words, the rule, and whether it is met: None where there was nothing to compare,
    and nothing is concluded from that.

    Properties:
        A check that could not be made and should have been is not met.
    """
    names = ("name", "found", "rule", "is_met")
    checks = [
        dict(zip(names, check, strict=True))
        for check in (
            _decided(again["held"], is_shedding=is_shedding),
            _unloads(again["free"]["unloads"], is_shedding=is_shedding),
            _spread(again["free"]["spread"]["usage"]),
            _usage(usage_error_points),
        )
    ]
    is_trusted = all(check["is_met"] is not False for check in checks)
    return {"checks": checks, "is_trusted": is_trusted}


def _decided(replay: Mapping[str, Any], *, is_shedding: bool) -> _Check:
    rounds, agreed = len(replay["rounds"]), replay["same_trigger"]
    rule = f"the same in at least {100 * AGREED_MIN:.0f} % of the rounds"
    sentence, is_met = f"the same in {agreed} of {rounds} rounds", agreed >= AGREED_MIN * rounds
    if not rounds and is_shedding:
        sentence, is_met = "no round of a leader is known", False
    elif not rounds:
        sentence, is_met = "shedding was off", None
    return "to shed or not", sentence, rule, is_met


def _unloads(unloads: Mapping[str, float], *, is_shedding: bool) -> _Check:
    rule = (
        f"off by at most {100 * UNLOADS_OFF_SHARE_MAX:.0f} %, or by {UNLOADS_OFF_MAX:g} where "
        "that is more"
    )
    if not is_shedding:
        return "unloads", "shedding was off", rule, None
    real, ours = unloads["real"], unloads["median"]
    sentence = f"really {real:g}, replayed {ours:g} ({unloads['p10']:g} to {unloads['p90']:g})"
    is_met = abs(ours - real) <= max(UNLOADS_OFF_MAX, UNLOADS_OFF_SHARE_MAX * real)
    return "unloads", sentence, rule, is_met


def _spread(spread: Mapping[str, Any] | None) -> _Check:
    sentence, is_met = "no usage is known of two brokers", False
    if spread is not None:
        sentence = f"really {spread['real']:.1f}, replayed {spread['median']:.1f} points"
        is_met = abs(spread["median"] - spread["real"]) <= SPREAD_OFF_MAX
    return "mean spread of usage", sentence, f"off by at most {SPREAD_OFF_MAX:g} points", is_met


def _usage(error_points: float) -> _Check:
    # NaN is met by no bar.
    is_known = error_points >= 0
    sentence = f"misses {error_points:.1f} points (root mean square)"
    is_met = is_known and error_points <= USAGE_ERROR_MAX
    rule = f"at most {USAGE_ERROR_MAX:g} points"
    return "usage by the costs alone", sentence if is_known else "too few windows", rule, is_met


def cost_document(rebuilt: Rebuilt) -> dict[str, Any]:
    """Return what traffic costs the brokers.

    Returns:
        A document of plain values; what is not known is None.
    """
    used, prices = rebuilt.used, priced(rebuilt.used.known)
    terms = {"all traffic of the median broker": prices.traffic, **prices.units}
    wire = np.array(drawn_overheads(rebuilt, _DRAWS))
    return {
        "cpu": {
            "terms": [
                {
                    "of": of,
                    "unit": "points",
                    "cost": price.value,
                    "low": price.low,
                    "high": price.high,
                    "is_told": price.is_told,
                }
                for of, price in terms.items()
            ],
            **explained_document(used.cpu),
            "by_broker": [asdict(each) for each in missed(rebuilt)],
        },
        "network": {
            "overhead": used.costs.overhead,
            "low": float(np.quantile(wire, _LOW)),
            "high": float(np.quantile(wire, _HIGH)),
            **explained_document(used.network),
        },
        "draws": wire.size,
    }
