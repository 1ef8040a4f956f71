"""Why rounds of TransferShedder unloaded nothing: as the leader counted, and as decided again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from trimtab.diagnose.transfers.again import Again

#: What the leader counts, by result and reason.
COUNTER = "pulsar_lb_unload_broker_breakdown_total"
#: The reason of unloads that were asked for by hand, which no round decides.
_BY_HAND = "Admin"


def reasons(again: Sequence[Again], rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of `unload_reasons`: what a leader counted from its first sample to its last.

    Args:
        again: the rounds decided again.
        rows: of `metrics`, of the name COUNTER.
    """
    counted: dict[str, dict[datetime, Counter[tuple[str, str]]]] = {}
    for row in rows:
        labels = dict(row["labels"] or ())
        at = counted.setdefault(row["log_broker"], {}).setdefault(row["time"], Counter())
        at[labels.get("result", ""), labels.get("reason", "")] = int(row["value"])
    found = []
    for log, samples in sorted(counted.items(), key=lambda each: str(each[0])):
        times = sorted(samples)
        first, last = times[0], times[-1]
        mine = [it for it in again if it.round.log_broker == log and first < it.round.end < last]
        if mine:
            found += _rows(log, (first, last), samples[last] - samples[first], mine)
    return found


def _rows(
    log: str,
    span: tuple[datetime, datetime],
    counted: Counter[tuple[str, str]],
    mine: Sequence[Again],
) -> list[dict[str, Any]]:
    """Return the rows of one leader."""
    decided: Counter[tuple[str, str]] = Counter()
    for each in mine:
        if each.decided is None:
            continue
        decision = each.decided.decision
        if decision.skipped is not None:
            decided["Skip", str(decision.skipped)] += 1
        for transfer in decision.transfers:
            decided["Success", str(transfer.cause)] += len(transfer.unloads)
    open_rounds = sum(each.decided is None for each in mine)
    return [
        {
            "log_broker": log,
            "from": span[0],
            "to": span[1],
            "result": result,
            "reason": reason,
            "counted": counted[result, reason],
            "decided": None if reason == _BY_HAND else decided[result, reason],
            "rounds": len(mine),
            "open_rounds": open_rounds,
        }
        for result, reason in sorted(counted.keys() | decided.keys())
    ]


def disagreeing(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return in words where counters and recomputation differ, and no round is open."""
    return [
        f"{row['log_broker']} counted {row['reason']} {row['counted']} time(s), recomputed "
        f"{row['decided']}"
        for row in rows
        if row["decided"] not in (None, row["counted"]) and not row["open_rounds"]
    ]
