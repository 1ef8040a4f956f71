"""Families whose cause is in the load: what the clients do, and how settings answer it.

Each docstring says what is planted; where it comes to pass is worked out of what was played.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tools.nights.night import AVG, LEAST_RATE, LEAST_USED, OVERLOAD, THRESHOLD, UNIFORM, Night
from tools.nights.traffic import Floats
from trimtab.pulsar.map_order import concurrent_hash_map_order


def steps(night: Night, turns: list[tuple[float, float]], rows: Callable[[], list[int]]) -> None:
    """Multiply the traffic of some bundles from a minute of the recording on, again and again.

    Args:
        night: whose.
        turns: minute and factor, in order.
        rows: positions of the bundles, asked for once the cluster is built.
    """

    def plan() -> None:
        mine = rows()
        edges = [night.minute(minute) for minute, _ in turns]
        factors = [1.0, *(factor for _, factor in turns)]

        def shape(second: float, rate: Floats) -> Floats:
            rate = rate.copy()
            rate[mine] *= factors[int(np.searchsorted(edges, second, side="right"))]
            return rate

        night.cluster.traffic.shapes.append(shape)

    night.plans.append(plan)


def of_broker(night: Night, number: int) -> Callable[[], list[int]]:
    """Return the bundles that a broker has first, to be asked for when the cluster is built."""
    return lambda: night.first[night.ids[number]]


def whole_life(night: Night) -> None:
    """Let the recording begin with the brokers' start, so that all a leader knew is kept."""
    night.before_min = 0


def threshold_pair(night: Night, placer: str | None = None) -> None:
    """Let ThresholdShedder shed, with one of the placers."""
    night.pair(THRESHOLD, placer or str(night.rng.choice([LEAST_USED, LEAST_RATE])))


def over_unloading(night: Night) -> None:
    """Plant a burst on one broker that is over before the smoothed score has come down."""
    threshold_pair(night)
    night.minutes = max(night.minutes, 30)
    night.setting(loadBalancerBrokerThresholdShedderPercentage=8)
    night.level = float(night.rng.uniform(22, 30))
    begin = float(night.rng.uniform(3, 6))
    lasts = float(night.rng.uniform(6, 9))
    night.brokers = max(night.brokers, 4)
    steps(
        night,
        [(begin, float(night.rng.uniform(2.6, 3.2))), (begin + lasts, 1.0)],
        of_broker(night, 1),
    )


def cold_history(night: Night) -> None:
    """Plant a jump of one broker's load that the smoothed scores follow for many rounds."""
    threshold_pair(night)
    if night.rng.random() < 0.6:
        whole_life(night)
    night.level = float(night.rng.uniform(20, 28))
    steps(night, [(float(night.rng.uniform(6, 9)), 2.8)], of_broker(night, 1))


def random_placement(night: Night) -> None:
    """Plant a lasting jump on one broker under a placer whose scores lag and lie together."""
    threshold_pair(night, LEAST_USED)
    night.level = float(night.rng.uniform(24, 34))
    night.setting(loadBalancerHistoryResourcePercentage=0.5)
    night.brokers = max(night.brokers, 4)
    steps(night, [(float(night.rng.uniform(4, 8)), 2.0)], of_broker(night, 1))


def over_placement(night: Night) -> None:
    """Plant a hot broker with small bundles beside one cool broker, which gets them all."""
    threshold_pair(night, LEAST_USED)
    night.brokers = max(night.brokers, 4)
    night.bundles_each = 18
    night.spread = 0.15
    night.wanted = dict.fromkeys(range(night.brokers), 40.0) | {2: 12.0}
    night.setting(loadBalancerHistoryResourcePercentage=0.3)
    steps(night, [(float(night.rng.uniform(4, 8)), 2.0)], of_broker(night, 1))


def ping_pong(night: Night) -> None:
    """Plant one bundle larger than the difference of two brokers, or load that alternates."""
    threshold_pair(night, LEAST_USED)
    night.brokers = int(night.rng.integers(3, 5))
    night.bundles_each = 6
    night.spread = 0.1
    night.minutes = 40
    night.setting(
        loadBalancerHistoryResourcePercentage=0.0,
        loadBalancerSheddingGracePeriodMinutes=2 if night.seed % 2 else 4,
        loadBalancerAverageResourceUsageDifferenceThresholdPercentage=5,
    )
    if night.seed % 2:
        night.level = 22.0
        heavy(night, 1, share=1.2)
    else:
        begin = float(night.rng.uniform(4, 6))
        for number, phase in ((1, 0), (2, 1)):
            turns = [(begin + 5.0 * i, 2.6 if i % 2 == phase else 1.0) for i in range(7)]
            steps(night, turns, of_broker(night, number))
        night.level = 26.0


def heavy(night: Night, number: int, share: float) -> None:
    """Let the first bundle of a broker carry so many times a broker's even share."""

    def plan() -> None:
        traffic = night.cluster.traffic
        row = night.first[night.ids[number]][0]
        rest = float(traffic.rate.sum() - traffic.rate[row])
        traffic.rate[row] = share * rest / (len(night.ids) - share)
        traffic.topics[row] = 6

    night.plans.append(plan)


def giant_bundle(night: Night) -> None:
    """Plant a bundle that carries twice a broker's even share, whoever has it."""
    night.pair(*((THRESHOLD, LEAST_USED), (OVERLOAD, None), (AVG, None))[night.seed % 3])
    night.brokers = max(night.brokers, 4)
    night.level = float(night.rng.uniform(20, 26))
    night.minutes = max(night.minutes, 30)
    heavy(night, 1, share=float(night.rng.uniform(2.0, 2.6)))


def sole_bundle(night: Night) -> None:
    """Plant a hot broker that owns a single bundle."""
    night.pair(*((THRESHOLD, LEAST_USED), (OVERLOAD, LEAST_RATE))[night.seed % 2])
    night.brokers = max(night.brokers, 4)

    def plan() -> None:
        mine = night.first[night.ids[1]]
        rest = [b for i, b in enumerate(night.ids) if i != 1]
        for place, row in enumerate(mine[1:]):
            night.first[rest[place % len(rest)]].append(row)
        night.first[night.ids[1]] = mine[:1]
        traffic = night.cluster.traffic
        want = 92.0 if night.shedder == OVERLOAD else night.level + 25
        traffic.rate[mine[0]] = (want - 5) / traffic.cost[mine[0]]

    night.plans.append(plan)


def even_distribution_override(night: Night) -> None:
    """Plant a broker with fewest bundles that is not the coolest, under even distribution."""
    threshold_pair(night)
    night.brokers = max(night.brokers, 4)
    night.namespaces = 1
    night.setting(loadBalancerDistributeBundlesEvenlyEnabled=True)
    night.wanted = dict.fromkeys(range(night.brokers), 38.0) | {2: 44.0, 3: 20.0}

    def plan() -> None:
        few = night.first[night.ids[2]]
        for row in few[2:]:
            night.first[night.ids[3]].append(row)
        del few[2:]
        for number, want in ((2, 44.0), (3, 20.0)):
            retune(night, number, want)

    night.plans.append(plan)
    steps(night, [(float(night.rng.uniform(3, 6)), 1.9)], of_broker(night, 1))


def retune(night: Night, number: int, want: float) -> None:
    """Let a broker's first bundles bring it to a usage, points of CPU."""
    traffic = night.cluster.traffic
    rows = night.first[night.ids[number]]
    broker = night.cluster.brokers[night.ids[number]]
    has = float((traffic.cost[rows] * traffic.rate[rows]).sum()) / broker.strength
    traffic.rate[rows] *= (want - broker.background) / has


def blind_to_imbalance(night: Night) -> None:
    """Plant one idle broker that pulls nobody over the bar, or work that a strategy is blind to."""
    if night.seed % 2:
        threshold_pair(night)
        whole_life(night)
        night.brokers = max(night.brokers, 7)
        night.wanted = dict.fromkeys(range(night.brokers), 58.0) | {2: 22.0}
        night.minutes = 36
    else:
        night.pair(UNIFORM)
        night.level = 30.0
        night.plans.append(lambda: _background(night, 1, 66.0))


def _background(night: Night, number: int, points: float) -> None:
    night.cluster.brokers[night.ids[number]].background = points - night.level


def heterogeneous_brokers(night: Night) -> None:
    """Plant hosts of half the strength, under a strategy that goes by traffic, or AvgShedder."""
    night.brokers = max(night.brokers, 4)
    weak = max(1, night.brokers // 4)
    night.strength = dict.fromkeys(range(1, 1 + weak), 0.4)
    if night.seed % 2:
        night.pair(UNIFORM)
        night.wanted = dict.fromkeys(range(night.brokers), 26.0) | dict.fromkeys(
            range(1, 1 + weak), 62.0
        )
    else:
        night.pair(AVG)
        night.wanted = dict.fromkeys(range(night.brokers), 30.0) | dict.fromkeys(
            range(1, 1 + weak), 56.0
        )
        night.setting(loadBalancerAvgShedderHitCountLowThreshold=3)


def empty_bundle_moved(night: Night) -> None:
    """Plant bundles without traffic on the busiest broker under UniformLoadShedder."""
    night.pair(UNIFORM)
    night.bytes_each = float(night.rng.uniform(80e6, 200e6))
    night.bundles_each = 16
    idle = 0.4

    def plan() -> None:
        mine = night.first[night.ids[1]]
        silent = mine[-int(len(mine) * idle) :]
        night.cluster.traffic.rate[silent] = 0.0

    night.plans.append(plan)
    steps(night, [(float(night.rng.uniform(5, 9)), 2.2)], of_broker(night, 1))
    night.level = 25.0


def emptied_broker(night: Night) -> None:
    """Plant small bundles under UniformLoadShedder, all of which fit into what is to go."""
    night.pair(UNIFORM)
    night.release = str(night.rng.choice(["3.0.7", "3.3.5", "4.0.0", "4.0.8"]))
    night.setting(minUnloadMessage=20)
    night.bytes_each = 300e3
    night.level = 25.0
    night.bundles_each = int(night.rng.integers(5, 10))
    steps(night, [(float(night.rng.uniform(5, 9)), 2.4)], of_broker(night, 1))


def jitter_chasing(night: Night) -> None:
    """Plant a bundle that sends three times as much for one minute in eleven."""
    night.pair(UNIFORM)
    night.minutes = 40
    night.level = 25.0
    night.spread = 0.1
    night.bundles_each = 6
    night.bytes_each = float(night.rng.uniform(30e6, 90e6))
    night.setting(maxUnloadPercentage=0.8, loadBalancerReportUpdateThresholdPercentage=5)
    first = float(night.rng.uniform(8, 11))
    turns = []
    for i in range(3):
        turns += [(first + 11 * i, 6.0), (first + 11 * i + 1.6, 1.0)]
    steps(night, turns, lambda: night.first[night.ids[1]][:1])


def no_headroom(night: Night) -> None:
    """Plant a cluster in which every broker is hot."""
    night.pair(*((THRESHOLD, LEAST_USED), (OVERLOAD, LEAST_RATE), (AVG, None))[night.seed % 3])
    night.level = float(night.rng.uniform(78, 82))
    night.apart = 1.5


def cold_cpu(night: Night) -> None:
    """Plant a broker that starts on a busy host: its first report has no CPU yet."""
    threshold_pair(night)
    whole_life(night)
    night.brokers = int(night.rng.integers(4, 7))
    night.absent = {night.brokers - 1}
    night.wanted = dict.fromkeys(range(night.brokers), 40.0) | {1: 46.5}
    night.minutes = 40
    night.setting(loadBalancerHistoryResourcePercentage=0.3)
    night.jitter = 0.2

    def plan() -> None:
        late = night.ids[-1]
        night.cluster.brokers[late].background = 38.0
        # A round comes a minute after the last one; the start is half a minute before it.
        night.cluster.when(night.minute(15.4), lambda: night.cluster.start(late))

    night.plans.append(plan)


def one_pair_per_round(night: Night) -> None:
    """Plant many hot brokers under UniformLoadShedder, which relieves one a round."""
    night.pair(UNIFORM)
    night.brokers = max(night.brokers, 12)
    night.level = 25.0
    night.bytes_each = float(night.rng.uniform(80e6, 250e6))
    night.bundles_each = 12
    night.setting(maxUnloadPercentage=0.4)
    for number in range(1, 7):
        steps(night, [(8.0, 2.0 + 0.05 * number)], of_broker(night, number))


def wrong_extreme(night: Night) -> None:
    """Plant brokers of small and of large messages under a release that looks at both at once."""
    night.pair(UNIFORM)
    night.release = "3.0.0"
    night.form = "whole"
    night.brokers = max(night.brokers, 6)
    night.bytes_each = 100e6

    night.level = 22.0

    def plan() -> None:
        traffic = night.cluster.traffic
        begin = night.minute(float(night.rng.uniform(4, 8)))
        grown = np.ones(len(traffic.names))
        walk = concurrent_hash_map_order(night.ids)
        # The first is busiest by both; the second carries more bytes, and hides it from the last.
        for broker, size, more in ((walk[0], 1.0, 3.0), (walk[1], 2.2, 1.5), (walk[-1], 1.0, 2.2)):
            rows = night.first[broker]
            traffic.size[rows] *= size
            grown[rows] = more

        def shape(second: float, rate: Floats) -> Floats:
            return rate * grown if second >= begin else rate

        traffic.shapes.append(shape)

    night.plans.append(plan)
