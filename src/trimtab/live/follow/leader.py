"""How the leader of a recording weighs, smooths and compares: by its settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trimtab.diagnose.deployment import deployment
from trimtab.ingest.outcome import Origin
from trimtab.ingest.recording import Recording
from trimtab.ingest.split_result import TableRows
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import parse_split
from trimtab.live.follow.broker_totals import Rhythm
from trimtab.pulsar.settings import ResourceWeights

_SETTINGS = ("conf", "helm-values", "runtime-config")


@dataclass(frozen=True, slots=True)
class Leader:
    """What the running state goes by; ThresholdShedder's settings, whoever sheds."""

    weights: ResourceWeights
    rhythm: Rhythm
    #: A broker whose smoothed usage is so far above the mean is above the bar; a fraction.
    threshold: float


def leader_of(recording: Recording) -> Leader:
    """Return the leader by the settings of a recording now; defaults for what it does not say."""
    ran = deployment(recording.meta, list(_settings(recording)), (), ((), ()))
    shedder = ran.threshold_shedder
    interval_us = round(ran.manager.shedding_interval_s * 1e6)
    return Leader(shedder.weights, Rhythm(shedder.history_share, interval_us), shedder.threshold)


def _settings(recording: Recording) -> Iterator[dict[str, Any]]:
    """Return the rows of the table `settings`."""
    for source in _SETTINGS:
        for file in recording.files.get(source, ()):
            origin = Origin(file.name, file.log_broker, recording.zone, recording.day)
            for split in cut(file.path, origin, source):
                for part in parse_split(split):
                    if isinstance(part, TableRows) and part.table == "settings":
                        yield from part.rows.to_pylist()
