"""Clusters that are relieved one broker at a time."""

from __future__ import annotations

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Finding, Night, Round

#: Rounds one after the other, and different sources among them.
_ROUNDS, _SOURCES = 5, 4
#: Rounds further apart than so many intervals are not one after the other.
_APART = 1.5


def one_pair_per_round(night: Night) -> list[Finding]:
    """Find runs of five rounds or more that relieved one broker each, four different ones at least.

    UniformLoadShedder pairs the busiest broker with the idlest and leaves all others for the
    next round, so a large cluster takes as many rounds as it has hot brokers.  Low.

    Source:
        impl/UniformLoadShedder.java findBundlesForUnloading, 4.0.8
    """
    runs: list[list[Round]] = []
    for logged in night.rounds:
        if logged.strategy != "UniformLoadShedder" or len(_sources([logged])) != 1:
            continue
        last = runs[-1][-1] if runs else None
        if last is not None and last.term == logged.term:
            apart_s = (logged.time - last.end).total_seconds()
            if apart_s <= _APART * night.interval_s:
                runs[-1].append(logged)
                continue
        runs.append([logged])
    long = [run for run in runs if len(run) >= _ROUNDS and len(_sources(run)) >= _SOURCES]
    return [_finding(run) for run in long]


def _sources(run: list[Round]) -> list[str]:
    return list(dict.fromkeys(move.source for logged in run for move in logged.moves))


def _finding(run: list[Round]) -> Finding:
    sources = _sources(run)
    minutes = (run[-1].end - run[0].time).total_seconds() / 60
    return Finding(
        code="one-pair-per-round",
        severity="low",
        time=run[0].time,
        round=run[0].number,
        title=f"{len(sources)} brokers were relieved one at a time",
        text=(
            f"Rounds {run[0].number} to {run[-1].number} relieved one broker each and took "
            f"{minutes:.0f} min."
        ),
        better="all hot brokers in one round",
        advice="Use AvgShedder for both roles: it pairs half of the brokers with the other half.",
        brokers=tuple(sources),
        evidence=tuple(move.evidence[-1] for logged in run[:5] for move in logged.moves[:1]),
        numbers={"rounds": len(run), "minutes": minutes},
    )


ENTRY = FindingEntry(
    rule=one_pair_per_round,
    rank=22,
    needs=(Need.LEADER_LOGS,),
    words=None,
)
