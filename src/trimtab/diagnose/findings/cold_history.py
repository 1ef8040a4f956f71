"""Rounds decided on a score that had not yet caught up with the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.diagnose.broker_loads import reported_usage
from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.night import Finding, Night, Round


def cold_history(night: Night) -> list[Finding]:
    """Find runs of rounds in which some smoothed score was far from the reported usage.

    After a start, a leader change or a sudden change of load the score lags: with the
    default weight of the past, 0.9, half of a change is still missing after six rounds.
    Far is more than the shedding threshold, since so much turns a decision.
    """
    runs: list[list[Round]] = []
    is_open = False
    for logged in night.rounds:
        if _widest(night, logged) is None:
            is_open = False
            continue
        if is_open and runs[-1][-1].term == logged.term:
            runs[-1].append(logged)
        else:
            runs.append([logged])
        is_open = True
    return [_finding(night, run) for run in runs]


def _widest(night: Night, logged: Round) -> tuple[str, float, float] | None:
    """Return the broker whose score is farthest from its usage, if that is far."""
    scores = _scores(night, logged)
    if not scores:
        return None
    widest = max(scores, key=lambda entry: abs(entry[1] - entry[2]))
    return widest if abs(widest[1] - widest[2]) > night.threshold else None


def _scores(night: Night, logged: Round) -> list[tuple[str, float, float]]:
    """Return each broker with its usage and its smoothed score, as far as both are known.

    Where the round was not decided again the score is a printed one, and the usage that of the
    broker's latest report before the round.
    """
    reported = reported_usage(night, logged.time) if logged.brokers else {}
    usages = (
        (broker, reported.get(broker) if state.usage is None else state.usage, state.smoothed)
        for broker, state in logged.brokers.items()
    )
    return [
        (broker, usage, smoothed)
        for broker, usage, smoothed in usages
        if usage is not None and smoothed is not None
    ]


def _finding(night: Night, run: Sequence[Round]) -> Finding:
    gaps = [(entry, logged) for logged in run if (entry := _widest(night, logged)) is not None]
    (broker, usage, smoothed), worst = max(gaps, key=lambda gap: abs(gap[0][1] - gap[0][2]))
    elected = night.elected.get(worst.term)
    return Finding(
        "cold-history" if elected is None else "cold-history.elected",
        "high" if abs(usage - smoothed) > 2 * night.threshold else "medium",
        run[0].time,
        run[0].number,
        brokers=tuple(dict.fromkeys(entry[0] for entry, _ in gaps)),
        evidence=tuple(event for logged in run for event in logged.events[:1]),
        numbers={
            "rounds": [logged.number for logged in run],
            "brokers": {
                name: {"usage": each, "smoothed": score}
                for name, each, score in _scores(night, worst)
            },
        },
        values={
            "many": f"{len(run)} rounds" if len(run) > 1 else "one round",
            "worst": worst.number,
            "widest": broker,
            "usage": usage,
            "smoothed": smoothed,
            "gap": abs(usage - smoothed),
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
