"""Log events → the rounds that the leader logged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from trimtab.diagnose.night import Draw, Event, Move, Recomputed, Round

#: Thread of the leader's shedding task; lookups place bundles on other threads.
SHEDDING_THREAD = "pulsar-load-manager"

#: Who speaks while the shedder decides; after them come the unloads, one by one.
SHEDDER_LOGGERS = frozenset(
    {"ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder", "TransferShedder"}
)

#: AvgShedder is a placer too: with these lines it places.
_PLACING = frozenset({"placed-by-hash", "placed-on-stand-in"})

#: What the manager says of a bundle that the shedder chose, and of no other.
OF_CHOSEN = frozenset({"unload", "no-broker-available", "same-destination"})

#: What the manager and the placer say while the round's bundles are unloaded.
UNLOADING = frozenset(
    {
        "unload",
        "no-broker-available",
        "same-destination",
        "unload-failed",
        "no-candidates",
        "candidates-considered",
        "placed-at-random",
        "placer-scores",
        "placer-chosen",
    }
)

#: The extensible manager says in debug mode that a round begins.
BEGINS = "shedding-round"


def rounds(events: Iterable[Event], interval_s: float) -> tuple[Round, ...]:
    """Return the rounds in the leader's log.

    A round is a run of lines of the shedding task: first the shedder's, then those of
    the unloads.  The next round starts where a line says so, with a shedder's line after an
    unload, or after half a shedding interval of silence, since rounds are at least an
    interval apart.  Events may come in any order.
    """
    by_log: dict[str, list[Event]] = {}
    for event in events:
        if is_of_a_round(event) or event.kind == BEGINS:
            by_log.setdefault(event.log_broker, []).append(event)
    groups: list[list[Event]] = []
    for log in by_log.values():
        groups += _groups(sorted(log, key=_position), timedelta(seconds=interval_s / 2))
    groups = [group for group in groups if any(_is_decision(event) for event in group)]
    groups.sort(key=lambda group: (group[0].time, group[0].log_broker))
    numbered: list[Round] = []
    for group in groups:
        numbered.append(_round(len(numbered) + 1, sum(len(r.moves) for r in numbered), group))
    return tuple(numbered)


def _position(event: Event) -> tuple[str, int]:
    return event.file, event.line


def is_of_a_round(event: Event) -> bool:
    """Return whether a line is the shedding task's."""
    if event.kind not in UNLOADING and not _is_deciding(event):
        return False
    return (
        event.kind == "unload" or event.thread is None or event.thread.startswith(SHEDDING_THREAD)
    )


def _is_deciding(event: Event) -> bool:
    return event.logger in SHEDDER_LOGGERS and event.kind not in _PLACING | UNLOADING


def _is_decision(event: Event) -> bool:
    return _is_deciding(event) or event.kind in OF_CHOSEN


def _groups(log: Sequence[Event], silence: timedelta) -> list[list[Event]]:
    groups: list[list[Event]] = []
    is_unloading, is_announced = False, False
    for event in sorted(log, key=lambda event: (event.time, *_position(event))):
        if event.kind == BEGINS:
            is_announced = True
            continue
        is_new = not groups or event.time - groups[-1][-1].time > silence
        is_new = is_new or is_announced or (is_unloading and _is_deciding(event))
        if is_new:
            groups.append([])
            is_unloading = is_announced = False
        groups[-1].append(event)
        is_unloading = is_unloading or event.kind in UNLOADING
    return groups


def _round(number: int, moves_before: int, group: Sequence[Event]) -> Round:
    """Return a round of its lines; the numbers come later."""
    strategies = [event.strategy for event in group if event.kind == "unload" and event.strategy]
    loggers = [e.logger for e in group if _is_deciding(e) and e.logger]
    strategy = (strategies or loggers or ["unknown"])[0]
    return Round(
        number=number,
        term=0,
        time=group[0].time,
        end=group[-1].time,
        log_broker=group[0].log_broker,
        strategy=strategy,
        events=tuple(group),
        moves=_moves(number, moves_before, strategy, group),
    )


@dataclass
class _Placing:
    """The lines of one selection, until its unload line closes it."""

    lines: list[Event] = field(default_factory=list)

    def draw(self) -> Draw | None:
        if not self.lines:
            return None
        considered = [e.count for e in self.lines if e.kind == "candidates-considered"]
        randoms = [e.count for e in self.lines if e.kind == "placed-at-random"]
        printed = [e for e in self.lines if e.kind == "placer-scores"]
        scores = printed[-1] if printed else None
        counts = considered or randoms or [len(scores.scores) if scores else None]
        return Draw(
            count=counts[-1],
            is_fallback=bool(randoms),
            scores=dict(scores.scores) if scores else {},
            average=scores.numbers.get("average") if scores else None,
            margin=scores.numbers.get("threshold") if scores else None,
            evidence=tuple(self.lines),
        )


def _moves(number: int, before: int, strategy: str, group: Sequence[Event]) -> tuple[Move, ...]:
    moves: list[Move] = []
    placing = _Placing()
    for event in group:
        if event.kind == "candidates-considered":
            placing = _Placing()
        if event.kind in UNLOADING and event.kind != "unload":
            placing.lines.append(event)
        if event.kind != "unload" or event.bundle is None or event.broker is None:
            continue
        attempts = [
            line for line in group if line.kind == "shed-attempt" and line.broker == event.broker
        ]
        moves.append(
            Move(
                id=f"u{before + len(moves) + 1}",
                time=event.time,
                round=number,
                bundle=event.bundle,
                source=event.broker,
                target=event.target,
                strategy=event.strategy or strategy,
                evidence=(*attempts[:1], *placing.lines, event),
                draw=placing.draw(),
                recomputed=Recomputed(None, ""),
            )
        )
        placing = _Placing()
    return tuple(moves)
