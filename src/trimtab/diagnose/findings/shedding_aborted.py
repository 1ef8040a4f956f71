"""Rounds that an exception ended."""

from __future__ import annotations

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import grouped, other_events, round_at


def shedding_aborted(night: Night) -> list[Finding]:
    """Find leaders whose shedding task was ended by an exception.

    The task catches what the shedder throws, logs it and waits for the next interval, so a
    fault that depends on the load comes back every round and nothing is shed meanwhile.
    One finding a leader; from three aborted rounds on it is grave.

    Source:
        LoadSheddingTask.java run, 4.0.8; AvgShedder's comparator before 4.0.8 (#24954)
    """
    findings = []
    for log, lines in grouped(
        other_events(night, "shedding-error"), lambda e: e.log_broker
    ).items():
        first = lines[0]
        findings.append(
            Finding(
                code="shedding-aborted",
                severity="high" if len(lines) > 2 else "medium",
                time=first.time,
                round=round_at(night, first),
                title=f"Shedding on {log} was ended by an exception",
                text=(
                    f"The log of {log} tells of {len(lines)} round(s) that an exception ended; "
                    "the stack trace below the line names the cause. In such a round nothing, or "
                    "not all, is shed."
                ),
                better="a round that ends by itself",
                advice=(
                    'If it says "Comparison method violates its general contract" under '
                    "AvgShedder, upgrade to 4.0.8 or later; otherwise report the stack trace."
                ),
                evidence=tuple(lines[:5]),
                numbers={"aborted": len(lines)},
            )
        )
    return findings


ENTRY = FindingEntry(
    rule=shedding_aborted,
    rank=31,
    needs=(Need.LEADER_LOGS,),
    words=None,
    is_fault=True,
)
