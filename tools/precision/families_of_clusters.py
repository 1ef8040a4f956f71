"""Families of nights in which hosts, leaders, settings or clients are at fault."""

from __future__ import annotations

import numpy as np

from tools.precision.case import Case, Reported, hot
from tools.precision.families_of_balancers import one_pair_per_round, random_placement
from trimtab.pulsar.leader.reports import Report

Random = np.random.Generator
_NIC = slice(3, 5)


def heterogeneous_brokers(case: Case, random: Random) -> None:
    """Half of the brokers are weaker, under a strategy that does not see it."""
    one_pair_per_round(case, random)
    case.scenario["start"] = {"owners": "rate"}
    half = case.count // 2
    cores = int(random.choice([4, 6, 8]))
    case.scenario["machines"] = [
        {"count": half, "cores": 16, "spikes_per_hour": 0},
        {"count": half, "cores": cores, "spikes_per_hour": 0},
    ]
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(20, 28))
    limits = np.repeat([1600.0, 100.0 * cores], half)
    case.reported = _with_cpu(limits)
    case.plants["known"] = {"code": "heterogeneous-brokers"}


def _with_cpu(limits: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Reported:
    def reported(broker: int, time_s: float, report: Report) -> Report:
        del time_s
        usage, limit = report.usage.copy(), report.limit.copy()
        usage[0] *= limits[broker] / limit[0]
        limit[0] = limits[broker]
        return report._replace(usage=usage, limit=limit)

    return reported


def giant_bundle(case: Case, random: Random) -> None:
    """One bundle carries more than the even share of a broker."""
    case.scenario["bundles"][0] |= {"sigma": 0.2, "message_sigma": 0.05}
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(18, 24))
    case.scenario["bundles"][0]["heaviest_cpu_percent"] = int(random.integers(58, 70))


def no_headroom(case: Case, random: Random) -> None:
    """Everybody is hot."""
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(82, 90))
    case.scenario["bundles"][0]["sigma"] = 0.3


def cold_cpu(case: Case, random: Random) -> None:
    """Brokers join, and their first reports have nearly no CPU."""
    brokers = int(random.integers(4, 6))
    case.set(loadBalancerBundleUnloadMinThroughputThreshold=1)
    case.scenario["machines"] = [
        {"count": brokers, "spikes_per_hour": 0},
        {
            "count": 3,
            "spikes_per_hour": 0,
            "is_up": False,
            "background_percent": int(random.integers(32, 40)),
        },
    ]
    case.scenario["bundles"][0]["count"] = 16 * brokers
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(56, 62))
    for i in range(3):
        at_min = 5.0 + 6.0 * i + float(random.uniform(0, 1))
        case.happens("join", at_min, brokers=brokers + i)


def bad_nic_limit(case: Case, random: Random) -> None:
    """A host tells a wrong speed of its network, or none."""
    broker = int(random.integers(case.count))
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(20, 30))
    if random.random() < 0.3:
        case.plants["nic unread"] = {}
        return
    is_none = bool(random.random() < 0.5)
    over = float(random.uniform(1.3, 2.0))

    def reported(which: int, time_s: float, report: Report) -> Report:
        del time_s
        if which != broker:
            return report
        limit = report.limit.copy()
        limit[_NIC] = 0.0 if is_none else np.maximum(report.usage[_NIC], 1.0) / over
        return report._replace(limit=limit)

    case.reported = reported
    case.shedder, case.placer = "UniformLoadShedder", "LeastLongTermMessageRate"
    case.plants["known"] = {"code": "bad-nic-limit", "broker": broker}


def usage_zero(case: Case, random: Random) -> None:
    """A host cannot be measured: everything is zero, whatever it carries."""
    broker = int(random.integers(case.count))

    def reported(which: int, time_s: float, report: Report) -> Report:
        del time_s
        return report._replace(usage=np.zeros(5)) if which == broker else report

    case.reported = reported
    case.shedder, case.placer = "UniformLoadShedder", "LeastLongTermMessageRate"
    case.plants["known"] = {"code": "usage-zero", "broker": broker}


def memory_as_load(case: Case, random: Random) -> None:
    """Memory counts, and a broker's is nearly full."""
    broker = int(random.integers(case.count))
    which = int(random.choice([1, 2]))
    if which == 1:
        # The heap counts in this line of releases alone, and always.
        case.release, case.placer = "2.10.4", "LeastLongTermMessageRate"
    else:
        case.set(loadBalancerDirectMemoryResourceWeight=1.0)
    case.set(loadBalancerBundleUnloadMinThroughputThreshold=1)
    share = float(random.uniform(0.86, 0.95))

    def reported(of: int, time_s: float, report: Report) -> Report:
        del time_s
        usage = report.usage.copy()
        usage[which] = (share if of == broker else 0.3) * report.limit[which]
        return report._replace(usage=usage)

    case.reported = reported


def zero_traffic_contradiction(case: Case, random: Random) -> None:
    """A broker without bundles is hot: something else runs there."""
    brokers = case.count
    case.scenario["bundles"][0] |= {"starts_on": f"1 to {brokers - 1}"}
    case.happens("background", 0.0, brokers=0, percent=int(random.integers(62, 80)))
    case.scenario["traffic"]["cpu_percent"] = int(random.integers(25, 40))
    case.plants["known"] = {"code": "zero-traffic-contradiction", "broker": 0}


def slow_round(case: Case, random: Random) -> None:
    """Unloads take long."""
    random_placement(case, random)
    low = float(random.uniform(34, 38))
    case.scenario["clients"]["unload_s"] = [low, low + 15]


def leader_change(case: Case, random: Random) -> None:
    """Another broker is elected."""
    if random.random() < 0.5:
        random_placement(case, random)
    for i in range(int(random.integers(1, 4))):
        case.happens("leader", 6.0 + 5.0 * i + float(random.uniform(0, 3)))


def two_leaders(case: Case, random: Random) -> None:
    """The old leader's task goes on."""
    random_placement(case, random)
    case.scenario["run"]["minutes"] = int(random.integers(30, 46))
    case.happens("leader", float(random.uniform(3, 5)))
    hot(case, random, float(random.uniform(14, 18)), float(random.uniform(2.0, 2.4)))
    case.plants["two leaders"] = {"is_told": bool(random.random() < 0.4)}


def frozen_record(case: Case, random: Random) -> None:
    """A broker stops writing its record, and its load goes on."""
    case.scenario["run"]["minutes"] = int(random.integers(32, 46))
    case.set(loadBalancerReportUpdateMaxIntervalMinutes=int(random.integers(3, 8)))
    case.rest_s = float(random.choice([15, 30, 60]))
    since = float(random.uniform(4, 8))
    broker = hot(case, random, since + float(random.uniform(1, 3)), float(random.uniform(1.7, 2.2)))
    case.plants["frozen record"] = {"broker": broker, "since_min": since}


def no_acting_leader(case: Case, random: Random) -> None:
    """Nobody leads for some minutes."""
    since = float(random.uniform(5, 9))
    until = since + float(random.uniform(4, 9))
    case.happens("shedding", since, is_on=False)
    case.happens("leader", until)
    case.happens("shedding", until, is_on=True)
    case.plants["no acting leader"] = {"since_min": since, "until_min": until}


def shedding_aborted(case: Case, random: Random) -> None:
    """Rounds end in an exception."""
    since = float(random.uniform(4, 8))
    until = since + float(random.uniform(2, 10))
    if random.random() < 0.5:
        hot(case, random, 3.0, 2.0)
    case.happens("shedding", since, is_on=False)
    case.happens("shedding", until, is_on=True)
    case.plants["shedding aborted"] = {"since_min": since, "until_min": until}


def split_refused(case: Case, random: Random) -> None:
    """A bundle is over a limit, and may not be split."""
    case.plants["split refused"] = {
        "why": str(random.choice(["full", "one topic", "failed"])),
        "times": int(random.integers(1, 15)),
    }


def split_storm(case: Case, random: Random) -> None:
    """Bundles of one namespace are split, one after the other."""
    count = int(random.integers(8, 16))
    every = float(random.uniform(0.8, 1.5))
    case.happens("split", 2.0, heaviest=count, every_min=every)
    case.scenario["run"]["minutes"] = 28
    case.plants["splits told"] = {}


def repeated_split(case: Case, random: Random) -> None:
    """A bundle that was split is chosen again before its owner has reported."""
    case.plants["repeated split"] = {"after_s": float(random.uniform(3, 55))}


def lookup_without_broker(case: Case, random: Random) -> None:
    """No broker is a candidate for the bundles of a namespace that clients look up."""
    case.plants["lookup without broker"] = {"times": int(random.integers(2, 40))}


def unload_failed(case: Case, random: Random) -> None:
    """Unloads fail, or take too long."""
    random_placement(case, random)
    case.plants["unload failed"] = {
        "how": str(random.choice(["late", "refused"])),
        "share": float(random.uniform(0.5, 1.0)),
    }


def skipped_bundles(case: Case, random: Random) -> None:
    """Chosen bundles are held back by policies, or by the placer."""
    random_placement(case, random)
    case.plants["skipped bundles"] = {"share": float(random.uniform(0.6, 1.0))}


def vanished_bundle(case: Case, random: Random) -> None:
    """Nobody looks an unloaded bundle up again."""
    random_placement(case, random)
    case.scenario["run"]["minutes"] = int(random.integers(34, 46))
    case.plants["vanished bundle"] = {"before_min": 13.0}


def wrong_manager(case: Case, random: Random) -> None:
    """A broker runs another load manager."""
    case.plants["wrong manager"] = {"is_told": bool(random.random() < 0.5)}


def chatty_reports(case: Case, random: Random) -> None:
    """A heap goes up and down, and a report is written each time."""
    case.set(loadBalancerReportUpdateThresholdPercentage=10)
    case.plants["chatty reports"] = {
        "every_s": float(random.choice([5, 10, 15])),
        "since_min": float(random.uniform(1, 6)),
    }
