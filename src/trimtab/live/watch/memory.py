"""What a watch remembers from step to step."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from trimtab.diagnose.night import Event
from trimtab.diagnose.replay.leading import Leading
from trimtab.diagnose.replay.replay import Replaying, replaying
from trimtab.diagnose.replay.timeline import STARTED
from trimtab.lab.costs import Knowledge
from trimtab.lab.outcomes.recording import Reported, Unloaded
from trimtab.live.watch.deaf import Unloading
from trimtab.live.watch.events import Happening, happenings, report, write_time
from trimtab.live.watch.nouns import Decided, Relearn, Row, Settings, Steered
from trimtab.pulsar.leader.view import LeaderView

_OWNERS_KEPT = 4


@dataclass(slots=True)
class Timeline:
    """What has come in and is not taken yet, by its own time and not by when it came."""

    _heap: list[tuple[datetime, int, int, Any]] = field(default_factory=list)
    _count: int = 0

    def add(self, happening: Happening) -> None:
        """Put it in; of two of one time and kind the earlier to come is first."""
        self._count += 1
        time, what, thing = happening
        heapq.heappush(self._heap, (time, what, self._count, thing))

    def first(self) -> Happening | None:
        """Return what is next; None if there is nothing."""
        if not self._heap:
            return None
        time, what, _, thing = self._heap[0]
        return time, what, thing

    def pop(self) -> None:
        """Take it out."""
        heapq.heappop(self._heap)


@dataclass(slots=True)
class Owners:
    """Who owns which bundle, and who got it lately."""

    #: Bundle → its last owners from when on.
    since: dict[str, list[tuple[datetime, str]]] = field(default_factory=dict)
    #: Changes of the last minutes: time, bundle, from, to.
    handovers: list[tuple[datetime, str, str, str]] = field(default_factory=list)

    def take(self, row: Mapping[str, Any]) -> None:
        """Take a row of `ownership`."""
        bundle, broker, time = row["bundle"], row["broker"], row["time"]
        if bundle is None or broker is None:
            return
        history = self.since.setdefault(bundle, [])
        if history and history[-1][1] != broker:
            self.handovers.append((time, bundle, history[-1][1], broker))
        history.append((time, broker))
        del history[:-_OWNERS_KEPT]


@dataclass(slots=True)
class Term:
    """A tenure of leadership that is being watched."""

    leader: str
    since: datetime
    #: Log folder of the leader; empty if it is not read.
    log: str
    #: Pulsar's own strategy, and the one beside; both look at one view.
    own: Replaying
    beside: Replaying
    owners: Owners
    timeline: Timeline
    #: When the last round was over; or when the leader was elected.
    last_round: datetime
    #: Broker → its last report.
    reported: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    #: The leader's lines of rounds that are not compared yet.
    lines: list[Event] = field(default_factory=list)
    #: Numbers of the rounds in these lines, as far as they are on the timeline.
    announced: list[int] = field(default_factory=list)
    #: Number → why its time is a guess.
    guessed: dict[int, str] = field(default_factory=dict)
    #: Rows of `replayed_rounds` and of `replayed_placements`, until they are compared.
    decided: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    placed: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    #: The leader's lines that could not be read since the last round.
    misread: int = 0
    #: Broker → when it was last seen to have gone.
    gone: dict[str, datetime] = field(default_factory=dict)
    #: The leader's round that may still unload, upon which it looks at no report.
    unloading: Unloading | None = None
    #: Up to when all is taken.
    read_until: datetime | None = None


@dataclass(slots=True)
class Span:
    """A round that is decided and not scored yet."""

    decided: Decided
    #: Bytes/s of each bundle's broker, and usage, as they stood.
    usage: Mapping[str, float]
    throughput: Mapping[str, float]
    #: What Pulsar unloaded; None as long as that is not known.
    moves: list[Unloaded] | None = None
    #: Lines of the leader that could not be read before it.
    misread: int = 0


@dataclass(slots=True)
class Memory:
    """All that a watch remembers; `step` uses it up and gives it back."""

    #: When the watch began.
    began: datetime
    term: Term | None = None
    #: Rounds so far.
    n_rounds: int = 0
    #: Lines of brokers that do not lead yet, of the last minutes.
    early: list[tuple[Event, Mapping[str, Any]]] = field(default_factory=list)
    #: Percent, in order of time, of the last minutes.
    usages: list[Reported] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    #: Bundle → when the watch itself unloaded it last.
    own: dict[str, datetime] = field(default_factory=dict)
    #: What came so late that rounds after it were decided already.
    n_late: int = 0
    #: What was learned of costs; None: not enough to say what a move does.
    known: Knowledge | None = None
    #: Turns of a strategy of trimtab's own since the last round.
    steered: list[Steered] = field(default_factory=list)


def learned(memory: Memory, settings: Settings, led: Relearn, rows: Iterable[Row]) -> Memory:
    """Return the memory of a new tenure, with all that the leader's process knows.

    `rows` are all of the store since the watch began, in any order.
    """
    all_rows = list(rows)
    log = next((log for log, broker in settings.logs.items() if broker == led.leader), "")
    started = [
        row["started"]
        for table, row in all_rows
        if table == "load_reports"
        and row["broker"] == led.leader
        and row.get("started") is not None
        and row["started"] <= led.since
    ]
    doubt = None
    if memory.began > led.since:
        doubt = "the watch began after the election, so what was smoothed before is not known"
    view, owners = LeaderView(), Owners()
    ran = settings.ran
    pulsar = Leading(
        term=0,
        leader=log or led.leader,
        leader_id=led.leader,
        release=ran.release,
        shedder=ran.shedder,
        placer=ran.placer,
        conf=ran.conf,
        manager=ran.manager,
        weights=ran.threshold_shedder.weights,
        doubt=doubt,
    )
    # Beside a strategy of trimtab's own rounds are those of Pulsar's class: it has turns instead.
    shedder = ran.shedder if settings.is_own else settings.shedder
    other = replace(pulsar, shedder=shedder, placer=settings.placer, conf=settings.conf)
    own, beside = (replaying(each, view, owners.since, report) for each in (pulsar, other))
    timeline = Timeline()
    for happening in happenings(all_rows):
        timeline.add(happening)
    if started:
        timeline.add((max(started), STARTED, None))
    memory.usages.clear()
    # Of the rounds before the watch there is nothing to decide; only their beat goes on.
    interval = timedelta(seconds=settings.interval_s)
    missed = max(timedelta(0), memory.began - led.since) // interval
    last_round = led.since + missed * interval
    memory.term = Term(led.leader, led.since, log, own, beside, owners, timeline, last_round)
    for table, row in all_rows:
        if table == "ownership":
            owners.take(row)
    return memory


def newest_leader(rows: Iterable[Row]) -> tuple[str, datetime] | None:
    """Return who was elected last, and when; None if nobody was."""
    elections = [(write_time(row), row["broker"]) for table, row in rows if table == "leaders"]
    elected = [(time, broker) for time, broker in elections if broker is not None]
    return (elected[-1][1], elected[-1][0]) if elected else None
