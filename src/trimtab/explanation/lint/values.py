"""Values that Pulsar refuses, misreads, or takes in another unit than was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.explanation.lint.conf import Conf, shown
from trimtab.explanation.lint.rule import Case, Match, Rule, Severity
from trimtab.pulsar.keys import KEYS, Kind
from trimtab.pulsar.settings import SettingError, setting

_JAVA_FLOAT = re.compile(r"(?<=[\d.])[dDfF]$")
#: What people write for false, and what it happens to be.
_MEANT_FALSE = {"no", "off", "0", "f", "n", "none", "disabled"}
_NUMBERS = (Kind.INT, Kind.LONG, Kind.FLOAT, Kind.OPTIONAL_FLOAT)


@dataclass(frozen=True, slots=True)
class _Least:
    """A number that must not be smaller, and what comes of it if it is."""

    key: str
    least: float
    #: What happens otherwise; ends without a full stop.
    otherwise: str
    evidence: tuple[str, ...]


_LEASTS = (
    _Least(
        "statsUpdateFrequencyInSecs",
        1,
        "the broker refuses to start: 1 is the least that it takes",
        ("#1084", "ServiceConfiguration"),
    ),
    _Least(
        "loadBalancerHostUsageCheckIntervalMinutes",
        1,
        "CPU and network cannot be sampled at that interval, and the broker does not start",
        ("LinuxBrokerHostUsageImpl",),
    ),
    _Least(
        "loadBalancerReportUpdateMinIntervalMillis",
        1,
        "load reports cannot be scheduled at that interval, and the broker does not start",
        ("PulsarService",),
    ),
    _Least(
        "loadBalancerResourceQuotaUpdateIntervalMinutes",
        1,
        "whoever becomes leader fails where it would schedule the storing of averages",
        ("PulsarService",),
    ),
    _Least(
        "loadBalancerSheddingIntervalMinutes",
        1,
        "one round follows the other without a pause, each on the same reports",
        ("LoadSheddingTask",),
    ),
)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A range of values that are only seen where another unit was meant."""

    key: str
    #: From this value on, and below the other.
    since: float
    until: float
    #: How the number was probably meant, and what it says instead.
    meant: str
    evidence: tuple[str, ...]
    #: Times this it is what was probably meant.
    factor: float


_INFINITE = float("inf")

_UNITS = (
    _Unit(
        "loadBalancerBundleUnloadMinThroughputThreshold",
        10_000,
        _INFINITE,
        "in bytes/s; it is in MiB/s, and so a broker would need terabytes a second to shed",
        ("#21299",),
        1 / 1048576,
    ),
    _Unit(
        "minUnloadMessageThroughput",
        2,
        1024,
        "in MiB/s; it is in bytes/s, and so any trickle is worth a move",
        ("#13915",),
        1048576,
    ),
    _Unit(
        "loadBalancerOverrideBrokerNicSpeedGbps",
        1000,
        _INFINITE,
        "in Mbit/s; it is in Gbit/s, and so network usage is always next to nothing",
        ("#1157",),
        0.001,
    ),
    _Unit(
        "loadBalancerReportUpdateMinIntervalMillis",
        1,
        100,
        "in seconds; it is in milliseconds, and so each broker weighs a report many times a second",
        ("#17598",),
        1000,
    ),
    _Unit(
        "statsUpdateFrequencyInSecs",
        10_000,
        _INFINITE,
        "in milliseconds; it is in seconds, and so rates are hours old",
        ("PulsarStats",),
        0.001,
    ),
    _Unit(
        "loadBalancerMsgRateDifferenceShedderThreshold",
        1e-9,
        1,
        "as a fraction; it is in percent, and so a difference of less than 1 % sheds",
        ("#21299",),
        100,
    ),
    _Unit(
        "loadBalancerNamespaceBundleMaxBandwidthMbytes",
        1_000_000,
        _INFINITE,
        "in bytes/s; it is in MiB/s, and so no bundle is split for its throughput",
        ("#9484",),
        1 / 1048576,
    ),
)

#: Fractions that look as if they were percentages.
_FRACTIONS = (
    ("maxUnloadPercentage", ("PIP-364",)),
    ("loadBalancerHistoryResourcePercentage", ("#6772",)),
    ("loadBalancerBrokerLoadTargetStd", ("PIP-220",)),
)


def _refused(conf: Conf) -> Iterator[Match]:
    for key, written in conf.written.items():
        if key not in KEYS or KEYS[key].kind not in _NUMBERS or not conf.is_written(key):
            continue
        text = written.value.strip()
        if KEYS[key].kind in (Kind.FLOAT, Kind.OPTIONAL_FLOAT):
            text = _JAVA_FLOAT.sub("", text)
        try:
            setting({key: text}, key, conf.release)
        except SettingError as error:
            hint = ""
            if "#" in text or "//" in text:
                hint = ": what stands behind the value is part of it, a comment too"
            elif text.endswith("%"):
                hint = ": percent are written without the sign"
            yield Match(
                f"{conf.fact(key)}: expected {error.expected}{hint}",
                written,
                key,
                f"{key}={_default(conf, key)}, or another number like it",
            )


def _default(conf: Conf, key: str) -> str:
    default = KEYS[key].default(conf.release)
    return str(default) if default not in (None, "") else "10"


def _not_true_nor_false(conf: Conf) -> Iterator[Match]:
    for key, written in conf.written.items():
        if key not in KEYS or KEYS[key].kind is not Kind.BOOL or not conf.is_written(key):
            continue
        text = written.value.strip().lower()
        if text not in {"true", "false"} and text not in _MEANT_FALSE:
            yield Match(
                f"{conf.fact(key)} counts as false: only the word true is true",
                written,
                key,
                f"{key}=true, or {key}=false",
            )


def _too_small(conf: Conf) -> Iterator[Match]:
    for row in _LEASTS:
        value = conf.number(row.key)
        if value is not None and value < row.least:
            yield Match(
                f"{conf.fact(row.key)}: expected {row.least:g} or more",
                conf.at(row.key),
                row.key,
                f"{row.key}={KEYS[row.key].default(conf.release)}, the default",
                f"{row.otherwise[:1].upper()}{row.otherwise[1:]}.",
                row.evidence,
            )


def _percent_for_fraction(conf: Conf) -> Iterator[Match]:
    for key, evidence in _FRACTIONS:
        value = conf.number(key)
        if value is not None and value > 1:
            fraction = f"{value / 100:g}" if value < 100 else KEYS[key].default(conf.release)
            yield Match(
                f"{conf.fact(key)}: expected a fraction such as {fraction}",
                conf.at(key),
                key,
                f"{key}={fraction}",
                evidence=evidence,
            )


def _wrong_unit(conf: Conf) -> Iterator[Match]:
    for row in _UNITS:
        value = conf.number(row.key)
        if value is not None and row.since <= value < row.until:
            yield Match(
                f"{conf.fact(row.key)} was probably meant {row.meant}",
                conf.at(row.key),
                row.key,
                f"{row.key}={shown(_plain(value * row.factor))}, if that was meant",
                evidence=row.evidence,
            )


def _range(row: _Unit) -> str:
    if row.until == _INFINITE:
        return f"from {row.since:,.0f} on"
    return f"below {row.until:,.0f}"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "refused-value",
        Severity.ERROR,
        "a number that is none, or not of the kind that the key takes",
        "Pulsar refuses the whole file for it, and the broker does not start.",
        ("#6546",),
        "a plain number without sign, unit or comment",
        _refused,
    ),
    Rule(
        "not-true-nor-false",
        Severity.ERROR,
        "a switch whose value is neither true nor false, and was not meant as false",
        "Java takes every word but true for false: yes, on and 1 switch off, and nobody is told.",
        ("java.lang.Boolean", "FieldParser"),
        "true or false",
        _not_true_nor_false,
    ),
    Rule(
        "too-small",
        Severity.ERROR,
        "an interval of nothing, or less",
        "Nothing can be scheduled at such an interval.",
        ("#1084", "java.util.concurrent.ScheduledExecutorService"),
        "the default",
        _too_small,
        cases=tuple(
            Case(row.key, f"below {row.least:g}: {row.otherwise}", row.evidence) for row in _LEASTS
        ),
    ),
    Rule(
        "percent-for-fraction",
        Severity.ERROR,
        "a percentage where a fraction is expected",
        "These keys are fractions although they are called percentages: 20 is twenty times the "
        "whole.  A history beyond 1 grows without bound, and more is unloaded than there is.",
        ("#6772",),
        "the fraction",
        _percent_for_fraction,
        cases=tuple(Case(key, "above 1", evidence) for key, evidence in _FRACTIONS),
    ),
    Rule(
        "wrong-unit",
        Severity.WARNING,
        "a number that only makes sense in another unit",
        "The name does not always tell the unit; a thousand times too much or too little switches "
        "the test off, or lets everything pass.",
        ("#21299",),
        "the number in the unit of the key",
        _wrong_unit,
        cases=tuple(
            Case(row.key, f"{_range(row)}: probably meant {row.meant}", row.evidence)
            for row in _UNITS
        ),
    ),
)
