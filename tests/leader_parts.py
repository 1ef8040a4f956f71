"""Answers of Pulsar's load manager about what it does around its strategies, as recorded."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.plain_leader.served_bundles import group_namespaces, namespace_bundles
from trimtab.pulsar.candidates import Brokers, IsolationPolicy, Request
from trimtab.pulsar.leader.report_gate import Measured
from trimtab.pulsar.model import BundleTraffic, ClusterLoad, Ints
from trimtab.pulsar.settings import candidate_settings

RECORDED = Path(__file__).parent / "testdata" / "leader_parts" / "4.0.8.jsonl.xz"
RELEASE = "4.0.8"


def recorded(kind: str) -> Iterator[dict[str, Any]]:
    """Read the questions of a kind, with their answers."""
    for line in lzma.decompress(RECORDED.read_bytes()).decode().splitlines():
        question = json.loads(line)
        if question["ask"] == kind:
            yield question


def asked(question: Mapping[str, Any]) -> Request:
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
    return Request(
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
    nothing = np.zeros(len(rows))
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
        bundle_traffic=partial(BundleTraffic, *np.empty((4, 0))),
        bundle_is_sheddable=np.empty(0, np.bool_),
    )


def measured(rows: list[list[float]]) -> Measured:
    """Lay out rates, bundles and CPU as the questions about reports have them."""
    table = np.array(rows)
    percent = table[:, 5].astype(np.float32) / np.float32(100) * np.float32(100)
    return Measured(table[:, :4], table[:, 4].astype(np.int64), _usage(percent))


def _usage(percent: Any) -> Any:
    """Take usage from CPU alone; the other resources have no limit and are at 0 %."""
    return np.maximum(percent.astype(np.float64) / 100.0, 0.0)


def _counted(
    rows: list[dict[str, Any]], namespace: str, groups: Mapping[str, str]
) -> tuple[Ints, Ints | None]:
    """Count the namespace's bundles and its group's namespaces on each broker."""
    served = {row["name"]: row["bundles"] for row in rows}
    counts = np.array(list(namespace_bundles(served, namespace).values()))
    if namespace not in groups:
        return counts, None
    mine = groups[namespace].lower()
    group = [name for name, other in groups.items() if other.lower() == mine]
    return counts, np.array(list(group_namespaces(served, group).values()))


def _flags(rows: list[dict[str, Any]], key: str) -> Any:
    return np.array([row[key] for row in rows], dtype=np.bool_)
