"""A simulation and a bar → whether it keeps to the bar, ended as soon as it cannot."""

from __future__ import annotations

from trimtab.lab.rehearsal.measures import Bar, measures, over_min
from trimtab.lab.simulate.run import passing
from trimtab.lab.simulate.simulation import Simulation


def keeps(simulation: Simulation, bar: Bar) -> bool:
    """Return whether a simulation that has not begun keeps to a bar until its end.

    Properties:
        What the measures of the whole run say.
        Once brokers were above the peak for longer than they may be, no more of it is run:
        what comes later takes nothing back.
    """
    rounds, records = passing(simulation), simulation.records
    is_broken: bool | None = None
    while True:
        try:
            rounds.send(is_broken)
        except StopIteration as end:
            return not is_broken and bar.is_met(measures(end.value, bar))
        passed = records.usage[: simulation.tick]
        is_broken = over_min(passed, records.tick_s, records.world.event_s, bar) > bar.over_min
