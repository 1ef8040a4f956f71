"""Brokers that publish too few bundles for TransferShedder to relieve them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from trimtab.diagnose.night import Event, Finding, Night, Round
from trimtab.pulsar.channel import SHEDDER

#: Of what a broker was to lose, less than this share.
_SHARE = 0.5
#: So many rounds are more than chance.
_OFTEN = 2


class _Short(NamedTuple):
    """A round in which a broker's published bundles were used up."""

    logged: Round
    attempt: Event
    skipped: Event
    #: kB/s that it was to lose, and that it lost.
    asked: float
    moved: float


def top_bundles_used_up(night: Night) -> list[Finding]:
    """Find brokers that lost less than half of what they were to lose, for want of bundles.

    A broker publishes its heaviest bundles, loadBalancerMaxNumberOfBundlesInBundleLoadReport of
    them, and all but the last may go.  Where they carry little there is nothing else to take.
    One finding a round and broker, medium where the broker has two of them or more, else low.

    Source:
        TransferShedder.java findBundlesForUnloading, TopKBundles.java update, 4.0.8
    """
    by_broker: dict[str, list[_Short]] = {}
    for logged in night.rounds:
        if logged.strategy == SHEDDER:
            for short in _short(logged):
                by_broker.setdefault(short.attempt.broker or "", []).append(short)
    return [
        _finding(broker, each, len(mine)) for broker, mine in by_broker.items() for each in mine
    ]


def _short(logged: Round) -> Iterator[_Short]:
    """Yield what was used up too early, attempt by attempt."""
    attempt, moved = None, 0.0
    for event in logged.events:
        if event.kind == "transfer-attempt":
            attempt, moved = event, 0.0
        elif event.kind == "transfer-decided":
            moved = event.numbers["net_kbyte_s"]
        elif event.kind == "transfer-skipped-bundle" and attempt is not None:
            asked = attempt.numbers["offload_kbyte_s"]
            if event.broker == attempt.broker and moved < _SHARE * asked:
                yield _Short(logged, attempt, event, asked, moved)


def _finding(broker: str, short: _Short, rounds: int) -> Finding:
    return Finding(
        "top-bundles-used-up",
        "medium" if rounds >= _OFTEN else "low",
        short.attempt.time,
        short.logged.number,
        brokers=(broker,),
        evidence=(short.attempt, short.skipped),
        numbers={"asked": short.asked, "moved": short.moved},
    )
