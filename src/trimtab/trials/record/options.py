"""What a recording is to hold, beside what must be in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trimtab.pulsar.leader.view import Report
from trimtab.trials.record.listener import Listener


def as_measured(broker: int, time_s: float, report: Report) -> Report:
    """Return a broker's report as it was measured."""
    del broker, time_s
    return report


@dataclass(frozen=True, slots=True)
class Options:
    """What somebody chose."""

    #: The cluster's name.
    cluster: str = "lab"
    #: Lines an hour that each broker logs of other things than its balancer's.
    noise_per_hour: float = 600.0
    #: s from one scrape of a broker's metrics to the next, and from one load report asked
    #: for over REST; 0 for none.
    metrics_s: float = 60.0
    rest_s: float = 60.0
    #: Metrics come as Prometheus exports them, not as files of one scrape.
    are_exported: bool = False
    #: Everything but recording.toml and settings is packed.
    is_packed: bool = False
    #: What becomes of each broker's reports before they are written: a host may measure
    #: itself wrongly.  The leader goes by what is written.
    reported: Callable[[int, float, Report], Report] = as_measured
    #: Who hears everything besides, as it happens.
    witnesses: tuple[Listener, ...] = ()
