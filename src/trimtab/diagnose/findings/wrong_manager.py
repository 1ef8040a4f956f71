"""Brokers that run another load manager than the others, or than was set."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import by_log


def wrong_manager(night: Night) -> list[Finding]:
    """Find brokers with another load manager than the others, or than the settings name.

    A strategy pair that does not fit makes the load manager fail, and before 5.0 the broker
    goes on with SimpleLoadManagerImpl without a word but one line.  By what the reports say
    of themselves, and by that line; high.

    Source:
        LoadManager.java create, 4.0.8 (#26031)
    """
    findings = [
        Finding(
            "wrong-manager.not-created",
            "high",
            brokers=(night.broker(log),),
            numbers={"lines": len(lines)},
            values={"log": log},
            **of_lines(night, lines),
        )
        for log, lines in by_log(night, "load-manager-not-created").items()
    ]
    return findings + _unlike(night)


def _unlike(night: Night) -> list[Finding]:
    by_manager: dict[str, list[str]] = {}
    for broker, reports in night.reports.items():
        for manager in sorted(reports.managers):
            by_manager.setdefault(manager, []).append(broker)
    configured = night.conf.get("loadManagerClassName", "").rpartition(".")[2]
    is_other = bool(configured) and any(manager != configured for manager in by_manager)
    if len(by_manager) < 2 and not is_other:
        return []
    reported = "; ".join(f"{m}: {', '.join(brokers)}" for m, brokers in sorted(by_manager.items()))
    return [
        Finding(
            "wrong-manager.unlike" + ".configured" * bool(configured),
            "high",
            min(reports.times[0] for reports in night.reports.values()),
            0,
            brokers=tuple(dict.fromkeys(b for brokers in by_manager.values() for b in brokers)),
            numbers={manager: len(brokers) for manager, brokers in by_manager.items()},
            values={"reported": reported, "configured": configured},
        )
    ]
