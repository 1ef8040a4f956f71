"""A rebuilt cluster whose traffic costs something else: how sure is what the fit says?

Windows of hosts are drawn again with replacement, and fitted again; each such fit is a cost
that the recording does not speak against.  Whatever it is, a broker that carries what it
carried uses what it used.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.costs import BLOCK_WINDOWS, WINDOWS_MIN, solved
from trimtab.lab.reconstruct.host_windows import by_broker
from trimtab.lab.reconstruct.usage import Carried, fit_windows, left_over, work_of
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.surroundings import RecordedOthers, RecordedSurroundings
from trimtab.pulsar.model import Floats, Ints


@dataclass(frozen=True, slots=True)
class Costs:
    """What traffic costs, in one of the ways in which it may be."""

    #: Points of CPU by messages/s, both ways together, by bytes/s in, by bytes/s out, and
    #: without any traffic (the mean, where each broker has its own).
    cpu: tuple[float, float, float, float]
    #: Bytes on the wire for each that is counted.
    overhead: float


@dataclass(frozen=True, slots=True)
class Missed:
    """What the fitted costs miss of one broker's CPU."""

    broker: str
    #: Root mean square, and mean, of told minus fitted, points.
    error_points: float
    bias_points: float
    n_windows: int


def fitted_costs(rebuilt: Rebuilt) -> Costs:
    """Return the costs by which a cluster was rebuilt."""
    messages, into, out = rebuilt.used.cpu.costs
    return Costs((messages, into, out, rebuilt.used.cpu.intercept), rebuilt.used.overhead)


def drawn_costs(rebuilt: Rebuilt, count: int, seed: int = 0) -> tuple[Costs, ...]:
    """Return costs that the recording does not speak against, drawn at random.

    Blocks of a broker's windows are drawn with replacement, and fitted as the whole was.

    Properties:
        The same arguments give the same costs; more of them begin with the same ones.
        Where there are too few windows for a fit, all are the fitted costs.
    """
    columns, told, bare = _windows(rebuilt)
    if len(columns) < WINDOWS_MIN:
        return (fitted_costs(rebuilt),) * count
    of = _brokers(rebuilt)
    blocks = _blocks(of)
    groups = of if rebuilt.used.cpu.intercepts else np.zeros_like(of)
    random = np.random.default_rng([seed, len(columns)])
    draws = []
    for _ in range(count):
        chosen = random.integers(len(blocks), size=len(blocks))
        rows = np.concatenate([blocks[i] for i in chosen.tolist()])
        costs = solved(columns[rows], told[rows, 0], groups[rows])
        wire, percent = bare[rows].reshape(-1, 1), told[rows, 1:].reshape(-1)
        overhead = float(solved(wire, percent, np.zeros(len(wire), np.int64))[0])
        messages, into, out = costs[:3].tolist()
        idle = float(costs[3:].mean())
        draws.append(Costs((messages, into, out, idle), overhead if overhead > 0 else 1.0))
    return tuple(draws)


def recosted(rebuilt: Rebuilt, costs: Costs) -> Rebuilt:
    """Return the same cluster with other costs of its traffic.

    Properties:
        What brokers used while bundles were where they were stays what it was.
        With the fitted costs nothing changes, but for rounding.
    """
    used, traffic = rebuilt.used, rebuilt.surroundings.traffic
    carried = _carried(rebuilt)
    modelled = np.concatenate(
        (work_of(costs.cpu, carried.rates)[None], costs.overhead * carried.network())
    )
    others = left_over(used.usage, modelled, used.spans, costs.cpu[3])
    rates = np.stack((traffic.rate_in, traffic.rate_out))
    work = work_of(costs.cpu, np.stack((*rates, *(rates * traffic.message_bytes))))
    machines = rebuilt.world.machines
    nic = machines.nic * (used.overhead / costs.overhead)
    return dataclasses.replace(
        rebuilt,
        world=dataclasses.replace(rebuilt.world, machines=dataclasses.replace(machines, nic=nic)),
        surroundings=RecordedSurroundings(
            dataclasses.replace(traffic, work=work),
            RecordedOthers(others),
            rebuilt.surroundings.begins,
        ),
    )


def missed(rebuilt: Rebuilt) -> tuple[Missed, ...]:
    """Return what the fitted costs miss of the CPU, broker by broker."""
    columns, told, _ = _windows(rebuilt)
    if len(columns) < WINDOWS_MIN:
        return ()
    of = _brokers(rebuilt)
    left = told[:, 0] - rebuilt.used.cpu.predicted(columns, of)
    return tuple(
        Missed(
            broker=rebuilt.world.machines.names[broker],
            error_points=float(np.sqrt((left[of == broker] ** 2).mean())),
            bias_points=float(left[of == broker].mean()),
            n_windows=int((of == broker).sum()),
        )
        for broker in np.unique(of).tolist()
    )


def usage_error(rebuilt: Rebuilt) -> float:
    """Return by how much the costs alone miss the busiest resource: root mean square, points.

    That is what is not known of a broker that carries something else than it did.  NaN if
    there are too few windows.
    """
    columns, told, bare = _windows(rebuilt)
    if len(columns) < WINDOWS_MIN:
        return float("nan")
    used = rebuilt.used
    work = used.cpu.predicted(columns, _brokers(rebuilt))
    ours = np.column_stack((work, used.overhead * bare)).max(axis=1)
    return float(np.sqrt(((ours - told.max(axis=1)) ** 2).mean()))


def _carried(rebuilt: Rebuilt) -> Carried:
    """Return what brokers really carried."""
    traffic, machines = rebuilt.surroundings.traffic, rebuilt.world.machines
    rates = (traffic.rate_in, traffic.rate_out)
    both = (*rates, *(each * traffic.message_bytes for each in rates))
    n_brokers = len(machines.names)
    return Carried(
        rates=np.stack([by_broker(each, rebuilt.owner, n_brokers) for each in both]),
        # The machines of the world have room for so much less as is on the wire besides.
        nic=machines.nic * rebuilt.used.overhead,
        write_quorum=rebuilt.parameters.physics.write_quorum,
        nic_in_share=Physics().nic_in_share,
    )


def _windows(rebuilt: Rebuilt) -> tuple[Floats, Floats, Floats]:
    """Return what the fit was made from, as `fit_windows` has it."""
    return fit_windows(_carried(rebuilt), rebuilt.used.usage, rebuilt.used.warm)


def _brokers(rebuilt: Rebuilt) -> Ints:
    """Return of which broker each window is, (n_windows,)."""
    return np.array([broker for _, broker in rebuilt.used.warm], np.int64)


def _blocks(of: Ints) -> list[Ints]:
    """Return each broker's windows, which stand in order of time, cut into blocks."""
    return [
        rows[at : at + BLOCK_WINDOWS]
        for broker in np.unique(of)
        for rows in [np.flatnonzero(of == broker)]
        for at in range(0, rows.size, BLOCK_WINDOWS)
    ]
