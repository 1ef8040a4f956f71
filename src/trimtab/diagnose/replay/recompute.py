"""Replays every tenure of leadership on Spark: tables in, tables out.

A tenure is one task, or several if it is long: it is cut into stretches by the size of the work,
and what the leader knows by the end of one is handed to the next.  Where several cores are, that
is found out first, without deciding more than it takes, and each stretch is decided meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from trimtab.diagnose.replay.checkpoint import checkpoint, resumed
from trimtab.diagnose.replay.outline import outline
from trimtab.diagnose.replay.replay import Replaying, follow, replay
from trimtab.diagnose.replay.result_tables import Replayed, result_tables
from trimtab.diagnose.replay.script import script
from trimtab.diagnose.replay.stretches import Outline
from trimtab.diagnose.replay.tenures import Tenure
from trimtab.diagnose.store_source import Span
from trimtab.files.packing import packed
from trimtab.spark.runner import Here, Runner, cores_of, results, threads

#: Tables of a stretch, packed.
Played: TypeAlias = Mapping[str, bytes]
#: What the leader knew as a stretch began, None if its tenure began, and which stretch it is.
Item: TypeAlias = tuple[bytes | None, int]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the rows of a tenure are."""

    folder_and_cluster: tuple[Path, str]
    tenure: Tenure
    logged: Sequence[Span]


def recompute(
    spark: Runner,
    folder_and_cluster: tuple[Path, str],
    tenures: Sequence[Tenure],
    spans: Sequence[Span],
    cuts: Sequence[datetime] | None = None,
) -> Replayed:
    """Return what is decided again.

    Every executor must be able to read the ingested tables.

    Args:
        spark: runs the tasks.
        folder_and_cluster: tables and whose rows of them.
        tenures: what is replayed.
        spans: when ZooKeeper's logs tell of every write.
        cuts: where tenures are cut; None: by the size of the work.
    """
    places = [_Place(folder_and_cluster, tenure, tuple(spans)) for tenure in tenures]

    def begin(number: int) -> Outline | Played:
        # A short tenure is done at once.
        place = places[number]
        drawn = outline(place.folder_and_cluster, place.tenure, place.logged, cuts)
        return drawn if len(drawn.stretches) > 1 else _played(place, drawn, (None, 0))[0]

    played: list[Played] = []
    for place, begun in zip(places, results(spark, begin, range(len(places))), strict=True):
        played += _whole(spark, place, begun) if isinstance(begun, Outline) else [begun]
    return Replayed(played)


def _whole(spark: Runner, place: _Place, drawn: Outline) -> list[Played]:
    """Return the tables of each stretch of a tenure."""
    return (_in_turn if _is_alone(spark) else _ahead)(spark, place, drawn)


def _is_alone(spark: Runner) -> bool:
    """Return whether nothing can be done beside anything."""
    return isinstance(spark, Here) or cores_of(spark) == 1


def _in_turn(spark: Runner, place: _Place, drawn: Outline) -> list[Played]:
    """Decide one stretch after the other."""
    count = len(drawn.stretches)

    def play(item: Item) -> tuple[Played, bytes | None]:
        tables, now = _played(place, drawn, item)
        return tables, checkpoint(now) if item[1] + 1 < count else None

    played, known = [], None
    for number in range(count):
        ((tables, known),) = results(spark, play, [(known, number)])
        played.append(tables)
    return played


def _ahead(spark: Runner, place: _Place, drawn: Outline) -> list[Played]:
    """Decide stretches while it is found out what the leader knew as the next one began."""

    def play(item: Item) -> Played:
        return _played(place, drawn, item)[0]

    def go(item: Item) -> bytes:
        told = script(place.folder_and_cluster, place.tenure, drawn, item[1], place.logged)
        now = resumed(told, item[0])
        follow(now, told)
        return checkpoint(now)

    count, known = len(drawn.stretches), None
    playing: list[Future[list[Played]]] = []
    with threads(spark, count) as pool:
        for number in range(count):
            item: Item = known, number
            playing.append(pool.submit(results, spark, play, [item]))
            if number + 1 < count:
                (known,) = results(spark, go, [item])
        return [each.result()[0] for each in playing]


def _played(place: _Place, drawn: Outline, item: Item) -> tuple[Played, Replaying]:
    """Return the tables of a stretch, and what the leader knows behind it."""
    known, number = item
    told = script(place.folder_and_cluster, place.tenure, drawn, number, place.logged)
    now = resumed(told, known)
    tables = result_tables(replay(now, told))
    return {name: packed(table) for name, table in tables.items()}, now
