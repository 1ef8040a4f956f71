"""What a recording has of the extensible manager's channel: changes of states, and who is alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose.bundle_records import STATE_LINES, bundle_records
from trimtab.diagnose.cluster_tables import ClusterTables, among, log_events
from trimtab.diagnose.course import Basis
from trimtab.diagnose.night import Channel, Event, Transition
from trimtab.diagnose.reports import of_origin
from trimtab.diagnose.tellings import STARTS, late_tellings
from trimtab.diagnose.transitions import ORDERS, Writers, transitions
from trimtab.pulsar.channel import MANAGER, SHEDDER
from trimtab.pulsar.settings.channel import ChannelSettings, channel_settings

#: Lines in which brokers say who has come and who has left.
_PRESENCE = {"broker-joined": True, "broker-left": False, "broker-registered": True}
#: Lines of what only the owner of the channel does, and those of who leads.
_MONITOR = frozenset({"ownership-monitor-started", "ownership-monitor-owner"})
_CLEANUP = frozenset({"cleanup-started", "orphan-overridden"})
_ELECTED = frozenset({"ownership-monitor-owner", "plays-leader", "leadership-acquired"})
_BROKER = "/loadbalance/brokers/"


def channel(tables: ClusterTables, basis: Basis, end: datetime) -> Channel | None:
    """Return what is known of the channel; None where another manager ran."""
    rows = tables.rows("bundle_states")
    if not rows and not is_extensible(basis):
        return None
    kinds = STATE_LINES.keys() | ORDERS | _PRESENCE.keys() | _MONITOR | _CLEANUP | _ELECTED | STARTS
    lines = log_events(tables, among("kind", kinds))
    writes = tables.rows("store_writes", _is_of_sessions()) if rows else []
    settings = channel_settings(basis.ran.conf, basis.ran.release)
    alive = presence(basis.reports, lines)
    return channel_of((rows, lines, writes), alive, settings, basis.names, end)


def _is_of_sessions() -> ds.Expression:
    """Return the condition of a write of a bundle's state, or by which a broker registered."""
    path = ds.field("path")
    return pc.starts_with(path, _BROKER) | pc.starts_with(path, "/service_unit_state/")


def is_extensible(basis: Basis) -> bool:
    """Return whether the settings, a report or a round are of the extensible manager."""
    managers = basis.reports["load_manager"] if basis.reports.num_rows else pa.nulls(0)
    return (
        basis.ran.conf.get("loadManagerClassName", "").endswith(MANAGER)
        or basis.ran.shedder == SHEDDER
        or MANAGER in pc.unique(managers).to_pylist()
    )


def channel_of(
    read: tuple[Sequence[Mapping[str, Any]], Sequence[Event], Sequence[Mapping[str, Any]]],
    alive: Mapping[str, Sequence[tuple[datetime, bool]]],
    settings: ChannelSettings,
    names: Mapping[str, str],
    end: datetime,
) -> Channel:
    """Return what rows of `bundle_states`, lines of the logs and rows of `store_writes` say.

    Args:
        read: rows, lines in order of time, and writes.
        alive: what `presence` gave.
        settings: of the channel.
        names: log folder → broker id.
        end: of the recording.
    """
    rows, lines, writes = read
    sessions, brokers = {}, {}
    for write in writes:
        if write["path"].startswith(_BROKER) and write["operation"] == "create":
            brokers[write["session"]] = write["path"].removeprefix(_BROKER)
        elif write["session"] is not None:
            sessions[write["file"], write["line"]] = write["session"]
    orders: dict[str, list[Event]] = {}
    for line in lines:
        if line.kind in ORDERS and line.bundle is not None:
            orders.setdefault(line.bundle, []).append(line)
    records = bundle_records(rows, sessions, [line for line in lines if line.kind in STATE_LINES])
    last = max((mine[-1].time for mine in records.values()), default=end)
    end = max(end, last)
    writers = Writers(brokers, orders, names)
    every = transitions(records, settings.kept, writers, end)
    elected = tuple(
        (line.time, names.get(line.log_broker, line.log_broker))
        for line in lines
        if line.kind in _ELECTED
    )
    acts = _acts(every, lines, names)
    return Channel(every, alive, settings, end, acts, elected, late_tellings(lines, names))


def _acts(
    every: Iterable[Transition], lines: Iterable[Event], names: Mapping[str, str]
) -> tuple[Event, ...]:
    """Return what only the owner of the channel does.

    A broker that shuts down cleans up after itself, and overrides what it owns.
    """
    acts = [
        line
        for line in lines
        if line.kind in _MONITOR
        or (line.kind in _CLEANUP and line.broker != names.get(line.log_broker, line.log_broker))
    ]
    logs = {broker: log for log, broker in names.items()}
    for each in every:
        # Of a record in the store it is known who wrote it; of others a line says so.
        broker = each.ordered_by
        if each.is_forced and each.origin == "store" and broker not in {None, each.source}:
            text = f"{each.bundle}: {each.before} → {each.state} by force, of {broker}"
            log = logs.get(broker or "", broker or "")
            acts.append(Event(each.time, log, each.file, each.line, "override", text))
    return tuple(sorted(acts, key=lambda act: (act.time, act.file, act.line)))


def presence(reports: pa.Table, lines: Iterable[Event]) -> dict[str, list[tuple[datetime, bool]]]:
    """Return of each broker when it was alive and when gone, by the store and by the logs."""
    stored = of_origin(reports, "store")
    columns = [stored[name].to_pylist() for name in ("broker", "time", "written", "is_gone")]
    known = [
        (written or time, broker, not is_gone)
        for broker, time, written, is_gone in zip(*columns, strict=True)
    ]
    known += [
        (line.time, line.broker, _PRESENCE[line.kind])
        for line in lines
        if line.kind in _PRESENCE and line.broker is not None
    ]
    by_broker: dict[str, list[tuple[datetime, bool]]] = {}
    for time, broker, is_alive in sorted(known):
        by_broker.setdefault(broker, []).append((time, is_alive))
    return by_broker
