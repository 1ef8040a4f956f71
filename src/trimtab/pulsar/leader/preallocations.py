"""Bundles that the leader has given to a broker which does not report them yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from trimtab.pulsar.leader.bundle_averages import BundleAverages, Reported
from trimtab.pulsar.model import Flags, Floats, Ints, Preallocations


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Preallocated:
    """The leader's two records of it, which do not always agree.

    The first says what weighs on a broker, the second where a bundle is sent that is looked
    up once more.
    """

    #: (n_entries,) position of the broker and of the bundle (Pulsar:
    #: `BrokerData.preallocatedBundleData`), in the order of insertion.
    broker: Ints = field(default_factory=_none)
    bundle: Ints = field(default_factory=_none)
    #: (n_entries,) the object of averages that stands there, as numbered when it was put in.
    number: Ints = field(default_factory=_none)
    #: (n_entries, 2) its long-term messages/s in and out, as last seen.
    rate: Floats = field(default_factory=lambda: np.empty((0, 2)))
    #: (n_entries,) its topics, as last seen.
    topics: Ints = field(default_factory=_none)
    #: Bundle → broker (Pulsar: `preallocatedBundleToBroker`).
    assigned: Mapping[int, int] = field(default_factory=dict)


def preallocate(
    before: Preallocated, bundle: int, broker: int, averages: BundleAverages
) -> Preallocated:
    """Give a bundle to a broker.

    Args:
        before: what was given so far.
        bundle: position of the bundle, which the leader knows.
        broker: position of the broker that was selected for it.
        averages: what the leader knows of bundles.

    Quirks:
        Only a lookup gives: a destination chosen while shedding, or asked for by hand, is
        not remembered here, so that all bundles of a round see the same brokers.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        preallocateBundle, selectBrokerForAssignment; 4.0.8 checked against runs of the
        former.
    """
    is_other = (before.broker != broker) | (before.bundle != bundle)
    kept = _only(before, is_other)
    return Preallocated(
        broker=np.append(kept.broker, broker),
        bundle=np.append(kept.bundle, bundle),
        number=np.append(kept.number, averages.numbers[bundle]),
        rate=np.vstack((kept.rate, averages.long[bundle, :2])),
        topics=np.append(kept.topics, averages.topics[bundle]),
        assigned={**before.assigned, bundle: broker},
    )


def refresh(before: Preallocated, averages: BundleAverages) -> Preallocated:
    """See the averages as they are now: the entries hold the leader's own objects.

    Quirks:
        An object that the leader has forgotten stands there with the numbers it had last.
    """
    at = before.bundle
    same = averages.is_known[at] & (averages.numbers[at] == before.number)
    return replace(
        before,
        rate=np.where(same[:, None], averages.long[at, :2], before.rate),
        topics=np.where(same, averages.topics[at], before.topics),
    )


def clean_up(
    before: Preallocated, reported: Reported, is_own: Flags, averages: BundleAverages
) -> Preallocated:
    """Drop what the leader drops at each look at the reports, after feeding the averages.

    Args:
        before: what was given so far.
        reported: what the reports say.
        is_own: (n_bundles,) the leader itself owns the bundle.
        averages: what the leader knows of bundles, all of the look's samples taken.

    Properties:
        Only bundles that the leader itself owns stay.

    Quirks:
        What was given to another broker than the leader is forgotten at the next look,
        whoever's report caused it: as a rule within seconds, and up to a minute before the
        broker reports the bundle.  In between the bundle weighs nowhere.
        A bundle that is looked up after that is placed anew, perhaps elsewhere, although
        it was given away before.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        updateBundleData, as of #19420; 4.0.8 checked against runs of the method.
    """
    pairs = reported.broker * np.int64(is_own.size) + reported.bundle
    is_reported = np.isin(before.broker * np.int64(is_own.size) + before.bundle, pairs)
    kept = _only(refresh(before, averages), is_own[before.bundle] & ~is_reported)
    given = frozenset(before.bundle.tolist())
    left = {bundle: to for bundle, to in before.assigned.items() if bundle not in given}
    return replace(kept, assigned=left)


def reap(before: Preallocated, is_alive: Flags) -> Preallocated:
    """Send nobody any more to brokers that left; asked at each notification.

    Args:
        before: what was given so far.
        is_alive: (n_brokers,) the broker is registered.

    Quirks:
        Only brokers of which the leader still has data are looked at: if the next look
        at the reports is faster, bundles stay assigned to a broker that is gone.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        reapDeadBrokerPreallocations; read.
    """
    left = {bundle: to for bundle, to in before.assigned.items() if is_alive[to]}
    return replace(before, assigned=left)


def drop_brokers(before: Preallocated, is_present: Flags) -> Preallocated:
    """Lose what was given to brokers of which the leader drops its data.

    Args:
        before: what was given so far.
        is_present: (n_brokers,) the leader has data of the broker.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        updateAllBrokerData; read.
    """
    return _only(before, is_present[before.broker])


def in_order(before: Preallocated, rank: Ints) -> Preallocations:
    """Lay it out as placers read it.

    Args:
        before: what was given so far.
        rank: (n_entries,) place of each entry in its broker's map.
    """
    order = np.lexsort((rank, before.broker))
    return Preallocations(before.broker[order], before.rate[order, 0], before.rate[order, 1])


def _only(before: Preallocated, kept: Flags) -> Preallocated:
    """Keep some of the entries, and all that is assigned."""
    return Preallocated(
        broker=before.broker[kept],
        bundle=before.bundle[kept],
        number=before.number[kept],
        rate=before.rate[kept],
        topics=before.topics[kept],
        assigned=before.assigned,
    )
