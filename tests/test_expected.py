"""What is expected of moves, and how what is known of costs comes about name by name."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from trimtab.lab.costs import Knowledge, Windows, nothing_known
from trimtab.lab.costs.by_name import BrokerReport, Handover, looked_at
from trimtab.lab.costs.predict import level_now
from trimtab.live.control.expected import Costs, Effect, Step, effects

_WINDOWS = Windows(60.0, 60.0)
_POINTS_PER_K = 4.0
_A, _B = "a:8080", "b:8080"


def _report(broker: str, time_s: float, rates: Mapping[str, float], noise: float) -> BrokerReport:
    used = 5.0 + _POINTS_PER_K * sum(rates.values()) / 1000.0
    counts = {name: (rate, 0.0, 1000.0 * rate, 0.0, 1.0, 1.0, 0.0) for name, rate in rates.items()}
    return BrokerReport(broker, time_s, -9000.0, used + noise, 4.0, counts)


def _learned(minutes: int) -> Knowledge:
    """Return what is known of two brokers whose traffic varies, a look a minute."""
    random = np.random.default_rng(3)
    known = nothing_known((), ())
    for minute in range(minutes):
        time_s = 60.0 * minute
        reports = [
            _report(
                broker,
                time_s + 10.0,
                {
                    f"t/{broker[0]}/{i}": each * (1.0 + 0.6 * math.sin(minute / 5.0 + i))
                    for i, each in enumerate(rates)
                },
                float(random.normal(0.0, 0.3)),
            )
            for broker, rates in ((_A, (4000.0, 2000.0, 1000.0)), (_B, (1000.0, 500.0)))
        ]
        known = looked_at(known, time_s + 60.0, reports, (), _WINDOWS)
    return known


def _effects(
    known: Knowledge, *bundles: str, others: Mapping[str, float] | None = None
) -> list[Effect]:
    steps = [Step(bundle, _A, _B) for bundle in bundles]
    return list(effects(Costs(known, others or {}), steps, 90.0))


def test_the_interval_of_a_move_holds_what_comes_and_narrows_with_what_is_learned() -> None:
    early, late = _learned(4), _learned(90)
    widths = []
    for known in (early, late):
        (effect,) = _effects(known, "t/a/0")
        place = known.bundle_names.index("t/a/0")
        comes = _POINTS_PER_K * float(known.bundles.counts[place, 0]) / 1000.0
        source = level_now(known)[known.broker_names.index(_A)]
        assert effect.after.source is not None
        assert effect.after.destination is not None
        low, high = effect.after.source
        assert low <= source - comes <= high
        widths.append(high - low)
    assert widths[1] < widths[0]
    assert effect.relief == pytest.approx(comes, rel=0.25)


def test_a_later_move_goes_out_from_what_the_earlier_ones_did() -> None:
    first, second = _effects(_learned(60), "t/a/0", "t/a/1")
    assert first.after.source is not None
    assert second.before.source is not None
    assert second.before.source[0] == first.after.source[0]
    assert second.after.source is not None
    # Whatever is read of a window that began before the move is as expected, too.
    assert second.after.source[1] == second.before.source[1]
    assert second.after.source[0] < second.before.source[0]


def test_the_destination_is_expected_from_where_it_stood_to_where_it_comes() -> None:
    (effect,) = _effects(_learned(200), "t/a/1")
    assert effect.before.destination is not None
    assert effect.after.destination is not None
    assert effect.after.destination[0] == effect.before.destination[0]
    assert effect.after.destination[1] > effect.before.destination[1]
    ends = (*effect.before.destination, *effect.after.destination)
    assert all(each == round(each, 1) for each in ends)


def test_where_another_resource_may_be_busiest_the_upper_end_is_open() -> None:
    known = _learned(60)
    (closed,) = _effects(known, "t/a/2", others={_A: 1.0})
    (open_end,) = _effects(known, "t/a/2", others={_A: 70.0})
    assert closed.after.source is not None
    assert open_end.after.source is not None
    assert closed.after.source[1] < 100.0
    assert open_end.after.source == (closed.after.source[0], 100.0)
    # How much of its usage goes with the bundle is not known then.
    assert math.isnan(open_end.relief)
    assert closed.relief > 0


def test_of_a_bundle_of_unknown_traffic_nothing_is_expected() -> None:
    known_bundle, unknown = _effects(_learned(10), "t/a/0", "t/a/new")
    assert known_bundle.after.source is not None
    assert unknown.after.source is None
    assert unknown.after.destination is None
    assert math.isnan(unknown.relief)


def test_names_get_the_next_positions_and_a_handover_changes_the_owner() -> None:
    known = looked_at(
        nothing_known((), ()), 60.0, [_report(_A, 10.0, {"t/a/0": 100.0}, 0.0)], (), _WINDOWS
    )
    moved = Handover(90.0, "t/a/0", _A, _B)
    then = looked_at(known, 120.0, [_report(_A, 70.0, {"t/a/0": 100.0}, 0.0)], (moved,), _WINDOWS)
    assert known.broker_names == (_A,)
    assert then.broker_names == (_A, _B)
    assert then.bundle_names == known.bundle_names
    assert then.bundles.owner.tolist() == [1]
