"""A rebuilt cluster whose traffic costs something else: how sure is what was learned?

Whatever it costs, a broker that carries what it carried uses what it used.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt, bent, carried_by, priced, traffic_of
from trimtab.lab.reconstruct.costs import Costs, drawn
from trimtab.lab.reconstruct.usage import WINDOWS_MIN, Carried, left_over, means, wire
from trimtab.lab.simulate.surroundings import RecordedOthers
from trimtab.pulsar.model import Floats, Ints

# Windows of one broker that count as one: what one misses, the next one misses too.
_BLOCK_WINDOWS = 5


@dataclass(frozen=True, slots=True)
class Missed:
    """What the learned costs miss of one broker's CPU."""

    broker: str
    #: Root mean square, and mean, of told minus what it should have been, points.
    error_points: float
    bias_points: float
    n_windows: int


def drawn_costs(rebuilt: Rebuilt, count: int, seed: int = 0) -> tuple[Costs, ...]:
    """Return costs that the recording does not speak against, drawn at random.

    Those of the CPU are drawn from all that is known of them; those of the wire are measured
    again in blocks of windows that are drawn with replacement.

    Properties:
        The same arguments give the same costs; more of them begin with the same ones.
    """
    overheads, draws = _Overheads(rebuilt), []
    for number in range(count):
        random = np.random.default_rng([seed, number])
        draws.append(drawn(rebuilt.used.known, overheads.drawn(random), random))
    return tuple(draws)


def drawn_overheads(rebuilt: Rebuilt, count: int, seed: int = 0) -> tuple[float, ...]:
    """Return bytes on the wire for each that is counted, as `drawn_costs` draws them."""
    overheads = _Overheads(rebuilt)
    return tuple(overheads.drawn(np.random.default_rng([seed, i])) for i in range(count))


class _Overheads:
    """Measures again what is on the wire besides, by windows that are drawn with replacement."""

    def __init__(self, rebuilt: Rebuilt) -> None:
        used = rebuilt.used
        self._usual = used.costs.overhead
        self._bare = means(_carried(rebuilt).network(), used.warm)
        self._told = means(used.usage, used.warm)
        self._blocks = _blocks(_brokers(rebuilt))

    def drawn(self, random: np.random.Generator) -> float:
        """Return what it is by some windows; as it is known where they are too few."""
        if len(self._bare) < WINDOWS_MIN:
            return self._usual
        chosen = random.integers(len(self._blocks), size=len(self._blocks))
        rows = np.concatenate([self._blocks[i] for i in chosen.tolist()])
        return wire(self._bare[rows], self._told[rows, 1:])[0]


def recosted(rebuilt: Rebuilt, costs: Costs) -> Rebuilt:
    """Return the same cluster with other costs of its traffic.

    Properties:
        What brokers used while bundles were where they were stays what it was.
        With the costs by which it was rebuilt nothing changes, but for rounding.
    """
    used, parameters = rebuilt.used, rebuilt.parameters
    wires = costs.overhead * _carried(rebuilt).network()
    served, work = rebuilt.served, rebuilt.served.work(costs)
    modelled = np.concatenate((served.cpu_of(work, costs)[None], wires))
    others = left_over(used.usage, modelled, used.spans, float(costs.rest.mean()))
    machines = rebuilt.world.machines
    bare = dataclasses.replace(machines, nic=machines.nic * used.costs.overhead)
    return dataclasses.replace(
        rebuilt,
        world=dataclasses.replace(rebuilt.world, machines=priced(bare, costs)),
        parameters=dataclasses.replace(parameters, physics=bent(parameters.physics, costs)),
        surroundings=dataclasses.replace(
            rebuilt.surroundings,
            traffic=traffic_of(served, work, costs),
            others=RecordedOthers(others),
        ),
    )


@dataclass(slots=True)
class Recosted:
    """A cluster at each of some costs, of which the one that was asked for last is at hand.

    Whoever asks for one several times in a row has it worked out once.
    """

    rebuilt: Rebuilt
    costs: tuple[Costs, ...]
    _latest: tuple[int, Rebuilt] | None = None

    def at(self, number: int) -> Rebuilt:
        """Return the cluster at the costs of a number."""
        if self._latest is None or self._latest[0] != number:
            # Two of them are large.
            self._latest = None
            self._latest = number, recosted(self.rebuilt, self.costs[number])
        return self._latest[1]


def missed(rebuilt: Rebuilt) -> tuple[Missed, ...]:
    """Return what the costs miss of the CPU, broker by broker."""
    told, ours = _measured(rebuilt), _by_costs(rebuilt)
    if len(told) < WINDOWS_MIN:
        return ()
    of, left = _brokers(rebuilt), told[:, 0] - ours[:, 0]
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
    told, ours = _measured(rebuilt), _by_costs(rebuilt)
    if len(told) < WINDOWS_MIN:
        return float("nan")
    return float(np.sqrt(((ours.max(axis=1) - told.max(axis=1)) ** 2).mean()))


def _measured(rebuilt: Rebuilt) -> Floats:
    """Return percent of CPU, NIC in and NIC out of each window, (n_windows, 3), as told."""
    return means(rebuilt.used.usage, rebuilt.used.warm)


def _by_costs(rebuilt: Rebuilt) -> Floats:
    """Return the same by the costs alone."""
    costs = rebuilt.used.costs
    modelled = np.concatenate(
        (rebuilt.served.cpu(costs)[None], costs.overhead * _carried(rebuilt).network())
    )
    ours = means(modelled, rebuilt.used.warm)
    ours[:, 0] += costs.rest[_brokers(rebuilt)]
    return ours


def _carried(rebuilt: Rebuilt) -> Carried:
    """Return what brokers really carried."""
    # The machines of the world have room for so much less as is on the wire besides.
    nic = rebuilt.world.machines.nic * rebuilt.used.costs.overhead
    return carried_by(rebuilt.served, nic, rebuilt.parameters.physics.write_quorum)


def _brokers(rebuilt: Rebuilt) -> Ints:
    """Return of which broker each window is, (n_windows,)."""
    return np.array([broker for _, broker in rebuilt.used.warm], np.int64)


def _blocks(of: Ints) -> list[Ints]:
    """Return each broker's windows, which stand in order of time, cut into blocks."""
    return [
        rows[at : at + _BLOCK_WINDOWS]
        for broker in np.unique(of)
        for rows in [np.flatnonzero(of == broker)]
        for at in range(0, rows.size, _BLOCK_WINDOWS)
    ]
