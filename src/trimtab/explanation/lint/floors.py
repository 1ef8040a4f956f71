"""Traffic that is not worth a move: floors against thresholds, and against bundles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trimtab.explanation.lint.conf import Conf
from trimtab.explanation.lint.rule import Finder, Match, Span, holds_in
from trimtab.pulsar.units import MEBIBYTE

_SHARE = "maxUnloadPercentage"
_RATE = "loadBalancerMsgRateDifferenceShedderThreshold"
_RATIO = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"
_RATE_FLOOR = "minUnloadMessage"
_THROUGHPUT_FLOOR = "minUnloadMessageThroughput"
_RATE_LIMIT = "loadBalancerNamespaceBundleMaxMsgRate"
_THROUGHPUT_LIMIT = "loadBalancerNamespaceBundleMaxBandwidthMbytes"
_SPLITS = "loadBalancerAutoBundleSplitEnabled"
#: Floor → the limit beyond which a bundle is split, and in which unit that is.
_LIMITS = {_RATE_FLOOR: _RATE_LIMIT, _THROUGHPUT_FLOOR: _THROUGHPUT_LIMIT}
_UNITS = {_RATE_FLOOR: 1, _THROUGHPUT_FLOOR: MEBIBYTE}
#: Constants of 2.10, which are the defaults of 3.0.
_CONSTANTS = {_SHARE: 0.2, _RATE_FLOOR: 1000.0, _THROUGHPUT_FLOOR: float(MEBIBYTE)}
#: Releases in which it is enough to reach either floor.
_EITHER: tuple[Span, ...] = (("2.10.0", "3.0.2"), ("3.1.0", "3.1.1"))
#: How many times the usual traffic is far above it.
_FAR = 10


@dataclass(frozen=True, slots=True)
class _Test:
    """One of UniformLoadShedder's two tests, and the floor behind it; messages/s or bytes/s."""

    threshold_key: str
    floor_key: str
    is_on: bool
    #: By which part of the lowest broker's traffic brokers must differ.
    part: float
    #: By what they must differ for the floor to be reached.
    difference: float
    #: Traffic of the lowest broker at which threshold and floor come to the same by default.
    usual: float

    @property
    def is_far(self) -> bool:
        """Whether the lowest broker must carry far more than usual before the threshold counts."""
        return self.difference > 0 and self.difference >= _FAR * self.usual * self.part

    @property
    def text(self) -> str:
        """The difference with its unit."""
        return _traffic(self.floor_key, self.difference)


def _traffic(floor_key: str, value: float) -> str:
    """Return traffic in the unit of a floor's test."""
    if floor_key == _RATE_FLOOR:
        return f"{value:,.0f} msg/s"
    mebibytes = value / MEBIBYTE
    return f"{mebibytes:,.0f} MiB/s" if mebibytes >= 100 else f"{mebibytes:.3g} MiB/s"


def _tests(conf: Conf) -> tuple[_Test, ...]:
    """Return the tests that decide, the first of which is on; none if nothing is tested."""
    share = _number(conf, _SHARE)
    if conf.shedder != "UniformLoadShedder" or not 0 < share <= 1:
        return ()
    rate, ratio = conf.number(_RATE) or 0, conf.number(_RATIO) or 0
    floors = [_number(conf, key) / share for key in (_RATE_FLOOR, _THROUGHPUT_FLOOR)]
    both = (
        _Test(_RATE, _RATE_FLOOR, rate > 0, rate / 100, floors[0], 1000 / 0.2 / 0.5),
        _Test(
            _RATIO, _THROUGHPUT_FLOOR, ratio > 0, max(0, ratio - 1), floors[1], MEBIBYTE / 0.2 / 3
        ),
    )
    on_first = tuple(sorted(both, key=lambda it: not it.is_on))
    if not on_first[0].is_on:
        return ()
    # Later the rate's test, where it is on, shadows that of throughput.
    return on_first if holds_in(_EITHER, conf.release) else on_first[:1]


def _number(conf: Conf, key: str) -> float:
    """Return what a key is set to, or the constant of releases that have no such key."""
    value = conf.number(key)
    return _CONSTANTS[key] if value is None else value


def _above_threshold(conf: Conf) -> Iterator[Match]:
    tests = _tests(conf)
    if not tests or not all(it.is_far for it in tests if it.is_on):
        return
    differences = " and by less than ".join(it.text for it in tests)
    facts = ", ".join(conf.fact(it.threshold_key) for it in tests if it.is_on)
    yield Match(
        f"{facts}, but brokers that differ by less than {differences} are left as they are, "
        f"whatever that says: {_share_line(conf)} must reach {_floors_line(conf, tests)}",
        conf.at(*(key for it in tests for key in (it.threshold_key, it.floor_key))),
        tests[0].floor_key,
        _lower_floors(conf, tests),
    )


def _share_line(conf: Conf) -> str:
    return f"{_number(conf, _SHARE) * 100:g} % of the difference"


def _floors_line(conf: Conf, tests: tuple[_Test, ...]) -> str:
    if conf.is_from("3.0.0"):
        return " or ".join(f"{it.floor_key} ({conf.value(it.floor_key)})" for it in tests)
    return "1000 msg/s or 1 MiB/s, which this release has no key for"


def _lower_floors(conf: Conf, tests: tuple[_Test, ...]) -> str:
    """Return floors with which the thresholds count from as much traffic on as by default."""
    share = _number(conf, _SHARE)
    floors = " and ".join(
        f"{it.floor_key}={max(1, round(it.usual * it.part * share))}" for it in tests if it.is_on
    )
    return floors if conf.is_from("3.0.0") else f"3.0.2 or later, with {floors}"


def _above_bundles(conf: Conf) -> Iterator[Match]:
    if conf.shedder not in ("UniformLoadShedder", "AvgShedder") or not conf.is_on(_SPLITS):
        return
    if any(_above_threshold(conf)):
        return
    # AvgShedder goes on to throughput where the rate does not reach its floor.
    keys = [it.floor_key for it in _tests(conf)]
    if conf.shedder == "AvgShedder":
        keys = list(_LIMITS)
    limits = {key: (conf.number(_LIMITS[key]) or 0) * _UNITS[key] for key in keys}
    if not keys or not all(_number(conf, key) > limit > 0 for key, limit in limits.items()):
        return
    share = _number(conf, _SHARE)
    if not 0 < share <= 1:
        return
    facts = ", and ".join(conf.fact(key) for key in keys)
    differences = " and by less than ".join(
        _traffic(key, _number(conf, key) / share) for key in keys
    )
    most = " and ".join(_traffic(key, limit) for key, limit in limits.items())
    yield Match(
        f"{facts}: brokers that differ by less than {differences} are left as they are, and a "
        f"bundle is split once it carries {most}",
        conf.at(*keys),
        keys[0],
        " and ".join(f"{key}={_CONSTANTS[key]:.0f}" for key in keys) + ", by default",
    )


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "floor-above-threshold": _above_threshold,
    "floor-above-bundles": _above_bundles,
}
