"""Brokers that run another load manager than the others, or than was set."""

from __future__ import annotations

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import grouped, other_events, round_at

_SETTING = "loadManagerClassName"


def wrong_manager(night: Night) -> list[Finding]:
    """Find brokers with another load manager than the others, or than the settings name.

    A strategy pair that does not fit makes the load manager fail, and before 5.0 the broker
    goes on with SimpleLoadManagerImpl without a word but one line.  By what the reports say
    of themselves, and by that line; high.

    Source:
        LoadManager.java create, 4.0.8 (#26031)
    """
    findings = []
    for log, lines in grouped(
        other_events(night, "load-manager-not-created"), lambda e: e.log_broker
    ).items():
        text = f"{log} could not create its load manager, and goes on with a simple one before 5.0."
        findings.append(
            Finding(
                code="wrong-manager",
                severity="high",
                time=lines[0].time,
                round=round_at(night, lines[0]),
                title=f"{log} could not create its load manager",
                text=text,
                better="the load manager that is set",
                advice=(
                    "Read the reason behind the line: AvgShedder must be set for both "
                    "loadBalancerLoadSheddingStrategy and loadBalancerLoadPlacementStrategy."
                ),
                brokers=(night.names.get(log, log),),
                evidence=tuple(lines[:5]),
                numbers={"lines": len(lines)},
            )
        )
    return findings + _unlike(night)


def _unlike(night: Night) -> list[Finding]:
    by_manager: dict[str, list[str]] = {}
    for broker, reports in night.reports.items():
        for manager in sorted(reports.managers):
            by_manager.setdefault(manager, []).append(broker)
    configured = night.conf.get(_SETTING, "").rpartition(".")[2]
    is_other = bool(configured) and any(manager != configured for manager in by_manager)
    if len(by_manager) < 2 and not is_other:
        return []
    reported = "; ".join(f"{m}: {', '.join(brokers)}" for m, brokers in sorted(by_manager.items()))
    first = min(reports.times[0] for reports in night.reports.values())
    return [
        Finding(
            code="wrong-manager",
            severity="high",
            time=first,
            round=0,
            title="Brokers run another load manager than they should",
            text=f"Their reports say {reported}."
            + (f" {_SETTING} is {configured}." if configured else ""),
            better="one load manager on all brokers",
            advice=f"Set {_SETTING} alike and restart those that differ.",
            brokers=tuple(dict.fromkeys(b for brokers in by_manager.values() for b in brokers)),
            numbers={manager: len(brokers) for manager, brokers in by_manager.items()},
        )
    ]


ENTRY = FindingEntry(
    rule=wrong_manager,
    rank=20,
    needs=(Need.BROKER_REPORTS,),
    partly={Need.OTHER_LOGS: "by their lines"},
    words=None,
    is_fault=True,
)
