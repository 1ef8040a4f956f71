"""What brokers reported of themselves and of their bundles, as columns in order of time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.columns import beside, moments, stamps, words, write_times
from trimtab.pulsar.model import RESOURCES, Flags, Floats, Ints

#: What the host measures, as positions in RESOURCES; the JVM tells of its memory.
OF_HOST = (0, 3, 4)


@dataclass(frozen=True, slots=True)
class BrokerReports:
    """Reports of one broker to the metadata store."""

    #: (n,) when the store took each, and the same as s since 1970.
    times: tuple[datetime, ...]
    seconds: Floats
    #: (n, 5) as reported, RESOURCES; NaN where it is absent.
    usage: Floats
    limit: Floats
    #: (n,) messages/s and bytes/s, in and out.
    rate: Floats
    throughput: Floats
    bundles: Ints
    #: (n,) of the record in the store, -1 where it is not known; a gap is a missed write.
    versions: Ints
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
class Answers:
    """What one broker said of its load beside the store, in order of time."""

    #: (n,) when it was asked.
    times: tuple[datetime, ...]
    #: (n,) the busiest of CPU, network in and network out, fraction.
    usage: Floats
    #: (n,) the busiest of all resources, heap included, fraction; NaN where it is not said.
    busiest: Floats
    #: (n,) bytes/s in and out; NaN where it is not said.
    throughput: Floats


@dataclass(frozen=True, slots=True)
class BundleReports:
    """What was reported of one bundle, by whoever owned it."""

    times: tuple[datetime, ...]
    #: Who reported it.
    brokers: tuple[str, ...]
    #: (n,) messages/s and bytes/s, in and out.
    rate: Floats
    throughput: Floats
    topics: Ints

    def at(self, time: datetime) -> int | None:
        """Return the position of the latest report at a time; None before the first."""
        i = bisect_right(self.times, time) - 1
        return None if i < 0 else i


def of_reports(reports: BrokerReports) -> Answers:
    """Return what a broker's reports say of its load."""
    shares = reports.shares()
    host = shares[:, OF_HOST].max(axis=1)
    return Answers(reports.times, host, shares.max(axis=1), reports.throughput)


def of_origin(reports: pa.Table, origin: str) -> pa.Table:
    """Return the rows of `load_reports` that were read in one way, such as from the store."""
    return reports.filter(pc.equal(reports["origin"], origin))


def usage_and_limit(reports: pa.Table, absent: float) -> tuple[Floats, Floats]:
    """Return what each broker used and had of its resources, both (n_reports, 5), RESOURCES.

    `absent` stands where a report does not say.
    """
    usage, limit = (
        beside(reports, [f"{resource}_{which}" for resource in RESOURCES], absent)
        for which in ("usage", "limit")
    )
    return usage, limit


def broker_reports(reports: pa.Table) -> dict[str, BrokerReports]:
    """Return rows of `load_reports` by broker.

    Args:
        reports: to the store, with `bundle_count` in place of `bundles`; those of a broker that
            has gone are left out.
    """
    reports = reports.filter(pc.invert(pc.fill_null(reports["is_gone"], False)))
    # Equal ones stay in the order of their lines.
    reports = _ordered(reports, "broker")
    since = stamps(reports["write_time"])
    times, seconds = moments(since), since / 1e6
    usage, limit = usage_and_limit(reports, np.nan)
    rate, throughput = _both_ways(reports, "rate"), _both_ways(reports, "throughput")
    bundles = pc.fill_null(reports["bundle_count"], 0).to_numpy().astype(np.int64)
    versions = pc.fill_null(reports["version"], -1).to_numpy().astype(np.int64)
    managers = words(reports["load_manager"])
    return {
        broker: BrokerReports(
            times=tuple(times[mine]),
            seconds=seconds[mine],
            usage=usage[mine],
            limit=limit[mine],
            rate=rate[mine],
            throughput=throughput[mine],
            bundles=bundles[mine],
            versions=versions[mine],
            managers=frozenset(name for name in managers.part(mine.start, mine.stop) if name),
        )
        for broker, mine in _runs(reports["broker"])
    }


def bundle_reports(reports: pa.Table) -> dict[str, BundleReports]:
    """Return rows of `bundle_reports` by bundle.

    The first report of a new owner counts what passed since the bundle came, which is part of
    a minute: it is left out where the same owner reports the bundle again.
    """
    reports = _ordered(reports, "bundle", "broker")
    reports = reports.filter(~_is_part_of_a_minute(reports))
    times = moments(stamps(reports["write_time"]))
    rate, throughput = _both_ways(reports, "rate"), _both_ways(reports, "throughput")
    topics = pc.fill_null(reports["topics"], 0).to_numpy()
    brokers = words(reports["broker"])
    return {
        bundle: BundleReports(
            times=tuple(times[mine]),
            brokers=tuple(brokers.part(mine.start, mine.stop)),
            rate=rate[mine],
            throughput=throughput[mine],
            topics=topics[mine],
        )
        for bundle, mine in _runs(reports["bundle"])
    }


def _is_part_of_a_minute(ordered: pa.Table) -> Flags:
    """Return which rows are the first of a new owner that reports the bundle again, (n_rows,)."""
    bundle, broker = (
        ordered[name].combine_chunks().dictionary_encode().indices.to_numpy()
        for name in ("bundle", "broker")
    )
    is_same_bundle, is_same_owner = bundle[1:] == bundle[:-1], broker[1:] == broker[:-1]
    is_first = np.zeros(len(ordered), np.bool_)
    is_first[1:] = is_same_bundle & ~is_same_owner
    is_first[:-1] &= is_same_bundle & is_same_owner
    is_first[-1:] = False
    return is_first


def _ordered(reports: pa.Table, name: str, *then: str) -> pa.Table:
    """Return rows by name, each name's in order of time; adds the column `write_time`."""
    reports = reports.append_column("write_time", write_times(reports))
    order = [(column, "ascending") for column in (name, "write_time", *then)]
    return reports.take(pc.sort_indices(reports, order))


def _runs(ordered: pa.ChunkedArray) -> Iterator[tuple[str, slice]]:
    """Yield each name of a column in order, and where it stands."""
    runs = pc.run_end_encode(ordered.combine_chunks())
    names, ends = runs.values.to_pylist(), runs.run_ends.to_pylist()
    for name, start, end in zip(names, [0, *ends], ends, strict=False):
        yield name, slice(start, end)


def _both_ways(reports: pa.Table, what: str) -> Floats:
    """Return the sums of what comes in and what goes out."""
    sums: Floats = beside(reports, [f"{what}_in", f"{what}_out"], np.nan).sum(axis=1)
    return sums
