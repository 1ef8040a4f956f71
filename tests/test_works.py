"""What all features of bundles cost together, beside the features themselves."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.lab.costs.features import FEATURES, features, works


def test_what_features_cost_together_is_what_each_costs_added_up() -> None:
    random = np.random.default_rng(3)
    n_times, n_bundles = 5, 7
    rate_in, rate_out = random.uniform(0.0, 4000.0, (2, n_times, n_bundles))
    size, topics = random.uniform(10.0, 1e5, (n_times, n_bundles)), np.arange(n_bundles) + 0.0
    producers = np.array((np.nan, 0.0, 1.0, 2.0, 30.0, np.nan, 5.0))
    # Nothing in, nothing out, nothing at all, and far less out than in.
    rate_in[0, :2], rate_out[1, :2], rate_out[2] = 0.0, 0.0, 1e-3 * rate_in[2]
    rate_out[0, 0] = 0.0
    by_unit = random.uniform(0.01, 1.0, len(FEATURES))

    ours = works((rate_in, rate_out), size, (topics, producers), by_unit)

    still = (np.broadcast_to(each, rate_in.shape) for each in (topics, producers))
    columns = (rate_in, rate_out, rate_in * size, rate_out * size, *still, 0.0 * rate_in)
    counts = np.stack([each.reshape(-1) for each in columns], axis=1)
    assert ours.reshape(-1) == pytest.approx(features(counts) @ by_unit, rel=1e-12)
