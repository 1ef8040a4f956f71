"""Messages of the two topics of loads → what brokers published, and when that is not known.

The topics keep nothing, so that a message is lost for good if nobody listened.  A broker says
with each load when it had published before, by which a lost one shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from trimtab.diagnose.transfers.published import (
    LoadData,
    Publication,
    TakenBack,
    TopBundles,
    Usage,
)

#: A broker notes when a load is published so long after it was sent at most; two of its loads
#: are farther apart.
_NOTED = timedelta(seconds=1)
#: A line and a message that are of one act are so close to each other.
_SAME = timedelta(seconds=2)
_NOTHING = timedelta(0)


class _Message(NamedTuple):
    """That a broker published something, or took it back."""

    time: datetime
    #: When it had published before, by the broker itself; None where nothing says it: of what
    #: was taken back, of bundles, and of a load behind which a broker had begun anew.
    before: datetime | None
    is_gone: bool


@dataclass(frozen=True, slots=True)
class Topic:
    """What was heard of one topic."""

    #: Broker → its messages, in order of time.
    messages: Mapping[str, Sequence[_Message]] = field(default_factory=dict)
    #: From when to when it was listened to.
    spans: Sequence[tuple[datetime, datetime]] = ()

    def is_known(self, broker: str, begin: datetime, time: datetime) -> bool:
        """Return whether it is known what stood there of a broker at a time.

        Args:
            broker: its id.
            begin: nothing of before is kept by whoever looked at that time.
            time: when it was looked.
        """
        mine = self.messages.get(broker, ())
        last = next((it for it in reversed(mine) if begin <= it.time < time), None)
        following = next((it for it in mine if it.time >= time), None)
        since = begin if last is None else last.time
        if following is None or following.before is None:
            return any(first <= since and time <= until for first, until in self.spans)
        if last is None or last.is_gone:
            return following.before <= since
        return following.before - last.time <= _NOTED


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard of both topics."""

    loads: Topic = field(default_factory=Topic)
    bundles: Topic = field(default_factory=Topic)

    def is_known(self, broker: str, begin: datetime, time: datetime) -> bool:
        """Return whether both are known of a broker, as `Topic.is_known` has it."""
        topics = (self.loads, self.bundles)
        return all(topic.is_known(broker, begin, time) for topic in topics)


def heard(
    loads: Sequence[Mapping[str, Any]],
    bundles: Sequence[Mapping[str, Any]],
    ahead: Mapping[str, timedelta],
) -> tuple[list[Publication], Heard]:
    """Return what was published, in order of time, and what is known of what was lost.

    Args:
        loads: rows of `published_loads`, by file and line.
        bundles: rows of `published_bundles`, by file and line.
        ahead: broker → what is taken off its times, since its clock is off.
    """
    every: list[Publication] = [_load(row, ahead) for row in loads if row["broker"] is not None]
    every += _tops(bundles, ahead)
    every.sort(key=lambda each: each.time)
    return every, Heard(_topic(loads, ahead), _topic(bundles, ahead))


def together(lines: Sequence[Publication], messages: Sequence[Publication]) -> list[Publication]:
    """Return what lines and messages tell of, each once: by the message where there is one."""
    looked_at = {(m.broker, m.updated_at_ms) for m in messages if isinstance(m, LoadData)}
    others = [m for m in messages if not isinstance(m, LoadData)]

    def is_told(line: Publication) -> bool:
        if isinstance(line, LoadData):
            return (line.broker, line.updated_at_ms) in looked_at
        return any(_is_same(line, message) for message in others)

    every = [*(line for line in lines if not is_told(line)), *messages]
    return sorted(every, key=lambda each: each.time)


def _is_same(line: Publication, message: Publication) -> bool:
    """Return whether a line that is of no load tells of what a message is."""
    if line.broker != message.broker or abs(line.time - message.time) > _SAME:
        return False
    if isinstance(line, TopBundles):
        return isinstance(message, TopBundles) and line.bundles == message.bundles
    if not isinstance(line, TakenBack) or not isinstance(message, TakenBack):
        return False
    return message.has_load == line.has_load or message.has_bundles == line.has_bundles


def _load(row: Mapping[str, Any], ahead: Mapping[str, timedelta]) -> Publication:
    broker, time = row["broker"], _time(row, ahead)
    if row["is_gone"]:
        return TakenBack(time, broker, has_load=True, has_bundles=False)
    return LoadData(
        time,
        broker,
        Usage((row["usage_smoothed"],), is_whole=True),
        row["throughput_smoothed"],
        (row["throughput_in"], row["throughput_out"]),
        round(row["updated"].timestamp() * 1000),
        is_whole=True,
    )


def _tops(
    rows: Iterable[Mapping[str, Any]], ahead: Mapping[str, timedelta]
) -> Iterable[Publication]:
    """Yield the messages of the heaviest bundles, each of which has a row a bundle."""
    mine = (row for row in rows if row["broker"] is not None)
    for _, message in groupby(mine, itemgetter("file", "line")):
        listed = list(message)
        broker, time = listed[0]["broker"], _time(listed[0], ahead)
        if listed[0]["is_gone"]:
            yield TakenBack(time, broker, has_load=False, has_bundles=True)
            continue
        places = sorted((row for row in listed if row["place"]), key=itemgetter("place"))
        fields = itemgetter("bundle", "throughput_in", "throughput_out")
        yield TopBundles(time, broker, tuple(map(fields, places)))


def _topic(rows: Sequence[Mapping[str, Any]], ahead: Mapping[str, timedelta]) -> Topic:
    """Return when which broker published, and from when to when that was heard."""
    messages: dict[str, dict[tuple[str, int], _Message]] = {}
    for row in rows:
        broker = row["broker"]
        if broker is None:
            continue
        before = row.get("reported")
        if before is not None:
            # A broker that begins anew forgets when it had published, also where what it had
            # published still stands.
            before = before - ahead.get(broker, _NOTHING) if before.timestamp() > 0 else None
        at = messages.setdefault(broker, {})
        at[row["file"], row["line"]] = _Message(_time(row, ahead), before, row["is_gone"])
    by_broker = {
        broker: sorted(mine.values(), key=lambda it: it.time) for broker, mine in messages.items()
    }
    return Topic(by_broker, _spans(rows))


def _spans(rows: Sequence[Mapping[str, Any]]) -> list[tuple[datetime, datetime]]:
    """Return from when to when a topic was listened to, by the recorder's clock."""
    spans: list[tuple[datetime, datetime]] = []
    since: datetime | None = None
    for row in rows:
        if row["is_heard"] is not None:
            if since is not None:
                spans.append((since, row["time"]))
            since = row["time"] if row["is_heard"] else None
    if since is not None:
        # Its end is not in the recording: it was listened to until its last message at least.
        spans.append((since, rows[-1]["time"]))
    return spans


def _time(row: Mapping[str, Any], ahead: Mapping[str, timedelta]) -> datetime:
    time: datetime = row["published"]
    return time - ahead.get(row["broker"], _NOTHING)
