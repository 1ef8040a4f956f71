"""Replays every tenure of leadership on Spark: tables in, tables out.

A tenure is one task, or several if it is long: it is cut into stretches by the size of the work,
of which a task decides a few, and what the leader knows by their end is handed to the next.  Where
more than two cores are, what it knows further on is found out first, without deciding more than it
takes, and decisions begin there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

from trimtab.diagnose.replay.checkpoint import checkpoint, go_on, resumed
from trimtab.diagnose.replay.outline import outline
from trimtab.diagnose.replay.replay import Replaying, follow, replay
from trimtab.diagnose.replay.result_tables import Replayed, result_tables
from trimtab.diagnose.replay.script import script
from trimtab.diagnose.replay.stretches import Outline
from trimtab.diagnose.replay.tenures import Tenure
from trimtab.diagnose.replay.timeline import Script
from trimtab.diagnose.store_source import Span
from trimtab.files.packing import packed
from trimtab.spark.runner import Here, Runner, cores_of, results, threads

#: Tables of a stretch, packed.
Played: TypeAlias = Mapping[str, bytes]
#: What the leader knew as a stretch began, None if its tenure began, and which stretch it is.
Item: TypeAlias = tuple[bytes | None, int]

#: Stretches that one task decides at most: between them nothing is handed on.  Two are in memory,
#: as the next is read, and what of more waits to be fed.
_TOGETHER = 4
#: The same where no other lane begins behind them: a task is to hold no more tables.
_TOGETHER_ALONE = 32


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the rows of a tenure are."""

    folder_and_cluster: tuple[Path, str]
    tenure: Tenure
    logged: Sequence[Span]


@dataclass(slots=True, eq=False)
class _Lane:
    """Stretches of a tenure that are decided one after the other."""

    #: What the leader knows, and the next stretch.
    at: Item


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
        return drawn if len(drawn.stretches) > 1 else _played(place, drawn, None, (0,))[0][0]

    played: list[Played] = []
    for place, begun in zip(places, results(spark, begin, range(len(places))), strict=True):
        played += _whole(spark, place, begun) if isinstance(begun, Outline) else [begun]
    return Replayed(played)


def _whole(spark: Runner, place: _Place, drawn: Outline) -> list[Played]:
    """Return the tables of each stretch of a tenure.

    A lane decides one stretch after the other.  Where there are more cores, the leader is followed
    ahead of the lane, and another lane begins where both will end at about the same time.
    """
    count, cores = len(drawn.stretches), _cores(spark)
    together = _TOGETHER if cores > 1 else _TOGETHER_ALONE
    played: dict[int, Played] = {}
    lane_of: dict[int, _Lane] = {}

    def play(run: tuple[bytes | None, Sequence[int]]) -> tuple[list[Played], bytes | None]:
        tables, now = _played(place, drawn, *run)
        return tables, checkpoint(now) if run[1][-1] + 1 < count else None

    def go(item: Item) -> bytes:
        told = script(place.folder_and_cluster, place.tenure, drawn, item[1], place.logged)
        now = resumed(told, item[0])
        follow(now, told)
        return checkpoint(now)

    def taken(lane: _Lane) -> range:
        # One thread alone is the first to put itself down for a stretch.
        start = end = lane.at[1]
        while end < min(start + together, count) and lane_of.setdefault(end, lane) is lane:
            end += 1
        return range(start, end)

    def decide(lane: _Lane) -> None:
        while numbers := taken(lane):
            ((tables, known),) = results(spark, play, [(lane.at[0], numbers)])
            played.update(zip(numbers, tables, strict=True))
            lane.at = known, numbers.stop

    last = _Lane((None, 0))
    at = last.at
    with threads(spark, cores) as pool:
        deciding = [pool.submit(decide, last)]
        while len(deciding) < cores and at[1] + 1 < count:
            (known,) = results(spark, go, [at])
            # What is decided up to here by now need not be followed.
            at = max((known, at[1] + 1), last.at, key=itemgetter(1))
            are_left = cores - len(deciding)
            if (at[1] - last.at[1]) * are_left >= count - at[1]:
                last = _Lane(at)
                deciding.append(pool.submit(decide, last))
        for each in deciding:
            each.result()
    return [played[number] for number in range(count)]


def _cores(spark: Runner) -> int:
    """Return how many stretches can be decided at a time.

    A core is left to what is done beside: to follow a leader takes nearly as long as to decide.
    """
    return 1 if isinstance(spark, Here) else max(1, cores_of(spark) - 1)


def _played(
    place: _Place, drawn: Outline, known: bytes | None, numbers: Sequence[int]
) -> tuple[list[Played], Replaying]:
    """Return the tables of stretches that follow on each other, and what is known behind them."""
    played: list[Played] = []
    now: Replaying | None = None
    for told in _read_ahead(place, drawn, numbers):
        if now is None:
            now = resumed(told, known)
        else:
            go_on(now, told)
        tables = result_tables(replay(now, told))
        played.append({name: packed(table) for name, table in tables.items()})
    assert now is not None
    return played, now


def _read_ahead(place: _Place, drawn: Outline, numbers: Sequence[int]) -> Iterator[Script]:
    """Yield what happened in each stretch; the next is read while one is decided.

    Most of reading is Arrow's, which needs no Python for it and so leaves it to who decides.
    """
    with ThreadPoolExecutor(1) as reader:
        read = partial(script, place.folder_and_cluster, place.tenure, drawn)
        coming = reader.submit(read, numbers[0], place.logged)
        for following in numbers[1:]:
            told, coming = coming.result(), reader.submit(read, following, place.logged)
            yield told
        yield coming.result()
