"""What brokers published of their loads, against a broker that measures, smooths and prints.

It looks at its machine every few seconds, where two looks in a row may print the same digits, and
prints what it smoothed once a second; whoever asks for its gauges has it smooth once more, and the
answer may come behind a line that was printed after the question.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from trimtab.diagnose.night import Event
from trimtab.diagnose.transfers.published import LoadData, Sample, fixed, publications
from trimtab.pulsar.settings import broker_load_settings

START = datetime(2026, 11, 23, 15, 0, tzinfo=UTC)
CONF = {"loadBalancerCPUResourceWeight": "0", "loadBalancerHistoryResourcePercentage": "0.5"}
SETTINGS = broker_load_settings(CONF, "4.0.8")
N_LINES = 120


def at(seconds: float) -> datetime:
    return START + timedelta(milliseconds=round(seconds * 1000))


def printed(number: int, time_s: float, out_percent: float, smoothed: float) -> Event:
    numbers = {
        **{f"{name}_percent": 0.0 for name in ("cpu", "memory", "direct_memory", "bandwidth_in")},
        "bandwidth_out_percent": fixed(out_percent),
        "weighted_max_ema_percent": fixed(smoothed * 100),
        "msg_throughput_ema": 0.0,
        "msg_throughput_in": 0.0,
        "msg_throughput_out": 0.0,
        "updated_at": 1e12 + time_s * 1000,
        "reported_at": 1e12,
    }
    return Event(at(time_s), "b1", "b1.log", number, "load-data", "", numbers=numbers)


def played(seed: int, *, is_crossing: bool) -> tuple[list[Event], list[Sample], list[float]]:
    """Play a broker: its lines, its samples, and what it really smoothed by each line."""
    random = np.random.default_rng(seed)
    every_s = float(random.choice([1.0, 2.0, 5.0]))
    # Who asks less often than it looks does not hear of all looks.
    changes = np.cumsum(random.uniform(every_s + 0.1, every_s + 8.0, 120))
    # Hundredths of a percent apart, or less: many looks print the same.
    near = [0.0] if is_crossing else [0.0, 0.002, -0.003]
    looks = 20 + np.cumsum(random.choice([*near, 4.0, -4.0], 121))
    looks = np.abs(looks).astype(np.float32).astype(float)
    asked = [(1.0 + i, "line") for i in range(N_LINES)]
    # Asked just before a line is printed, and answered just behind it, or before it.
    moment = 0.999 if is_crossing else 0.5
    asked += [(every_s * i + moment, "sample") for i in range(1, int(N_LINES / every_s))]
    when = [
        (time + (float(random.choice([0.0005, 0.004])) if what == "sample" else 0.0), time, what)
        for time, what in asked
    ]
    lines, samples, truth, smoothed = [], [], list[float](), np.nan
    for done, time, what in sorted(when):
        look = float(looks[int(np.searchsorted(changes, done))])
        usage = look / 100
        smoothed = usage if np.isnan(smoothed) else 0.5 * smoothed + 0.5 * usage
        if what == "line":
            lines.append(printed(len(lines) + 1, time, look, smoothed))
            truth.append(smoothed)
        else:
            samples.append(Sample(at(time), (0.0, 0.0, 0.0, 0.0, look), smoothed))
    return lines, samples, truth


@pytest.mark.parametrize("is_crossing", [False, True], ids=["equal digits", "answers cross"])
def test_what_is_whole_is_what_the_broker_smoothed(is_crossing: bool) -> None:
    shares = [share(seed, is_crossing=is_crossing) for seed in range(20)]
    assert np.median(shares) > 0.95
    assert min(shares) > 0.6


def share(seed: int, *, is_crossing: bool) -> float:
    """Hold all that is whole against the truth, and return how much of it is."""
    lines, samples, truth = played(seed, is_crossing=is_crossing)

    found = publications(lines, {"b1": samples}, SETTINGS, {"b1": "b1:8080"})

    loads = [each for each in found if isinstance(each, LoadData)]
    assert len(loads) == len(truth)
    last_s = (samples[-1].time - START).total_seconds()
    for load, smoothed in zip(loads, truth, strict=True):
        if load.usage.is_whole:
            assert load.usage.values == pytest.approx([smoothed], rel=1e-12)
        else:
            assert min(load.usage.values) <= smoothed + 1e-4
            assert max(load.usage.values) >= smoothed - 1e-4
    before = [load for load in loads if load.time < at(last_s - 10)]
    return sum(load.usage.is_whole for load in before) / len(before)
