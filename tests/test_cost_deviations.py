"""What single bundles cost beside what their traffic does, and what tells of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from minute_looks import Owners
from trimtab.lab.costs import Knowledge, Look, Windows, learned, nothing_known, predicted
from trimtab.lab.costs.arrays import among
from trimtab.lab.costs.knowledge import DEVIATION, HEAVIEST, with_bundles
from trimtab.lab.costs.lags import shares
from trimtab.lab.costs.predict import level_now
from trimtab.lab.costs.resize import resized
from trimtab.pulsar.model import Floats

_WINDOWS = Windows(60.0, 60.0)
_N, _EACH = 3, 6
_M = _N * _EACH
_POINTS = 3.0


class _Cluster:
    """Brokers of bundles that each cost what only the test knows; hosts' windows end later."""

    def __init__(self, jitter: float, late: float = 0.0) -> None:
        self.random = np.random.default_rng(5)
        self.cost = np.exp(0.3 * self.random.standard_normal(_M))
        self.cost /= self.cost.mean()
        self.jitter, self.late = jitter, late
        self.owners = Owners(_N, _M)
        self.owner = self.owners.owner
        self.level = np.zeros(_M)
        self.now, self.next = self._drawn(), self._drawn()

    def _drawn(self) -> Floats:
        """Return 1,000 messages/s of each bundle in the next window."""
        self.level = 0.6 * self.level + 0.8 * self.random.standard_normal(_M)
        return _POINTS * np.exp(self.jitter * self.level)

    def look(self, minute: int, moved: int = -1, to: int = -1, extra: float = 0.0) -> Look:
        """Return a look at the end of a minute, with a bundle moved right before."""
        self.now, self.next = self.next, self._drawn()
        moves = self.owners.moved(minute, *(((moved,), (to,)) if moved >= 0 else ((), ())))
        used = (1.0 - self.late) * self.now + self.late * self.next
        cpu = 4.0 + np.bincount(self.owner, used * self.cost, _N) + extra
        cpu = cpu + 0.5 * self.random.standard_normal(_N)
        return self.owners.look(minute, moves, self.now, cpu)


def _after(cluster: _Cluster, minutes: int) -> Knowledge:
    known = nothing_known([f"broker-{i}" for i in range(_N)], [f"bundle-{i}" for i in range(_M)])
    for minute in range(1, minutes + 1):
        known = learned(known, cluster.look(minute), _WINDOWS)
    return known


def _missed(known: Knowledge, cost: Floats) -> Floats:
    """Return by how much bundles are off, beside what they are off by as one."""
    costs = 1.0 + known.bundles.deviation
    return np.asarray(costs / costs.mean() - cost)


@pytest.mark.slow
def test_traffic_that_varies_tells_what_single_bundles_cost() -> None:
    cluster = _Cluster(jitter=0.15)
    known = _after(cluster, 300)

    off = _missed(known, cluster.cost)
    assert off.std() < 0.6 * cluster.cost.std()
    assert known.bundles.untold.mean() < 0.5
    assert (np.abs(off) < 2.5 * DEVIATION * np.sqrt(known.bundles.untold)).mean() > 0.9


def test_flat_traffic_tells_nothing_of_single_bundles() -> None:
    known = _after(_Cluster(jitter=0.0), 60)

    assert known.bundles.untold.min() > 0.8
    assert np.abs(known.bundles.deviation).max() < 0.15


def test_a_move_tells_of_what_was_moved() -> None:
    cluster = _Cluster(jitter=0.03)
    known = _after(cluster, 60)
    dearest = int(np.argmax(cluster.cost))
    to = (int(cluster.owner[dearest]) + 1) % _N
    before = float(known.bundles.untold[dearest])
    for minute in range(61, 90):
        look = cluster.look(minute, *((dearest, to) if minute == 61 else ()))
        known = learned(known, look, _WINDOWS)

    assert known.bundles.untold[dearest] < 0.8 * before
    ours = predicted(known, np.array([dearest]), np.array([(to + 1) % _N]))
    true = float(cluster.now[dearest] * cluster.cost[dearest])
    assert np.abs(ours.change) == pytest.approx(true, rel=0.25)


def test_a_wild_window_tells_nothing_of_bundles() -> None:
    cluster = _Cluster(jitter=0.1)
    known = _after(cluster, 40)
    wild = learned(known, cluster.look(41, extra=30.0), _WINDOWS)

    assert wild.bundles.deviation == pytest.approx(known.bundles.deviation, abs=0.05)


def test_by_how_much_hosts_are_measured_later_is_learned() -> None:
    known = _after(_Cluster(jitter=0.15, late=0.5), 90)

    share = shares(known.deviations.lags)
    assert share.late - share.early == pytest.approx(0.5, abs=0.2)


def test_what_a_bundle_was_measured_to_cost_is_surer_and_goes_with_it() -> None:
    known = _after(_Cluster(jitter=0.1), 40)
    one, to = np.array([0]), np.array([1])
    sure = dataclasses.replace(
        known,
        bundles=dataclasses.replace(
            known.bundles, untold=np.full(_M, 0.2), deviation=np.full(_M, 0.5)
        ),
    )
    plain = dataclasses.replace(
        known,
        bundles=dataclasses.replace(known.bundles, untold=np.ones(_M), deviation=np.zeros(_M)),
    )
    ours, others = predicted(sure, one, to), predicted(plain, one, to)

    assert np.abs(ours.change) == pytest.approx(1.5 * np.abs(others.change), rel=0.1)
    assert (ours.change_deviation / np.abs(ours.change)).max() < (
        others.change_deviation / np.abs(others.change)
    ).min()


def test_the_heaviest_have_places_and_keep_them_among_new_names() -> None:
    known = _after(_Cluster(jitter=0.1), 20)
    place = known.deviations.place
    assert sorted(place[place >= 0].tolist()) == list(range(_M))
    assert (known.bundles.owner[place[place >= 0]] == np.nonzero(place >= 0)[0]).all()

    wider = among(known, ("new", *known.broker_names), ("another", *known.bundle_names))
    assert (wider.deviations.place[0] == -1).all()
    assert (wider.deviations.place[1:] == np.where(place >= 0, place + 1, -1)).all()


def test_of_more_bundles_than_there_are_places_the_heaviest_are_told_apart() -> None:
    count = HEAVIEST + 4
    known = nothing_known(["broker"], [f"bundle-{i}" for i in range(count)])
    counts = np.zeros((count, 7))
    counts[:, 0] = 100.0 * np.arange(1, count + 1)
    nobody, one = np.full(count, -1), np.zeros(1)
    look = Look(
        60.0, np.array([0]), np.array([60.0]), one - 7200.0, one + 20.0, one + np.nan, one + 16.0,
        np.zeros(count, np.int64), np.arange(count), counts, np.arange(count), nobody,
        np.zeros(count, np.int64), np.full(count, -3600.0),
    )  # fmt: skip
    known = learned(known, look, _WINDOWS)

    assert set(known.deviations.place[0].tolist()) == set(range(4, count))


def test_a_level_goes_on_after_a_move_as_it_was_predicted() -> None:
    known = _after(_Cluster(jitter=0.1), 120)
    one, to = np.array([0]), np.array([1])
    ours = predicted(known, one, to)
    owner = known.bundles.owner.copy()
    owner[one] = to
    then = with_bundles(known, owner=owner)

    assert np.abs(known.bundles.deviation[one]) > 0.02
    assert level_now(then)[ours.broker] == pytest.approx(ours.after)


def test_what_is_learned_of_bundles_changes_no_level() -> None:
    cluster = _Cluster(jitter=0.1)
    known = _after(cluster, 120)
    look = cluster.look(121)
    # Nobody says anything new of levels, and what is known of costs is learned anew.
    silent = dataclasses.replace(look, cpu=np.zeros(_N))
    then = learned(known, silent, _WINDOWS)
    same = with_bundles(then, counts=known.bundles.counts)

    assert level_now(same) == pytest.approx(level_now(known), abs=1e-3)


def test_fewer_cores_make_bases_and_windows_larger_and_leave_deviations() -> None:
    cluster = _Cluster(jitter=0.1)
    known = _after(cluster, 60)
    look = cluster.look(61)
    halved = dataclasses.replace(look, cores=look.cores / 2, cpu=np.minimum(2 * look.cpu, 96.0))
    then = resized(known, halved)

    before, after = known.deviations, then.deviations
    assert after.mean[:, HEAVIEST] == pytest.approx(2 * before.mean[:, HEAVIEST])
    assert after.noise == pytest.approx(4 * before.noise)
    assert (after.mean[:, :HEAVIEST] == before.mean[:, :HEAVIEST]).all()
    assert (then.bundles.deviation == known.bundles.deviation).all()
