"""What is learned of costs: from clusters of which the costs are known, and from none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from minute_looks import Owners
from trimtab.files.array_files import ArrayFileError, write_arrays
from trimtab.lab.costs import (
    Knowledge,
    Look,
    Windows,
    learned,
    nothing_known,
    predicted,
    priced,
)
from trimtab.lab.costs.arrays import VERSION, among, arrays, knowledge
from trimtab.lab.costs.knowledge import SLOWNESS_BEFORE, WANDERING
from trimtab.lab.costs.predict import drift_variance, level_now, unmoved
from trimtab.pulsar.model import Floats
from trimtab.trials.costs.state import read_state, write_state

_WINDOWS = Windows(60.0, 60.0)
_N, _EACH = 4, 10
_CORES = 16.0


class _Cluster:
    """Brokers with costs that the test knows: points for 1,000 messages/s, and points at rest."""

    def __init__(self, per_kmessage: float, rest: Floats, swing: float, noise: float = 0.0) -> None:
        self.per_kmessage, self.rest, self.swing, self.noise = per_kmessage, rest, swing, noise
        self.random = np.random.default_rng(3)
        self.base = self.random.uniform(0.5, 1.5, _N * _EACH)
        self.phase = self.random.uniform(0.0, 2 * np.pi, _N * _EACH)
        self.owners = Owners(_N, _N * _EACH)
        self.owner = self.owners.owner

    def krate(self, minute: int) -> Floats:
        """Return 1,000 messages/s of each bundle."""
        return self.base * (1.0 + self.swing * np.sin(self.phase + minute / 12.0))

    def cpu(self, minute: int) -> Floats:
        """Return percent of CPU of each broker."""
        work = self.per_kmessage * self.krate(minute)
        return self.rest + np.bincount(self.owner, work, _N)

    def look(self, minute: int, moved: tuple[int, ...] = (), to: tuple[int, ...] = ()) -> Look:
        """Return a look at the end of a minute, with bundles moved right before."""
        moves = self.owners.moved(minute, moved, to)
        cpu = self.cpu(minute) + self.noise * self.random.standard_normal(_N)
        return self.owners.look(minute, moves, self.krate(minute), cpu)


def _after(cluster: _Cluster, minutes: int) -> Knowledge:
    names = [f"broker-{i}" for i in range(_N)], [f"bundle-{i}" for i in range(_N * _EACH)]
    known = nothing_known(*names)
    for minute in range(1, minutes + 1):
        known = learned(known, cluster.look(minute), _WINDOWS)
    return known


def _rest(*values: float) -> Floats:
    return np.array(values, np.float64)


def test_a_move_takes_what_traffic_costs_and_leaves_what_is_there_at_rest() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 12.0, 4.0), swing=0.6, noise=0.3)
    known = _after(cluster, 150)
    true = 2.0 * cluster.krate(150)
    reliefs, missed = [], []
    for bundle in range(_N * _EACH):
        to = (cluster.owner[bundle] + 1) % _N
        ours = predicted(known, np.array([bundle]), np.array([to]))
        gains = np.where(ours.broker == to, ours.change, -ours.change)
        reliefs.append(gains)
        missed.append((gains - true[bundle]) / ours.change_deviation)
        assert ours.before == pytest.approx(cluster.cpu(150)[ours.broker], abs=1.5)
    assert np.mean(reliefs) == pytest.approx(true.mean(), rel=0.25)
    assert (np.abs(missed) < 1.645).mean() > 0.8


def test_share_of_traffic_would_have_moved_what_is_there_at_rest_too() -> None:
    cluster = _Cluster(0.5, _rest(20.0, 20.0, 20.0, 20.0), swing=0.6, noise=0.3)
    known = _after(cluster, 150)
    bundles = np.arange(0, _N * _EACH, _N)
    ours = predicted(known, bundles, np.full(bundles.size, 1))
    true = 0.5 * cluster.krate(150)[bundles].sum()
    # All that the broker has: by its share of traffic that takes all of its usage with it.
    assert -ours.change[0] < 0.5 * cluster.cpu(150)[0]
    assert abs(-ours.change[0] - true) < 2.0 * ours.change_deviation[0]


def test_a_flat_night_says_that_costs_cannot_be_told() -> None:
    known = _after(_Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.0, noise=2.0), 20)
    prices = priced(known)
    assert not any(price.is_told for price in prices.units.values())
    assert any("what costs how much" in sentence for sentence in prices.untold)


def test_before_anything_is_seen_nothing_is_told() -> None:
    prices = priced(nothing_known(("a",), ("b",)))
    assert not prices.traffic.is_told
    assert not any(price.is_told for price in prices.units.values())
    assert prices.untold


def test_where_most_brokers_carry_nothing_all_traffic_is_that_of_those_that_do() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.6, noise=0.3)
    cluster.owner[:] = 0
    price = priced(_after(cluster, 60)).traffic
    # Of a broker that carries nothing everything would be known, and worth nothing.
    assert price.value > 10.0
    assert price.low < price.value < price.high
    assert not priced(nothing_known(["a", "b"], [])).traffic.is_told


def test_a_slow_broker_is_told_apart_from_a_busy_host() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 24.0), swing=0.7, noise=0.3)
    known = _after(cluster, 240)
    assert known.brokers.rest[3] - known.brokers.rest[0] == pytest.approx(20.0, abs=5.0)
    assert abs(known.brokers.slowness[3] - known.brokers.slowness[0]) < 0.25


def test_who_has_not_measured_anything_yet_says_nothing_of_its_cores_either() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.5, noise=0.3)
    known = _after(cluster, 60)
    look = cluster.look(61)
    # The first report of a process has the cores of a default and no time that anything ran.
    begun = dataclasses.replace(look, cores=np.full(_N, 2.0), cpu=np.full(_N, 3e-7))
    then = learned(known, begun, _WINDOWS)

    assert (then.brokers.by_cores == known.brokers.by_cores).all()
    assert then.brokers.level == pytest.approx(known.brokers.level)
    assert (then.brokers.blocks == known.brokers.blocks).all()


def test_a_broker_with_a_quarter_of_its_cores_uses_four_times_the_share_and_costs_so() -> None:
    cluster = _Cluster(0.5, _rest(4.0, 4.0, 4.0, 4.0), swing=0.6, noise=0.2)
    known = _after(cluster, 150)
    look = cluster.look(151)
    quarter = np.array((1.0, 1.0, 0.25, 1.0))
    bundle, to = np.array([0]), np.array([2])
    before = predicted(known, bundle, to)
    known = learned(
        known,
        dataclasses.replace(look, cores=_CORES * quarter, cpu=look.cpu / quarter),
        _WINDOWS,
    )
    after = predicted(known, bundle, to)
    assert after.before[1] == pytest.approx(4.0 * before.before[1], rel=0.05)
    # A window more, which is four times as loud, moves the costs a little, too.
    assert after.change[1] == pytest.approx(4.0 * before.change[1], rel=0.3)


def test_what_a_young_process_sheds_by_itself_is_no_drift() -> None:
    cluster = _Cluster(0.5, _rest(4.0, 4.0, 4.0, 4.0), swing=0.0)
    names = [f"broker-{i}" for i in range(_N)], [f"bundle-{i}" for i in range(_N * _EACH)]
    known = nothing_known(*names)
    for minute in range(1, 12):
        look = cluster.look(minute)
        warm = 30.0 * np.exp(-minute / 3.0)
        young = dataclasses.replace(look, started_s=np.zeros(_N), cpu=look.cpu + warm)
        known = learned(known, young, _WINDOWS)
    assert drift_variance(known, 300.0) <= drift_variance(nothing_known(*names), 300.0)


def test_the_first_report_of_a_broker_that_has_not_measured_says_nothing() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.5)
    look = cluster.look(1)
    known = nothing_known(["a", "b", "c", "d"], [f"{i}" for i in range(_N * _EACH)])
    known = learned(known, dataclasses.replace(look, cpu=np.zeros(_N)), _WINDOWS)
    assert np.isnan(known.brokers.level).all()


def test_one_wild_window_moves_no_level_and_three_do() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.3, noise=0.3)
    known = _after(cluster, 60)
    level = float(known.brokers.level[0])
    for count in range(1, 4):
        known = learned(known, _with_more(cluster, 60 + count, 30.0), _WINDOWS)
        moved = float(known.brokers.level[0]) - level
        assert moved > 20.0 if count == 3 else moved < 10.0


def _with_more(cluster: _Cluster, minute: int, points: float) -> Look:
    """Return a look in which the first broker uses more than its costs say."""
    look = cluster.look(minute)
    cpu = look.cpu.copy()
    cpu[0] += points
    return dataclasses.replace(look, cpu=cpu)


def test_a_wild_window_shows_in_the_usage_of_now_and_in_none_that_is_later() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.3, noise=0.3)
    known = learned(_after(cluster, 60), _with_more(cluster, 61, 30.0), _WINDOWS)
    level = float(level_now(known)[0])
    now, soon, later = (unmoved(known, np.array([0]), s) for s in (0.0, 45.0, 120.0))
    assert float(now.after[0]) - level == pytest.approx(30.0, abs=2.0)
    assert float(soon.after[0]) - level == pytest.approx(15.0, abs=1.0)
    assert float(later.after[0]) == level
    # Whether it is over halfway nobody knows.
    assert float(soon.deviation[0]) > 10.0 > float(later.deviation[0])


@pytest.mark.parametrize("every", [12, 20, 30])
def test_others_that_come_and_go_make_no_broker_slower_than_it_is(every: int) -> None:
    cluster, slower = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.1, noise=0.5), 1.4
    known = _after(cluster, 0)
    for minute in range(1, 300):
        look = cluster.look(minute)
        cpu = look.cpu.copy()
        cpu[0] = 4.0 + slower * (cpu[0] - 4.0)
        cpu[0] += 30.0 if minute > 60 and minute % every < 4 else 0.0
        known = learned(known, dataclasses.replace(look, cpu=cpu), _WINDOWS)
        assert -0.05 < known.brokers.slowness[0] < np.log(slower), minute


def test_a_wild_window_verifies_no_change() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.3, noise=0.3)
    known = learned(_after(cluster, 60), cluster.look(61, (0,), (1,)), _WINDOWS)
    for minute in (62, 63):
        known = learned(known, cluster.look(minute), _WINDOWS)
    wild = learned(known, _with_more(cluster, 64, 30.0), _WINDOWS)
    assert wild.brokers.unverified[0] == known.brokers.unverified[0] > 0.0
    assert learned(wild, cluster.look(65), _WINDOWS).brokers.unverified[0] == 0.0


def test_a_window_that_is_far_off_moves_the_level_less_than_its_share() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.0)
    known = _after(cluster, 60)
    brokers, look = known.brokers, cluster.look(61)
    sd = float(np.sqrt(brokers.level_variance[0] + WANDERING + brokers.window_variance[0]))
    moves = []
    for points in (1.0 * sd, 3.0 * sd):
        cpu = look.cpu.copy()
        cpu[0] += points
        then = learned(known, dataclasses.replace(look, cpu=cpu), _WINDOWS)
        moves.append(float(then.brokers.level[0] - brokers.level[0]))
    assert moves[0] < moves[1] == pytest.approx(2.0 * moves[0], rel=0.05)


def test_a_saturated_broker_whose_traffic_explains_more_teaches_nothing() -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.6)
    known = _after(cluster, 60)
    full = known
    for minute in range(61, 75):
        look = cluster.look(minute)
        cpu = np.full(_N, np.nan)
        cpu[0] = 100.0
        # It passes nine times as much as a broker could that costs as much as the others.
        counts = np.where(look.report[:, None] == 0, 50.0 * look.counts, look.counts)
        cpu[1:] = look.cpu[1:]
        full = learned(full, dataclasses.replace(look, cpu=cpu, counts=counts), _WINDOWS)
    assert full.brokers.slowness[0] == pytest.approx(known.brokers.slowness[0], abs=0.05)
    assert full.shared[0] == pytest.approx(known.shared[0], abs=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_figures_that_cannot_be_leave_all_that_is_known_finite(seed: int) -> None:
    random = np.random.default_rng(seed)
    wild = np.array((np.nan, np.inf, -np.inf, -5.0, 0.0, 1e30, 100.0, 250.0))
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.4, noise=0.5)
    known = nothing_known(["a", "b", "c", "d"], [f"{i}" for i in range(_N * _EACH)])
    for minute in range(1, 40):
        look = cluster.look(minute)
        counts = np.where(
            random.random(look.counts.shape) < 0.05,
            random.choice(wild, look.counts.shape),
            look.counts,
        )
        cpu = np.where(random.random(_N) < 0.2, random.choice(wild, _N), look.cpu)
        others = np.where(random.random(_N) < 0.2, random.choice(wild, _N), np.nan)
        look = dataclasses.replace(look, counts=counts, cpu=cpu, others=others)
        known = learned(known, look, _WINDOWS)
    for name, array in arrays(known).items():
        if name in ("shared", "covariance", "brokers.slowness", "brokers.rest", "brokers.blocks"):
            assert np.isfinite(array).all(), name
    ours = predicted(known, np.array([1]), np.array([2]))
    assert np.isfinite(ours.after).all()
    assert np.isfinite(ours.deviation).all()


def test_memory_is_bounded() -> None:
    known = _after(_Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.5), 200)
    sizes = {name: array.nbytes for name, array in arrays(known).items()}
    parts = ("brokers.", "deviations.")
    per_broker = sum(size for name, size in sizes.items() if name.startswith(parts)) / _N
    per_bundle = sum(size for name, size in sizes.items() if name.startswith("bundles."))
    assert per_broker < 5000
    assert per_bundle / (_N * _EACH) <= 100


def test_what_is_known_survives_in_a_file(tmp_path: Path) -> None:
    cluster = _Cluster(2.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.5)
    known = _after(cluster, 30)
    path = tmp_path / "costs.npz"
    write_state(path, known)
    again = read_state(path)
    assert again is not None
    look = cluster.look(31, (1,), (2,))
    one, other = (arrays(learned(each, look, _WINDOWS)) for each in (known, again))
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "costs.npz"
    known = nothing_known(("a",), ("b",))
    write_arrays(path, "costs learned by trimtab", VERSION + 1, arrays(known))
    with pytest.raises(ArrayFileError, match=rf"version {VERSION + 1}.* expected {VERSION}"):
        read_state(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no such thing", b"\x93NUMPY"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "costs.npz"
    path.write_bytes(content)
    with pytest.raises(ArrayFileError, match="expected a file of costs"):
        read_state(path)


def test_an_array_of_another_shape_is_refused() -> None:
    named = arrays(nothing_known(("a",), ("b",))) | {"shared": np.zeros(3)}
    with pytest.raises(ValueError, match="shared: found"):
        knowledge(named)


def test_new_names_keep_what_is_known_of_the_old_ones() -> None:
    known = _after(_Cluster(2.0, _rest(4.0, 4.0, 12.0, 4.0), swing=0.5), 60)
    wider = among(known, ("new", "broker-2"), ("bundle-7",))
    assert wider.broker_names[:2] == ("new", "broker-2")
    assert wider.brokers.level[1] == known.brokers.level[2]
    assert np.isnan(wider.brokers.level[0])
    assert wider.broker_names[wider.bundles.owner[0]] == f"broker-{7 % _N}"


def test_brokers_that_carry_nothing_are_no_more_alike_than_they_were_taken_to_be() -> None:
    cluster = _Cluster(0.01, _rest(4.0, 6.0, 3.0, 5.0), swing=0.1, noise=0.3)
    known = _after(cluster, 400)
    # A share of it is what one broker more would have said.
    assert known.alike_variance[0] > 0.25 * SLOWNESS_BEFORE**2


def test_a_first_step_in_the_traffic_tells_who_is_slow() -> None:
    speed = np.array([1.5, 1.0, 1.0, 0.6])
    known = _stepped(speed, 3.0)
    slowness = known.brokers.slowness - known.brokers.slowness[1]
    assert slowness[0] > 0.25
    assert slowness[3] < -0.25
    assert (known.brokers.doubts == 0.0).all()


def test_who_is_full_is_at_least_as_slow_as_what_passes_says() -> None:
    # One is asked for more than it can do, and passes as much as it can.
    known = _stepped(np.array([1.6, 1.0, 1.0, 1.0]), 6.5)
    assert known.brokers.slowness[0] > known.brokers.slowness[1] + 0.3


def _stepped(speed: Floats, krate: float) -> Knowledge:
    """Return what is known four minutes after the traffic begins, of brokers that rested before."""
    cluster = _Cluster(1.0, _rest(4.0, 4.0, 4.0, 4.0), swing=0.0)
    names = [f"broker-{i}" for i in range(_N)], [f"bundle-{i}" for i in range(_N * _EACH)]
    known, noise = nothing_known(*names), np.random.default_rng(5)
    for minute in range(1, 25):
        wanted = cluster.base * (krate if minute > 20 else 0.01)
        cpu = 4.0 + speed * np.bincount(cluster.owner, wanted, _N)
        passed = 100.0 / np.maximum(cpu, 100.0)
        cpu = np.minimum(cpu + 0.3 * noise.standard_normal(_N), 100.0)
        moves = cluster.owners.moved(minute, (), ())
        look = cluster.owners.look(minute, moves, wanted * passed[cluster.owner], cpu)
        known = learned(known, look, _WINDOWS)
    return known
