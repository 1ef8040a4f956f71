"""What brokers say beside the store: over REST, else in metrics, and these only if need be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from trimtab.diagnose.answers import answers, stands_still
from trimtab.diagnose.reports import BrokerReports, broker_reports, of_origin
from trimtab.files.tables import INGESTED

TIME = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
_REPORTED = pa.schema([*INGESTED["load_reports"], ("bundle_count", pa.int32())])
NAMES = {"b1": "b1:8080", "b2": "b2:8080"}


def report(broker: str, minute: float, origin: str = "store", cpu: float = 30.0) -> dict[str, Any]:
    row = {"time": TIME + timedelta(minutes=minute), "broker": broker, "origin": origin}
    return row | {"is_gone": False, "cpu_usage": cpu, "cpu_limit": 100.0, "bundle_count": 1}


def told(*rows: dict[str, Any]) -> tuple[pa.Table, dict[str, BrokerReports]]:
    table = pa.Table.from_pylist(list(rows), _REPORTED)
    return table, broker_reports(of_origin(table, "store"))


def sample(name: str, value: float) -> dict[str, Any]:
    labels = (("broker", "b1"),)
    return {"time": TIME, "log_broker": "b1", "name": name, "value": value, "labels": labels}


def test_over_rest_is_taken_before_metrics() -> None:
    table, records = told(
        report("b1:8080", 0), report("b2:8080", 30), report("b1:8080", 9, "rest", 55.0)
    )
    said = answers(table, records, lambda: [sample("pulsar_lb_cpu_usage", 99.0)], NAMES, 900.0)
    assert list(said) == ["b1:8080"]
    np.testing.assert_allclose(said["b1:8080"].usage, [0.55])


def test_metrics_are_read_where_a_record_stands_still_and_heap_does_not_count() -> None:
    samples = [sample("pulsar_lb_cpu_usage", 44.0), sample("pulsar_lb_memory_usage", 90.0)]
    table, records = told(report("b1:8080", 0), report("b2:8080", 0), report("b2:8080", 16.5))
    assert stands_still(records, 900.0)
    said = answers(table, records, lambda: samples, NAMES, 900.0)
    np.testing.assert_allclose(said["b1:8080"].usage, [0.44])
    assert np.isnan(said["b1:8080"].throughput).all()


def test_metrics_are_not_read_where_every_record_is_written_in_time() -> None:
    def unasked() -> list[dict[str, Any]]:
        raise AssertionError("nobody needs the metrics")

    table, records = told(report("b1:8080", 0), report("b1:8080", 14), report("b2:8080", 20))
    assert not stands_still(records, 900.0)
    assert answers(table, records, unasked, NAMES, 900.0) == {}
