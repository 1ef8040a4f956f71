"""Plans that empty a broker, one bundle after the other, and that bring its bundles back."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Expected, Plan, PlannedMove

#: What a bundle adds to a broker at least, in points of usage, so that idle ones are spread.
_POINTS_MIN = 0.1
_UNBOUNDED = 1e9


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker and what it owns."""

    #: %; NaN if it is not known.
    usage_percent: float
    #: Bundle → its traffic, bytes/s, in and out; 0 where that is not known.
    bundles: Mapping[str, float]
    #: Bundle → points of usage that it takes there; empty: its share of the traffic.
    points: Mapping[str, float] = field(default_factory=dict)
    #: Points that a bundle takes here which takes one where this is 1.
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class Frame:
    """What a plan says besides its moves."""

    cluster: str
    #: When the state was seen, s since 1970.
    made_s: float
    limits: Limits
    shedding_may_run_because: str = ""

    @property
    def bar(self) -> Expected:
        """Return that a destination stands below the bar after a move, if there is one."""
        bar = self.limits.bar_percent
        return Expected(destination=(0.0, bar) if bar < 100 else None)

    def around(self, moves: tuple[PlannedMove, ...]) -> Plan:
        """Return a plan of moves."""
        return Plan(self.cluster, self.made_s, moves, self.limits, self.shedding_may_run_because)


def emptying_limits(bar_percent: float, every_s: float, warm_s: float) -> Limits:
    """Return the limits of emptying a broker: as fast as asked, one bundle at a time.

    Every bundle has to go, so none rests for its grace, and the plan goes out from who owns
    what, which stays true for longer than loads do.

    Args:
        bar_percent: above which nobody takes anything; 100 for no bar.
        every_s: at least between two moves.
        warm_s: since a broker began, before it takes anything.
    """
    default = Limits()
    return Limits(
        moves_per_round=_UNBOUNDED,
        moves_per_hour=_UNBOUNDED,
        grace_s=1.0,
        settle_s=every_s,
        bar_percent=bar_percent if bar_percent < 100 else _UNBOUNDED,
        broker_age_min_s=warm_s,
        # Whoever has just started is waited for.
        wait_max_s=max(default.wait_max_s, 2.0 * warm_s),
        plan_age_max_s=86_400.0,
    )


def emptying(
    broker: str, brokers: Mapping[str, BrokerState], takers: Collection[str], frame: Frame
) -> Plan:
    """Return a plan to move every bundle of a broker away, the busiest first.

    Each goes where usage will be lowest after it, by what it is known to cost; where that is
    not known, by its share of the traffic.

    Args:
        broker: to be emptied.
        brokers: broker id → its state; those of the broker and of the takers are asked for.
        takers: who may take bundles; not empty.
        frame: the rest of the plan.

    Properties:
        Every bundle of the broker is moved once, each to a taker.
        With equal takers and equal bundles, no taker gets two more than another.
        The same states give the same plan.

    Quirks:
        A taker whose usage is not known counts as one at the mean of the others.
    """
    state = brokers[broker]
    total = sum(state.bundles.values())
    known = [brokers[name].usage_percent for name in takers]
    known = [each for each in known if not math.isnan(each)]
    mean = sum(known) / len(known) if known else 0.0
    usage = {name: _or(brokers[name].usage_percent, mean) for name in sorted(takers)}
    traffic = {name: sum(brokers[name].bundles.values()) for name in usage}
    moves = []
    for bundle, bytes_s in sorted(state.bundles.items(), key=lambda each: (-each[1], each[0])):
        share = bytes_s / total if total else 1.0 / len(state.bundles)
        points = state.points.get(bundle, _or(state.usage_percent, 0.0) * share)
        taker = min(usage, key=lambda name: (usage[name], traffic[name], name))
        usage[taker] += max(_POINTS_MIN, points * brokers[taker].speed / state.speed)
        traffic[taker] += bytes_s
        reason = f"{broker} is to be emptied; {taker} will stand at about {usage[taker]:.0f} %"
        moves.append(PlannedMove(bundle, broker, taker, reason, bytes_s, after=frame.bar))
    return frame.around(tuple(moves))


def bringing_back(
    broker: str, emptied: Plan, owners: Mapping[str, str | None], frame: Frame
) -> Plan:
    """Return a plan to bring back what a plan has taken from a broker, from wherever it is now.

    Args:
        broker: that was emptied.
        emptied: by this plan.
        owners: bundle → who owns it now; one without an owner, or that is there already, or
            whose owner is not known, is left where it is.
        frame: the rest of the plan.

    Properties:
        The last that was taken is the first that comes back.
    """
    moves = []
    for move in reversed(emptied.moves):
        owner = owners.get(move.bundle)
        if move.source == broker and owner not in {None, broker}:
            assert owner is not None
            reason = f"{broker} was emptied and takes its bundles back"
            traffic = move.traffic_bytes_s
            moves.append(PlannedMove(move.bundle, owner, broker, reason, traffic, after=frame.bar))
    return frame.around(tuple(moves))


def levelling(
    broker: str, brokers: Mapping[str, BrokerState], may_go: Collection[str], frame: Frame
) -> Plan:
    """Return a plan to fill an empty broker until it is level with the others.

    Each time the busiest of the others gives the largest bundle that leaves the broker no
    busier than itself.

    Args:
        broker: that is empty.
        brokers: broker id → its state, of all that there are.
        may_go: bundles that may be moved there.
        frame: the rest of the plan.

    Properties:
        The broker stands no higher than each that gave it a bundle, as they are expected to
        stand then.
        A broker whose usage is not known gives nothing.
    """
    usage = {name: state.usage_percent for name, state in brokers.items()}
    burdens = {
        name: _burdens(state, usage[broker]) for name, state in brokers.items() if name != broker
    }
    moves: list[PlannedMove] = []
    while choices := [
        (usage[name], points, bundle, name)
        for name, of in burdens.items()
        for bundle, points in of.items()
        if bundle in may_go and usage[broker] + points <= usage[name] - points
    ]:
        _, points, bundle, giver = max(choices)
        usage[giver] -= points
        usage[broker] += points
        del burdens[giver][bundle]
        traffic = brokers[giver].bundles[bundle]
        reason = f"{broker} is empty; it will stand at about {usage[broker]:.0f} %"
        moves.append(PlannedMove(bundle, giver, broker, reason, traffic, after=frame.bar))
    return frame.around(tuple(moves))


def _burdens(state: BrokerState, idle_percent: float) -> dict[str, float]:
    """Return what each bundle takes of a broker, in points, above what an idle one uses."""
    total, count = sum(state.bundles.values()), max(1, len(state.bundles))
    busy = max(0.0, state.usage_percent - idle_percent)
    return {
        bundle: state.points.get(bundle, busy * (bytes_s / total if total else 1.0 / count))
        for bundle, bytes_s in state.bundles.items()
    }


def _or(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value
