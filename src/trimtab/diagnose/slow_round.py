"""Rounds that took long."""

from __future__ import annotations

from trimtab.diagnose.night import Finding, Night, Round

#: Seconds between the first line and the last from which a round is slow.
_SLOW_S = 30.0


def slow_round(night: Night) -> list[Finding]:
    """Find rounds that took half a minute or more.

    Unloads are made one after the other on the thread that also measures the leader's usage
    and writes its report, and the next round begins an interval after the end of this one.
    High if it took longer than the shedding interval, low otherwise.

    Source:
        LoadSheddingTask.java, LoadReportUpdaterTask.java, 4.0.8: one executor
    """
    return [_finding(night, logged) for logged in night.rounds if _took_s(logged) >= _SLOW_S]


def _took_s(logged: Round) -> float:
    return (logged.end - logged.time).total_seconds()


def _finding(night: Night, logged: Round) -> Finding:
    took_s, moves = _took_s(logged), len(logged.moves)
    return Finding(
        code="slow-round",
        severity="high" if took_s > night.interval_s else "low",
        time=logged.time,
        round=logged.number,
        title=f"Round {logged.number} took {took_s:.0f} s",
        text=(
            f"It moved {moves} bundle(s), one after the other; meanwhile the leader neither "
            "measured itself nor reported."
        ),
        better="fewer bundles a round",
        advice=(
            "Look at how long brokers take to unload a bundle; fewer topics a bundle, or under "
            "UniformLoadShedder a lower maxUnloadBundleNumPerShedding, shorten a round."
        ),
        bundles=tuple(move.bundle for move in logged.moves),
        evidence=(logged.events[0], logged.events[-1]),
        numbers={"took_s": took_s, "unloads": moves},
    )
