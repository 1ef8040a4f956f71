"""What TransferShedder prints of a round in debug mode, beside what was decided again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from trimtab.diagnose.night import Event, Round
from trimtab.diagnose.transfers.published import fixed
from trimtab.pulsar.load_statistics import LoadStatistics, after_transfer, load_statistics
from trimtab.pulsar.model import ExtensibleLoad, Reason, Transfer, TransferDecision
from trimtab.pulsar.settings import TransferShedderSettings

_KIB = 1024.0
_PERCENT = 100.0
#: A broker's traffic is the sum of two numbers that are printed to a hundredth of a byte/s.
_OFF = 2 * 0.005
#: Between the line of an unload's end and the leader's note of it, ms.
_NOTED_MS = 100
_NO_ROUND = "round-without-unload"


@dataclass(frozen=True, slots=True)
class DecidedAgain:
    """A round as it is decided again."""

    load: ExtensibleLoad
    decision: TransferDecision
    #: Rounds in a row out of balance, this one included unless it unloads.
    hits: int
    settings: TransferShedderSettings
    #: Gauge → value of the leader's next sample; empty if there is none before the next round.
    gauges: dict[str, float] = field(default_factory=dict)
    #: All brokers' traffic is known whole, and not to what lines print of it.
    is_whole: bool = False

    @property
    def off(self) -> float:
        """Return by how much a broker's traffic may be off, bytes/s."""
        return 0.0 if self.is_whole else _OFF


class _Numbers(NamedTuple):
    """Statistics as a line prints them, and of the transfer before it, if it follows one."""

    statistics: LoadStatistics
    total: float
    moved: float


def differences(logged: Round, again: DecidedAgain) -> list[str]:
    """Return where a round's lines and what was decided again differ; empty if nowhere."""
    chosen = [
        f"unloads were {_few(was)}, recomputed {_few(now)}"
        for was, now in [(_logged(logged), _recomputed(again.decision))]
        if was != now
    ]
    found = [why for compare in _COMPARE for why in compare(logged, again)]
    return [*chosen, *found]


def counted(logged: Round) -> int:
    """Return how many numbers a round's lines print that are compared."""
    return sum(len(event.numbers) for event in logged.events if event.kind in _PRINTING)


def _logged(logged: Round) -> set[tuple[str, str, str | None]]:
    return {(move.source, move.bundle, move.target) for move in logged.moves}


def _recomputed(decision: TransferDecision) -> set[tuple[str, str, str | None]]:
    return {(u.source, u.bundle, u.target) for t in decision.transfers for u in t.unloads}


def _few(unloads: set[tuple[str, str, str | None]]) -> str:
    return ", ".join(sorted(bundle for _, bundle, _ in unloads)) or "none"


def _of_kind(logged: Round, kind: str) -> list[Event]:
    return [event for event in logged.events if event.kind == kind]


# ------------------------------------------------------------------ whether there is a decision


def _reasons(logged: Round, again: DecidedAgain) -> Iterator[str]:
    """Yield how the reason differs for which nothing was unloaded."""
    for line in _of_kind(logged, _NO_ROUND):
        skipped = again.decision.skipped
        word = line.text.rpartition("Reason:")[2].rstrip(".") if "Reason:" in line.text else None
        was = word or Reason.HIT_COUNT.value
        if skipped is None or skipped.value != was:
            yield f"reason was {was}, recomputed {skipped or 'none'}"
        if word is None:
            expected = {"threshold": float(again.settings.hits)}
            yield from _unlike(again, line, expected)
            if line.count != again.hits:
                yield f"hit count was {line.count}, recomputed {again.hits}"


def _missing(logged: Round, again: DecidedAgain) -> Iterator[str]:
    """Yield which other brokers were without load data."""
    load = again.load
    absent = {load.brokers[i] for i in np.flatnonzero(load.is_available & ~load.has_load_data)}
    for line in _of_kind(logged, "load-data-missing"):
        if set(line.brokers) != absent:
            yield f"without load data were {line.brokers}, recomputed {sorted(absent)}"


def _too_early(logged: Round, again: DecidedAgain) -> Iterator[str]:
    """Yield how the time since the last transfer differs."""
    load = again.load
    for line in _of_kind(logged, "too-early-since-transfer"):
        broker = line.broker or ""
        if broker not in load.unloaded_at_ms or broker not in load.brokers:
            yield f"{broker} was too early, recomputed it had lost nothing"
            continue
        updated = int(load.updated_at_ms[load.brokers.index(broker)])
        elapsed = updated - load.unloaded_at_ms[broker]
        if line.numbers["elapsed_s"] not in {elapsed // 1000, (elapsed - _NOTED_MS) // 1000}:
            yield f"elapsed was {line.numbers['elapsed_s']:g} s, recomputed {elapsed / 1000} s"
        pause = {"threshold_s": float(again.settings.pause_s)}
        yield from _unlike(again, line, pause, ("elapsed_s",))


# ------------------------------------------------------------------ mean and deviation


def _statistics(again: DecidedAgain, more: float = 0.0) -> list[_Numbers]:
    """Return what is printed at first and after each transfer.

    Each source's traffic counts as so much `more`, bytes/s: it may be known to a hundredth.
    """
    load, age_max = again.load, again.settings.load_data_age_s_max * 1000
    is_new = load.has_load_data & (load.now_ms - load.updated_at_ms <= age_max)
    usage = load.usage[is_new]
    if not usage.size:
        return []
    total = float(np.cumsum(usage)[-1])
    every = [_Numbers(load_statistics(usage), total, 0.0)]
    for transfer in again.decision.transfers:
        if transfer.refusal is None:
            most, least = (float(load.usage[i]) for i in (transfer.source, transfer.target))
            carried = load.throughput_in[transfer.source] + load.throughput_out[transfer.source]
            moved = float((transfer.lost - transfer.gained) * most / (carried + more))
            after = after_transfer(every[-1].statistics, most, least, moved)
            every.append(_Numbers(after, total, moved))
    return every


def _load_statistics(logged: Round, again: DecidedAgain) -> Iterator[str]:
    """Yield how mean, deviation and the order of the brokers differ."""
    lines = _of_kind(logged, "load-statistics")
    if not lines:
        return
    every, load = _statistics(again), again.load
    if len(lines) != len(every):
        yield f"{len(lines) - 1} transfers were printed, recomputed {len(every) - 1}"
        return
    walked = np.flatnonzero(load.has_load_data)
    order = walked[np.argsort(load.usage[walked], kind="stable")]
    names = tuple(load.brokers[i] for i in order)
    done = [None, *(t for t in again.decision.transfers if t.refusal is None)]
    for line, numbers, transfer in zip(lines, every, done, strict=True):
        statistics = numbers.statistics
        expected = {
            "sum": numbers.total,
            "square_sum": statistics.square_sum,
            "average": statistics.average,
            "deviation": statistics.deviation,
        }
        if transfer is not None:
            expected |= {
                "max": float(load.usage[transfer.source]),
                "min": float(load.usage[transfer.target]),
                "offload": numbers.moved,
            }
        yield from _unlike(again, line, expected)
        if line.count != statistics.count or line.brokers != names:
            yield f"brokers by load were {line.brokers}, recomputed {names}"


def _gauges(logged: Round, again: DecidedAgain) -> Iterator[str]:
    """Yield how the gauges differ, which have mean and deviation whole."""
    if not again.gauges or not _of_kind(logged, "load-statistics"):
        return
    first = _statistics(again)[0].statistics
    for name, now in (("avg", first.average), ("std", first.deviation)):
        was = again.gauges.get(name)
        if was is not None and was != now:
            yield f"gauge {name} was {was!r}, recomputed {now!r}"


def _ended(logged: Round, again: DecidedAgain) -> Iterator[str]:
    """Yield how the deviation differs at which a round ended, which is printed whole.

    What it is worked out from may not be: then it must lie within what a hundredth of a byte/s
    leaves.
    """
    for line in _of_kind(logged, "round-ended"):
        if "deviation" not in line.numbers:
            continue
        was = line.numbers["deviation"]
        off = again.off
        near = [_statistics(again, more)[-1].statistics.deviation for more in (-off, 0.0, off)]
        if not min(near) <= was <= max(near):
            yield f"deviation at the end was {was!r}, recomputed {near[1]!r}"
        target = again.settings.deviation_target
        yield from _unlike(again, line, {"target_deviation": target}, ("deviation",), None)


# ------------------------------------------------------------------ pair by pair


def _attempts(logged: Round, again: DecidedAgain) -> Iterator[str]:
    """Yield how the pairs and what was to move differ, in debug mode, which prints them."""
    if not any(event.kind in _PRINTING for event in logged.events):
        return
    lines, load = _of_kind(logged, "transfer-attempt"), again.load
    transfers = again.decision.transfers
    pairs = [(load.brokers[t.source], load.brokers[t.target]) for t in transfers]
    if [line.broker for line in lines] != [source for source, _ in pairs]:
        yield f"pairs began with {[line.broker for line in lines]}, recomputed {pairs}"
        return
    for line, pair, transfer in zip(lines, pairs, transfers, strict=True):
        most, least = (float(load.usage[i]) for i in (transfer.source, transfer.target))
        if line.target not in (None, pair[1]):
            yield f"{pair[0]} was paired with {line.target}, recomputed {pair[1]}"
        expected = {
            "usage_percent": most * _PERCENT,
            "target_deviation": again.settings.deviation_target,
            "offload_percent": (most - least) / 2 * _PERCENT,
            "offload_kbyte_s": transfer.offload / _KIB,
        }
        yield from _unlike(again, line, expected)


def _decided(logged: Round, again: DecidedAgain) -> Iterator[str]:
    """Yield how the bundles differ in order and in traffic."""
    lines = _of_kind(logged, "transfer-decided")
    expected = [row for transfer in again.decision.transfers for row in _marked(again, transfer)]
    if lines and [line.bundle for line in lines] != [bundle for bundle, _ in expected]:
        yield f"bundles in order were {[line.bundle for line in lines]}"
        return
    for line, (_, numbers) in zip(lines, expected, strict=False):
        yield from _unlike(again, line, numbers)


def _marked(again: DecidedAgain, transfer: Transfer) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each bundle that a pair's source gives up, with what is printed of it."""
    load = again.load
    traffic = load.bundle_throughput_in + load.bundle_throughput_out
    at = {(load.bundle_broker[i], name): i for i, name in enumerate(load.bundles)}
    lost = gained = 0.0
    for unload in transfer.unloads:
        is_back = unload.source == load.brokers[transfer.target]
        carried = float(traffic[at[load.brokers.index(unload.source), unload.bundle]])
        if is_back:
            gained += carried if again.settings.is_debugging else 0.0
            continue
        lost += carried
        yield (
            unload.bundle,
            {
                "throughput_kbyte_s": carried / _KIB,
                "marked_kbyte_s": lost / _KIB,
                "gain_kbyte_s": gained / _KIB,
                "net_kbyte_s": (lost - gained) / _KIB,
                "target_kbyte_s": transfer.offload / _KIB,
            },
        )


# ------------------------------------------------------------------ number by number


def _unlike(
    again: DecidedAgain,
    line: Event,
    expected: dict[str, float],
    others: Sequence[str] = (),
    decimals: int | None = 2,
) -> Iterator[str]:
    """Yield the numbers of a line that differ from what is expected, or that nothing expects."""
    for name, was in line.numbers.items():
        if name in others:
            continue
        now = expected.get(name)
        if now is None:
            yield f"{name} was {was!r}, recomputed nothing"
            continue
        slack = again.off / _KIB if name.endswith("_kbyte_s") else 0.0
        near = {now} if decimals is None else {fixed(now + d) for d in (-slack, 0.0, slack)}
        if was not in near:
            about = f" of {line.broker or line.bundle}" if line.broker or line.bundle else ""
            yield f"{name}{about} was {was!r}, recomputed {now!r}"


_COMPARE: tuple[Callable[[Round, DecidedAgain], Iterator[str]], ...] = (
    *(_reasons, _missing, _too_early),
    *(_load_statistics, _gauges, _ended),
    *(_attempts, _decided),
)
_PRINTING = frozenset(
    {
        *(_NO_ROUND, "too-early-since-transfer", "load-statistics", "round-ended"),
        *("transfer-attempt", "transfer-decided"),
    }
)
