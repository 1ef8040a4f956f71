"""Unloads that did not happen, or not in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.diagnose.entry import FindingEntry, Need, Useless, Words
from trimtab.diagnose.failed_orders import FAILURES, failed_orders
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events, round_at


def unload_failed(night: Night) -> list[Finding]:
    """Find bundles whose unloading failed or timed out.

    A failed unload is not counted as recent, so the same bundle may be chosen again in the
    next round; one that timed out has lost its clients all the same.  One finding a bundle,
    by the last part of its name, since some lines have nothing else; grave from three on.

    Source:
        impl/ModularLoadManagerImpl.java doLoadShedding, BrokerService.java
        unloadServiceUnit, 4.0.8
    """
    lines = [event for event in other_events(night, *FAILURES) if event.bundle]
    orders = failed_orders(night)
    return [_finding(night, same, orders) for same in grouped(lines, _range).values()]


def _range(event: Event) -> str:
    return (event.bundle or "").rpartition("/")[2]


def _finding(night: Night, lines: list[Event], orders: Mapping[str, Sequence[Event]]) -> Finding:
    first = lines[0]
    bundle = max((event.bundle or "" for event in lines), key=len)
    late = sum(event.kind == "bundle-unload-timed-out" for event in lines)
    moves = [order for order, failures in orders.items() if failures[0] in lines]
    timed_out = f", {late} of them by running out of time" if late else ""
    return Finding(
        code="unload-failed",
        severity="high" if len(lines) > 2 else "medium",
        time=first.time,
        round=round_at(night, first),
        title=f"Unloading {bundle} failed",
        text=f"It failed {len(lines)} time(s){timed_out}, by the logs of the brokers.",
        better="an unload that ends within namespaceBundleUnloadingTimeoutMs",
        advice=(
            "Look at the stack trace behind the line; where it is the time, raise "
            "namespaceBundleUnloadingTimeoutMs or split the bundle, so that fewer topics close."
        ),
        brokers=tuple(dict.fromkeys(event.broker for event in lines if event.broker)),
        bundles=(bundle,),
        moves=tuple(moves),
        evidence=tuple(lines[:5]),
        numbers={"failures": len(lines), "timed_out": late},
    )


ENTRY = FindingEntry(
    rule=unload_failed,
    rank=30,
    needs=(Need.LEADER_LOGS, Need.OTHER_LOGS),
    words=Words("unload failed", "Unloading the bundle failed or ran out of time."),
    useless=Useless(12, "of a bundle whose unload failed"),
    is_fault=True,
)
