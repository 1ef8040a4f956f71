"""Brokers shed twice on the same report."""

from __future__ import annotations

from itertools import pairwise

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.failed_orders import carried_out
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
    for before, after in pairwise(carried_out(night)):
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
    again = after.moves_from(broker)
    return Finding(
        "stale-report",
        "high" if len(again) > 1 else "medium",
        after.time,
        after.number,
        brokers=(broker,),
        numbers={
            "carried_mbyte_s": _carried(lines[1]) or 0.0,
            "seconds": (after.time - before.end).total_seconds(),
        },
        values={
            "first": before.number,
            "second": after.number,
            "moved": len(before.moves_from(broker)),
        },
        **of_moves(again) | {"evidence": lines},
    )
