"""Families of splits: refused ones, and cascades."""

from __future__ import annotations

from tools.nights.logbook import BARE, ROUND_THREAD, Line
from tools.nights.night import Night
from tools.nights.plants import threshold_pair
from tools.nights.truth import at

_BALANCE = "org.apache.pulsar.broker.loadbalance."


def _line(night: Night, minute: float, level: str, logger: str, text: str) -> None:
    broker = night.cluster.brokers[night.leader_id]
    logger = _BALANCE + logger if "org." not in logger else logger
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


def cascade_of_six(night: Night) -> None:
    """Plant a cascade of six splits or seven."""
    split_storm(night)
    night.splits = int(night.rng.integers(6, 8))


def splits_of_an_owner(night: Night) -> None:
    """Plant a cascade of which the leader's lines are lost, and the owner's are there."""
    split_storm(night)
    night.has_owners_splits = True


def repeated_split(night: Night) -> None:
    """Plant a bundle that was split and is chosen again, by the report from before."""
    threshold_pair(night)
    night.setting(loadBalancerAutoBundleSplitEnabled=True)

    def plan() -> None:
        rng = night.rng
        bundle = str(rng.choice(night.cluster.traffic.names))
        minute, later = float(rng.uniform(3, 9)), float(rng.uniform(0.05, 0.9))
        rate, throughput = rng.uniform(30_000, 50_000), rng.uniform(20, 80)
        due = (
            f"The bundle {bundle} is considered to be unload. Topics: 9/1000, Sessions: (8+3)/1000,"
            f" Message Rate: {rate}/30000 (msgs/s), Message Throughput: {throughput}/100 (MB/s)"
        )
        manager = "impl.ModularLoadManagerImpl"
        _line(night, minute, "INFO", "BundleSplitStrategy", due)
        splitting = f"Load-manager splitting bundle {bundle} and unloading false"
        _line(night, minute + 0.001, "INFO", manager, splitting)
        done = f"Successfully split namespace bundle {bundle}"
        _line(night, minute + 0.003, "INFO", manager, done)
        _line(night, minute + later, "INFO", "BundleSplitStrategy", due)
        span = (night.ms(minute), night.ms(minute + later))
        night.truths.append(at("repeated-split", span, (), bundle, night.form == "reports"))

    night.plans.append(plan)


def lookup_without_broker(night: Night) -> None:
    """Plant lookups of a namespace's bundles for which no broker is left."""
    threshold_pair(night)

    def plan() -> None:
        rng = night.rng
        names = [f"infra/policies/0x{i:x}0000000_0x{i + 1:x}0000000" for i in range(4)]
        begin = float(rng.uniform(2, 12))
        minutes = [begin + 0.02 * i + 0.4 * (i // 4) for i in range(int(rng.integers(3, 30)))]
        service = "org.apache.pulsar.broker.namespace.NamespaceService"
        for i, minute in enumerate(minutes):
            bundle = names[i % len(names)]
            text = f"0 brokers being considered for assignment of {bundle}"
            _line(night, minute, "INFO", "impl.ModularLoadManagerImpl", text)
            _line(night, minute, "WARN", service, f"No broker is available for {bundle}")
        span = (night.ms(begin), night.ms(minutes[-1]))
        is_open = night.form == "reports"
        night.truths.append(at("lookup-without-broker", span, (), names, is_open))

    night.plans.append(plan)


def split_at(night: Night, number: int, minute: float) -> None:
    """Split a bundle of the cascade: its halves take over its traffic and its owner."""
    cluster = night.cluster
    parent = night.parents[number]
    halves = night.halves[number]
    if night.has_owners_splits:
        _owner_splits(night, minute, parent)
    else:
        _leader_splits(night, minute, parent)

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


def _owner_splits(night: Night, minute: float, parent: str) -> None:
    """Have the owner tell of a split, which the admin's interface carries out."""
    admin = "org.apache.pulsar.broker.admin.impl.NamespacesBase"
    _line(night, minute, "INFO", admin, f"[null] Split namespace bundle {parent}")
    done = f"[null] Successfully split namespace bundle {parent.rpartition('/')[2]}"
    _line(night, minute + 0.003, "INFO", admin, done)


def _leader_splits(night: Night, minute: float, parent: str) -> None:
    """Have the leader tell of a split from the choice to its end."""
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
