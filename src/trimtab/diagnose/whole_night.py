"""All that was read and decided again → the night that the findings look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.course import Basis, Course
from trimtab.diagnose.decisions import decisions
from trimtab.diagnose.elections import with_elections
from trimtab.diagnose.full_rounds import full_rounds
from trimtab.diagnose.night import Channel, Event, Handover, Heavy, Night
from trimtab.diagnose.reports import Answers, BrokerReports, BundleReports
from trimtab.pulsar.channel import OWNED

#: Bundles of which the mean traffic is kept.
HEAVIEST = 20


@dataclass(frozen=True, slots=True)
class Beside:
    """What is read beside the rounds, once it is known which bundles moved; as in `Night`."""

    events: tuple[Event, ...]
    reports: Mapping[str, BrokerReports]
    answers: Mapping[str, Answers]
    bundles: Mapping[str, BundleReports]
    owners: Mapping[str, Sequence[tuple[datetime, str]]]
    acquired: Mapping[str, Sequence[tuple[datetime, str]]]
    heaviest: tuple[Heavy, ...]
    logs: frozenset[str]
    unread: frozenset[str] = frozenset()
    released: Mapping[str, Sequence[datetime]] = field(default_factory=dict)
    unexplained: tuple[Handover, ...] = ()
    misread: Mapping[str, int] = field(default_factory=dict)
    channel: Channel | None = None


def with_channel(beside: Beside, channel: Channel | None, moved: frozenset[str]) -> Beside:
    """Return what is read beside the rounds with what the extensible manager's channel says.

    Under that manager the owners of bundles stand in their states, and nowhere else.
    """
    if channel is None:
        return beside
    owned: dict[str, list[tuple[datetime, str]]] = {}
    released: dict[str, list[datetime]] = {}
    for each in channel.transitions:
        if each.bundle not in moved or each.verdict.startswith("ignored"):
            continue
        if each.state == OWNED and each.target:
            owned.setdefault(each.bundle, []).append((each.time, each.target))
        elif each.before == OWNED:
            released.setdefault(each.bundle, []).append(each.time)
    owners = {**beside.owners, **owned}
    return replace(beside, channel=channel, owners=owners, released={**beside.released, **released})


def whole_night(
    basis: Basis, course: Course, beside: Beside, replayed: Mapping[str, pa.Table]
) -> Night:
    """Return the night that the findings look at; `replayed` are the tables of DIAGNOSED."""
    ran = basis.ran
    return Night(
        rounds=full_rounds(course.rounds(), replayed, ran, course.open_question),
        usages=basis.usages,
        threshold=ran.threshold_shedder.threshold,
        margin=ran.least_resource_usage_with_weight.difference_threshold,
        grace_period_s=ran.manager.grace_period_s,
        interval_s=ran.manager.shedding_interval_s,
        elected={t.number: t.elected for t in course.terms if t.elected is not None},
        history_share=ran.threshold_shedder.history_share,
        events=tuple(with_elections(beside.events, basis.leaders, basis.names)),
        reports=beside.reports,
        answers=beside.answers,
        report_threshold=ran.manager.report_threshold,
        report_interval_s_max=ran.manager.report_interval_s_max,
        bundles=beside.bundles,
        owners=beside.owners,
        acquired=beside.acquired,
        released=beside.released,
        leaders=tuple((row["written"] or row["time"], row["broker"]) for row in basis.leaders),
        names=basis.names,
        heaviest=beside.heaviest,
        decisions=decisions(_certain(basis, course, beside, replayed["replayed_rounds"])),
        release=ran.release,
        shedder=ran.shedder,
        placer=ran.placer,
        conf=ran.conf,
        begin=basis.begin,
        end=course.end,
        logs=beside.logs,
        unread=beside.unread,
        unexplained=beside.unexplained,
        misread=beside.misread,
        has_settings=bool(ran.conf),
        channel=beside.channel,
    )


def _certain(basis: Basis, course: Course, beside: Beside, replayed: pa.Table) -> pa.Table:
    """Return the rounds decided again without those of which no log would tell.

    A leader without a log may have moved bundles in any round; so may any leader in rounds
    from before the recording, which are replayed for what it remembers.
    """
    logged = [term.number for term in course.terms if term.log_broker in beside.logs]
    is_told = pc.is_in(replayed["term"], pa.array(logged, replayed["term"].type))
    if basis.begin is not None:
        begin = pa.scalar(basis.begin, replayed["time"].type)
        is_told = pc.and_(is_told, pc.greater_equal(replayed["time"], begin))
    return replayed.filter(pc.or_(is_told, pc.greater(pc.fill_null(replayed["round"], 0), 0)))
