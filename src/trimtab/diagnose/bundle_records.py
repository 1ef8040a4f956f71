"""Records of bundles' states, from the store, the topic and the brokers' logs, each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from trimtab.diagnose.night import Event
from trimtab.pulsar.channel import ASSIGNING, DELETED, FREE, OWNED, RELEASING, SPLITTING, Record

#: Lines in which a broker, in debug mode, says which record it was told of → the state.
STATE_LINES = {
    "bundle-assigning": ASSIGNING,
    "bundle-deleted": DELETED,
    "bundle-forgotten": None,
    "bundle-free": FREE,
    "bundle-owned": OWNED,
    "bundle-releasing": RELEASING,
    "bundle-splitting": SPLITTING,
}
#: Where a record is in several sources, the first of these counts.
_ORIGINS = ("store", "topic", "log")
#: Brokers are told of a record this close to each other.
_SAME = timedelta(minutes=5)
#: Between two records of which it is only known which came first.
_NEXT = timedelta(microseconds=1)


class Recorded(NamedTuple):
    """One record of one bundle; None of its record: what was known of it was removed."""

    time: datetime
    bundle: str
    record: Record | None
    #: When it was made, by its writer's clock.
    stamped: datetime | None
    #: `store`, `topic` or `log`.
    origin: str
    file: str
    line: int
    #: The session that wrote, as ZooKeeper prints it; None where it is not known.
    session: str | None = None


def bundle_records(
    rows: Iterable[Mapping[str, Any]],
    sessions: Mapping[tuple[str, int], str],
    lines: Iterable[Event],
) -> dict[str, list[Recorded]]:
    """Return by bundle its records, in order, each once.

    What all brokers are told of stands in each of their logs, and a syncer copies the records of
    the topic to the store or back; the store's wins, then the topic's, and the earliest line.

    Args:
        rows: of `bundle_states`.
        sessions: file and line of a write to the store → session that wrote.
        lines: of the kinds in `STATE_LINES`, in order of time.
    """
    every = [*_in_topic_order(_of_row(row, sessions) for row in rows), *map(_of_line, lines)]
    every.sort(key=lambda it: (it.time, it.file, it.line))
    by_bundle: dict[str, list[Recorded]] = {}
    for each in every:
        by_bundle.setdefault(each.bundle, []).append(each)
    return {bundle: _once(mine) for bundle, mine in sorted(by_bundle.items())}


def _in_topic_order(every: Iterable[Recorded]) -> list[Recorded]:
    """Return records with those of the topic at times that rise as the topic has them.

    Quirks:
        A message is stamped by its sender, and the topic may take a later one first: of two that
        assign a bundle at once the first in the topic counts, whatever its time.
    """
    ordered, last = [], dict[tuple[str, str], datetime]()
    for each in sorted(every, key=lambda it: (it.file, it.line)):
        if each.origin != "topic":
            ordered.append(each)
            continue
        # Of several files each is in order by itself.
        place = each.file, each.bundle
        time = max(each.time, last[place] + _NEXT) if place in last else each.time
        last[place] = time
        ordered.append(each._replace(time=time))
    return ordered


def _of_row(row: Mapping[str, Any], sessions: Mapping[tuple[str, int], str]) -> Recorded:
    record = None
    if not row["is_gone"]:
        version = -1 if row["state_version"] is None else row["state_version"]
        is_forced = bool(row["is_forced"])
        record = Record(row["state"], row["target"], row["source"], is_forced, version)
    place = row["file"], row["line"]
    return Recorded(
        row["time"],
        row["bundle"],
        record,
        row["stamped"],
        row["origin"],
        *place,
        session=sessions.get(place),
    )


def _of_line(event: Event) -> Recorded:
    state, record, stamped = STATE_LINES[event.kind], None, None
    if state is not None:
        numbers = event.numbers
        version = round(numbers["version"])
        is_forced = bool(numbers["is_forced"])
        record = Record(state, event.target, event.broker, is_forced, version)
        stamped = datetime.fromtimestamp(0, event.time.tzinfo)
        stamped += timedelta(milliseconds=numbers["timestamp_ms"])
    bundle = event.bundle or ""
    return Recorded(event.time, bundle, record, stamped, "log", event.file, event.line)


def _once(mine: Sequence[Recorded]) -> list[Recorded]:
    """Return a bundle's records, each from the best source that has it."""
    best: dict[tuple[Any, ...], Recorded] = {}
    last: dict[str, Record | None] = {}
    for each in mine:
        source = each.file if each.origin == "log" else each.origin
        # A removal has no number of its own: it is known by what it removed.
        key: tuple[Any, ...] = (each.record, each.stamped)
        if each.record is None:
            key = (None, last.get(source))
        last[source] = each.record
        known = best.get(key)
        if known is not None and each.record is None and each.time - known.time > _SAME:
            best[(*key, known.time)] = best.pop(key)
            known = None
        if known is None or _ORIGINS.index(each.origin) < _ORIGINS.index(known.origin):
            best[key] = each
    return sorted(best.values(), key=_in_order)


def _in_order(each: Recorded) -> tuple[Any, ...]:
    return each.time, -1 if each.record is None else each.record.version, each.file, each.line
