"""Changes of bundles' states under the extensible load manager: who ordered each, was it right?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa

from trimtab.diagnose.bundle_records import Recorded
from trimtab.diagnose.night import Channel, Event, Transition
from trimtab.files.tables import TRACED
from trimtab.pulsar.channel import INIT, Kept, Record, refusal

TABLE = "transitions"
_COLUMNS = [name for name in TRACED[TABLE].names if name not in {"evidence", "is_stuck"}]
#: Lines by which a broker says that it orders something, and how close it is to the record.
ORDERS = frozenset(
    {"unload", "extensible-unload", "owner-selected", "ownership-tried", "orphan-overridden"}
)
_CLOSE = timedelta(seconds=30)
#: State before and after → who wrote the record, by the class, and what it is called.
_STEPS = {
    ("Assigning", "Owned"): ("target", "take"),
    ("Releasing", "Assigning"): ("source", "hand over"),
    ("Releasing", "Free"): ("source", "release"),
    ("Splitting", "Deleted"): ("source", "end of split"),
    ("Owned", "Splitting"): ("", "split"),
    ("Owned", "Releasing"): ("", "unload"),
    ("Free", "Assigning"): ("", "assign"),
    ("Deleted", "Assigning"): ("", "assign"),
    (INIT, "Assigning"): ("", "assign"),
}


class Writers(NamedTuple):
    """What tells who wrote a record."""

    #: Session with the metadata store → broker.
    sessions: Mapping[str, str]
    #: Bundle → lines of the kinds in `ORDERS`, in order of time.
    orders: Mapping[str, Sequence[Event]]
    #: Log folder → broker.
    names: Mapping[str, str]


def transitions(
    records: Mapping[str, Sequence[Recorded]], kept: Kept, writers: Writers, end: datetime
) -> tuple[Transition, ...]:
    """Return every change of a bundle's state, in order of time and bundle.

    Args:
        records: bundle → its records, in order.
        kept: where the cluster keeps them; what is read in the store is kept there in any case.
        writers: who may have written them.
        end: end of the recording.
    """
    every = [each for mine in records.values() for each in _of_bundle(mine, kept, writers, end)]
    return tuple(sorted(every, key=lambda it: (it.time, it.bundle, it.file, it.line)))


def _of_bundle(
    mine: Sequence[Recorded], kept: Kept, writers: Writers, end: datetime
) -> Iterator[Transition]:
    """Yield a bundle's transitions, in order."""
    known, before = False, None
    taken: list[tuple[Recorded, Record | None, str]] = []
    ignored: list[tuple[Recorded, Record | None, str]] = []
    for each in mine:
        where = Kept.STORE if each.origin == "store" else kept
        verdict = _verdict(each, before, where, is_known=known)
        if verdict.startswith("ignored"):
            ignored.append((each, before, verdict))
            continue
        taken.append((each, before if known else None, verdict))
        known, before = True, each.record
    ends = [each.time for each, *_ in taken[1:]] + [end]
    for (each, first, verdict), until in zip(taken, ends, strict=True):
        is_last = until is end
        lasted_s = max((until - each.time).total_seconds(), 0.0)
        yield _transition(each, first, writers, (verdict, lasted_s, is_last))
    for each, first, verdict in ignored:
        yield _transition(each, first, writers, (verdict, 0.0, False))


def _verdict(each: Recorded, before: Record | None, kept: Kept, *, is_known: bool) -> str:
    """Return what a record is: allowed, forced, after a gap, illegal, or ignored by readers."""
    after = each.record
    if after is None:
        return "allowed"
    if not is_known:
        return "allowed" if after.version == 1 else "not decidable"
    why = refusal(before, after, kept)
    if why is None:
        is_gap = before is not None and after.version != before.version + 1
        return "forced" if after.is_forced else "gap" if is_gap else "allowed"
    # Whoever reads a topic leaves out what must not follow; a store takes only what may, and a
    # broker says only of what it has taken that it was told of it.  Where brokers are told at
    # other times, an older record may come late.
    is_late = each.origin == "log" and why == "version"
    return f"ignored: {why}" if each.origin == "topic" or is_late else f"illegal: {why}"


def _transition(
    each: Recorded,
    before: Record | None,
    writers: Writers,
    judged: tuple[str, float, bool],
) -> Transition:
    verdict, lasted_s, is_last = judged
    after = each.record
    step, writer = _step(before, after)
    order, broker = _order(each, writers)
    broker = broker or (getattr(after, writer) if writer else None)
    return Transition(
        time=each.time,
        bundle=each.bundle,
        before=(before.state if before else None if verdict == "not decidable" else INIT),
        state=after.state if after else INIT,
        owner=before.target if before else None,
        target=after.target if after else None,
        source=after.source if after else None,
        is_forced=bool(after and after.is_forced),
        version=after.version if after else None,
        step=step,
        ordered_by=broker,
        evidence=order,
        verdict=verdict,
        lasted_s=lasted_s,
        is_last=is_last,
        origin=each.origin,
        stamped=each.stamped,
        file=each.file,
        line=each.line,
    )


def _step(before: Record | None, after: Record | None) -> tuple[str, str]:
    """Return what a change is called, and whose part it is by the class."""
    if after is None:
        return "forget", ""
    if after.is_forced:
        return "override", ""
    writer, step = _STEPS.get((before.state if before else INIT, after.state), ("", ""))
    if step == "unload" and after.target:
        step = "transfer"
    return step, writer


def _order(each: Recorded, writers: Writers) -> tuple[Event | None, str | None]:
    """Return the line in which a record was ordered, and who wrote it, as far as is known."""
    if each.session is not None and each.session in writers.sessions:
        return None, writers.sessions[each.session]
    when = each.stamped or each.time
    close = [
        line
        for line in writers.orders.get(each.bundle, ())
        if abs(line.time - when) <= _CLOSE and _is_order_of(line, each.record)
    ]
    if not close:
        return None, None
    # In this line whoever waited for an unload says that it is done; a round's says that it is due.
    line = min(close, key=lambda it: (it.kind == "extensible-unload", abs(it.time - when)))
    return line, writers.names.get(line.log_broker, line.log_broker)


def _is_order_of(line: Event, record: Record | None) -> bool:
    """Return whether a line is of the order of a record."""
    if record is None:
        return False
    match line.kind:
        case "unload":
            return record.state == "Releasing" and record.source == line.broker
        case "extensible-unload":
            return record.state == "Releasing" and not record.is_forced
        case "orphan-overridden":
            return record.is_forced and record.target == line.target
        case _:
            return record.state == "Assigning" and record.source is None


def transitions_table(channel: Channel | None) -> pa.Table:
    """Return transitions as the table of them, which is empty where another manager ran."""
    rows = (
        [
            {name: getattr(it, name) for name in _COLUMNS}
            | {
                "evidence": f"{it.evidence.file}:{it.evidence.line}" if it.evidence else None,
                "is_stuck": it.is_stuck(channel.settings.waiting_s),
            }
            for it in channel.transitions
        ]
        if channel
        else []
    )
    return pa.Table.from_pylist(rows, TRACED[TABLE])
