"""The leader's averages of each bundle: fed at every look at the reports, lost at every move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.pulsar.model import BundleData, Flags, Floats, Ints

Scalar = TypeVar("Scalar", bound=np.generic)

#: NUM_SHORT_SAMPLES and NUM_LONG_SAMPLES of ModularLoadManagerImpl.
SHORT_SAMPLES, LONG_SAMPLES = 10, 1000
#: DEFAULT_MESSAGE_RATE and DEFAULT_MESSAGE_THROUGHPUT: messages/s in and out, bytes/s in and
#: out, of a bundle that nobody has measured.
DEFAULT_STATS = (50.0, 50.0, 50_000.0, 50_000.0)


@dataclass(frozen=True, slots=True)
class BundleAverages:
    """Averages of all bundles that there are; those not known hold nothing of meaning.

    Columns are messages/s in and out, bytes/s in and out.
    """

    #: (n_bundles,) the leader has averages of it.
    is_known: Flags
    #: (n_bundles,) which object it is: a bundle forgotten and met again has another number.
    numbers: Ints
    #: (n_bundles, 4) and (n_bundles,) averages of the last ten samples or so, and how many.
    short: Floats
    short_samples: Ints
    #: (n_bundles, 4) and (n_bundles,) averages of the last thousand or so, and how many.
    long: Floats
    long_samples: Ints
    #: (n_bundles,) topics, of the latest sample.
    topics: Ints
    #: Objects made so far.
    made: int = 0


@dataclass(frozen=True, slots=True)
class Reported:
    """What the brokers' reports say of their bundles, in the order in which they are walked."""

    #: Positions of the brokers that have a report, with or without bundles, in that order.
    walk: Ints
    #: (n_reported,) position of the broker, broker by broker in that order.
    broker: Ints
    #: (n_reported,) position of the bundle.
    bundle: Ints
    #: (n_reported, 4) what the broker measured; columns as of the averages.
    sample: Floats
    #: (n_reported,) topics of the bundle.
    topics: Ints


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at the reports leaves behind."""

    averages: BundleAverages
    #: Averages that are left in the metadata store.
    stored: BundleAverages
    #: (n_reported, 4) averages of each bundle reported, as they were after its broker's turn.
    short: Floats
    long: Floats


def no_averages(bundle_count: int) -> BundleAverages:
    """Begin with bundles none of which is known."""
    zeros = np.zeros(bundle_count, dtype=np.int64)
    default = np.tile(np.array(DEFAULT_STATS), (bundle_count, 1))
    return BundleAverages(
        is_known=np.zeros(bundle_count, dtype=np.bool_),
        numbers=zeros,
        short=default,
        short_samples=zeros,
        long=default,
        long_samples=zeros,
        topics=zeros,
    )


def averaged(average: Floats, samples: Ints | int, sample: Floats) -> Floats:
    """Take one more sample into averages.

    Args:
        average: (…, 4) so far.
        samples: how many there are with this one, never more than its greatest number;
            of a shape that stretches to that of `average`.
        sample: (…, 4) the new one.

    Properties:
        The first sample replaces what was there.
        Up to the greatest number of samples this is their mean, but for rounding; from then
        on the old average keeps a share of 1 − 1/samples: 0.9 of ten, 0.999 of a thousand.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, TimeAverageMessageData.java getUpdatedValue; 4.0.8
        checked against runs of the class.
    """
    with np.errstate(all="ignore"):
        after: Floats = ((samples - 1) * average + sample) / samples
    return after


def with_quotas(stored: BundleAverages, bundles: Ints, quotas: Floats) -> BundleAverages:
    """Take resource quotas for averages of the bundles that have none in the store.

    Args:
        stored: averages in the metadata store.
        bundles: (n_quotas,) positions, each once.
        quotas: (n_quotas, 4) columns as of the averages.

    Quirks:
        A quota counts as if it were the average of ten samples, and of a thousand: what the
        bundle really carries shows in the long-term average after hundreds of looks only.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        getBundleDataOrDefault; read.
    """
    new = ~stored.is_known[bundles]
    at = bundles[new]
    return replace(
        stored,
        is_known=_with(stored.is_known, at, True),
        short=_with(stored.short, at, quotas[new]),
        short_samples=_with(stored.short_samples, at, SHORT_SAMPLES),
        long=_with(stored.long, at, quotas[new]),
        long_samples=_with(stored.long_samples, at, LONG_SAMPLES),
        topics=_with(stored.topics, at, 0),
    )


def meet(averages: BundleAverages, bundles: Ints, stored: BundleAverages) -> BundleAverages:
    """Have averages of bundles: as stored, or Pulsar's defaults, unless they are known.

    Args:
        averages: what is known.
        bundles: positions, each once, in the order in which they are met.
        stored: averages in the metadata store.

    Quirks:
        Placing a bundle that nobody reports makes the leader know it, by 50 messages/s and
        50 kB/s in either direction; the next look at the reports forgets it again.
        Averages from the store go on with their number of samples.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        getBundleDataOrDefault, selectBroker; read.
    """
    new = bundles[~averages.is_known[bundles]]
    if new.size == 0:
        return averages
    old = stored.is_known[new]
    default = np.array(DEFAULT_STATS)
    return BundleAverages(
        is_known=_with(averages.is_known, new, True),
        numbers=_with(averages.numbers, new, averages.made + 1 + np.arange(new.size)),
        short=_with(averages.short, new, np.where(old[:, None], stored.short[new], default)),
        short_samples=_with(averages.short_samples, new, old * stored.short_samples[new]),
        long=_with(averages.long, new, np.where(old[:, None], stored.long[new], default)),
        long_samples=_with(averages.long_samples, new, old * stored.long_samples[new]),
        topics=_with(averages.topics, new, old * stored.topics[new]),
        made=averages.made + int(new.size),
    )


#: (averages, what is reported, averages in the store) → what is left of both.
UpdateBundleData: TypeAlias = Callable[[BundleAverages, Reported, BundleAverages], Looked]


def update_bundle_data(
    averages: BundleAverages, reported: Reported, stored: BundleAverages
) -> Looked:
    """Feed one sample to each bundle that is reported, and forget those that are not.

    To be called at each look at the reports: once for each notification of a change below
    `/loadbalance/brokers`, and once whenever averages are stored.

    Args:
        averages: what the leader knows.
        reported: what the reports say.
        stored: averages in the metadata store.

    Properties:
        Known afterwards are exactly the bundles that are reported.
        Fed with the same samples for ever, averages tend to them.

    Quirks:
        Samples are looks, not minutes: any broker's report feeds every bundle's average
        once more, with the same numbers as before if its own broker has nothing new.
        Ten samples are a few seconds in a large cluster and 25 minutes in a small idle one.
        A bundle on its way, which its old broker no longer reports and its new one not yet,
        is forgotten, in the store too: its averages begin anew with the first sample after
        the move, which is often near 0.
        A bundle that two brokers list takes a sample of each.

    Source:
        apache/pulsar 3.0.2, and 3.2.3 to 5.0.1, impl/ModularLoadManagerImpl.java updateAll,
        updateBundleData, with the leader's part; 4.0.8 checked against runs of the latter,
        but for what is stored.
    """
    fed = _fed(averages, reported, stored)
    return _forgetting(fed, _is_listed(averages, reported))


def update_bundle_data_3_0(
    averages: BundleAverages, reported: Reported, stored: BundleAverages
) -> Looked:
    """Do the same, but forget after each broker the bundles that were not met so far.

    Quirks:
        Only the bundles of the broker that is walked first keep their averages, here and
        in the store: all others begin anew at every look, so that short-term and long-term
        average are the latest sample.

    Source:
        apache/pulsar 3.0.0 and 3.1.0, impl/ModularLoadManagerImpl.java updateBundleData,
        mended by #20620; read.
    """
    listed = np.zeros_like(averages.is_known)
    looked = Looked(averages, stored, np.empty((0, 4)), np.empty((0, 4)))
    for broker in reported.walk.tolist():
        mine = _of_broker(reported, broker)
        listed = listed | _is_listed(averages, mine)
        fed = _forgetting(_fed(looked.averages, mine, looked.stored), listed)
        short, long = np.vstack((looked.short, fed.short)), np.vstack((looked.long, fed.long))
        looked = replace(fed, short=short, long=long)
    return looked


def update_bundle_data_2_10(
    averages: BundleAverages, reported: Reported, stored: BundleAverages
) -> Looked:
    """Feed one sample to each bundle that is reported, and forget nothing.

    Quirks:
        A bundle that moves keeps its averages, and so does one that was split or deleted.

    Source:
        apache/pulsar 2.10.4, impl/ModularLoadManagerImpl.java updateBundleData; read.
    """
    return _fed(averages, reported, stored)


def bundle_data(averages: BundleAverages, names: Sequence[str]) -> BundleData:
    """Lay out the averages of the bundles that are known as strategies read them."""
    known = np.flatnonzero(averages.is_known)
    columns = (
        averages.short[known],
        averages.short_samples[known, None],
        averages.long[known],
        averages.long_samples[known, None],
        averages.topics[known, None],
    )
    return BundleData(
        rows={names[bundle]: row for row, bundle in enumerate(known.tolist())},
        numbers=averages.numbers[known],
        values=np.hstack(columns),
    )


def _of_broker(reported: Reported, broker: int) -> Reported:
    of = reported.broker == broker
    return Reported(
        walk=reported.walk[reported.walk == broker],
        broker=reported.broker[of],
        bundle=reported.bundle[of],
        sample=reported.sample[of],
        topics=reported.topics[of],
    )


def _is_listed(averages: BundleAverages, reported: Reported) -> Flags:
    return _with(np.zeros_like(averages.is_known), reported.bundle, True)


def _forgetting(fed: Looked, listed: Flags) -> Looked:
    """Forget bundles that are not listed; of those the leader deletes what is stored."""
    is_known = fed.averages.is_known
    return replace(
        fed,
        averages=replace(fed.averages, is_known=is_known & listed),
        stored=replace(fed.stored, is_known=fed.stored.is_known & ~(is_known & ~listed)),
    )


def _fed(averages: BundleAverages, reported: Reported, stored: BundleAverages) -> Looked:
    """Feed the samples; where a bundle is listed twice, one after the other."""
    shorts, longs = np.empty_like(reported.sample), np.empty_like(reported.sample)
    for turn in _turns(reported.bundle):
        at = reported.bundle[turn]
        averages = meet(averages, at, stored)
        short_samples = np.minimum(averages.short_samples[at] + 1, SHORT_SAMPLES)
        long_samples = np.minimum(averages.long_samples[at] + 1, LONG_SAMPLES)
        sample = reported.sample[turn]
        short = shorts[turn] = averaged(averages.short[at], short_samples[:, None], sample)
        long = longs[turn] = averaged(averages.long[at], long_samples[:, None], sample)
        averages = replace(
            averages,
            short=_with(averages.short, at, short),
            short_samples=_with(averages.short_samples, at, short_samples),
            long=_with(averages.long, at, long),
            long_samples=_with(averages.long_samples, at, long_samples),
            topics=_with(averages.topics, at, reported.topics[turn]),
        )
    return Looked(averages, stored, shorts, longs)


def _turns(bundles: Ints) -> list[Ints]:
    """Cut positions into parts that name each bundle once: its first mention, then its second."""
    left = np.arange(bundles.size)
    if bundles.size and np.bincount(bundles).max() == 1:
        return [left]  # as a rule: a bundle is listed twice only while it moves
    turns = []
    while left.size:
        _, first = np.unique(bundles[left], return_index=True)
        first.sort()
        turns.append(left[first])
        left = np.delete(left, first)
    return turns


def _with(values: NDArray[Scalar], positions: Ints, changed: ArrayLike) -> NDArray[Scalar]:
    """Change some of an array's values in a copy of it."""
    after = values.copy()
    after[positions] = changed
    return after
