"""Windows one after the other → traffic and network usage that no burst or odd window shifts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.costs import Knowledge, Windows
from trimtab.lab.costs.collect import forgotten
from trimtab.lab.costs.knowledge import with_brokers, with_bundles
from trimtab.lab.costs.look import FULL
from trimtab.lab.costs.predict import carried
from trimtab.lab.steering.foresight.memory import SHARES_BEFORE, Excursions, Memory, Network
from trimtab.lab.steering.view import View
from trimtab.pulsar.model import Floats, Ints

# Share of a new window in what bundles do not explain of a NIC.
_REST_SHARE = 0.3
# What is seen of NICs is forgotten at this rate a report; and the weight of what is taken
# beforehand, (MiB/s) squared.
_KEPT = 0.999
_BEFORE = 1.0
_MIB = 1024.0 * 1024.0
# Windows agree that are apart by less than this share of what they differ by from those before.
_AGREE = 0.5
# Variance of the level of a broker that was full as bundles left it, points squared, and for how
# many s it counts that a look showed it full.
_HIDDEN, _FULL_S = 900.0, 300.0
# Windows without a word after which a bundle is taken to be as it was.
_SILENT = 1.25


def sound_lines(view: View, known: Knowledge) -> Ints:
    """Return the lines of a look whose window is of one owner alone.

    The window in which a bundle changed hands is partial: its clients come back one by one.
    """
    look, bundles = view.look, known.bundles
    written_s = look.written_s[look.report]
    moved_s = bundles.moved_s[look.bundle]
    is_sound = (written_s > moved_s + view.windows.bundle_s + 5.0) | (written_s < moved_s)
    owner = bundles.owner[look.bundle]
    return np.flatnonzero(is_sound & (look.broker[look.report] == owner))


def with_rates(memory: Memory, view: View, known: Knowledge) -> Memory:
    """Return the memory with the newest sound windows.

    A bundle of which nothing is said for longer than a window keeps its last: who writes only what
    has changed says by silence that nothing has.
    """
    lines = sound_lines(view, known)
    which = view.look.bundle[lines]
    newest = memory.rates[-1].copy()
    newest[which] = view.look.counts[lines]
    nobodys = known.bundles.owner < 0
    newest[nobodys] = 0.0
    is_due = memory.rated_s <= view.time_s - _SILENT * view.windows.bundle_s
    is_due[which] = True
    is_due &= ~nobodys
    rates = memory.rates.copy()
    rates[:-1, is_due] = memory.rates[1:, is_due]
    rates[-1] = newest
    rated_s, n_rates = memory.rated_s.copy(), memory.n_rates.copy()
    rated_s[is_due] = view.time_s
    n_rates[is_due] = np.minimum(n_rates[is_due] + 1, len(rates))
    n_rates[nobodys] = 0
    robust = memory.robust.copy()
    due = np.flatnonzero(is_due | nobodys)
    robust[due] = robust_rates(rates[:, due], n_rates[due])
    return replace(memory, rates=rates, n_rates=n_rates, rated_s=rated_s, robust=robust)


def robust_rates(rates: Floats, count: Ints) -> Floats:
    """Return the median of the last windows of each bundle, (n_bundles, 7).

    Where the newer half of them agrees on something else it is a step, and they alone count.

    Properties:
        What lasts for less than half of the windows leaves no trace, nor does what comes and goes
        from one to the next.
    """
    robust = rates[-1].copy()
    for n in range(2, len(rates) + 1):
        which = np.flatnonzero(count == n)
        if which.size:
            robust[which] = _middle(np.sort(rates[len(rates) - n :, which], axis=0))
    newer = np.sort(rates[-(len(rates) // 2) :], axis=0)
    middle = _middle(newer)
    apart = newer[-1] - newer[0]
    is_step = (count == len(rates))[:, None] & (apart < _AGREE * np.abs(middle - robust))
    return np.where(is_step, middle, robust)


def _middle(ordered: Floats) -> Floats:
    """Return the median of windows in order: NumPy's takes twice as long for so few of them."""
    count = len(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    # What is not a number comes last.
    return np.where(np.isnan(ordered[-1]), np.nan, middle)


def with_others(memory: Memory, view: View) -> Memory:
    """Return the memory with what other processes took in the newest windows."""
    who = view.look.broker
    others = memory.others.copy()
    others[:-1, who] = memory.others[1:, who]
    others[-1, who] = view.look.others
    return replace(memory, others=others)


def robust_others(memory: Memory) -> Floats:
    """Return the median of what others took in the last windows, (n_brokers,) percent."""
    others = memory.known.brokers.others.copy()
    measured = np.flatnonzero(~np.isnan(memory.others).all(axis=0))
    if measured.size:
        others[measured] = np.nanmedian(memory.others[:, measured], axis=0)
    return others


def with_full(known: Knowledge, looks: Excursions, windows: Windows) -> Knowledge:
    """Return what is known with levels of brokers that were full as unsure as they are.

    What a full broker would use is not to be seen: once bundles have left it the first whole
    window is believed, however far off it is.
    """
    b = known.brokers
    recent = looks.usage[looks.time_s > known.time_s - _FULL_S]
    is_touched = b.written_s <= b.touched_s + windows.settled_s
    is_hidden = (recent >= FULL).any(axis=0) & is_touched
    variance = np.where(is_hidden, np.maximum(b.level_variance, _HIDDEN), b.level_variance)
    return with_brokers(known, level_variance=variance)


def with_silence(memory: Memory, windows: Windows, waits: Ints) -> Knowledge:
    """Return what is known with levels that a report contradicted and silence has confirmed.

    Who writes only what has changed says by silence that it still is as in its last report.

    Args:
        memory: with the newest reports and windows.
        windows: over how long means are taken.
        waits: brokers that have not been silent, and of which a report waits to be believed.
    """
    known, b = memory.known, memory.known.brokers
    silent = (known.time_s - b.written_s) / windows.host_s
    is_sure = (b.doubts > 0) & (b.doubts + silent >= windows.in_doubt) & (memory.newest > 0)
    is_sure[waits] = False
    who = np.flatnonzero(is_sure)
    if who.size == 0:
        return known
    level, load = b.level.copy(), b.level_load.copy()
    variance, doubts, doubt = b.level_variance.copy(), b.doubts.copy(), b.doubt.copy()
    level[who] = memory.newest[who] - np.nan_to_num(b.others[who])
    load[who] = carried(with_bundles(known, counts=memory.rates[-1]))[who]
    variance[who], doubts[who], doubt[who] = b.window_variance[who], 0.0, 0.0
    known = with_brokers(
        known,
        level=level,
        level_load=load,
        level_variance=variance,
        doubts=doubts,
        doubt=doubt,
    )
    return forgotten(known, who)


def with_network(memory: Memory, view: View) -> Memory:
    """Return the memory with what the reports say of NICs: how bytes fill them, and the rest."""
    look, network = view.look, memory.network
    n = look.broker.size
    into, out = (np.bincount(look.report, look.counts[:, column], n) for column in (2, 3))
    carried = np.stack((into, out), axis=1).astype(np.float64)
    capacity = network.capacity.copy()
    capacity[look.broker] = view.network.capacity
    used = view.network.percent * view.network.capacity[:, None] / 100.0
    kept = _KEPT**n
    squares = kept * network.squares + (carried / _MIB).T @ (carried / _MIB)
    products = kept * network.products + (carried / _MIB).T @ (used / _MIB)
    weighed = products + _BEFORE * SHARES_BEFORE.T
    shares = np.linalg.solve(squares + _BEFORE * np.eye(2), weighed).T
    shares = np.clip(shares, 0.0, 8.0)
    missed = view.network.percent - _percent(carried, shares, view.network.capacity)
    rest = network.rest.copy()
    was = rest[look.broker]
    rest[look.broker] = np.where(np.isnan(was), missed, was + _REST_SHARE * (missed - was))
    rest[~view.is_there] = np.nan
    return replace(memory, network=Network(shares, squares, products, rest, capacity))


def network_usage(network: Network, bytes_: Floats, owner: Ints) -> tuple[Floats, Floats, Floats]:
    """Return percent of NICs, (n_brokers, 2), points a byte/s takes, and bytes/s of each bundle.

    Args:
        network: what is known of it.
        bytes_: (n_bundles, 2) bytes/s in and out.
        owner: (n_bundles,) positions; -1 is nobody.
    """
    n, owned = len(network.rest), owner >= 0
    cost = bytes_ @ network.shares.T
    sums = [np.bincount(owner[owned], cost[owned, column], n) for column in (0, 1)]
    speed = np.nan_to_num(100.0 / network.capacity)
    percent = np.nan_to_num(network.rest) + np.stack(sums, axis=1) * speed[:, None]
    return percent, np.repeat(speed[:, None], 2, axis=1), cost


def _percent(carried: Floats, shares: Floats, capacity: Floats) -> Floats:
    return np.asarray(100.0 * carried @ shares.T / capacity[:, None])
