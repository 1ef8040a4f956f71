"""A simulated run → what its brokers would have said of it, as the evidence of a recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.reconstruct.evidence import Evidence, Lines, Owners, Reports, Round
from trimtab.lab.reconstruct.host_windows import by_broker
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.traffic import Traffic
from trimtab.lab.simulate.world import Run, World
from trimtab.pulsar.model import Floats, Ints

#: s of a window of a host and of a bundle.
WINDOW_S = 60.0
# s of a step of traffic.
_STEP_S = 15.0
# s from 1970 at which the first night begins.
_FIRST_S = 1_700_000_000.0
_KBIT = 125.0


def left_by(run: Run, world: World) -> World:
    """Return a world whose bundles are where a run left them."""
    owner = world.bundles.owner.copy()
    owner[run.moves.bundle] = run.moves.target
    return replace(world, bundles=replace(world.bundles, owner=owner))


def evidence_of(run: Run, world: World, cluster: Scenario, later_s: float = 0.0) -> Evidence:
    """Return what the brokers of a run say: each minute its usage and what its bundles carried.

    As in a real broker each of both is counted by a clock of its own, and told as it is done.
    A night may begin so many seconds later than another.
    """
    begin_s = _FIRST_S + later_s
    n_brokers, n_bundles = len(world.machines.names), len(world.bundles.names)
    tick_s = run.tick_s
    ticks, window = round(world.duration_s / tick_s), round(WINDOW_S / tick_s)
    host_close, stats_close = _closings(world.seed, n_brokers, ticks, window)
    carried = _carried(world, cluster, ticks, round(_STEP_S / tick_s))
    owner = _owners(run, world, ticks)
    usage = _usage(run, cluster.parameters.physics, (carried, owner), host_close, window)
    nic = float(world.machines.nic[0]) / _KBIT
    times, who, used, is_stored = [], [], [], []
    line_of, lines_at, rates = [], [], []
    for broker in range(n_brokers):
        closes = np.union1d(host_close[broker], stats_close[broker])
        closes = closes[closes >= host_close[broker][0]]
        last = np.searchsorted(host_close[broker], closes, side="right") - 1
        times.append(closes)
        who.append(np.full(closes.size, broker))
        used.append(usage[broker][last])
        is_stored.append(np.isin(closes, stats_close[broker]))
        for close in np.intersect1d(closes, stats_close[broker]).tolist():
            mine = np.flatnonzero(owner[close - 1] == broker)
            lines_at.append(np.full(mine.size, close))
            line_of.append(mine)
            rates.append(carried[:, close - window : close, mine].mean(axis=1).T)
    order = np.argsort(np.concatenate(times), kind="stable")
    at = np.concatenate(times)[order]
    reports = Reports(
        time_s=begin_s + tick_s * at,
        broker=np.concatenate(who)[order],
        is_gone=np.zeros(at.size, np.bool_),
        is_stored=np.concatenate(is_stored)[order],
        started_s=np.full(at.size, begin_s - 86400.0),
        usage=np.concatenate(used)[order],
        limit=np.tile([100.0, 100.0, 100.0, nic, nic], (at.size, 1)),
    )
    at, bundle = np.concatenate(lines_at), np.concatenate(line_of)
    order = np.argsort(at, kind="stable")
    at, bundle = at[order], bundle[order]
    lines = Lines(
        time_s=begin_s + tick_s * at,
        broker=owner[at - 1, bundle],
        bundle=bundle,
        rates=np.concatenate(rates)[order],
        topics=world.bundles.topics[bundle],
        producers=world.bundles.topics[bundle],
        is_prompt=np.zeros(at.size, np.bool_),
    )
    first = np.arange(n_bundles)
    owners = Owners(
        time_s=begin_s + np.append(np.zeros(n_bundles), run.moves.time_s),
        bundle=np.append(first, run.moves.bundle),
        broker=np.append(world.bundles.owner, run.moves.target),
        is_shed=np.append(np.zeros(n_bundles, np.bool_), run.moves.round >= 0),
        is_exact=np.ones(n_bundles + run.moves.bundle.size, np.bool_),
    )
    return Evidence(
        brokers=world.machines.names,
        bundles=world.bundles.names,
        reports=reports,
        lines=lines,
        owners=owners,
        leaders=((begin_s - 600.0, 0),),
        stops=(),
        rounds=tuple(Round(begin_s + at_s) for at_s in run.rounds.time_s.tolist()),
    )


def _closings(seed: int, n_brokers: int, ticks: int, window: int) -> tuple[list[Ints], list[Ints]]:
    """Return the ticks at which windows of each host, and of its bundles, close; never at once."""
    random = np.random.default_rng([23, seed])
    hosts = random.integers(window, size=n_brokers)
    bundles = (hosts + random.integers(1, window, size=n_brokers)) % window

    def closings(phases: Ints) -> list[Ints]:
        return [np.arange(window + phase, ticks + 1, window) for phase in phases.tolist()]

    return closings(hosts), closings(bundles)


def _carried(world: World, cluster: Scenario, ticks: int, step: int) -> Floats:
    """Return messages/s in and out and bytes/s in and out of bundles, (4, n_ticks, n_bundles)."""
    rows = Traffic(world, cluster.parameters.physics, None).rows(0, -(-ticks // step))
    rates = (rows.rate_in, rows.rate_out, rows.bytes_in, rows.bytes_out)
    return np.stack([np.repeat(each, step, axis=0)[:ticks] for each in rates])


def _owners(run: Run, world: World, ticks: int) -> Ints:
    """Return who owned each bundle, (n_ticks, n_bundles)."""
    owner = np.tile(world.bundles.owner, (ticks, 1))
    moves = run.moves
    for at_s, bundle, target in zip(
        moves.time_s.tolist(), moves.bundle.tolist(), moves.target.tolist(), strict=True
    ):
        owner[int(at_s // run.tick_s) :, bundle] = target
    return owner


def _usage(
    run: Run, physics: Physics, carried: tuple[Floats, Ints], closes: list[Ints], window: int
) -> list[Floats]:
    """Return the usage of each broker's windows, (n_windows, 5) each."""
    (rates, owner), n_brokers = carried, len(closes)
    bytes_in, bytes_out = (by_broker(each, owner, n_brokers) for each in rates[2:])
    received = (bytes_in + physics.nic_in_share * bytes_out) / _KBIT
    sent = (physics.write_quorum * bytes_in + bytes_out) / _KBIT
    usage = []
    for broker, ends in enumerate(closes):
        windows = np.zeros((ends.size, 5))
        for column, each in ((0, run.usage), (3, received), (4, sent)):
            windows[:, column] = [each[end - window : end, broker].mean() for end in ends.tolist()]
        usage.append(windows)
    return usage
