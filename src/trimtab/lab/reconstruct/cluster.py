"""What a recording tells → a world, its surroundings and its course, ready to be simulated."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.files.errors import TrimtabError
from trimtab.lab.costs import Knowledge, Windows
from trimtab.lab.reconstruct.assumptions import Inference, untold
from trimtab.lab.reconstruct.beginning import Before, before, begins_s, standing
from trimtab.lab.reconstruct.clocks import Grid, Life, lives
from trimtab.lab.reconstruct.costs import Costs, Served, in_simulation, known_costs
from trimtab.lab.reconstruct.events import events, session_s
from trimtab.lab.reconstruct.evidence import Evidence, Reports, Round
from trimtab.lab.reconstruct.host_windows import host_windows, owners_at
from trimtab.lab.reconstruct.rates import Wanted, traffic
from trimtab.lab.reconstruct.splits import cut, splits
from trimtab.lab.reconstruct.usage import Carried, Used, used
from trimtab.lab.simulate.course import Course, Moved
from trimtab.lab.simulate.parameters import Clients, Measuring, Parameters, Physics
from trimtab.lab.simulate.surroundings import (
    Begin,
    RecordedOthers,
    RecordedSurroundings,
    RecordedTraffic,
)
from trimtab.lab.simulate.world import Bundles, Machines, World
from trimtab.pulsar.model import Floats, Ints

# Bytes/s in a kbit/s.
_KBIT = 125.0
# What a NIC is taken to carry if nobody says, bytes/s: 10 Gbit/s.
_NIC = 1.25e9
# Messages/s below which their size cannot be told.
_MESSAGES_MIN = 0.01
# s a tick, and ticks times bundles up to which it will do, the first that does: short, as reports
# and rounds may be less than 5 s apart; some ten arrays of 8 bytes each are made.  On a night with
# 274 unloads ticks of 5 s replay 296 of them, of 10 s 300; of 15 s 213, which reassures.
_TICKS = ((0.25, 20_000_000), (1.0, 20_000_000), (5.0, 10_000_000), (10.0, 20_000_000))
# Waits for unloads below which the usual ones are taken.
_WAITS_MIN = 5


class NothingToSimulateError(TrimtabError, ValueError):
    """A recording does not tell enough to simulate it; says what is missing."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How brokers measure, and where what is published goes, by their settings."""

    #: s; lengths of the windows of hosts and of bundles.
    host_s: float
    stats_s: float
    #: Bookies to which what is published is sent.
    write_quorum: float
    #: s; after which a broker reports in any case, and the leader sheds again.
    report_s: float = 900.0
    shedding_s: float = 60.0
    #: s for which a bundle that was unloaded is left alone.
    grace_s: float = 1800.0


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A recorded cluster as one that can be simulated."""

    grid: Grid
    world: World
    surroundings: RecordedSurroundings
    parameters: Parameters
    course: Course
    #: Who really carried what.
    served: Served
    used: Used
    #: What is not known of what the leader did before the beginning.
    before: Before
    #: What the recording does not tell, and what is taken for it; a sentence each.
    untold: tuple[str, ...]

    @property
    def owner(self) -> Ints:
        """Return who really owned what, (n_ticks, n_bundles); -1 for nobody."""
        return self.served.owner


def rebuilt(
    evidence: Evidence, measured: Measured, seed: int = 0, known: Knowledge | None = None
) -> Rebuilt:
    """Return the cluster rebuilt, from the first window of bundles up to the last report.

    Args:
        evidence: what was recorded.
        measured: how brokers measure.
        seed: of what chance brings when it is simulated; nothing told depends on it.
        known: what is known of its costs, by its own names; None: what is told here.

    Raises:
        NothingToSimulateError: there are no reports of bundles.
    """
    if evidence.lines.time_s.size == 0:
        raise NothingToSimulateError(
            "no load report tells of a bundle; expected store/brokers.jsonl or load-reports.jsonl"
        )
    alive = lives(evidence.reports, measured.host_s, measured.stats_s)
    grid = _grid(evidence, begins_s(evidence, alive, measured.stats_s, measured.report_s))
    alive = _from_the_beginning(alive, grid.from_s, float(evidence.lines.time_s[0]))
    middle_s = grid.end_s - grid.tick_s / 2
    wanting = traffic(evidence.lines, evidence.owners, alive, measured.stats_s, middle_s)
    wanting, was_split = _of_all(wanting, len(evidence.bundles)), splits(evidence.bundles)
    cut(wanting.rates, was_split, evidence.lines, evidence.owners, grid.end_s)
    owner = owners_at(evidence.owners, len(evidence.bundles), grid.end_s)
    bundles, machines = (
        _bundles(evidence, wanting.rates, owner[0]),
        _machines(evidence, alive, grid.from_s),
    )
    served = Served(
        *(*wanting.rates[:2], _sizes(wanting.rates, bundles)),
        *(bundles.topics, _producers(evidence)),
        *(owner, len(evidence.brokers)),
    )
    carried = carried_by(served, machines.nic, measured.write_quorum)
    windows = host_windows(evidence.reports, alive, measured.host_s)
    if known is None:
        (known,) = known_costs((evidence,), Windows(measured.host_s, measured.stats_s))
    usage, work = used(windows, carried, known, alive, grid)
    past = before(evidence, alive, grid.from_s, measured.shedding_s, measured.grace_s)
    inference = Inference(
        alive, grid, measured.stats_s, wanting.told_s, usage, len(was_split), past
    )
    return Rebuilt(
        grid=grid,
        world=_world(evidence, alive, grid, (priced(machines, usage.costs), bundles), seed),
        surroundings=RecordedSurroundings(
            traffic_of(served, work, usage.costs),
            RecordedOthers(usage.others),
            _begins(alive, measured, grid),
            standing(evidence, alive, grid.from_s, past),
        ),
        parameters=_parameters(evidence, measured, alive, grid.tick_s, usage.costs),
        course=_course(evidence, grid),
        served=served,
        used=usage,
        before=past,
        untold=untold(evidence, inference),
    )


def _world(
    evidence: Evidence,
    lives: Sequence[Life],
    grid: Grid,
    there: tuple[Machines, Bundles],
    seed: int,
) -> World:
    """Return what is there and what happens to it."""
    machines, bundles = there
    return World(
        machines=machines,
        bundles=bundles,
        changes=(),
        events=events(evidence, lives, grid.from_s),
        duration_s=grid.n_ticks * grid.tick_s,
        event_s=0.0,
        seed=seed,
    )


def carried_by(served: Served, nic: Floats, write_quorum: float) -> Carried:
    """Return what brokers really carried."""
    return Carried(served, served.bytes_s, nic, write_quorum, Physics().nic_in_share)


def recorded_traffic(served: Served, costs: Costs) -> RecordedTraffic:
    """Return traffic as it was recorded, at some costs."""
    return traffic_of(served, served.work(costs), costs)


def traffic_of(served: Served, work: Floats, costs: Costs) -> RecordedTraffic:
    """Return the same where the work of each bundle is known, (n_ticks, n_bundles).

    The array becomes the traffic's: it is as large as all the rest together.
    """
    work *= in_simulation(costs)
    return RecordedTraffic(served.rate_in, served.rate_out, work, served.size)


def priced(machines: Machines, costs: Costs) -> Machines:
    """Return machines that do their work, and have room for bytes, as costs have it."""
    return dataclasses.replace(
        machines, capacity=1.0 / costs.quick, nic=machines.nic / costs.overhead
    )


def bent(physics: Physics, costs: Costs) -> Physics:
    """Return physics in which CPU grows with work as costs have it."""
    return dataclasses.replace(physics, work_exponent=float(np.exp(costs.log_exponent)))


def _grid(evidence: Evidence, from_s: float) -> Grid:
    """Return ticks from a time up to the last report.

    Raises:
        NothingToSimulateError: there would be too many.
    """
    length_s, n_bundles = float(evidence.reports.time_s[-1]) - from_s, len(evidence.bundles)
    for tick_s, cells_max in _TICKS:
        n_ticks = max(1, int(length_s // tick_s))
        if n_ticks * n_bundles <= cells_max:
            return Grid(from_s, tick_s, n_ticks)
    raise NothingToSimulateError(
        f"found {n_bundles} bundles over {length_s / 3600:.1f} hours, expected at most "
        f"{cells_max * tick_s / 3600:.0f} bundle hours; cut the recording"
    )


def _from_the_beginning(lives: Sequence[Life], from_s: float, first_s: float) -> tuple[Life, ...]:
    """Return lives of which those that had begun at the first report of a bundle begin at once."""
    return tuple(
        dataclasses.replace(life, from_s=from_s) if from_s < life.from_s <= first_s else life
        for life in lives
    )


def _of_all(wanting: Wanted, n_bundles: int) -> Wanted:
    """Return the traffic of all bundles; none for those of which no report tells."""
    missing = n_bundles - wanting.told_s.size
    if not missing:
        return wanting
    into, out, bytes_in, bytes_out = (
        np.pad(each, ((0, 0), (0, missing))) for each in wanting.rates
    )
    return Wanted((into, out, bytes_in, bytes_out), np.pad(wanting.told_s, (0, missing)))


def _machines(evidence: Evidence, lives: Sequence[Life], from_s: float) -> Machines:
    n_brokers = len(evidence.brokers)
    is_up = np.zeros(n_brokers, np.bool_)
    nic = np.full(n_brokers, np.nan)
    for broker in range(n_brokers):
        is_up[broker] = any(
            life.broker == broker and life.from_s <= from_s < life.to_s for life in lives
        )
        limit = evidence.reports.limit[evidence.reports.broker == broker, 4]
        if (limit > 0).any():
            nic[broker] = _KBIT * float(np.median(limit[limit > 0]))
    # Who has told nothing is like those that have.
    is_told = ~np.isnan(nic)
    nic[~is_told] = float(np.median(nic[is_told])) if is_told.any() else _NIC
    nothing = np.zeros(n_brokers)
    return Machines(evidence.brokers, np.ones(n_brokers), nic, nothing, nothing, nothing, is_up)


def _bundles(evidence: Evidence, wanted: Sequence[Floats], owner: Ints) -> Bundles:
    n_bundles = len(evidence.bundles)
    rate_in, rate_out, bytes_in, bytes_out = (each.mean(axis=0) for each in wanted)
    messages, bytes_ = rate_in + rate_out, bytes_in + bytes_out
    topics = np.zeros(n_bundles)
    np.maximum.at(topics, evidence.lines.bundle, evidence.lines.topics)
    nothing, one = np.zeros(n_bundles), np.ones(n_bundles)
    return Bundles(
        names=evidence.bundles,
        owner=owner,
        rate=rate_in,
        message_bytes=np.divide(bytes_, messages, out=one.copy(), where=messages > 0),
        fan_out=np.divide(rate_out, rate_in, out=nothing.copy(), where=rate_in > 0),
        topics=topics,
        entries_limit=one,
        cost=one,
        jitter=nothing,
        group=np.zeros(n_bundles, np.int64),
        wave=nothing,
        wave_phase=nothing,
        grace_until_s=nothing,
    )


def _producers(evidence: Evidence) -> Floats:
    """Return the most producers that were told of each bundle."""
    producers = np.zeros(len(evidence.bundles))
    np.maximum.at(producers, evidence.lines.bundle, evidence.lines.producers)
    return producers


def _sizes(wanted: Sequence[Floats], bundles: Bundles) -> Floats:
    """Return bytes a message, (n_ticks, n_bundles); the usual size where there are no messages."""
    rate_in, rate_out, bytes_in, bytes_out = wanted
    sizes = np.tile(bundles.message_bytes, (len(rate_in), 1))
    # Tick by tick: what all need at a time does not fit beside them.
    for i, size in enumerate(sizes):
        messages = rate_in[i] + rate_out[i]
        np.divide(bytes_in[i] + bytes_out[i], messages, out=size, where=messages > _MESSAGES_MIN)
    return sizes


def _begins(lives: Sequence[Life], measured: Measured, grid: Grid) -> tuple[Begin, ...]:
    """Return each life's phases in ticks: a window closes with the tick that ends about then."""

    def phase(phase_s: float, length_s: float) -> int:
        if np.isnan(phase_s):
            return -1
        # A time of that phase soon after the beginning.
        time_s = grid.from_s + (phase_s - grid.from_s) % length_s
        return (grid.ended(time_s) - 1) % max(1, round(length_s / grid.tick_s))

    return tuple(
        Begin(
            broker=life.broker,
            tick=grid.ended(life.from_s),
            phases=(
                phase(life.host_phase_s, measured.host_s),
                phase(life.stats_phase_s, measured.stats_s),
            ),
        )
        for life in lives
    )


def _parameters(
    evidence: Evidence, measured: Measured, lives: Sequence[Life], tick_s: float, costs: Costs
) -> Parameters:
    physics = Physics(
        cpu_convexity=0.0,
        write_quorum=measured.write_quorum,
        traffic_step_s=tick_s,
    )
    return Parameters(
        physics=bent(physics, costs),
        measuring=_measuring(evidence.reports, tick_s),
        clients=_clients(evidence, lives),
    )


def _measuring(reports: Reports, tick_s: float) -> Measuring:
    """Return how brokers measure, with the memory that they mostly used."""
    percent = [
        100.0 * reports.usage[rows, i] / reports.limit[rows, i]
        for i in (1, 2)
        for rows in [reports.limit[:, i] > 0]
    ]
    plain = Measuring()
    heap, direct = (float(np.median(each)) if each.size else np.nan for each in percent)
    return Measuring(
        tick_s=tick_s,
        memory_percent=plain.memory_percent if np.isnan(heap) else heap,
        direct_memory_percent=plain.direct_memory_percent if np.isnan(direct) else direct,
    )


def _clients(evidence: Evidence, lives: Sequence[Life]) -> Clients:
    """Return how long the leader waited for unloads, and how long sessions lasted, if recorded."""
    clients = Clients()
    session = session_s(evidence, lives)
    if session is not None:
        clients = dataclasses.replace(clients, session_s=session)
    rounds = [each for each in evidence.rounds if each.unloads]
    later = [wait for each in rounds for wait in each.waited_s]
    if rounds and rounds[0].waited_s:
        first, *later = later
        typical = float(np.median(later)) if later else 0.0
        clients = dataclasses.replace(clients, first_unload_s=max(0.0, first - typical))
    if len(later) < _WAITS_MIN:
        return clients
    low, high = np.quantile(later, (0.1, 0.9)).tolist()
    return dataclasses.replace(clients, unload_s=(low, high))


def _waited_s(rounds: Sequence[Round]) -> Iterator[float]:
    """Yield for how long the leader waited in each round; of an unload not told the usual time."""
    told = [wait for each in rounds for wait in each.waited_s]
    usual = float(np.median(told)) if told else float(np.mean(Clients().unload_s))
    for each in rounds:
        yield float(sum(each.waited_s)) + usual * max(0, len(each.unloads) - len(each.waited_s))


def _course(evidence: Evidence, grid: Grid) -> Course:
    owners, from_s = evidence.owners, grid.from_s
    later = np.flatnonzero((owners.time_s > from_s) & (owners.broker >= 0))
    before = [leader for leader in evidence.leaders if leader[0] <= from_s]
    rounds = [each for each in evidence.rounds if each.time_s > from_s]
    elected_s, leader = before[-1] if before else (from_s, -1)
    return Course(
        elected_s=elected_s - from_s,
        leader=leader,
        moves=tuple(
            Moved(
                float(owners.time_s[i]) - from_s,
                int(owners.bundle[i]),
                int(owners.broker[i]),
                bool(owners.is_shed[i]),
            )
            for i in later.tolist()
        ),
        round_s=tuple(each.time_s - from_s for each in rounds),
        waited_s=tuple(_waited_s(rounds)),
    )
