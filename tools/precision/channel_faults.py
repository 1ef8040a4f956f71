"""What goes wrong in a night under the extensible load manager, and rounds that go right."""

from __future__ import annotations

from tools.precision.channel_night import (
    CHANNEL,
    CLOSING,
    MINUTE,
    MONITOR,
    SECOND,
    SHEDDER,
    UNLOADS,
    Night,
    take_over,
)
from tools.precision.truth import Planted


def hangs(night: Night, time: int) -> None:
    """Have a bundle hang between two owners; the monitor ends it, or nobody does."""
    bundle, target = night.pick(time)
    source = night.owners[bundle]
    lasting = int(night.random.choice([night.between((34_000, 85_000)), 200_000, 3_600_000]))
    is_closing = bool(night.random.random() < 0.6)
    night.put(time, bundle, "Releasing", (target, source))
    since = time
    if not is_closing:
        since = time + night.between(CLOSING)
        night.put(since, bundle, "Assigning", (target, source))
    night.owners[bundle] = None
    turn = source if is_closing else target
    assert turn is not None
    if since + lasting < night.end_ms:
        night.override(since + lasting, bundle, turn, None)
    night.planted.append(Planted("stuck-in-state", since, since, (night.brokers[turn],), (bundle,)))


def orphans(night: Night, time: int) -> None:
    """Kill a broker, some of whose bundles are taken over late, or never."""
    broker = night.alive({night.leader})[0]
    mine = night.owned_by(broker)
    if not mine or any(night.free_ms[bundle] > time for bundle in mine):
        time = max([night.free_ms[bundle] for bundle in mine], default=time) + SECOND
    night.dies(time, broker)
    late = mine[: max(1, int(night.random.integers(1, 6)))]
    for bundle in mine:
        delay = night.between((300, 20_000))
        if bundle in late:
            delay = int(night.random.choice([night.between((36_000, 170_000)), 400_000, 10**8]))
        if time + delay < night.end_ms:
            take_over(night, time + delay, bundle, broker)
    if late:
        planted = Planted("orphaned-bundle", time, time, (night.brokers[broker],), tuple(late))
        night.planted.append(planted)


def past_the_check(night: Night, time: int) -> None:
    """Have a record written that must not follow."""
    bundle, target = night.pick(time)
    source = night.owners[bundle]
    kind = int(night.random.integers(3))
    if kind == 0:
        night.put(time, bundle, "Owned", (target, None))
        night.owners[bundle] = target
    elif kind == 1:
        night.put(time, bundle, "Free", (None, source))
        night.assign(time + 2_000, bundle, target)
    else:
        other = night.alive({source or 0, target})[0]
        night.put(time, bundle, "Releasing", (target, other))
        night.override(time + 3_000, bundle, target, None)
    night.planted.append(Planted("illegal-transition", time, time, (), (bundle,)))


def sheds(night: Night, time: int) -> None:
    """Have a round of TransferShedder move bundles to their destination."""
    for bundle, target in chosen(night, time):
        says(night, time, bundle, f"Optional[{night.brokers[target]}]")
        night.transfer(time + 20, bundle, target)


def sheds_nowhere(night: Night, time: int) -> None:
    """Have a round of TransferShedder give bundles up without a destination."""
    moves = chosen(night, time)
    if not moves:
        return
    for bundle, target in moves:
        says(night, time, bundle, "Optional.empty")
        night.unload(time + 20, bundle, target)
    bundles = tuple(bundle for bundle, _ in moves)
    night.planted.append(Planted("shed-without-destination", time, time, (), bundles))


def relieves(night: Night, time: int) -> None:
    """Have a round find most of what a broker is to lose; it may use up what is published."""
    _explained(night, time, float(night.random.uniform(0.55, 0.99)), night.random.random() < 0.7)


def uses_up(night: Night, time: int) -> None:
    """Have a round use up what a broker published, long before it is relieved."""
    source = _explained(night, time, float(night.random.uniform(0.0, 0.45)), is_used_up=True)
    if source is not None:
        brokers = (night.brokers[source],)
        night.planted.append(Planted("top-bundles-used-up", time, time, brokers))


def _explained(night: Night, time: int, share: float, is_used_up: bool) -> int | None:
    """Have a round say in debug mode how much it finds of what is to go; return its source."""
    moves = chosen(night, time)
    if not moves:
        return None
    source, target = night.owners[moves[0][0]], moves[0][1]
    assert source is not None
    asked = float(night.random.uniform(50, 5_000))
    night.say(
        time - 9,
        night.leader,
        SHEDDER,
        f"Attempting to shed load from broker:{night.brokers[source]} to broker:"
        f"{night.brokers[target]}, which has the max resource usage:61.00%, targetStd:0.25, -- "
        f"Trying to offload 12.50%, {asked:.2f} KByte/s of traffic.",
    )
    # Of nothing found nothing is moved.
    moved = [] if share < 0.05 else moves
    for number, (bundle, _) in enumerate(moved, 1):
        marked, part = asked * share * number / len(moved), asked * share / len(moved)
        night.say(
            time - 9 + number,
            night.leader,
            SHEDDER,
            f"Decided to unload bundle:{bundle}, throughput:{part:.2f} KByte/s. The traffic marked "
            f"to unload:{marked:.2f} - gain:0.00 = {marked:.2f} KByte/s. Target:{asked:.2f} "
            "KByte/s.",
        )
    if is_used_up:
        night.say(
            time - 4,
            night.leader,
            SHEDDER,
            f"Can't unload bundle:{night.bundles[-1]}. The remaining bundles in TopBundlesLoadData "
            f"from the maxBroker:{night.brokers[source]} is less than or equal to 1.",
        )
    for bundle, to in moved:
        says(night, time, bundle, f"Optional[{night.brokers[to]}]")
        night.transfer(time + 20, bundle, to)
    return source


def chosen(night: Night, time: int) -> list[tuple[str, int]]:
    """Return what a round moves: from the broker with the most bundles to that with the fewest."""
    quiet = night.quiet(time)
    counts = {broker: len(night.owned_by(broker)) for broker in night.alive()}
    source, target = (pick(counts, key=lambda it: (counts[it], it)) for pick in (max, min))
    mine = [bundle for bundle in quiet if night.owners[bundle] == source]
    return [(bundle, target) for bundle in mine[: int(night.random.integers(1, 4))]]


def says(night: Night, time: int, bundle: str, where: str) -> None:
    """Have the leader say that it unloads a bundle."""
    source = night.brokers[night.owners[bundle] or 0]
    order = f"Unload[sourceBroker={source}, serviceUnit={bundle}, destBroker={where}, force=false]"
    text = f"[TransferShedder] Unloading bundle: {order}"
    night.say(time, night.leader, UNLOADS, text)


def second_owner(night: Night, time: int) -> None:
    """Have another broker elected, while the old leader goes on with its monitor."""
    old = night.leader
    elected(night, time)
    for i in range(int(night.random.integers(1, 6))):
        at = time + round((i + 1.5) * MINUTE)
        night.say(at, old, CHANNEL, MONITOR.format(len(night.brokers)))
    brokers = (night.brokers[old],)
    night.planted.append(Planted("two-channel-owners", time, time + 10 * MINUTE, brokers))


def elected(night: Night, time: int) -> None:
    """Have another broker elected."""
    night.leader = night.alive({night.leader})[0]
    night.elections.append((time, night.leader))
