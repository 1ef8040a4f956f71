"""Which tenures of leadership are decided again, and what a task needs for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from trimtab.diagnose.deployment import Deployment
from trimtab.diagnose.replay.leading import Leading
from trimtab.diagnose.terms import Term, ticks


@dataclass(frozen=True, slots=True)
class Tenure:
    """What a task needs to replay one tenure; the rows it reads from the tables itself."""

    leading: Leading
    ticks: Sequence[tuple[datetime, int | None]]
    unloads: Sequence[tuple[datetime, str]]
    #: Selections of brokers are taken from this stretch of the leader's log.
    start: datetime | None
    end: datetime
    #: What is taken off the leader's times, since its clock is off; all others of these are so.
    ahead: timedelta = timedelta(0)
    #: Whose reports: those to the store, or those that brokers gave over REST.
    origin: str = "store"


def tenures(
    terms: Iterable[Term],
    ran: Deployment,
    names: Mapping[str, str],
    ahead: Mapping[str, timedelta],
) -> list[Tenure]:
    """Return the tenures to be replayed, each with what its replay needs; names as in `Basis`."""
    return [
        Tenure(
            leading=Leading(
                term=term.number,
                leader=term.log_broker,
                leader_id=names.get(term.log_broker),
                release=ran.release,
                shedder=ran.shedder,
                placer=ran.placer,
                conf=dict(ran.conf),
                manager=ran.manager,
                weights=ran.threshold_shedder.weights,
                doubt=(
                    None
                    if term.elected
                    else f"the log of {term.log_broker} begins after its election, so its "
                    "smoothed usage before the first round is not known"
                ),
            ),
            ticks=ticks(term, ran.manager.shedding_interval_s),
            unloads=[(move.time, move.bundle) for each in term.rounds for move in each.moves],
            start=term.elected,
            end=term.end,
            ahead=ahead.get(term.log_broker, timedelta(0)),
        )
        for term in terms
    ]
