"""Rounds decided on a score that had not yet caught up with the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.diagnose.broker_loads import percent, points
from trimtab.diagnose.cure import Change, Cure, many, place
from trimtab.diagnose.entry import FindingEntry, Need, Words
from trimtab.diagnose.night import BrokerState, Finding, Night, Round

_SETTING = "loadBalancerHistoryResourcePercentage"


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
    scores = [
        (broker, state.usage, state.smoothed)
        for broker, state in logged.brokers.items()
        if state.usage is not None and state.smoothed is not None
    ]
    if not scores:
        return None
    widest = max(scores, key=lambda entry: abs(entry[1] - entry[2]))
    return widest if abs(widest[1] - widest[2]) > night.threshold else None


def _finding(night: Night, run: Sequence[Round]) -> Finding:
    gaps = [(entry, logged) for logged in run if (entry := _widest(night, logged)) is not None]
    (broker, usage, smoothed), worst = max(gaps, key=lambda gap: abs(gap[0][1] - gap[0][2]))
    many = f"{len(run)} rounds" if len(run) > 1 else "one round"
    return Finding(
        code="cold-history",
        severity="high" if abs(usage - smoothed) > 2 * night.threshold else "medium",
        time=run[0].time,
        round=run[0].number,
        title=f"Scores lagged behind the load in {many}",
        text=(
            f"At worst, in round {worst.number}, {broker} reported {percent(usage)} while its "
            f"smoothed score was {percent(smoothed)}, {points(abs(usage - smoothed))} off. "
            f"{_since(night, worst)}"
        ).strip(),
        better="decide on the reported usage, or wait until the scores have caught up",
        advice=f"Lower {_SETTING} (now {night.history_share:g}).",
        brokers=tuple(dict.fromkeys(entry[0] for entry, _ in gaps)),
        moves=(),
        evidence=tuple(event for logged in run for event in logged.events[:1]),
        numbers={
            "rounds": [logged.number for logged in run],
            "brokers": {
                name: {"usage": state.usage, "smoothed": state.smoothed}
                for name, state in worst.brokers.items()
                if _is_known(state)
            },
        },
    )


def _is_known(state: BrokerState) -> bool:
    return state.usage is not None and state.smoothed is not None


def _since(night: Night, logged: Round) -> str:
    elected = night.elected.get(logged.term)
    if elected is None:
        return ""
    minutes = (logged.time - elected).total_seconds() / 60
    return f"The leader had been elected {minutes:.0f} min before."


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
            f"Decided on reported usage, {many(moves, 'move')} in {many(len(late), 'round')} "
            "would not have been made."
        )
    return moves + lagging, Change(
        title=f"{setting} lower than {night.history_share:g}",
        why=(
            f"In {many(lagging + len(late), 'round')} scores were far from the reported usage, or "
            "still shed what had cooled down."
        ),
        effect=effect,
        evidence=place(places, setting),
        confidence="the reports are real; what would have followed was not simulated",
    )


ENTRY = FindingEntry(
    rule=cold_history,
    rank=5,
    needs=(Need.LEADER_LOGS, Need.USAGE_IN_THE_ROUND),
    words=Words(
        "scores behind the load",
        "The smoothed scores had not caught up with the usage that brokers reported.",
    ),
    cure=Cure(3, _history),
)
