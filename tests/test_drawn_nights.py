"""Nights that a number draws for a real cluster: all is said before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster.nights import NIGHT_S, PAIRS, drawn
from cluster.profile import read_profile


def test_the_same_seed_draws_the_same_night_and_three_in_a_row_have_every_pair() -> None:
    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(8)
    assert {drawn(seed).shedder for seed in range(5, 8)} == set(PAIRS)


@pytest.mark.parametrize("seed", range(30))
def test_a_night_has_four_brokers_in_the_end_and_one_of_the_first_is_killed(
    seed: int, tmp_path: Path
) -> None:
    night = drawn(seed)
    assert night.brokers + len(night.joins_s) == 4
    assert 1 <= night.killed <= night.brokers
    assert max(night.joins_s) < night.killed_s < night.back_s < NIGHT_S
    path = tmp_path / "load.toml"
    path.write_text(night.profile, encoding="utf-8")
    steady, swings = read_profile(path)
    assert steady.rate(0.0) == steady.rate(NIGHT_S) == round(night.steady)
    assert swings.rate(0.0) < swings.rate(night.high_from_s + 10.0) > swings.rate(NIGHT_S)
