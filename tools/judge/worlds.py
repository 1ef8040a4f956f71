"""A scenario and a seed → the same question in a world that nobody tuned on.

What the laboratory holds still is drawn: how CPU goes with work, how much bundles differ, how
often other processes wake up, how slow a broker begins, who shares a host with whom, which
reports are lost, and how long an unload takes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.scenario_keys import Span
from trimtab.lab.simulate.scenario_tables import Background, Happening, Scenario

#: Stands before the name of a scenario that is asked in such a world.
UNSEEN = "unseen:"


@dataclass(frozen=True, slots=True)
class Family:
    """Between what is drawn, evenly."""

    #: CPU goes with work to this power.
    work_exponent: Span = (0.6, 1.2)
    #: Standard deviation of the logarithm of what bundles cost beside their traffic.
    cost_sigma: Span = (0.0, 0.6)
    #: Short loads of other processes, an hour and broker.
    spikes_per_hour: Span = (0.0, 2.0)
    #: Share of its speed that a broker lacks as it begins.
    warm_up_share: Span = (0.0, 0.5)
    #: Share of brokers whose host has a neighbour, points that it takes, and for how long, min.
    neighbours: Span = (0.0, 0.3)
    neighbour_percent: Span = (4.0, 12.0)
    neighbour_min: Span = (15.0, 60.0)
    #: Shares of reports and of polls that are lost, and how noisy polls are.
    reports_lost: Span = (0.0, 0.2)
    polls_lost: Span = (0.0, 0.2)
    scrape_noise: Span = (0.02, 0.08)
    #: By how much unloads, and the time without an owner, are slower: from as they are.
    slower: Span = (1.0, 20.0)


FAMILY = Family()


def unseen(scenario: Scenario, seed: int, family: Family = FAMILY) -> Scenario:
    """Return a scenario in the world that a seed draws.

    Properties:
        The same for the same scenario and seed; bundles and machines are drawn as ever.
    """
    chance = generator(seed, "unseen world")
    drawn = {
        name: float(chance.uniform(*getattr(family, name))) for name in sorted(Family.__slots__)
    }
    spikes, sigma = drawn["spikes_per_hour"], drawn["cost_sigma"]
    neighbours = _neighbours(scenario, chance, family, drawn["neighbours"])
    return replace(
        scenario,
        machines=tuple(replace(each, spikes_per_hour=spikes) for each in scenario.machines),
        bundles=tuple(replace(each, cost_sigma=sigma) for each in scenario.bundles),
        events=(*scenario.events, *neighbours),
        parameters=_parameters(scenario.parameters, drawn),
    )


def _parameters(parameters: Parameters, drawn: dict[str, float]) -> Parameters:
    clients, slower = parameters.clients, drawn["slower"]
    return replace(
        parameters,
        physics=replace(
            parameters.physics,
            work_exponent=drawn["work_exponent"],
            warm_up_share=drawn["warm_up_share"],
        ),
        measuring=replace(
            parameters.measuring,
            reports_lost_share=drawn["reports_lost"],
            polls_lost_share=drawn["polls_lost"],
            scrape_noise=drawn["scrape_noise"],
        ),
        clients=replace(
            clients,
            unload_s=(clients.unload_s[0] * slower, clients.unload_s[1] * slower),
            gap_s_min=clients.gap_s_min * slower,
            gap_s_median=clients.gap_s_median * slower,
        ),
    )


def _neighbours(
    scenario: Scenario, chance: np.random.Generator, family: Family, share: float
) -> list[tuple[str, Happening]]:
    """Return what takes CPU on some hosts for a while; two brokers are on each."""
    hosts = scenario.n_machines // 2
    chosen = chance.permutation(hosts)[: round(share * hosts)]
    events = list[tuple[str, Happening]]()
    for host in np.sort(chosen).tolist():
        at_min = float(chance.uniform(0.0, 0.9 * scenario.run.minutes))
        until_min = at_min + float(chance.uniform(*family.neighbour_min))
        taken = Background(
            at_min=at_min,
            until_min=min(until_min, scenario.run.minutes),
            brokers=(2 * host, 2 * host + 1),
            percent=float(chance.uniform(*family.neighbour_percent)),
        )
        events.append(("background", taken))
    return events
