"""Families of nights in which the balancer itself does harm; the simulator plays them."""

from __future__ import annotations

import numpy as np

from tools.precision.case import Case, hot

Random = np.random.Generator
_RATES = "LeastLongTermMessageRate"


def _moves(case: Case) -> None:
    """Let small amounts of traffic be worth a move."""
    case.set(loadBalancerBundleUnloadMinThroughputThreshold=1)


def random_placement(case: Case, random: Random) -> None:
    """One broker grows hot, and nobody is far enough below the average."""
    _moves(case)
    hot(case, random, float(random.uniform(3, 6)), float(random.uniform(2.4, 3.2)))


def over_placement(case: Case, random: Random) -> None:
    """Much is taken of one broker at once, and all of it goes to the same one."""
    _moves(case)
    case.placer = _RATES
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(25, 32))
    case.scenario["bundles"][0] |= {"count": case.count * 32, "sigma": 0.3}
    case.set(loadBalancerHistoryResourcePercentage=0.5)
    hot(case, random, float(random.uniform(3, 6)), float(random.uniform(3.5, 4.5)))


def over_unloading(case: Case, random: Random) -> None:
    """A broker is hot for some minutes, and relieved after that is over."""
    _moves(case)
    at_min = float(random.uniform(3, 5))
    hot(case, random, at_min, float(random.uniform(5.0, 6.0)))
    lasting = float(random.uniform(4.0, 6.0))
    case.scenario["events"][-1]["until_min"] = at_min + lasting
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(28, 34))


def ping_pong(case: Case, random: Random) -> None:
    """Traffic comes and goes, and bundles go back and forth with it."""
    case.shedder, case.placer = "UniformLoadShedder", _RATES
    case.set(
        maxUnloadBundleNumPerShedding=int(random.integers(3, 6)),
        loadBalancerSheddingGracePeriodMinutes=int(random.integers(5, 8)),
    )
    case.scenario["machines"][0]["count"] = 4
    period = float(random.uniform(9, 12))
    for broker, at_min in ((0, 2.0), (1, 2.0 + period / 2)):
        case.happens(
            "traffic",
            at_min,
            of_brokers=broker,
            factor=float(random.uniform(3, 4)),
            period_min=period,
            duty=0.5,
            off_factor=0.3,
        )


def cold_history(case: Case, random: Random) -> None:
    """Load jumps, and the scores follow slowly."""
    _moves(case)
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(22, 29))
    hot(case, random, float(random.uniform(6, 9)), float(random.uniform(2.8, 3.4)))


def score_disagreement(case: Case, random: Random) -> None:
    """Two smoothed usages, one moved on every round and one with every unload."""
    cold_history(case, random)


def sole_bundle(case: Case, random: Random) -> None:
    """A broker has one bundle, and that is large."""
    _moves(case)
    small, others = case.scenario["bundles"][0], case.count - 1
    small |= {"count": 10 * others, "starts_on": f"1 to {others}", "namespace": "lab/many"}
    case.scenario["bundles"].append(
        {
            "count": 1,
            "namespace": "lab/one",
            "rates": "equal",
            "jitter": 0.03,
            "starts_on": 0,
            "heaviest_cpu_percent": int(random.integers(60, 75)),
            "fan_out": 1,
            "cost_sigma": 0.0,
        }
    )
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(25, 33))


def even_distribution_override(case: Case, random: Random) -> None:
    """The broker with the fewest bundles is the only candidate, hot or not."""
    _moves(case)
    case.set(loadBalancerDistributeBundlesEvenlyEnabled=True)
    counts = [20, 7, *[14] * (case.count - 2)]
    case.scenario["bundles"][0] |= {"count": sum(counts), "sigma": 0.2}
    case.scenario["start"] = {"owners": "counts", "counts": counts}
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(22, 28))
    case.happens("traffic", 2.0, of_brokers=1, factor=float(random.uniform(3.6, 4.2)))
    case.happens("traffic", 4.0, of_brokers=0, factor=float(random.uniform(3.5, 4.5)))


def same_broker(case: Case, random: Random) -> None:
    """Lookups do not heed the destination, and some end where they began."""
    case.scenario["machines"][0]["count"] = int(random.integers(4, 7))
    random_placement(case, random)
    case.scenario["clients"] = {"astray_share": float(random.uniform(0.5, 0.9))}


def lost_destination(case: Case, random: Random) -> None:
    """Lookups do not heed the destination."""
    random_placement(case, random)
    case.scenario["clients"] = {"astray_share": float(random.uniform(0.4, 0.8))}


def blind_to_imbalance(case: Case, random: Random) -> None:
    """One broker of many idles, and nobody stands far above the average."""
    brokers = int(random.integers(8, 13))
    case.scenario["machines"][0]["count"] = brokers
    case.scenario["bundles"][0]["count"] = 12 * brokers
    busy = int(random.integers(45, 60))
    case.scenario["start"] = {"owners": "usage", "usage_percent": [4, *[busy] * (brokers - 1)]}
    del case.scenario["traffic"]["cpu_percent"]


def emptied_broker(case: Case, random: Random) -> None:
    """UniformLoadShedder takes a thousand messages a second at least, which is all there is."""
    case.shedder, case.placer = "UniformLoadShedder", _RATES
    case.set(maxUnloadPercentage=1.0, maxUnloadBundleNumPerShedding=-1, minUnloadMessage=100)
    del case.scenario["traffic"]["cpu_percent"]
    bundles = case.scenario["bundles"][0]
    bundles["count"] = case.count * int(random.integers(6, 9))
    bundles["rate_per_s"] = int(random.integers(14, 25))
    bundles["topics"] = 2
    hot(case, random, float(random.uniform(3, 6)), float(random.uniform(3.5, 4.5)))


def empty_bundle_moved(case: Case, random: Random) -> None:
    """Some bundles have fallen silent, and all that a broker has is taken, these too."""
    emptied_broker(case, random)
    case.scenario["events"][-1]["at_min"] = float(random.uniform(6, 9))
    bundles = int(case.scenario["bundles"][0]["count"])
    case.happens("traffic", 1.0, at_random=int(0.4 * bundles), factor=0, ramp_min=0)


def jitter_chasing(case: Case, random: Random) -> None:
    """Bursts of a minute or two, and a strategy that goes by one report."""
    case.shedder, case.placer = "UniformLoadShedder", _RATES
    case.scenario["run"]["minutes"] = int(random.integers(40, 52))
    case.set(maxUnloadBundleNumPerShedding=3)
    case.happens(
        "bursts",
        11.0,
        until_min=26.0,
        every_min=[5, 7],
        lasting_min=[1.6, 2.4],
        bundles=int(random.integers(2, 4)),
        cpu_percent=[30, 45],
    )


def one_pair_per_round(case: Case, random: Random) -> None:
    """Many hot brokers and many cool ones, and one pair a round."""
    case.shedder, case.placer = "UniformLoadShedder", _RATES
    brokers = 2 * int(random.integers(5, 7))
    case.scenario["machines"][0]["count"] = brokers
    case.scenario["bundles"][0] |= {"count": brokers * 16, "sigma": 0.2}
    case.scenario["start"] = {"owners": "linear"}
    case.set(loadBalancerMsgRateDifferenceShedderThreshold=20)
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(25, 35))


def wrong_extreme(case: Case, random: Random) -> None:
    """A release that looks for both extremes in one pass."""
    one_pair_per_round(case, random)
    case.release = "2.10.4"
    brokers = case.count
    groups = random.permutation(brokers).tolist()
    case.scenario["start"] = {"owners": "random"}
    usual = case.scenario["bundles"][0]
    kinds = ((1024, 2000), (4096, 600), (400, 1100))
    case.scenario["bundles"] = [
        usual
        | {
            "namespace": f"lab/kind{i}",
            "message_bytes": size,
            "message_sigma": 0.1,
            "rate_per_s": rate,
            "count": 10 * len(groups[i::3]),
            "starts_on": sorted(groups[i::3]),
        }
        for i, (size, rate) in enumerate(kinds)
    ]
    # To this release the heap is a resource, which levels what brokers report.
    case.plants["left open"] = {"codes": ("blind-to-imbalance",)}


def throughput_floor(case: Case, random: Random) -> None:
    """Small messages: much work and few bytes."""
    case.scenario["bundles"][0]["message_bytes"] = int(random.integers(60, 120))
    hot(case, random, float(random.uniform(3, 6)), float(random.uniform(1.9, 2.4)))


def grace_starvation(case: Case, random: Random) -> None:
    """A broker joins, is given the heaviest bundles, and these grow."""
    _moves(case)
    brokers = int(random.integers(4, 7))
    case.scenario["machines"] = [
        {"count": brokers, "spikes_per_hour": 0},
        {"count": 1, "spikes_per_hour": 0, "is_up": False},
    ]
    case.scenario["run"]["minutes"] = int(random.integers(36, 46))
    case.scenario["bundles"][0] |= {"count": 10 * brokers, "sigma": 0.8}
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(38, 46))
    case.set(lowerBoundarySheddingEnabled=True)
    case.happens("join", float(random.uniform(2, 3)), brokers=brokers)
    case.happens(
        "traffic",
        float(random.uniform(13, 15)),
        heaviest=int(random.integers(6, 9)),
        factor=float(random.uniform(2.2, 2.8)),
    )


def stale_report(case: Case, random: Random) -> None:
    """Reports are written so seldom that a broker is shed again on the same one."""
    random_placement(case, random)
    case.set(
        loadBalancerReportUpdateThresholdPercentage=100,
        loadBalancerReportUpdateMaxIntervalMinutes=int(random.integers(3, 6)),
    )
    codes = ("over-unloading", "cold-history", "over-placement", "blind-to-imbalance", "cold-cpu")
    case.plants["left open"] = {"codes": codes}
