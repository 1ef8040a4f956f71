"""The parts of a simulation that decide, listened to while they do."""

from __future__ import annotations

from collections.abc import Callable

from trimtab.lab.simulate.placement import Chosen, Placing
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.strategies import Strategies
from trimtab.pulsar.leader.load import broker_load
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.model import ClusterLoad, Decision, Ints, LostRoundError, Placement
from trimtab.trials.record.leader import ClockedTimetable, LeaderClock, RecordedLeader
from trimtab.trials.record.lines import Shed
from trimtab.trials.record.listener import Listener, Selection


class ReportingStrategies(Strategies):
    """Strategies that tell what they decide."""

    leader: RecordedLeader
    #: What the placer answered last.
    placement: Placement | None = None

    def place(self, load: ClusterLoad, bundle: str, candidates: Ints) -> Placement:
        """Return the brokers for a bundle."""
        self.placement = super().place(load, bundle, candidates)
        return self.placement

    def shed(self, load: ClusterLoad) -> Decision:
        """Return the decision of one round."""
        before = self._memory[self.balancer.shedder]
        self.leader.is_round = True
        try:
            decision = super().shed(load)
        except LostRoundError:
            self.leader.is_round = False
            raise
        shed = Shed(str(self.balancer.shedder), load, decision, self._shedder_settings, before)
        for listener in self.leader.listeners:
            listener.decided(self.leader.clock.now_ms, shed)
        return decision

    def completed(self) -> None:
        """Note that the leader has gone through all that was shed."""
        super().completed()
        self.leader.is_round = False


class ReportingPlacing(Placing):
    """Placement by what the leader knows at the very moment."""

    leader: RecordedLeader
    strategies: ReportingStrategies

    #: Of the placer's draws for a bundle: among how many, and whether these were all.
    draws: list[tuple[int, bool]]
    #: Broker → score of the last of these draws.
    scores: dict[str, float]

    def choose(self, load: ClusterLoad, bundle: int) -> Chosen | None:
        """Return the broker that is chosen for a bundle."""
        leader = self.leader
        name = leader.cluster.bundles.names[bundle]
        leader.view.meet(name)
        time_ms = leader.selecting()
        is_again = name in leader.view.recently_unloaded and leader.is_round
        self.draws, self.scores = [], {}
        chosen = super().choose(broker_load(leader.view), bundle)
        broker = None if chosen is None else chosen.broker
        is_lookup = is_again or not leader.is_round
        selection = Selection(time_ms, bundle, tuple(self.draws), broker, is_lookup, self.scores)
        for listener in leader.listeners:
            listener.selected(selection)
        if is_again and broker is not None:
            leader.view.give(name, leader.cluster.machines.names[broker])
        leader.target = broker
        return chosen

    def _drawn(self, load: ClusterLoad, bundle: int, candidates: Ints) -> tuple[int, bool] | None:
        """Return who is drawn among those that the placer names; positions in the load."""
        drawn = super()._drawn(load, bundle, candidates)
        placement = self.strategies.placement
        if placement is not None:
            names = [load.brokers[i] for i in candidates.tolist()]
            scores = placement.scores.tolist()
            self.scores = dict(zip(names, scores, strict=True))
        self.draws.append((candidates.size, drawn is not None and drawn[1]))
        return drawn


def leader_with_listeners(
    simulation: Simulation,
    start_ms: int,
    listeners: tuple[Listener, ...],
    reported: Callable[[int, float, Report], Report],
) -> RecordedLeader:
    """Return the leader that a simulation has now; of its time none has passed.

    Listeners hear of all that it does; `reported` gives what becomes of a broker's report.
    """
    clock = LeaderClock(start_ms, start_ms - 120_000)
    timetable = ClockedTimetable()
    timetable.clock = clock
    simulation.timetable = timetable
    leader = RecordedLeader(simulation, clock, listeners, reported)
    strategies = ReportingStrategies(simulation.balancer)
    strategies.leader = leader
    weights, random = simulation.placing.weights, simulation.placing.random
    placing = ReportingPlacing(leader, strategies, simulation.settings, weights, random)
    simulation.leader, simulation.strategies, simulation.placing = leader, strategies, placing
    return leader
