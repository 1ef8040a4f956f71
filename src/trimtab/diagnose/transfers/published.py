"""Lines of load data and samples of the gauges → what brokers published of their loads.

A line prints usage with two decimals of a percent.  A broker smooths what it measures by a rule
that is known, and its gauges have both whole: so from one sample to the next every value can be
computed, and is whole where the next sample and all that was printed between agree.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
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
#: So long an answer with a sample takes at most.
_ANSWERED = timedelta(seconds=1)
#: Ways in which a stretch may have been: two a line, of which there are few between two samples.
_PATHS_MAX = 64
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
    #: Bytes/s: smoothed, and in and out as they are.
    smoothed: float
    throughput: tuple[float, float]
    updated_at_ms: int
    #: Its numbers are known whole; a line prints two decimals.
    is_whole: bool = False


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
    """What a broker may have smoothed from one sample to the next, line by line.

    Where two looks at a machine print the same digits, either may be a line's.
    """

    def __init__(self, before: float, settings: BrokerLoadSettings) -> None:
        """Begin with what a sample says, NaN for nothing."""
        self._settings = settings
        #: Place of a line, and the percent that it prints.
        self._lines: tuple[tuple[tuple[int, str], float], ...] = ()
        #: What was there before, and a value a line; each is one way in which it may have been.
        self._paths: list[tuple[float, ...]] = [(before,)]
        self._is_broken = False

    def add(self, line: Event, measured: Sequence[float], *, was_anew: bool) -> None:
        """Add a line, with what its broker may have measured then."""
        printed = line.numbers["weighted_max_ema_percent"]
        is_anew = not line.numbers["reported_at"]
        paths = []
        for path in self._paths:
            for each in measured:
                follows = _next(path[-1], each, self._settings)
                choices = [follows, each] if is_anew and was_anew else [follows]
                choices = [each, follows] if is_anew and not was_anew else choices
                value = next((v for v in choices if fixed(v * _PERCENT) == printed), None)
                if value is not None:
                    paths.append((*path, value))
        self._lines = (*self._lines, ((line.line, line.file), printed))
        self._is_broken = self._is_broken or not paths
        # What comes behind what does not follow begins anew, and only its digits are known.
        broken = [(*self._paths[0], math.nan)]
        self._paths = list(dict.fromkeys(paths))[:_PATHS_MAX] or broken

    def leads_to(self, sample: Sample) -> bool:
        """Return whether a sample follows from what was smoothed last."""
        return not self._is_broken and any(self._leads_to(p[-1], sample) for p in self._paths)

    def usages(self, sample: Sample | None) -> Iterator[tuple[tuple[int, str], Usage]]:
        """Yield by line what was smoothed: whole if the sample behind follows in one way alone."""
        paths = [path[1:] for path in self._paths if self._leads_to(path[-1], sample)]
        for i, (place, printed) in enumerate(self._lines):
            values = tuple(dict.fromkeys(path[i] for path in paths))
            if self._is_broken or not values:
                middle = printed / _PERCENT
                low, high = max(0.0, middle - _HALF_UNIT), middle + _HALF_UNIT
                yield place, Usage((middle, low, high), is_whole=False)
            else:
                yield place, Usage(values, is_whole=len(values) == 1)

    def _leads_to(self, before: float, sample: Sample | None) -> bool:
        # Behind the last sample nothing confirms what follows.
        if sample is None:
            return False
        busiest = _busiest(sample.resources, self._settings)
        then = {_next(before, busiest, self._settings), busiest}
        return any(math.isclose(each, sample.usage, rel_tol=_SAME) for each in then)


def _usages(
    lines: Sequence[Event], sampled: Sequence[Sample], settings: BrokerLoadSettings
) -> dict[tuple[int, str], Usage]:
    """Return by line the usage that a broker had smoothed by then.

    Quirks:
        Whoever asks for the metrics has the broker measure and smooth once more.
        A broker that takes back what it published forgets it too, and begins to smooth anew;
        the time of its last report is then 0.
        A sample has the time at which it was asked for, and its answer may come behind the line
        that follows.  Where both orders lead to it, the order of the times is taken.
    """
    usages: dict[tuple[int, str], Usage] = {}
    stretch, was_anew = _Stretch(math.nan, settings), False
    marks: list[tuple[datetime, int, Any]] = [(line.time, 0, line) for line in lines]
    marks += [(sample.time, 1, sample) for sample in sampled]
    marks.sort(key=lambda each: each[:2])
    for i in range(len(marks)):
        _, is_sample, mark = marks[i]
        following = marks[i + 1] if i + 1 < len(marks) else None
        if is_sample and following and not following[1] and not stretch.leads_to(mark):
            line, trial = following[2], copy(stretch)
            trial.add(line, _measured(line, sampled, settings), was_anew=was_anew)
            if line.time - mark.time <= _ANSWERED and trial.leads_to(mark):
                marks[i], marks[i + 1] = marks[i + 1], marks[i]
                _, is_sample, mark = marks[i]
        if is_sample:
            usages |= stretch.usages(mark)
            stretch = _Stretch(mark.usage, settings)
            continue
        stretch.add(mark, _measured(mark, sampled, settings), was_anew=was_anew)
        was_anew = not mark.numbers["reported_at"]
    usages |= stretch.usages(None)
    return usages


def _next(before: float, measured: float, settings: BrokerLoadSettings) -> float:
    """Return what follows by smoothing; what is measured where nothing was before."""
    if math.isnan(before):
        return measured
    return float(blended(np.array(before), np.array(measured), settings.history_share))


def _measured(
    line: Event, sampled: Sequence[Sample], settings: BrokerLoadSettings
) -> tuple[float, ...]:
    """Return what a line's broker may have measured, whole; empty if no sample has it.

    It is what the sample before says, or the one behind, where both print the same digits.
    """
    weights = settings.weights.by_resource()
    matching = [
        sample
        for sample in sampled
        if all(
            not weight or fixed(percent) == line.numbers.get(f"{name}_percent")
            for name, weight, percent in zip(RESOURCES, weights, sample.resources, strict=True)
        )
    ]
    if not matching:
        return ()
    behind = bisect_left(sampled, line.time, key=lambda each: each.time)
    near = [each for each in sampled[max(behind - 1, 0) : behind + 1] if each in matching]
    near = near or [min(matching, key=lambda each: abs(each.time - line.time))]
    near.sort(key=lambda each: abs(each.time - line.time))
    return tuple(dict.fromkeys(_busiest(each.resources, settings) for each in near))


def _busiest(resources: Sequence[float], settings: BrokerLoadSettings) -> float:
    """Return the busiest resource after weighing, fraction."""
    usage = np.array([resources])
    return float(busiest_resource(usage, np.full(usage.shape, _PERCENT), settings.weights)[0])
