"""Unloads that did not happen, or not in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.failed_orders import FAILURES, failed_orders
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events


def unload_failed(night: Night) -> list[Finding]:
    """Find bundles whose unloading failed or timed out.

    A failed unload is not counted as recent, so the same bundle may be chosen again in the
    next round; one that timed out has lost its clients all the same.  One finding a bundle;
    a line that has the range alone belongs to the only bundle of that range, if one failed;
    grave from three on.

    Source:
        impl/ModularLoadManagerImpl.java doLoadShedding, BrokerService.java
        unloadServiceUnit, 4.0.8
    """
    lines = [event for event in other_events(night, *FAILURES) if event.bundle]
    orders = failed_orders(night)
    return [_finding(night, same, orders) for same in grouped(lines, _names(lines)).values()]


def _names(lines: Sequence[Event]) -> Callable[[Event], str]:
    """Return what names the bundle of a line: in full, where one such bundle has its range."""
    full = {event.bundle for event in lines if event.bundle and "/" in event.bundle}
    by_range = grouped(full, _range)

    def name(event: Event) -> str:
        bundle = event.bundle or ""
        same = by_range.get(bundle, [])
        return same[0] if len(same) == 1 else bundle

    return name


def _range(bundle: str) -> str:
    return bundle.rpartition("/")[2]


def _finding(night: Night, lines: list[Event], orders: Mapping[str, Sequence[Event]]) -> Finding:
    late = sum(event.kind == "bundle-unload-timed-out" for event in lines)
    return Finding(
        "unload-failed.late" if late else "unload-failed",
        "high" if len(lines) > 2 else "medium",
        brokers=tuple(dict.fromkeys(event.broker for event in lines if event.broker)),
        bundles=(max((event.bundle or "" for event in lines), key=len),),
        moves=tuple(order for order, failures in orders.items() if failures[0] in lines),
        numbers={"failures": len(lines), "timed_out": late},
        **of_lines(night, lines),
    )
