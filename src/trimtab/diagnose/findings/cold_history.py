"""Rounds decided on a score that had not yet caught up with the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trimtab.diagnose.broker_loads import reported_usage
from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.night import Finding, Night, Round


class _Score(NamedTuple):
    """What a broker reported and what the shedder made of it, fractions."""

    broker: str
    usage: float
    smoothed: float

    @property
    def gap(self) -> float:
        """Return how far the two are from each other."""
        return abs(self.usage - self.smoothed)


#: What a broker says, over REST or in metrics, may differ so much from what the leader knew.
_INEXACT = 0.03


def cold_history(night: Night) -> list[Finding]:
    """Find runs of rounds in which some smoothed score was far from the reported usage.

    After a start, a leader change or a sudden change of load the score lags: with the
    default weight of the past, 0.9, half of a change is still missing after six rounds.
    Far is more than the shedding threshold, since so much turns a decision.  Where the leader
    prints the scores of shed brokers alone, and what it was told is not in the recording, a
    printed score is held against what the broker said by then, and three points more count.
    """
    runs: list[list[tuple[_Score, Round]]] = []
    is_open = False
    for logged in night.rounds:
        widest = _widest(night, logged)
        if widest is None:
            is_open = False
            continue
        if is_open and runs[-1][-1][1].term == logged.term:
            runs[-1].append((widest, logged))
        else:
            runs.append([(widest, logged)])
        is_open = True
    return [_finding(night, run) for run in runs]


def _widest(night: Night, logged: Round) -> _Score | None:
    """Return the broker whose score is farthest from its usage, if that is far."""
    usage, scores = _scores(night, logged)
    if not scores:
        return None
    broker = max(scores, key=lambda name: abs(usage[name] - scores[name]))
    widest = _Score(broker, usage[broker], scores[broker])
    exact = logged.brokers.get(widest.broker)
    is_exact = exact is not None and exact.usage is not None
    return widest if widest.gap > night.threshold + (0.0 if is_exact else _INEXACT) else None


def _scores(night: Night, logged: Round) -> tuple[dict[str, float], dict[str, float]]:
    """Return the usages that the leader had, and the scores that are known of their brokers.

    Where the round was not decided again, the score is a printed one, of all brokers or of
    those that were shed, and the usage what the broker had said by then.
    """
    printed = {
        event.broker: event.numbers["usage_percent"] / 100
        for event in logged.events
        if event.kind == "shed-attempt" and "average_percent" in event.numbers
    }
    scores = {broker: state.smoothed for broker, state in logged.brokers.items()}
    if all(score is None for score in scores.values()):
        scores = {broker: score for broker, score in printed.items() if broker is not None}
    exact = {
        broker: state.usage for broker, state in logged.brokers.items() if state.usage is not None
    }
    reported = {} if exact.keys() >= scores.keys() else reported_usage(night, logged.time)
    usage = {**reported, **exact}
    known = {
        broker: score for broker, score in scores.items() if score is not None and broker in usage
    }
    return usage, known


def _finding(night: Night, run: Sequence[tuple[_Score, Round]]) -> Finding:
    widest, worst = max(run, key=lambda each: each[0].gap)
    elected, first = night.elected.get(worst.term), run[0][1]
    usage, scores = _scores(night, worst)
    return Finding(
        "cold-history" if elected is None else "cold-history.elected",
        "high" if widest.gap > 2 * night.threshold else "medium",
        first.time,
        first.number,
        brokers=tuple(dict.fromkeys(score.broker for score, _ in run)),
        evidence=tuple(event for _, logged in run for event in logged.events[:1]),
        numbers={
            "rounds": [logged.number for _, logged in run],
            "brokers": {
                broker: {"usage": usage[broker], "smoothed": score}
                for broker, score in scores.items()
            },
        },
        values={
            "many": f"{len(run)} rounds" if len(run) > 1 else "one round",
            "worst": worst.number,
            "widest": widest.broker,
            "usage": widest.usage,
            "smoothed": widest.smoothed,
            "gap": widest.gap,
            "minutes": elected and (worst.time - elected).total_seconds() / 60,
            "history_share": night.history_share,
        },
    )


def cure(night: Night, findings: Mapping[str, Sequence[Finding]]) -> Proposal | None:
    """Return the proposal of less history, for scores behind the load and what they shed."""
    late, cold = findings["over-unloading"], findings["cold-history"]
    if not late and not cold:
        return None
    moves = sum(len(finding.moves) for finding in late)
    lagging = sum(len(finding.numbers["rounds"]) for finding in cold)
    values = {
        "rounds": lagging + len(late),
        "moves": moves,
        "late": len(late),
        "history_share": night.history_share,
    }
    return Proposal(moves + lagging, values, "cure.late" if late else "cure")
