"""What brokers reported of themselves and of their bundles, as columns in order of time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.columns import beside, heard
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


def broker_reports(told: pa.Table) -> dict[str, BrokerReports]:
    """Lay out rows of `load_reports` by broker.

    Args:
        told: to the store, with `bundle_count` in place of `bundles`; those of a broker that
            has gone are left out.
    """
    told = told.filter(pc.invert(pc.fill_null(told["is_gone"], False)))
    told = told.append_column("heard", heard(told))
    # Equal ones stay in the order of their lines.
    told = told.take(pc.sort_indices(told, [("broker", "ascending"), ("heard", "ascending")]))
    brokers = told["broker"].to_pylist()
    starts = [i for i, broker in enumerate(brokers) if not i or broker != brokers[i - 1]]
    return {
        brokers[start]: _broker(told.slice(start, end - start))
        for start, end in pairwise([*starts, len(brokers)])
    }


def _written(row: Mapping[str, Any]) -> datetime:
    written: datetime = row["written"] or row["time"]
    return written


def _broker(told: pa.Table) -> BrokerReports:
    usage, limit = (
        beside(told, [f"{resource}_{which}" for resource in RESOURCES], np.nan)
        for which in ("usage", "limit")
    )
    managers = pc.unique(told["load_manager"]).to_pylist()
    return BrokerReports(
        times=tuple(told["heard"].to_pylist()),
        started=tuple(told["started"].to_pylist()),
        usage=usage,
        limit=limit,
        rate=beside(told, ["rate_in", "rate_out"], np.nan).sum(axis=1),
        throughput=beside(told, ["throughput_in", "throughput_out"], np.nan).sum(axis=1),
        bundles=pc.fill_null(told["bundle_count"], 0).to_numpy().astype(np.int64),
        managers=frozenset(manager for manager in managers if manager),
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
