"""Answers of Pulsar's load manager about what it does around its strategies, as recorded."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.pulsar.candidates import Asked, Brokers, IsolationPolicy
from trimtab.pulsar.leader.bundle_averages import Reported
from trimtab.pulsar.leader.report_gate import Measured
from trimtab.pulsar.leader.served_bundles import group_namespaces, namespace_bundles, served_bundles
from trimtab.pulsar.map_order import concurrent_hash_map_order
from trimtab.pulsar.model import ClusterLoad, Ints
from trimtab.pulsar.settings import candidate_settings

RECORDED = Path(__file__).parent / "testdata" / "leader_parts" / "4.0.8.jsonl.xz"
RELEASE = "4.0.8"


def recorded(kind: str) -> Iterator[dict[str, Any]]:
    """Read the questions of a kind, with their answers."""
    for line in lzma.decompress(RECORDED.read_bytes()).decode().splitlines():
        question = json.loads(line)
        if question["ask"] == kind:
            yield question


def asked(question: Mapping[str, Any]) -> Asked:
    """Put a question about a selection as we ask it; brokers that report stand first."""
    rows = sorted(question["brokers"], key=lambda row: not row["reported"])
    conf = {key: str(value).lower() for key, value in question["conf"].items()}
    conf["loadManagerClassName"] = question["conf"]["loadManagerClassName"]
    brokers = Brokers(
        names=tuple(row["name"] for row in rows),
        is_reported=_flags(rows, "reported"),
        takes_persistent=_flags(rows, "persistent"),
        takes_non_persistent=_flags(rows, "non_persistent"),
        topics=np.array(
            [row["reported"] * (row["topics"] + sum(row["topics_ahead"])) for row in rows]
        ),
        load_managers=tuple(row["load_manager"] for row in rows),
        versions=tuple(row["version"] for row in rows),
        domains=tuple(row["domain"] for row in rows),
    )
    bundle, groups = question["bundle"], question["groups"]
    counts, members = _counted(rows, bundle.rpartition("/")[0], groups)
    return Asked(
        bundle=bundle,
        brokers=brokers,
        settings=candidate_settings(conf, RELEASE),
        namespace_bundles=counts,
        group_members=members,
        policies=tuple(
            IsolationPolicy(
                tuple(policy["namespaces"]),
                tuple(policy["primary"]),
                tuple(policy["secondary"]),
                policy["min"],
            )
            for policy in question["policies"]
        ),
        has_non_persistent_topic=question["non_persistent"],
    )


def load(question: Mapping[str, Any]) -> ClusterLoad:
    """Lay out the usage of the brokers that report, and nothing else of them."""
    rows = [row for row in question["brokers"] if row["reported"]]
    usage = np.full((len(rows), 5), -1.0)
    usage[:, 0] = [row["cpu_percent"] for row in rows]
    limit = np.full((len(rows), 5), -1.0)
    limit[:, 0] = 100.0
    nothing, no_bundles = np.zeros(len(rows)), np.empty(0)
    return ClusterLoad(
        brokers=tuple(row["name"] for row in rows),
        resource_usage=usage,
        resource_limit=limit,
        rate_in=nothing,
        rate_out=nothing,
        throughput_in=nothing,
        throughput_out=nothing,
        bundle_count=np.zeros(len(rows), np.int64),
        bundles=(),
        bundle_broker=np.empty(0, np.int64),
        bundle_rate_in=no_bundles,
        bundle_rate_out=no_bundles,
        bundle_throughput_in=no_bundles,
        bundle_throughput_out=no_bundles,
        bundle_is_sheddable=np.empty(0, np.bool_),
    )


def measured(rows: list[list[float]]) -> Measured:
    """Lay out rates, bundles and CPU as the questions about reports have them."""
    table = np.array(rows)
    percent = table[:, 5].astype(np.float32) / np.float32(100) * np.float32(100)
    return Measured(table[:, :4], table[:, 4].astype(np.int64), _usage(percent))


def reports(told: Mapping[str, Any], brokers: list[str], bundles: list[str]) -> Reported:
    """Lay out what brokers report of their bundles in the order in which the leader walks them."""
    walk = concurrent_hash_map_order(told)
    rows = [(broker, bundle) for broker in walk for bundle in told[broker]]
    stats = np.array([told[broker][bundle] for broker, bundle in rows]).reshape(-1, 5)
    return Reported(
        walk=np.array([brokers.index(broker) for broker in walk], dtype=np.int64),
        broker=np.array([brokers.index(broker) for broker, _ in rows], dtype=np.int64),
        bundle=np.array([bundles.index(bundle) for _, bundle in rows], dtype=np.int64),
        sample=stats[:, :4],
        topics=stats[:, 4].astype(np.int64),
    )


def _usage(percent: Any) -> Any:
    """Take usage from CPU alone; the other resources have no limit and are at 0 %."""
    return np.maximum(percent.astype(np.float64) / 100.0, 0.0)


def _counted(
    rows: list[dict[str, Any]], namespace: str, groups: Mapping[str, str]
) -> tuple[Ints, Ints | None]:
    """Count the namespace's bundles and its group's namespaces on each broker."""
    pairs = [(i, bundle) for i, row in enumerate(rows) for bundle in row["bundles"]]
    bundles = sorted({bundle for _, bundle in pairs})
    namespaces = sorted({bundle.rpartition("/")[0] for bundle in bundles} | {namespace})
    of = np.array([namespaces.index(b.rpartition("/")[0]) for b in bundles], dtype=np.int64)
    served = served_bundles(
        np.array([i for i, _ in pairs], dtype=np.int64),
        np.array([bundles.index(bundle) for _, bundle in pairs], dtype=np.int64),
    )
    counts = namespace_bundles(served, of, namespaces.index(namespace), len(rows))
    if namespace not in groups:
        return counts, None
    mine = groups[namespace].lower()
    is_in_group = np.array([groups.get(name, "").lower() == mine for name in namespaces])
    return counts, group_namespaces(served, of, is_in_group, len(rows))


def _flags(rows: list[dict[str, Any]], key: str) -> Any:
    return np.array([row[key] for row in rows], dtype=np.bool_)
