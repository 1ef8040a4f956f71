"""What keeps TransferShedder from shedding, what it does not count, and views that lag behind."""

from __future__ import annotations

from tools.precision.channel_faults import chosen, says
from tools.precision.channel_night import MINUTE, SECOND, SHEDDER, Night
from tools.precision.truth import Planted

_HELD = "shedding-held-back"
_COUNT = (
    "Can't continue the unload cycle. Shedding condition hit count:{} is less than or equal to "
    "the threshold:{}."
)
_SKIPPED = "Can't continue the unload cycle. Skipped the load stat update. Reason:{}."


def climbs(night: Night, time: int) -> None:
    """Have the count pass its threshold, as it should; the round after that sheds."""
    threshold = int(night.random.integers(1, 5))
    for i in range(threshold):
        _says(night, time + i * MINUTE, _COUNT.format(i + 1, threshold))
    _sheds(night, time + threshold * MINUTE)


def counts_anew(night: Night, time: int) -> None:
    """Have the brokers out of balance for long, and the count never pass its threshold."""
    threshold = int(night.random.choice([2, 3, 5, 20]))
    rounds, count, at = 0, 0, time
    wanted = int(night.random.integers(6, 15))
    while rounds < wanted and at < night.end_ms - SECOND:
        is_over = count == threshold or night.random.random() < 0.25
        count = 0 if is_over else count + 1
        rounds += count > 0
        _says(night, at, _COUNT.format(count, threshold))
        at += MINUTE
    if rounds >= 6:
        night.planted.append(Planted(_HELD, time, at, (night.brokers[night.leader],)))


def pauses(night: Night, time: int) -> None:
    """Have the reports of a broker too early after a transfer, for as long as that takes."""
    _sheds(night, time)
    _too_early(night, time + MINUTE, int(night.random.integers(1, 4)))
    _says(night, time + 5 * MINUTE, _COUNT.format(0, 3))


def too_early(night: Night, time: int) -> None:
    """Have the reports of a broker too early for far longer."""
    rounds = int(night.random.integers(5, 15))
    broker = _too_early(night, time, rounds)
    night.planted.append(Planted(_HELD, time, time + rounds * MINUTE, (night.brokers[broker],)))


def _too_early(night: Night, time: int, rounds: int) -> int:
    alive = night.alive()
    broker = alive[int(night.random.integers(len(alive)))]
    for i in range(rounds):
        text = "Broker:{} load data is too early since the last transfer. elapsed {} secs < "
        elapsed_s = int(night.random.integers(20, 179))
        text = text.format(night.brokers[broker], elapsed_s) + "threshold 180 secs"
        _says(night, time + i * MINUTE, text, _SKIPPED.format("CoolDown"))
    return broker


def comes(night: Night, time: int) -> None:
    """Have a broker without load data for a round or two, as one that has just come."""
    _without_data(night, time, int(night.random.integers(1, 3)))
    _says(night, time + 3 * MINUTE, _COUNT.format(0, 3))


def without_data(night: Night, time: int) -> None:
    """Have a broker that does not publish what it carries, or all of them."""
    rounds = int(night.random.integers(3, 12))
    broker = _without_data(night, time, rounds)
    night.planted.append(Planted(_HELD, time, time + rounds * MINUTE, (night.brokers[broker],)))


def _without_data(night: Night, time: int, rounds: int) -> int:
    """Say for some rounds that nothing can be decided; return whom it is said of."""
    others = night.alive({night.leader})
    broker = others[int(night.random.integers(len(others)))]
    missing = f"There is missing load data from brokers:[{night.brokers[broker]}]"
    is_old = bool(night.random.random() < 0.3)
    lines = (
        [_SKIPPED.format("OutDatedData")] if is_old else [missing, _SKIPPED.format("NoLoadData")]
    )
    for i in range(rounds):
        _says(night, time + i * MINUTE, *lines)
    return night.leader if is_old else broker


def partly_in_grace(night: Night, time: int) -> None:
    """Have a round pass over a bundle that was moved just now, and take others."""
    _attempts(night, time, is_shed=True)


def in_grace(night: Night, time: int) -> None:
    """Have rounds find nothing but bundles that were moved just now."""
    rounds = int(night.random.integers(1, 6))
    first = _attempts(night, time, is_shed=False)
    if first is None:
        return
    for i in range(1, rounds):
        _attempts(night, time + i * MINUTE, is_shed=False, source=first)
    brokers = (night.brokers[first],)
    night.planted.append(Planted(_HELD, time, time + rounds * MINUTE, brokers))


def _attempts(night: Night, time: int, *, is_shed: bool, source: int | None = None) -> int | None:
    """Have a round look at bundles of a broker; return the broker."""
    mine = chosen(night, time)
    if not mine:
        return None
    target = mine[0][1]
    source = night.owners[mine[0][0]] if source is None else source
    assert source is not None
    moved_ms = time - int(night.random.integers(60, 1_500)) * SECOND
    grace = [
        f"Can't unload bundle:{bundle}. Bundle has been recently unloaded at ts:{moved_ms}."
        for bundle in night.bundles[: int(night.random.integers(1, 4))]
    ]
    attempt = (
        f"Attempting to shed load from broker:{night.brokers[source]} to broker:"
        f"{night.brokers[target]}, which has the max resource usage:61.00%, targetStd:0.25, -- "
        "Trying to offload 12.50%, 800.00 KByte/s of traffic."
    )
    _says(night, time, attempt, *grace)
    for number, (bundle, to) in enumerate(mine if is_shed else (), 1):
        part = 700 / len(mine)
        text = f"Decided to unload bundle:{bundle}, throughput:{part:.2f} KByte/s. The traffic "
        text += f"marked to unload:{part * number:.2f} - gain:0.00 = {part * number:.2f} KByte/s. "
        night.say(time + 50 + number, night.leader, SHEDDER, text + "Target:800.00 KByte/s.")
        says(night, time + 80, bundle, f"Optional[{night.brokers[to]}]")
        night.transfer(time + 90, bundle, to)
    return source


def exchanges(night: Night, time: int) -> None:
    """Have a round exchange bundles of two brokers, without debug mode."""
    there = chosen(night, time)
    if not there:
        return
    source, target = night.owners[there[0][0]], there[0][1]
    back = [bundle for bundle in night.quiet(time) if night.owners[bundle] == target]
    back = back[: int(night.random.integers(1, 4))]
    if source is None or not back:
        return
    every = [*there, *((bundle, source) for bundle in back)]
    for number, (bundle, to) in enumerate(every):
        says(night, time + number, bundle, f"Optional[{night.brokers[to]}]")
        night.transfer(time + 20 + number, bundle, to)
    pair = (night.brokers[source],)
    bundles = tuple(bundle for bundle, _ in every)
    night.planted.append(Planted("exchange-not-counted", time, time, pair, bundles))


def lags(night: Night, time: int) -> None:
    """Have a broker hear of records long after the others, for some minutes."""
    by = int(
        night.random.choice([night.between((11_000, 29_000)), night.between((33_000, 120_000))])
    )
    _lags(night, time, by)


def slow_moment(night: Night, time: int) -> None:
    """Have a broker hear of records some seconds after the others."""
    _lags(night, time, night.between((1_000, 9_500)))


def starts(night: Night, time: int) -> None:
    """Have a broker that was not there from the beginning, and hears of all when it starts."""
    night.started[night.alive({night.leader})[-1]] = time


def _lags(night: Night, time: int, by: int) -> None:
    others = [each for each in night.alive({night.leader}) if each not in night.started]
    broker = others[int(night.random.integers(len(others)))]
    night.lags.append((broker, time, time + night.between((60_000, 400_000)), by))


def _sheds(night: Night, time: int) -> None:
    """Have a round move bundles, said without its numbers."""
    for bundle, target in chosen(night, time):
        says(night, time, bundle, f"Optional[{night.brokers[target]}]")
        night.transfer(time + 20, bundle, target)


def _says(night: Night, time: int, *lines: str) -> None:
    for number, text in enumerate(lines):
        night.say(time + number, night.leader, SHEDDER, text)
