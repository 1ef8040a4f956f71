"""Where brokers are many: what is learned of costs, and who is left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trimtab.lab.costs.knowledge import Knowledge
from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.run import at_end, passing
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.steering import foresee

_EVEN = """
# Four hundred brokers that are even.
# What is learned of costs where hardly anything changes?
[run]
minutes = 13
event_at_min = 3
[[machines]]
count = 400
[[bundles]]
count = 4000
[traffic]
cpu_percent = 45
"""


def test_usage_that_hardly_follows_traffic_is_due_to_what_costs_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "even.toml").write_text(_EVEN, encoding="utf-8")
    scenario = scenario_of(str(tmp_path / "even.toml"))
    believed = list[Knowledge]()
    judged = foresee.verdict
    monkeypatch.setattr(
        foresee, "verdict", lambda *asked: (believed.append(asked[2]), judged(*asked))[1]
    )
    balancer = Balancer("Foresee", "Foresee", scenario.run.release, scenario.settings)
    at_end(passing(Simulation(drawn(scenario, 11), balancer, scenario.parameters)))
    exponents = np.exp([known.shared[-1] for known in believed])
    # So many would outvote whatever was taken beforehand.
    assert exponents.min() > 0.6
    assert exponents.max() < 1.7


_ONE_OUT = """
# A hundred brokers that are even, on one of which another process takes a quarter of the CPU.
# Are the others left alone?
[run]
minutes = 50
event_at_min = 25
[[machines]]
count = 100
[[bundles]]
count = 4000
[traffic]
cpu_percent = 45
[[events]]
at_min = 25
what = "background"
brokers = 0
percent = 25
"""


def test_one_of_many_brokers_is_relieved_and_the_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(_ONE_OUT, encoding="utf-8")
    scenario = scenario_of(str(tmp_path / "one.toml"))
    balancer = Balancer("Foresee", "Foresee", scenario.run.release, scenario.settings)
    run = at_end(passing(Simulation(drawn(scenario, 11), balancer, scenario.parameters)))
    shed = (run.moves.round >= 0) & (run.moves.time_s >= 25 * 60)
    sources = np.bincount(run.moves.source[shed], minlength=100)
    assert sources[0] >= 4
    assert sources[1:].sum() <= 2
