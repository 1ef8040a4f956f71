"""Brokers shed twice on the same report."""

from __future__ import annotations

from itertools import pairwise

from trimtab.diagnose.entry import FindingEntry, Need, Useless, Words
from trimtab.diagnose.night import Event, Finding, Night, Round

#: Two printed traffics that are the same number.
_SAME = 1e-9


def stale_report(night: Night) -> list[Finding]:
    """Find rounds that shed a broker on a report from before its last unload.

    Traffic is reported a minute at a time, so a round that follows an unload closely still
    sees the bundle on its source, and sheds the same excess again.  It is proved by the
    traffic that the shedder printed: the same to the last digit in both rounds, although
    bundles were taken in the first.

    Source:
        impl/ThresholdShedder.java findBundlesForUnloading, 4.0.8; statsUpdateFrequencyInSecs
    """
    findings = []
    for before, after in pairwise(night.rounds):
        if before.term != after.term:
            continue
        for event in after.events:
            earlier = next(
                (e for e in before.events if e.kind == event.kind and e.broker == event.broker),
                None,
            )
            if earlier is not None and _is_again(before, after, (earlier, event)):
                findings.append(_finding(before, after, (earlier, event)))
    return findings


def _carried(event: Event) -> float | None:
    """Return the broker's traffic as printed, MiB/s; None where the line does not tell."""
    offload, left = (event.numbers.get(f"{name}_mbyte_s") for name in ("offload", "left"))
    return None if offload is None or left is None else offload + left


def _is_again(before: Round, after: Round, lines: tuple[Event, Event]) -> bool:
    if lines[0].kind != "shed-attempt" or lines[0].broker is None:
        return False
    was, now = (_carried(event) for event in lines)
    if was is None or now is None or was <= 0 or abs(now - was) > _SAME * was:
        return False
    return all(any(m.source == lines[0].broker for m in r.moves) for r in (before, after))


def _finding(before: Round, after: Round, lines: tuple[Event, Event]) -> Finding:
    broker = lines[0].broker or ""
    moves = [move for move in before.moves if move.source == broker]
    again = [move for move in after.moves if move.source == broker]
    carried = _carried(lines[1]) or 0.0
    seconds = (after.time - before.end).total_seconds()
    return Finding(
        code="stale-report",
        severity="high" if len(again) > 1 else "medium",
        time=after.time,
        round=after.number,
        title=f"{broker} was shed twice on the same report",
        text=(
            f"Round {before.number} took {len(moves)} bundle(s) from it, and {seconds:.0f} s later "
            f"round {after.number} still saw the same {carried:.2f} MB/s, to the last digit."
        ),
        better="wait for a report that was written after the unload",
        advice=(
            "A loadBalancerSheddingIntervalMinutes of 2 lets the statistics of a minute arrive "
            "in between."
        ),
        brokers=(broker,),
        bundles=tuple(move.bundle for move in again),
        moves=tuple(move.id for move in again),
        evidence=lines,
        numbers={"carried_mbyte_s": carried, "seconds": seconds},
    )


ENTRY = FindingEntry(
    rule=stale_report,
    rank=26,
    needs=(Need.LEADER_LOGS,),
    words=Words(
        "on a stale report",
        "The decision rests on a report from before the last unload of the same broker.",
    ),
    useless=Useless(23, "decided on a report from before the last unload"),
)
