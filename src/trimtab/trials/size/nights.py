"""What is said of several nights: which they are, what each needs, and what one more would tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trimtab.trials.size.needs import Needs, whole
from trimtab.trials.what_if.lines import night_line

# Brokers between the ends of nine seeds in ten from which on an answer of one night is none for
# others: right within one broker it cannot be for all of them.
_APART = 3
_OF_NIGHT = ("recording", "release", "from", "to", "hours", "brokers", "bundles")


def all_nights(replays: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the replays of some nights say as one, in order of time.

    What is not of all of them is of the last; rules that are not met by one are not met.
    """
    whole_of_one = {**replays[-1], "nights": [_night(each) for each in replays]}
    if len(replays) == 1:
        return whole_of_one
    return {
        **whole_of_one,
        "recording": ", ".join(each["recording"] for each in replays),
        "from": replays[0]["from"],
        "hours": sum(each["hours"] for each in replays),
        "fidelity": {
            "is_trusted": all(each["fidelity"]["is_trusted"] for each in replays),
            "checks": [
                {**check, "name": f"{each['recording']}: {check['name']}"}
                for each in replays
                for check in each["fidelity"]["checks"]
            ],
        },
        "untold": [
            f"{each['recording']}: {sentence}" for each in replays for sentence in each["untold"]
        ],
    }


def _night(replay: Mapping[str, Any]) -> dict[str, Any]:
    return {name: replay[name] for name in _OF_NIGHT}


def night_needs(needs: Needs) -> dict[str, Any] | None:
    """Return what each night needs by itself, and what all but one of them do.

    Returns:
        `each`, a number a night, and `low` and `high`, what is said if any one of them is left
        out; None where no number will do.  Of one night alone nothing is known of others: None.
    """
    if len(needs.nights) < 2:
        return None
    others = [needs.without(night).usual for night in needs.nights]
    return {
        "each": [whole(needs.of(night).usual) for night in needs.nights],
        "low": whole(min(others)),
        "high": whole(max(others)),
    }


def of_one_night(document: Mapping[str, Any]) -> str:
    """Return what one night cannot tell, as a sentence behind an answer; blank if nothing."""
    need, giants = document["need"], document["bundle_count"]["giants"]
    if len(document["nights"]) > 1 or need["low"] is None:
        return ""
    if need["high"] is not None and need["high"] - need["low"] < _APART:
        return ""
    up_to = f"to {need['high']}" if need["high"] is not None else "or more"
    why = ""
    if giants:
        percent = giants[0]["percent"]
        why = f", as a bundle alone takes {percent:.0f} % of what a broker may carry"
    return f" One night: others of this cluster may need {need['low']} {up_to}{why}."


def night_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Return which nights an answer is of, a line each."""
    for night in document["nights"]:
        yield f"{night_line(night)}, {document['strategy']}"


def need_lines(by_night: Mapping[str, Any] | None) -> Iterator[str]:
    """Return what each of several nights needs by itself, and what one more would tell."""
    if by_night is None:
        return
    each, low, high = by_night["each"], by_night["low"], by_night["high"]
    yield f"Each night by itself: {', '.join(map(_shown, each))} brokers"
    if low == high:
        yield f"Without any one of them: {_shown(low)}; one more night would hardly change that"
    elif low is None or high is None:
        yield f"Without one of them: {_shown(low)} or {_shown(high)}; one more night may decide it"
    else:
        yield f"Without one of them: {low} to {high}; one more night may change it by {high - low}"


def _shown(number: int | None) -> str:
    return "no number of" if number is None else str(number)
