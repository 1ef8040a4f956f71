"""The headline, and what to change: a few sentences with the numbers in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.diagnose.findings.random_placement import closest
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.undecidable import is_leader_known, leaders_without_log
from trimtab.diagnose.verdicts import Verdict

#: What a useless move was, after the number of them.
SAYINGS = {
    "same-broker": "taken again by the broker that had just lost it",
    "unload-failed": "of a bundle whose unload failed",
    "vanished-bundle": "of a bundle with traffic that nobody took afterwards",
    "empty-bundle-moved": "of a bundle without traffic",
    "cold-cpu": "made because a broker had not measured itself yet",
    "stale-report": "decided on a report from before the last unload",
    "jitter-chasing": "made for a peak that had passed",
    "even-distribution-override": "forced by a filter onto a broker hotter than the average",
    "random-placement": "drawn by lot onto a broker hotter than the average",
    "over-unloading": "taken from a broker whose load had already gone",
    "ping-pong": "part of a round trip",
    "over-placement": "put on a broker that was hot or became so",
}
_CHANGES_MAX = 5
_NO_LEADER = "Only a leader's log tells of moves, and none of these is known to be one."


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change."""

    title: str
    why: str
    #: What would have been different, counted on this recording.
    effect: str
    #: file:line of the setting, where it is written.
    evidence: str
    #: How far the effect can be trusted.
    confidence: str


def headline(night: Night, given: Mapping[str, Verdict]) -> tuple[str, str]:
    """Say in two sentences what the balancer did and what it was worth."""
    moves = [move for logged in night.rounds for move in logged.moves]
    if not moves:
        return _nothing(night)
    active = sum(bool(logged.moves) for logged in night.rounds)
    text = f"{_many(len(moves), 'bundle was', 'bundles were')} moved in {_many(active, 'round')}."
    causes = Counter(given[move.id].code for move in moves if given[move.id].is_useless)
    useless = sum(causes.values())
    if not useless:
        unknown = sum(given[move.id].code == "not-decidable" for move in moves)
        if unknown == len(moves):
            return text, "What the moves were worth cannot be told from this recording."
        return text, f"None of the moves was found useless.{_luck(night, given)}"
    which = "; ".join(f"{n} {SAYINGS[code]}" for code, n in causes.most_common())
    if len(causes) == 1:
        which = SAYINGS[next(iter(causes))]
    how_many = "All" if useless == len(moves) else f"{useless} of the {len(moves)}"
    return text, f"{how_many} did no good: {which}.{_luck(night, given)}"


def _nothing(night: Night) -> tuple[str, str]:
    """Say that nothing was moved, if that can be known: it is the leader that tells of moves."""
    if night.logs is None:
        return "The balancer moved nothing.", ""
    if who := leaders_without_log(night):
        return "No move is known.", f"No log of {who} is in the recording."
    if not is_leader_known(night):
        return "No move is known.", _NO_LEADER
    return "The balancer moved nothing.", ""


def _luck(night: Night, given: Mapping[str, Verdict]) -> str:
    """Mention the draws that fell well: nothing but luck spoke for them."""
    lucky = sum(
        move.draw is not None
        and move.draw.is_fallback
        and (move.draw.count or 2) > 1
        and not given[move.id].is_useless
        for logged in night.rounds
        for move in logged.moves
    )
    if not lucky:
        return ""
    more = " more" if any(verdict.is_useless for verdict in given.values()) else ""
    return f" {lucky}{more} {'was' if lucky == 1 else 'were'} drawn by lot and fell well."


def changes(night: Night, findings: Sequence[Finding], places: Mapping[str, str]) -> list[Change]:
    """Propose at most five changes, most moves concerned first.

    Args:
        night: what happened.
        findings: the causes found.
        places: setting → file:line where it is written.
    """
    proposed = [
        proposal
        for propose in (_margin, _evenly, _history, _split, _pairing, _brokers, _floor, _memory)
        if (proposal := propose(night, findings, places)) is not None
    ]
    proposed.sort(key=lambda entry: -entry[0])
    return [change for _, change in proposed[:_CHANGES_MAX]]


def _many(count: int, one: str, more: str | None = None) -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def _place(places: Mapping[str, str], setting: str) -> str:
    return places.get(setting, "not set: the default")


def _margin(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    """Propose the largest margin under which as many draws as possible had a candidate."""
    draws = [
        move.draw
        for logged in night.rounds
        for move in logged.moves
        if move.draw is not None and move.draw.is_fallback and (move.draw.count or 2) > 1
    ]
    depths = sorted(
        (draw.average - near[1] for draw in draws if (near := closest(draw)) and draw.average),
        reverse=True,
    )
    whole = [int(depth * 100) for depth in depths if int(depth * 100) >= 1]
    if not whole:
        return None
    margin, enough = min(whole), len(whole)
    setting = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    return len(draws), Change(
        title=f"{setting} = {margin}",
        why=(
            f"With a margin of {night.margin * 100:g} points nobody was cool enough for "
            f"{_many(len(draws), 'bundle')}, and a lot was drawn."
        ),
        effect=f"{enough} of these {len(draws)} draws would have had a candidate.",
        evidence=_place(places, setting),
        confidence="counted on the placer's own scores of this recording",
    )


def _evenly(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    forced = [
        move
        for logged in night.rounds
        for move in logged.moves
        if move.draw is not None and move.draw.count == 1
    ]
    if not forced:
        return None
    setting = "loadBalancerDistributeBundlesEvenlyEnabled"
    return len(forced), Change(
        title=f"{setting} = false",
        why=(
            "The even-distribution filter keeps only the brokers with the fewest bundles of the "
            f"namespace, hot or cold: {_many(len(forced), 'bundle')} had a single candidate left."
        ),
        effect=f"In {_many(len(forced), 'case')} the placer would have had a choice.",
        evidence=_place(places, setting),
        confidence="counted in the log: one broker was considered",
    )


def _history(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    late = [f for f in findings if f.code == "over-unloading"]
    cold = [f for f in findings if f.code == "cold-history"]
    moves = sum(len(finding.moves) for finding in late)
    if not late and not cold:
        return None
    setting = "loadBalancerHistoryResourcePercentage"
    lagging = sum(len(finding.numbers["rounds"]) for finding in cold)
    effect = "Scores would follow the load within fewer rounds."
    if late:
        effect = (
            f"Decided on reported usage, {_many(moves, 'move')} in {_many(len(late), 'round')} "
            "would not have been made."
        )
    return moves + lagging, Change(
        title=f"{setting} lower than {night.history_share:g}",
        why=(
            f"In {_many(lagging + len(late), 'round')} scores were far from the reported usage, or "
            "still shed what had cooled down."
        ),
        effect=effect,
        evidence=_place(places, setting),
        confidence="the reports are real; what would have followed was not simulated",
    )


def _split(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    stuck = [f for f in findings if f.code == "sole-bundle"]
    if not stuck:
        return None
    setting = "defaultNumberOfNamespaceBundles"
    bundles = [finding.bundles[0] for finding in stuck]
    more = f" and {len(bundles) - 1} more" if len(bundles) > 1 else ""
    return sum(finding.numbers["warnings"] for finding in stuck), Change(
        title=f"Split {bundles[0]}{more}",
        why=f"{_many(len(stuck), 'broker')} stayed hot with a single bundle.",
        effect="The shedder could move half of it.",
        evidence=_place(places, setting),
        confidence="the shedder says so itself in the log",
    )


def _pairing(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    hot = [f for f in findings if f.code == "over-placement" and f.severity != "low"]
    if not hot:
        return None
    moves = sum(len(finding.moves) for finding in hot)
    setting = "loadBalancerLoadSheddingStrategy"
    return moves, Change(
        title="AvgShedder for both roles",
        why=(
            "Reports do not change during a round and the placer does not reckon with what a "
            f"bundle will add: {_many(moves, 'bundle')} went to a broker that was, or became, hot."
        ),
        effect="Each hot broker is paired with one cold one, and the destination is planned.",
        evidence=_place(places, setting),
        confidence="a property of the strategy; not simulated on this load",
    )


def _brokers(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    full = next((f for f in findings if f.code == "no-headroom"), None)
    if full is None:
        return None
    numbers = full.numbers
    # No setting helps a cluster without room, so this comes before all others.
    return 1_000_000, Change(
        title=f"Add {_many(numbers['more'], 'broker')}",
        why=(
            f"All {numbers['brokers']} brokers were hot for {numbers['minutes']:.0f} min, at "
            f"{numbers['mean_usage'] * 100:.0f} % on average."
        ),
        effect="Their load, spread evenly, would leave room for one that fails.",
        evidence="the brokers' own reports",
        confidence="usage is taken to grow with the load in proportion",
    )


def _floor(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    spared = [f for f in findings if f.code == "throughput-floor"]
    if not spared:
        return None
    rounds = sum(finding.numbers["rounds"] for finding in spared)
    is_threshold = night.shedder == "ThresholdShedder"
    setting = (
        "loadBalancerBundleUnloadMinThroughputThreshold"
        if is_threshold
        else "minUnloadMessageThroughput"
    )
    return rounds, Change(
        title=f"{setting} lower",
        why=(
            f"{_many(len(spared), 'broker')} stayed over the bar, as what should go was below "
            "the floor."
        ),
        effect=f"In {_many(rounds, 'round')} there would have been something to move.",
        evidence=_place(places, setting),
        confidence="counted; what would have followed was not simulated",
    )


def _memory(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    full = [f for f in findings if f.code == "memory-as-load"]
    moves = sum(len(finding.moves) for finding in full)
    if not moves:
        return None
    is_heap = any("memory_percent" in finding.numbers for finding in full)
    setting = f"loadBalancer{'' if is_heap else 'Direct'}MemoryResourceWeight"
    return moves, Change(
        title=f"{setting} = 0",
        why=f"{_many(moves, 'bundle was', 'bundles were')} moved because memory was full.",
        effect="Brokers would be shed for CPU and network alone.",
        evidence=_place(places, setting),
        confidence="counted on the percentages that the shedder printed; not simulated",
    )
