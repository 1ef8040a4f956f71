"""The moves worth making, as a plan that can be carried out."""

from __future__ import annotations

from trimtab.lab.planning import Planned, Snapshot
from trimtab.live.control.drain import Frame
from trimtab.live.control.plan import Expected, Interval, Plan, PlannedMove

#: Deviations by which a usage may be off before a run stops: one in a hundred by chance.
_DEVIATIONS = 2.6
# The same in points: a host's usage is never surer than that.
_LEAST = 3.0


def level_plan(planned: Planned, snapshot: Snapshot, frame: Frame) -> Plan:
    """Return the plan of the moves that are worth making.

    A run stops where the usage of a broker is not as it is expected to be, by more than what is
    not known of it.

    Properties:
        The same arguments give the same plan.
    """
    course, moves = planned.course, planned.moves
    pairs = zip(moves.bundle.tolist(), moves.to.tolist(), strict=True)
    plan = []
    for i, (bundle, to) in enumerate(pairs):
        source, destination = snapshot.brokers[snapshot.owner[bundle]], snapshot.brokers[to]
        (here, there), (left, taken) = course.before[i].tolist(), course.after[i].tolist()
        plan.append(
            PlannedMove(
                bundle=snapshot.bundles[bundle],
                source=source,
                destination=destination,
                reason=(
                    f"{source} stands at {here:.0f} %, {destination} at {there:.0f} %; then they "
                    f"stand at about {left:.0f} and {taken:.0f} %"
                ),
                traffic_bytes_s=float(snapshot.traffic[bundle]),
                before=_expected((here, there), course.before_deviation[i].tolist()),
                after=_expected((left, taken), course.after_deviation[i].tolist()),
            )
        )
    return frame.around(tuple(plan))


def _expected(usages: tuple[float, float], deviations: list[float]) -> Expected:
    source, destination = map(_around, usages, deviations)
    return Expected(source, destination)


def _around(percent: float, deviation: float) -> Interval:
    points = max(_LEAST, _DEVIATIONS * deviation)
    return round(max(0.0, percent - points), 1), round(percent + points, 1)
