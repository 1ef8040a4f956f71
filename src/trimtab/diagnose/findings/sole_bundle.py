"""Hot brokers that own one bundle and are therefore left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.diagnose.broker_loads import percent
from trimtab.diagnose.cure import Change, Cure, many, place
from trimtab.diagnose.entry import FindingEntry, Need, Words
from trimtab.diagnose.night import Event, Finding, Night


def sole_bundle(night: Night) -> list[Finding]:
    """Find overloaded brokers that own a single bundle, which no shedder moves.

    Moving the only bundle would only move the hot spot, so the shedder warns, every
    round, and does nothing; the bundle has to be split.

    Source:
        impl/ThresholdShedder.java, impl/OverloadShedder.java findBundlesForUnloading, 4.0.8
    """
    warned: dict[tuple[str, str], list[tuple[int, Event]]] = {}
    for logged in night.rounds:
        for event in logged.events:
            if event.kind == "sole-bundle" and event.broker and event.bundle:
                warned.setdefault((event.broker, event.bundle), []).append((logged.number, event))
    return [
        _finding(night, broker, bundle, warnings) for (broker, bundle), warnings in warned.items()
    ]


def _finding(night: Night, broker: str, bundle: str, warnings: list[tuple[int, Event]]) -> Finding:
    number, first = warnings[0]
    rounds = {logged.number: logged for logged in night.rounds}
    attempts = [
        event
        for event in rounds[number].events
        if event.kind == "shed-attempt" and event.broker == broker
    ]
    scored = attempts[0].numbers.get("usage_percent") if attempts else None
    usage = None if scored is None else scored / 100
    stands = (
        f" Its score was {percent(usage)} when the first warning came." if usage is not None else ""
    )
    return Finding(
        code="sole-bundle",
        severity="high" if len(warnings) > 2 else "medium",
        time=first.time,
        round=number,
        title=f"{broker} is hot with one bundle, which nothing moves",
        text=f"The shedder warned of {bundle} in {len(warnings)} round(s) and did nothing.{stands}",
        better="split the bundle, so that half of it can move",
        advice=(
            f"pulsar-admin namespaces split-bundle --bundle {bundle.rpartition('/')[2]} "
            f"{bundle.rpartition('/')[0]}; more bundles per namespace from the start "
            "(defaultNumberOfNamespaceBundles)."
        ),
        brokers=(broker,),
        bundles=(bundle,),
        evidence=tuple(event for _, event in warnings[:5]),
        numbers={"warnings": len(warnings), "score": usage},
    )


def _split(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    stuck = [f for f in findings if f.code == "sole-bundle"]
    if not stuck:
        return None
    setting = "defaultNumberOfNamespaceBundles"
    bundles = [finding.bundles[0] for finding in stuck]
    more = f" and {len(bundles) - 1} more" if len(bundles) > 1 else ""
    return sum(finding.numbers["warnings"] for finding in stuck), Change(
        title=f"Split {bundles[0]}{more}",
        why=f"{many(len(stuck), 'broker')} stayed hot with a single bundle.",
        effect="The shedder could move half of it.",
        evidence=place(places, setting),
        confidence="the shedder says so itself in the log",
    )


ENTRY = FindingEntry(
    rule=sole_bundle,
    rank=7,
    needs=(Need.LEADER_LOGS,),
    words=Words(
        "one bundle, nothing to shed",
        "A broker over the bar owned a single bundle, and the last one is never taken.",
    ),
    cure=Cure(4, _split),
)
