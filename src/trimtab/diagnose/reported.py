"""What brokers reported of themselves and of their bundles, as columns in order of time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

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


def of_origin(reports: pa.Table, origin: str) -> pa.Table:
    """Return the rows of `load_reports` that were read in one way, such as from the store."""
    return reports.filter(pc.equal(reports["origin"], origin))


def broker_reports(told: pa.Table) -> dict[str, BrokerReports]:
    """Lay out rows of `load_reports` by broker.

    Args:
        told: to the store, with `bundle_count` in place of `bundles`; those of a broker that
            has gone are left out.
    """
    told = told.filter(pc.invert(pc.fill_null(told["is_gone"], False)))
    # Equal ones stay in the order of their lines.
    return {broker: _broker(mine) for broker, mine in _by(told, "broker")}


def bundle_reports(told: pa.Table) -> dict[str, BundleReports]:
    """Lay out rows of `bundle_reports` by bundle."""
    return {bundle: _bundle(mine) for bundle, mine in _by(told, "bundle", "broker")}


def _by(told: pa.Table, name: str, *then: str) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each name, in order of the name; each one's in order of time."""
    told = told.append_column("heard", heard(told))
    order = [(column, "ascending") for column in (name, "heard", *then)]
    told = told.take(pc.sort_indices(told, order))
    names = told[name].to_pylist()
    starts = [i for i, each in enumerate(names) if not i or each != names[i - 1]]
    for start, end in pairwise([*starts, len(names)]):
        yield names[start], told.slice(start, end - start)


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


def _bundle(told: pa.Table) -> BundleReports:
    return BundleReports(
        times=tuple(told["heard"].to_pylist()),
        rate=beside(told, ["rate_in", "rate_out"], np.nan).sum(axis=1),
        throughput=beside(told, ["throughput_in", "throughput_out"], np.nan).sum(axis=1),
        topics=pc.fill_null(told["topics"], 0).to_numpy(),
    )
