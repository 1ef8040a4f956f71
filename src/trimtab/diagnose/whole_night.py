"""All that was read and decided again → the night that the findings look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.course import Basis, Course
from trimtab.diagnose.decisions import decisions
from trimtab.diagnose.full_rounds import full_rounds
from trimtab.diagnose.night import Event, Heavy, Night
from trimtab.diagnose.reports import BrokerReports, BundleReports

#: Bundles of which the mean traffic is kept.
HEAVIEST = 20


@dataclass(frozen=True, slots=True)
class Beside:
    """What is read beside the rounds, once it is known which bundles moved; as in `Night`."""

    events: tuple[Event, ...]
    reports: Mapping[str, BrokerReports]
    bundles: Mapping[str, BundleReports]
    owners: Mapping[str, Sequence[tuple[datetime, str]]]
    acquired: Mapping[str, Sequence[tuple[datetime, str]]]
    heaviest: tuple[Heavy, ...]
    start: datetime | None
    logs: frozenset[str]


def begin(reports: pa.Table, logged: Iterable[datetime]) -> datetime | None:
    """Return when a recording begins, by its first look at the store or the first line of a log.

    `reports` are rows of `load_reports`: when each was read, and not when it was written, which
    may have been long before.  None if there is neither.
    """
    read = pc.min(reports["time"]).as_py()
    return min([*logged, *([] if read is None else [read])], default=None)


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
        events=beside.events,
        reports=beside.reports,
        bundles=beside.bundles,
        owners=beside.owners,
        acquired=beside.acquired,
        leaders=tuple((row["written"] or row["time"], row["broker"]) for row in basis.leaders),
        names=basis.names,
        heaviest=beside.heaviest,
        decisions=decisions(replayed["replayed_rounds"]),
        release=ran.release,
        shedder=ran.shedder,
        placer=ran.placer,
        conf=ran.conf,
        start=beside.start,
        end=course.end,
        logs=beside.logs,
        has_settings=bool(ran.conf),
    )
