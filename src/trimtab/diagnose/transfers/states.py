"""What the leader may have had before it when it decided a round of TransferShedder.

Pure: lines, samples and changes of states in, states out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice, product
from typing import NamedTuple

from trimtab.diagnose.night import Event, Round, Transition
from trimtab.diagnose.transfers.published import (
    LoadData,
    Publication,
    TakenBack,
    TopBundles,
)
from trimtab.pulsar.channel import OWNED, SPLITTING
from trimtab.pulsar.sequences.extensible.rounds import ExtensibleRound, Published, TopBundle
from trimtab.pulsar.settings import BrokerLoadSettings, TransferShedderSettings
from trimtab.pulsar.shed import ExtensibleShedderEntry

#: Where a number is known to some digits, so many states are looked at.
_STATES_MAX = 81
#: What is published reaches the leader within so long; measured: some ms.
_ON_ITS_WAY = timedelta(milliseconds=250)
#: The registered brokers are printed so shortly before a decision.
_LISTED = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the rounds are decided again from."""

    #: In order of time.
    published: Sequence[Publication]
    #: Lines of the kinds in `AROUND`, in order of time.
    lines: Sequence[Event]
    #: In order of time.
    transitions: Sequence[Transition]
    #: Log folder → (time, mean and deviation by the leader's gauges), in order of time.
    gauges: Mapping[str, Sequence[tuple[datetime, Mapping[str, float]]]]
    names: Mapping[str, str]


#: Lines that tell what the leader knows besides.
AROUND = frozenset({"available-brokers", "extensible-unload", "plays-leader"})


class By(NamedTuple):
    """What the leader decides by."""

    shedder: ExtensibleShedderEntry
    settings: TransferShedderSettings
    loads: BrokerLoadSettings
    grace_period_s: float


@dataclass(slots=True)
class Memory:
    """What a leader remembers from round to round."""

    hits: int | None = 0
    #: When which bundle and which broker's bundle was unloaded last.
    bundles: dict[str, datetime] = field(default_factory=dict)
    brokers: dict[str, datetime] = field(default_factory=dict)


def states(
    logged: Round, sources: Sources, by: By, memory: Memory
) -> Iterator[list[tuple[ExtensibleRound, bool]]]:
    """Yield what the leader may have had before it, and whether that is known whole.

    Once for all that was published until the round, and once without what may have been on its way.
    """
    begin = _begin(logged, sources)
    times = [each.time for each in sources.published]
    first, last = bisect_left(times, begin), bisect_left(times, logged.time)
    early = bisect_left(times, logged.time - _ON_ITS_WAY)
    for until in dict.fromkeys((last, early)):
        seen = sources.published[first:until]
        loads, tops = _stores(seen)
        names = list(loads)
        is_whole = all(loads[name].usage.is_whole for name in names)
        bundles = {name: _listed(top) for name, top in tops.items()}
        round_ = replace(_as_round(logged, sources, by, memory), top_bundles=bundles)
        may_be = product(*(loads[name].usage.values for name in names))
        yield [
            (replace(round_, load_data=_each_published(loads, usages)), is_whole)
            for usages in islice(may_be, _STATES_MAX)
        ]


def available(logged: Round, sources: Sources) -> tuple[str, ...] | None:
    """Return the registered brokers as the leader printed them for a round."""
    mine = [
        line
        for line in sources.lines
        if line.kind == "available-brokers"
        and line.log_broker == logged.log_broker
        and timedelta(0) <= logged.time - line.time <= _LISTED
    ]
    return mine[-1].brokers if mine else None


def _begin(logged: Round, sources: Sources) -> datetime:
    """Return when the leader of a round began to listen: nothing from before is kept."""
    began = [
        line.time
        for line in sources.lines
        if line.kind == "plays-leader"
        and line.log_broker == logged.log_broker
        and line.time <= logged.time
    ]
    # It empties what it has a moment before it says so.
    return began[-1] - _ON_ITS_WAY * 12 if began else logged.time - timedelta(days=1)


def _stores(
    published: Iterable[Publication],
) -> tuple[dict[str, LoadData], dict[str, TopBundles]]:
    """Return what stands in the leader's two stores, in the order in which it came there."""
    loads: dict[str, LoadData] = {}
    tops: dict[str, TopBundles] = {}
    for each in published:
        if isinstance(each, LoadData):
            loads[each.broker] = each
        elif isinstance(each, TopBundles):
            tops[each.broker] = each
        else:
            _take_back(each, loads, tops)
    return loads, tops


def _take_back(back: TakenBack, loads: dict[str, LoadData], tops: dict[str, TopBundles]) -> None:
    if back.has_load:
        loads.pop(back.broker, None)
    if back.has_bundles:
        tops.pop(back.broker, None)


def _each_published(loads: Mapping[str, LoadData], usages: Sequence[float]) -> dict[str, Published]:
    """Return by broker what it published, with so much usage of each."""
    pairs = zip(loads.items(), usages, strict=True)
    return {name: _published(load, usage) for (name, load), usage in pairs}


def _published(load: LoadData, usage: float) -> Published:
    return Published(load.updated_at_ms, load.throughput, (usage, load.smoothed), ())


def _listed(top: TopBundles) -> tuple[TopBundle, ...]:
    return tuple(TopBundle(name, (inward, outward)) for name, inward, outward in top.bundles)


def _as_round(logged: Round, sources: Sources, by: By, memory: Memory) -> ExtensibleRound:
    """Return a round without its loads."""
    over = logged.time - timedelta(seconds=by.grace_period_s)
    return ExtensibleRound(
        now_ms=_ms(logged.time),
        load_data={},
        top_bundles={},
        available=available(logged, sources),
        recent_bundles=frozenset(b for b, time in memory.bundles.items() if time >= over),
        recent_brokers={broker: _ms(time) for broker, time in memory.brokers.items()},
        owners=_owners(logged.time, sources.transitions),
        restricted=None,
        filtered=None,
        sheds=True,
        selections=(),
    )


def _owners(time: datetime, transitions: Iterable[Transition]) -> dict[str, str]:
    """Return by bundle the broker that counts as its owner, "" for none."""
    owners: dict[str, str] = {}
    for each in transitions:
        if each.time >= time:
            break
        if each.verdict.startswith("ignored"):
            continue
        owner = {OWNED: each.target, SPLITTING: each.source}.get(each.state)
        owners[each.bundle] = owner or ""
    return owners


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)
