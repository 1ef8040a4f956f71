"""Tables and findings of a recording → a cluster that can be simulated, and who steered it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.diagnose.deployment import Deployment, deployment
from trimtab.lab.reconstruct.clocks import host_window
from trimtab.lab.reconstruct.cluster import Measured, NothingToSimulateError, Rebuilt, rebuilt
from trimtab.lab.reconstruct.evidence import Evidence, Reports
from trimtab.lab.simulate.balancer import Balancer
from trimtab.pulsar.model import MINUTE_S
from trimtab.pulsar.settings import ResourceWeights
from trimtab.pulsar.settings.reader import Reader
from trimtab.trials.recorded_cluster.columns import is_empty, rows
from trimtab.trials.recorded_cluster.reading import read

# Pulsar's default; the key is not one of the load balancer.
_WRITE_QUORUM = "managedLedgerDefaultWriteQuorum"
_LOAD_MANAGER = "loadManagerClassName"
_EXTENSIBLE = "ExtensibleLoadManagerImpl"


@dataclass(frozen=True, slots=True)
class RecordedCluster:
    """A recorded cluster, and who steered it."""

    evidence: Evidence
    #: What to simulate: `reconstruct.leading.led` runs it under any balancer.
    rebuilt: Rebuilt
    #: The strategies, the release and the settings that really steered it.
    balancer: Balancer
    #: The shedding interval, s.
    interval_s: float
    #: Shedding was switched on, by the settings.
    is_shedding: bool
    measured: Measured


def recorded(tables: Path, findings: Mapping[str, Any]) -> RecordedCluster:
    """Return the cluster of a recording, rebuilt.

    Raises:
        NothingToSimulateError: the recording does not tell enough.
    """
    refuse_unrecorded(tables)
    ran = _deployment(tables, findings)
    evidence = read(tables, findings, ran.manager)
    measured = _measured(ran, evidence.reports)
    return RecordedCluster(
        evidence=evidence,
        rebuilt=rebuilt(evidence, measured),
        balancer=Balancer(ran.shedder, ran.placer, ran.release, dict(ran.conf)),
        interval_s=ran.manager.shedding_interval_s,
        is_shedding=ran.manager.is_enabled and ran.manager.is_shedding_enabled,
        measured=measured,
    )


def evidence(tables: Path, findings: Mapping[str, Any]) -> tuple[Evidence, Measured]:
    """Return what a recording tells of its cluster, and how its brokers measure.

    Raises:
        NothingToSimulateError: the recording does not tell enough.
    """
    refuse_unrecorded(tables)
    ran = _deployment(tables, findings)
    known = read(tables, findings, ran.manager)
    return known, _measured(ran, known.reports)


def weights(tables: Path, findings: Mapping[str, Any]) -> ResourceWeights:
    """Return how much each resource counts in the usage of a recording's brokers."""
    return _deployment(tables, findings).threshold_shedder.weights


def refuse_unrecorded(tables: Path) -> None:
    """Refuse a recording from which no cluster can be rebuilt; it needs no diagnosis.

    Raises:
        NothingToSimulateError: the extensible load manager ran, or nobody tells of bundles.
    """
    for row in rows(tables, "settings", ("key", "value", "file", "line")):
        if row["key"] == _LOAD_MANAGER and str(row["value"]).endswith(_EXTENSIBLE):
            raise _unlike_modular(row, _LOAD_MANAGER)
    for row in rows(tables, "load_reports", ("load_manager", "file", "line")):
        if row["load_manager"] == _EXTENSIBLE:
            raise _unlike_modular(row, "the load manager")
    if is_empty(tables, "bundle_reports"):
        raise NothingToSimulateError(
            "no load report tells of a bundle; expected store/zookeeper/, store/brokers.jsonl "
            "or load-reports.jsonl"
        )


def _unlike_modular(row: Mapping[str, Any], what: str) -> NothingToSimulateError:
    return NothingToSimulateError(
        f"{row['file']}:{row['line']}: {what}: found {_EXTENSIBLE}, under which brokers tell of no "
        "bundle but the heaviest; expected ModularLoadManagerImpl"
    )


def _measured(ran: Deployment, reports: Reports) -> Measured:
    reader = Reader(ran.conf, ran.release)
    setting_s = reader.number("loadBalancerHostUsageCheckIntervalMinutes") * MINUTE_S
    quorum = ran.conf.get(_WRITE_QUORUM, "").strip()
    return Measured(
        host_s=host_window(reports, setting_s),
        stats_s=ran.manager.stats_interval_s,
        write_quorum=float(quorum) if quorum.isdigit() else 2.0,
        report_s=ran.manager.report_interval_s_max,
        shedding_s=ran.manager.shedding_interval_s,
        grace_s=ran.manager.grace_period_s,
    )


def _deployment(tables: Path, findings: Mapping[str, Any]) -> Deployment:
    """Return the settings, read again, with the strategies and the release that diagnosis found."""
    strategies = findings["strategies"]
    settings = sorted(rows(tables, "settings"), key=lambda row: (row["file"], row["line"]))
    named = ([strategies["shedding"]], [strategies["placement"]])
    return deployment({"pulsar": findings["release"]}, settings, [], named)
