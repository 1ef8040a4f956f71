"""Clusters that are relieved one broker at a time."""

from __future__ import annotations

from trimtab.diagnose.evidence import SHOWN
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
    first, last, sources = run[0], run[-1], _sources(run)
    minutes = (last.end - first.time).total_seconds() / 60
    return Finding(
        "one-pair-per-round",
        "low",
        first.time,
        first.number,
        brokers=tuple(sources),
        evidence=tuple(move.evidence[-1] for logged in run[:SHOWN] for move in logged.moves[:1]),
        numbers={"rounds": len(run), "minutes": minutes},
        values={"sources": len(sources), "first": first.number, "last": last.number},
    )
