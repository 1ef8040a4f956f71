"""Families of splits: refused ones, and cascades."""

from __future__ import annotations

from tools.nights.logbook import BARE, ROUND_THREAD, Line
from tools.nights.night import Night
from tools.nights.plants import threshold_pair
from tools.nights.truth import at

_BALANCE = "org.apache.pulsar.broker.loadbalance."


def _line(night: Night, minute: float, level: str, logger: str, text: str) -> None:
    broker = night.cluster.brokers[night.leader_id]
    logger = _BALANCE + logger
    line = Line(night.ms(minute), broker.name, level, ROUND_THREAD, logger, text, BARE)
    night.cluster.log.lines.append(line)


def split_refused(night: Night) -> None:
    """Plant bundles over a limit whose split is refused, minute after minute."""
    threshold_pair(night)
    night.setting(loadBalancerAutoBundleSplitEnabled=True)

    def plan() -> None:
        rng = night.rng
        names = rng.choice(night.cluster.traffic.names, 2, replace=False).tolist()
        for name in names:
            namespace = name.rpartition("/")[0]
            text = (
                f"Could not split namespace bundle {name} because namespace {namespace} has too"
                " many bundles: 128"
                if night.seed % 2
                else f"The count of topics on the bundle {name} is less than 2, skip split!"
            )
            begin = float(rng.uniform(1, 8))
            minutes = [begin + 1.02 * i for i in range(int(rng.integers(1, 12)))]
            for minute in minutes:
                level = "WARN" if night.seed % 2 else "INFO"
                _line(night, minute, level, "BundleSplitStrategy", text)
            span = (night.ms(begin), night.ms(minutes[-1]))
            is_open = night.form == "reports"
            night.truths.append(at("split-refused", span, (), name, is_open))

    night.plans.append(plan)


def split_storm(night: Night) -> None:
    """Plant a cascade: a bundle is split, its halves are split again, and so on."""
    threshold_pair(night)
    night.setting(loadBalancerAutoBundleSplitEnabled=True)
    night.splits = int(night.rng.integers(9, 15))

    def plan() -> None:
        parent = night.cluster.traffic.names[night.split_row]
        begin = float(night.rng.uniform(3, 6))
        minute = begin
        for i in range(night.splits):
            minute = begin + (i + 1).bit_length() * 2.2 + 0.03 * i
            split_at(night, i, minute)
        span = (night.ms(begin), night.ms(minute))
        names = {name for pair in night.halves for name in pair} | {parent}
        night.truths.append(at("split-storm", span, (), names, night.form == "reports"))

    night.plans.append(plan)


def split_at(night: Night, number: int, minute: float) -> None:
    """Split a bundle of the cascade: its halves take over its traffic and its owner."""
    cluster = night.cluster
    parent = night.parents[number]
    halves = night.halves[number]
    limit = "Topics: 9/1000, Sessions: (8+3)/1000, Message Rate: 39837.6/30000 (msgs/s)"
    _line(
        night,
        minute,
        "INFO",
        "BundleSplitStrategy",
        f"The bundle {parent} is considered to be unload. {limit}, Message Throughput:"
        " 40.41714825665545/100 (MB/s)",
    )
    impl = "impl.ModularLoadManagerImpl"
    text = f"Load-manager splitting bundle {parent} and unloading false"
    _line(night, minute + 0.001, "INFO", impl, text)
    text = f"Successfully split namespace bundle {parent}"
    _line(night, minute + 0.003, "INFO", impl, text)

    def act() -> None:
        owner = cluster.owner(parent)
        if owner is None:
            return
        rate = cluster.traffic.rate
        row = cluster.at[parent]
        for half in halves:
            rate[cluster.at[half]] = rate[row] / 2
        cluster.release_bundle(parent)
        for half in halves:
            cluster.acquire(half, owner)

    cluster.when(night.minute(minute), act)
