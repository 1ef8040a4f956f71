"""Hot brokers all of whose bundles had just been moved."""

from __future__ import annotations

from datetime import timedelta

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Event, Finding, Move, Night, Round
from trimtab.pulsar.model import Reason

#: Lines that say what became of a broker's turn.
_EXPLAINED = frozenset(
    {
        "unload",
        "sole-bundle",
        "overloaded-without-bundles",
        "no-broker-available",
        "same-destination",
        "unload-failed",
        "too-little-to-shed",
    }
)


def grace_starvation(night: Night) -> list[Finding]:
    """Find hot brokers that could lose nothing because their bundles had just come.

    A bundle that was moved cannot move again within the grace period, so a wrong placement
    stays.  A broker counts where the shedder attempted to shed it, nothing was chosen and
    nothing else explains it, and the balancer had moved bundles to it within the grace
    period; where the round was decided again, it must have found no bundle to take.  One
    finding a broker, medium from three rounds on, low before.

    Source:
        impl/ModularLoadManagerImpl.java recentlyUnloadedBundles, 4.0.8
    """
    starved: dict[str, list[tuple[Round, Event, list[Move]]]] = {}
    for logged in night.rounds:
        for event in logged.events:
            if event.kind != "shed-attempt" or event.broker is None:
                continue
            came = _came(night, logged, event.broker)
            if came and _is_without_reason(logged, event.broker):
                starved.setdefault(event.broker, []).append((logged, event, came))
    return [_finding(night, broker, rounds) for broker, rounds in starved.items()]


def _is_without_reason(logged: Round, broker: str) -> bool:
    if any(e.broker == broker and e.kind in _EXPLAINED for e in logged.events):
        return False
    state = logged.brokers.get(broker)
    return state is None or state.reason is None or state.reason == Reason.NO_BUNDLES


def _came(night: Night, logged: Round, broker: str) -> list[Move]:
    since = logged.time - timedelta(seconds=night.grace_period_s)
    return [
        move
        for earlier in night.rounds
        if since <= earlier.time < logged.time
        for move in earlier.moves
        if move.target == broker
    ]


def _finding(night: Night, broker: str, rounds: list[tuple[Round, Event, list[Move]]]) -> Finding:
    logged, event, came = rounds[0]
    return Finding(
        "grace-starvation",
        "medium" if len(rounds) > 2 else "low",
        event.time,
        logged.number,
        brokers=(broker,),
        bundles=tuple(dict.fromkeys(move.bundle for move in came)),
        evidence=tuple(line for _, line, _ in rounds[:SHOWN]),
        numbers={"rounds": len(rounds), "came": len(came)},
        values={"minutes": night.grace_period_s / 60},
    )
