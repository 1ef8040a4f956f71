"""Twenty-seven moves on real brokers: what was predicted, beside what was measured."""

from __future__ import annotations

import math
import re
from statistics import stdev

import pytest

from tools import predictions
from tools.real_moves import real_moves


@pytest.mark.parametrize("run", ["idle", "saturated"])
def test_the_mean_relief_is_within_the_error_of_its_measurement(run: str) -> None:
    # A move of some 80 messages/s is below the noise of one; of all together it is not.
    ends = list(real_moves(run))
    measured = [(-1 if end.is_source else 1) * end.measured for end in ends]
    error = stdev(measured) / math.sqrt(len(measured))
    predicted = predictions.mean_relief(ends, "predicted")
    assert predicted > 0
    assert abs(predicted - predictions.mean_relief(ends, "measured")) < 1.5 * error


@pytest.mark.parametrize("run", ["idle", "saturated"])
def test_it_is_nearer_than_the_share_of_traffic(run: str) -> None:
    ends = list(real_moves(run))
    measured = predictions.mean_relief(ends, "measured")
    share = predictions.mean_relief(ends, "by_share")
    assert abs(predictions.mean_relief(ends, "predicted") - measured) < abs(share - measured)


def test_the_page_has_the_table_of_the_real_moves() -> None:
    text = predictions.PAGE.read_text(encoding="utf-8")
    shown = predictions.part("real moves").search(text)
    assert shown is not None
    # `make predictions` writes it.
    assert shown.group() == predictions.of_real_moves()


@pytest.mark.slow
def test_the_page_has_what_came_of_the_moves_that_were_recorded_for_this() -> None:
    shown = predictions.part("recorded moves").search(predictions.PAGE.read_text(encoding="utf-8"))
    assert shown is not None
    assert shown.group() == predictions.of_recorded_moves()
    (looked_at, held_out) = re.findall(r"of what was measured \| 1 \| ([\d.]+) \|", shown.group())
    assert abs(float(looked_at) - 1.0) < 0.15
    assert abs(float(held_out) - 1.0) < 0.15
