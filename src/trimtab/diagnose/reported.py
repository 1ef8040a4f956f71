"""What brokers reported of themselves and of their bundles, as columns in order of time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from trimtab.model import RESOURCES, Floats, Ints


@dataclass(frozen=True, slots=True)
class BrokerReports:
    """Reports of one broker to the metadata store."""

    #: (n,) when the store took each.
    times: tuple[datetime, ...]
    #: (n,) when the broker's process had started; None where it is not said.
    started: tuple[datetime | None, ...]
    #: (n, 5) as reported, RESOURCES; NaN where it is absent.
    usage: Floats
    limit: Floats
    #: (n,) messages/s and bytes/s, in and out.
    rate: Floats
    throughput: Floats
    bundles: Ints
    #: Simple names of its load manager's class.
    managers: frozenset[str]

    def at(self, time: datetime) -> int | None:
        """Return the position of the latest report at a time; None before the first."""
        i = bisect_right(self.times, time) - 1
        return None if i < 0 else i

    def shares(self) -> Floats:
        """Return each resource's used fraction, (n, 5); 0 where it has no limit."""
        with np.errstate(all="ignore"):
            shares = np.where(self.limit > 0, self.usage / self.limit, 0.0)
        return np.asarray(np.nan_to_num(shares))


@dataclass(frozen=True, slots=True)
class BundleReports:
    """What was reported of one bundle, by whoever owned it."""

    times: tuple[datetime, ...]
    #: (n,) messages/s and bytes/s, in and out.
    rate: Floats
    throughput: Floats
    topics: Ints

    def at(self, time: datetime) -> int | None:
        """Return the position of the latest report at a time; None before the first."""
        i = bisect_right(self.times, time) - 1
        return None if i < 0 else i


def broker_reports(rows: Iterable[Mapping[str, Any]]) -> dict[str, BrokerReports]:
    """Lay out rows of `load_reports` by broker.

    Args:
        rows: as told to the store; those of a broker that has gone are left out.
    """
    by_broker: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=_written):
        if not row["is_gone"]:
            by_broker.setdefault(row["broker"], []).append(row)
    return {broker: _broker(mine) for broker, mine in sorted(by_broker.items())}


def _written(row: Mapping[str, Any]) -> datetime:
    written: datetime = row["written"] or row["time"]
    return written


def _broker(rows: list[Mapping[str, Any]]) -> BrokerReports:
    return BrokerReports(
        times=tuple(_written(row) for row in rows),
        started=tuple(row["started"] for row in rows),
        usage=_table(rows, [f"{resource}_usage" for resource in RESOURCES]),
        limit=_table(rows, [f"{resource}_limit" for resource in RESOURCES]),
        rate=_table(rows, ["rate_in", "rate_out"]).sum(axis=1),
        throughput=_table(rows, ["throughput_in", "throughput_out"]).sum(axis=1),
        bundles=np.array([row.get("bundle_count") or 0 for row in rows], np.int64),
        managers=frozenset(row["load_manager"] for row in rows if row["load_manager"]),
    )


def bundle_reports(rows: Iterable[Mapping[str, Any]]) -> dict[str, BundleReports]:
    """Lay out rows of `bundle_reports` by bundle."""
    by_bundle: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (_written(row), row["broker"])):
        by_bundle.setdefault(row["bundle"], []).append(row)
    return {
        bundle: BundleReports(
            times=tuple(_written(row) for row in mine),
            rate=_table(mine, ["rate_in", "rate_out"]).sum(axis=1),
            throughput=_table(mine, ["throughput_in", "throughput_out"]).sum(axis=1),
            topics=np.array([row["topics"] or 0 for row in mine], np.int64),
        )
        for bundle, mine in by_bundle.items()
    }


def _table(rows: list[Mapping[str, Any]], names: list[str]) -> Floats:
    values = [[np.nan if row[name] is None else row[name] for name in names] for row in rows]
    return np.array(values, np.float64).reshape(len(rows), len(names))
