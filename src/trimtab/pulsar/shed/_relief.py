"""How ThresholdShedder and OverloadShedder relieve a broker, once they know by how much."""

from __future__ import annotations

import numpy as np

from trimtab.pulsar.model import ClusterLoad, Flags, Floats, Ints, Reason, Unload
from trimtab.pulsar.scores import descending

#: Why a broker sheds or not, in the order of the Java's tests; the last where none is met.
_REASONS = np.array(
    [
        Reason.BALANCED,
        Reason.LOW_THROUGHPUT,
        Reason.SOLE_BUNDLE,
        Reason.OVERLOADED,
        Reason.NO_BUNDLES,
    ],
    np.object_,
)


def relief(
    load: ClusterLoad, is_over: Flags, is_enough: Flags, offload: Floats
) -> tuple[tuple[Unload, ...], tuple[Reason, ...]]:
    """Return the heaviest bundles of every broker over its bar, as far as it may shed, and why.

    Args:
        load: what the brokers reported.
        is_over: (n_brokers,) something is asked of the broker.
        is_enough: (n_brokers,) what is asked is worth a move.
        offload: (n_brokers,) bytes/s asked.

    Returns:
        What each broker gives up, and why it sheds or not.
    """
    if not is_over.any():
        return (), (Reason.BALANCED,) * is_over.size  # most rounds: bundles are not even counted
    pools = _pool_sizes(load)
    codes = np.select(
        [~is_over, ~is_enough, load.bundle_count == 1, (pools > 0) & (load.bundle_count > 0)],
        range(_REASONS.size - 1),
        _REASONS.size - 1,
    )
    reasons = _REASONS[codes]
    is_source = reasons == Reason.OVERLOADED
    return _heaviest_first(load, is_source, offload), tuple(reasons.tolist())


def throughput(load: ClusterLoad) -> Floats:
    """Return what each broker's newest report says it takes in and gives out, bytes/s."""
    with np.errstate(all="ignore"):
        return load.throughput_in + load.throughput_out


def _heaviest_first(load: ClusterLoad, is_source: Flags, offload: Floats) -> tuple[Unload, ...]:
    """Return each source's heaviest bundles until its offload is met, at least one."""
    if not is_source.any():
        return ()  # what bundles carry is not even asked for
    pool = np.flatnonzero(load.bundle_is_sheddable & is_source[load.bundle_broker])
    traffic = load.traffic_of(pool)
    with np.errstate(all="ignore"):
        weight = traffic.throughput_in + traffic.throughput_out
    order = descending(weight)
    order = order[np.argsort(load.bundle_broker[pool[order]], kind="stable")]
    pool, weight = pool[order], weight[order]
    sources, starts = np.unique(load.bundle_broker[pool], return_index=True)
    unloads: list[Unload] = []
    for source, group, carried in zip(
        sources.tolist(), np.split(pool, starts[1:]), np.split(weight, starts[1:]), strict=False
    ):
        with np.errstate(all="ignore"):
            is_unmet = np.cumsum(carried)[:-1] < offload[source]
        # Once the target is met it stays met: count up to the first False.
        count = 1 + (is_unmet.size if is_unmet.all() else int(np.argmin(is_unmet)))
        unloads += [Unload(load.brokers[source], load.bundles[i]) for i in group[:count].tolist()]
    return tuple(unloads)


def _pool_sizes(load: ClusterLoad) -> Ints:
    """Return the number of each broker's bundles that may be shed."""
    sizes = np.bincount(load.bundle_broker[load.bundle_is_sheddable], minlength=len(load.brokers))
    return sizes.astype(np.int64)
