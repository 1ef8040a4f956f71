"""Lines of load data and samples of the gauges → what brokers published of their loads.

A line prints usage with two decimals of a percent.  A broker smooths what it measures by a rule
that is known, and its gauges have both whole: so from one sample to the next every value can be
computed, and is whole where the next sample and all that was printed between agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

import numpy as np

from trimtab.diagnose.night import Event
from trimtab.diagnose.usage import METRICS
from trimtab.pulsar.model import RESOURCES
from trimtab.pulsar.scores import blended, busiest_resource
from trimtab.pulsar.settings import BrokerLoadSettings

#: Lines in which a broker says what it publishes, what it has and does not publish, and that it
#: takes back what it published; the last is the leader's, of a broker that has left.
LINES = frozenset(
    {"load-data", "load-data-skipped", "load-data-cleaned", "top-bundles", "cleanup-completed"}
)
#: Gauge of the usage that a broker has smoothed.
SMOOTHED = "pulsar_lb_resource_usage"
_DECIMALS = 2
_PERCENT = 100.0
#: A printed percent may be off by this fraction.
_HALF_UNIT = 0.005 / _PERCENT
_SAME = 1e-12
_BUNDLE = re.compile(
    r"BundleLoadData\[bundleName=([^,\]]+), stats=NamespaceBundleStats\("
    r"[^)]*?msgThroughputIn=([^,)]+)[^)]*?msgThroughputOut=([^,)]+)"
)


class Usage(NamedTuple):
    """A broker's smoothed usage, fraction: the values that it may have had."""

    values: tuple[float, ...]
    is_whole: bool


class LoadData(NamedTuple):
    """What a broker published of itself."""

    time: datetime
    broker: str
    usage: Usage
    #: Bytes/s: smoothed, and in and out as they are; printed with two decimals.
    smoothed: float
    throughput: tuple[float, float]
    updated_at_ms: int


class TopBundles(NamedTuple):
    """The bundles that a broker published, in its order, with bytes/s in and out, whole."""

    time: datetime
    broker: str
    bundles: tuple[tuple[str, float, float], ...]


class TakenBack(NamedTuple):
    """What a broker published of its load or of its bundles is removed."""

    time: datetime
    broker: str
    has_load: bool
    has_bundles: bool


Publication = LoadData | TopBundles | TakenBack


class Sample(NamedTuple):
    """What the gauges of a broker say at a time."""

    time: datetime
    #: Percent, in the order of RESOURCES.
    resources: tuple[float, ...]
    #: Fraction, smoothed.
    usage: float


def samples(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Sample]]:
    """Return by log folder the samples that have all resources and the smoothed usage."""
    by_time: dict[tuple[str, datetime], dict[int, float]] = {}
    for row in rows:
        at = by_time.setdefault((row["log_broker"], row["time"]), {})
        if row["name"] in METRICS:
            at[METRICS[row["name"]]] = row["value"]
        elif row["name"] == SMOOTHED and dict(row["labels"] or ()).get("feature") == "max_ema":
            at[len(METRICS)] = row["value"]
    sampled: dict[str, list[Sample]] = {}
    for (log, time), values in sorted(by_time.items(), key=lambda each: each[0][1]):
        if len(values) > len(METRICS):
            resources = tuple(values[i] for i in range(len(METRICS)))
            sampled.setdefault(log, []).append(Sample(time, resources, values[len(METRICS)]))
    return sampled


def publications(
    lines: Iterable[Event],
    sampled: Mapping[str, Sequence[Sample]],
    settings: BrokerLoadSettings,
    names: Mapping[str, str],
) -> list[Publication]:
    """Return what was published and taken back, in order of time.

    Args:
        lines: of the kinds in LINES, in order of time.
        sampled: from `samples`.
        settings: how brokers weigh resources and smooth.
        names: log folder → broker id.
    """
    by_log: dict[str, list[Event]] = {}
    for line in lines:
        by_log.setdefault(line.log_broker, []).append(line)
    every = [
        each
        for log, mine in by_log.items()
        for each in _of_log(mine, sampled.get(log, ()), settings, names.get(log, log))
    ]
    return sorted(every, key=lambda each: each.time)


def fixed(number: float, decimals: int = _DECIMALS) -> float:
    """Return a number as Java prints it with so many decimals: from its digits, a half up.

    >>> fixed(0.125), fixed(2.675)
    (0.13, 2.68)
    """
    if not math.isfinite(number):
        return number
    unit = Decimal(1).scaleb(-decimals)
    return float(Decimal(repr(number)).quantize(unit, ROUND_HALF_UP))


def _of_log(
    lines: Sequence[Event], sampled: Sequence[Sample], settings: BrokerLoadSettings, broker: str
) -> Iterator[Publication]:
    """Yield what a log tells of."""
    usages = _usages([line for line in lines if _is_load(line)], sampled, settings)
    for line in lines:
        if line.kind == "load-data":
            numbers = line.numbers
            yield LoadData(
                line.time,
                broker,
                usages[line.line, line.file],
                numbers["msg_throughput_ema"],
                (numbers["msg_throughput_in"], numbers["msg_throughput_out"]),
                int(numbers["updated_at"]),
            )
        elif line.kind == "top-bundles":
            found = _BUNDLE.findall(line.text)
            yield TopBundles(line.time, broker, tuple((b, float(i), float(o)) for b, i, o in found))
        elif line.kind == "load-data-cleaned":
            is_load = line.logger == "BrokerLoadDataReporter"
            yield TakenBack(line.time, broker, is_load, not is_load)
        elif line.kind == "cleanup-completed" and line.broker:
            yield TakenBack(line.time, line.broker, has_load=True, has_bundles=True)


def _is_load(line: Event) -> bool:
    return line.kind in {"load-data", "load-data-skipped"}


class _Stretch:
    """Values from one sample to the next, whole if the next one follows from them."""

    def __init__(self) -> None:
        """Begin without any."""
        self.values: list[tuple[tuple[int, str], float | None, float]] = []
        self.is_whole = True

    def usages(self, *, is_whole: bool) -> Iterator[tuple[tuple[int, str], Usage]]:
        """Yield by line what the broker published then."""
        for at, value, printed in self.values:
            if is_whole and value is not None:
                yield at, Usage((value,), is_whole=True)
            else:
                middle = printed / _PERCENT
                low, high = max(0.0, middle - _HALF_UNIT), middle + _HALF_UNIT
                yield at, Usage((middle, low, high), is_whole=False)


def _usages(
    lines: Sequence[Event], sampled: Sequence[Sample], settings: BrokerLoadSettings
) -> dict[tuple[int, str], Usage]:
    """Return by line the usage that a broker had smoothed by then.

    Quirks:
        Whoever asks for the metrics has the broker measure and smooth once more.
        A broker that takes back what it published forgets it too, and begins to smooth anew;
        the time of its last report is then 0.
    """
    usages: dict[tuple[int, str], Usage] = {}
    stretch, before, was_anew = _Stretch(), math.nan, False
    marks: list[tuple[datetime, int, Any]] = [(line.time, 0, line) for line in lines]
    marks += [(sample.time, 1, sample) for sample in sampled]
    for _, is_sample, mark in sorted(marks, key=lambda each: each[:2]):
        if is_sample:
            busiest = _busiest(mark.resources, settings)
            then = {_next(before, busiest, settings), busiest}
            is_next = any(math.isclose(each, mark.usage, rel_tol=_SAME) for each in then)
            usages |= stretch.usages(is_whole=stretch.is_whole and is_next)
            stretch, before = _Stretch(), mark.usage
            continue
        printed = mark.numbers["weighted_max_ema_percent"]
        is_anew = not mark.numbers["reported_at"]
        measured = _measured(mark, sampled, settings)
        value = None
        if measured is not None:
            follows = _next(before, measured, settings)
            choices = [follows, measured] if is_anew and was_anew else [follows]
            choices = [measured, follows] if is_anew and not was_anew else choices
            value = next((v for v in choices if fixed(v * _PERCENT) == printed), None)
        stretch.is_whole = stretch.is_whole and value is not None
        stretch.values.append(((mark.line, mark.file), value, printed))
        before, was_anew = math.nan if value is None else value, is_anew
    usages |= stretch.usages(is_whole=stretch.is_whole)
    return usages


def _next(before: float, measured: float, settings: BrokerLoadSettings) -> float:
    """Return what follows by smoothing; what is measured where nothing was before."""
    if math.isnan(before):
        return measured
    return float(blended(np.array(before), np.array(measured), settings.history_share))


def _measured(line: Event, sampled: Sequence[Sample], settings: BrokerLoadSettings) -> float | None:
    """Return the usage that a line's broker measured, whole; None if no sample has it."""
    weights = settings.weights.by_resource()
    for sample in sorted(sampled, key=lambda each: abs(each.time - line.time)):
        if all(
            not weight or fixed(percent) == line.numbers.get(f"{name}_percent")
            for name, weight, percent in zip(RESOURCES, weights, sample.resources, strict=True)
        ):
            return _busiest(sample.resources, settings)
    return None


def _busiest(resources: Sequence[float], settings: BrokerLoadSettings) -> float:
    """Return the busiest resource after weighing, fraction."""
    usage = np.array([resources])
    return float(busiest_resource(usage, np.full(usage.shape, _PERCENT), settings.weights)[0])
