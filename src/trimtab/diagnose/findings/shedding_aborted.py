"""Rounds that an exception ended."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import by_log


def shedding_aborted(night: Night) -> list[Finding]:
    """Find leaders whose shedding task was ended by an exception.

    The task catches what the shedder throws, logs it and waits for the next interval, so a
    fault that depends on the load comes back every round and nothing is shed meanwhile.
    One finding a leader; from three aborted rounds on it is grave.

    Source:
        LoadSheddingTask.java run, 4.0.8; AvgShedder's comparator before 4.0.8 (#24954)
    """
    return [
        Finding(
            "shedding-aborted",
            "high" if len(lines) > 2 else "medium",
            numbers={"aborted": len(lines)},
            values={"log": log},
            **of_lines(night, lines),
        )
        for log, lines in by_log(night, "shedding-error").items()
    ]
