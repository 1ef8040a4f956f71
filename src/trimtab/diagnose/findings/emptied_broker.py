"""Brokers that lost nearly all they had in one round."""

from __future__ import annotations

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Finding, Move, Night, Round

#: Share of the bundles, and their least number.
_SHARE, _BUNDLES = 0.9, 3


def emptied_broker(night: Night) -> list[Finding]:
    """Find rounds that took nine of ten bundles or more of a broker, and three at least.

    Where what can be moved is less than what is asked for, all of it is taken, idle bundles
    too, and the hot broker becomes the coolest.  UniformLoadShedder asks for a thousand
    messages at least, which is all that a broker with little traffic has.  By the bundles of
    its last report before the round; high.

    Source:
        impl/ThresholdShedder.java and impl/UniformLoadShedder.java findBundlesForUnloading,
        4.0.8 (#21905)
    """
    findings = []
    for logged in night.rounds:
        for source in dict.fromkeys(move.source for move in logged.moves):
            had = _had(night, logged, source)
            moves = [move for move in logged.moves if move.source == source]
            if had and len(moves) >= max(_BUNDLES, _SHARE * had):
                findings.append(_finding(logged, source, had, moves))
    return findings


def _had(night: Night, logged: Round, broker: str) -> int | None:
    state = logged.brokers.get(broker)
    if state is not None and state.bundles is not None:
        return state.bundles
    reports = night.reports.get(broker)
    at = reports.at(logged.time) if reports else None
    return None if reports is None or at is None else int(reports.bundles[at])


def _finding(logged: Round, source: str, had: int, moves: list[Move]) -> Finding:
    return Finding(
        code="emptied-broker",
        severity="high",
        time=logged.time,
        round=logged.number,
        title=f"{source} lost {len(moves)} of its {had} bundles in one round",
        text=(
            "So much is taken where all that may go is less than what is asked for; the broker is "
            "left nearly idle, and others have its load."
        ),
        better="enough of it to reach the average",
        advice=(
            "Lower minUnloadMessage below the traffic of a broker, or use AvgShedder."
            if logged.strategy == "UniformLoadShedder"
            else "Look at what else loads that host; more and smaller bundles let a part of it go."
        ),
        brokers=(source,),
        bundles=tuple(move.bundle for move in moves),
        moves=tuple(move.id for move in moves),
        evidence=tuple(event for move in moves[:5] for event in move.evidence[-1:]),
        numbers={"bundles": had, "moved": len(moves)},
    )


ENTRY = FindingEntry(
    rule=emptied_broker,
    rank=15,
    needs=(Need.LEADER_LOGS, Need.BROKER_REPORTS),
    words=None,
    doubtful=4,
)
