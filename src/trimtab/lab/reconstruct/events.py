"""Lives of brokers, and what people did to them and to bundles → the events of a world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.lab.reconstruct.clocks import Life
from trimtab.lab.reconstruct.evidence import Evidence, Stop
from trimtab.lab.simulate.world import Event, Kind
from trimtab.pulsar.model import Ints

# A broker that somebody stopped is seen to have gone within so much, s.
_GONE_S = 60.0


def events(evidence: Evidence, lives: Sequence[Life], from_s: float) -> tuple[Event, ...]:
    """Return what people do to a cluster, in order of time, s from the beginning.

    A broker joins with its first report.  It leaves, or is killed, when somebody is told
    to have done so; if nobody is, it leaves when it is seen to have gone.  Bundles that
    were unloaded by hand are so again, to the broker that they really went to.
    """
    happenings = []
    for life in lives:
        if life.from_s > from_s:
            happenings.append(Event(life.from_s - from_s, Kind.JOIN, (life.broker,)))
        end_s = _end(life, lives)
        if end_s < np.inf:
            stop = stopped(life.broker, end_s, evidence.stops)
            kind = Kind.KILL if stop is not None and stop.is_kill else Kind.LEAVE
            time_s = end_s if stop is None else stop.time_s
            happenings.append(Event(max(time_s - from_s, 0.0), kind, (life.broker,)))
    happenings += [
        Event(time_s - from_s, Kind.LEADER, (broker,))
        for time_s, broker in evidence.leaders
        if time_s > from_s
    ]
    owners = evidence.owners
    happenings += [
        Event(
            float(owners.time_s[i]) - from_s,
            Kind.UNLOAD,
            (int(owners.bundle[i]),),
            float(owners.broker[i]),
        )
        for i in by_hand(evidence, lives).tolist()
        if owners.time_s[i] > from_s
    ]
    return tuple(sorted(happenings, key=lambda event: event.time_s))


def by_hand(evidence: Evidence, lives: Sequence[Life]) -> Ints:
    """Return the changes of owners that somebody made by hand, (n,) positions in `owners`.

    A bundle leaves a broker that lives on if the leader unloads it, or somebody else does.
    Nobody is taken to have, where the leader's unloads are not known.
    """
    owners, rows, last = evidence.owners, list[int](), dict[int, int]()
    for i in range(owners.time_s.size):
        bundle, broker = int(owners.bundle[i]), int(owners.broker[i])
        if broker < 0:
            continue
        source = last.get(bundle, -1)
        last[bundle] = broker
        is_other = source >= 0 and source != broker and not owners.is_shed[i]
        if (
            is_other
            and evidence.is_attributed
            and _lives_on(source, owners.time_s[i], evidence, lives)
        ):
            rows.append(i)
    return np.array(rows, np.int64)


def _lives_on(broker: int, time_s: float, evidence: Evidence, lives: Sequence[Life]) -> bool:
    """Return whether a broker neither went nor was made to go about some time."""
    about = [
        life
        for life in lives
        if life.broker == broker and life.from_s <= time_s and _end(life, lives) > time_s + _GONE_S
    ]
    is_stopped = any(
        stop.broker == broker and abs(stop.time_s - time_s) <= _GONE_S for stop in evidence.stops
    )
    return bool(about) and not is_stopped


def stopped(broker: int, gone_s: float, stops: Sequence[Stop]) -> Stop | None:
    """Return what ended a broker that was seen to have gone at some time."""
    mine = [s for s in stops if s.broker == broker and 0 <= gone_s - s.time_s <= _GONE_S]
    return max(mine, key=lambda stop: stop.time_s, default=None)


def ended_untold(evidence: Evidence, lives: Sequence[Life]) -> int:
    """Return how many lives ended without a record of who ended them."""
    ends = [(life.broker, _end(life, lives)) for life in lives]
    return sum(
        end_s < np.inf and stopped(broker, end_s, evidence.stops) is None for broker, end_s in ends
    )


def session_s(evidence: Evidence, lives: Sequence[Life]) -> tuple[float, float] | None:
    """Return how long after a kill the broker was seen to go, least and most; None: no kill."""
    lengths_s = [
        end_s - stop.time_s
        for life in lives
        if (end_s := _end(life, lives)) < np.inf
        and (stop := stopped(life.broker, end_s, evidence.stops)) is not None
        and stop.is_kill
    ]
    return (min(lengths_s), max(lengths_s)) if lengths_s else None


def _end(life: Life, lives: Sequence[Life]) -> float:
    """Return when a life was seen to have ended: with the broker's next one, if not before."""
    later = [other.from_s for other in lives if other.broker == life.broker]
    return min([life.to_s, *(from_s for from_s in later if from_s > life.from_s)])
