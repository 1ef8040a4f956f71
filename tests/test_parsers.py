"""Each parser of a line or a document, without Spark: rows, other, and clear rejects."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.files.tables import INGESTED
from trimtab.ingest.actions import action
from trimtab.ingest.averages import store_bundles
from trimtab.ingest.confs import conf_line, helm_values, runtime_config
from trimtab.ingest.exports import query_range
from trimtab.ingest.load_reports import load_report, store_broker
from trimtab.ingest.metrics import prom_line, scrape_time
from trimtab.ingest.outcome import OTHER, Origin, Outcome, Rejected, Rows
from trimtab.ingest.store import store_leader, store_ownership
from trimtab.ingest.worker import DOCUMENT_PARSERS, LINE_PARSERS

CHINA = timezone(timedelta(hours=8))
PROM = "metrics/broker1/2026-11-21T06-41-25.663Z.prom.gz"
ORIGIN = Origin(PROM, "broker1", CHINA, date(2026, 11, 21))
BUNDLE = "public/default/0x00000000_0x80000000"
TEN = datetime(2026, 11, 21, 10, tzinfo=UTC)

REPORT = {
    "cpu": {"usage": 23.5, "limit": 80.0},
    "memory": {"usage": 69.5, "limit": 247.5},
    "directMemory": {"usage": 16, "limit": 192},
    "bandwidthIn": {"usage": -1.0, "limit": -1.0},
    "bandwidthOut": {"usage": "NaN", "limit": 1.0e4},
    "msgRateIn": 4.5,
    "msgRateOut": 4.25,
    "msgThroughputIn": 4308.25,
    "msgThroughputOut": 4239.5,
    "lastUpdate": 1795212000500,
    "numTopics": 1,
    "bundles": [],
    "lastStats": {},
}


def reported(**changes: Any) -> str:
    """A line of load-reports.jsonl with a few keys of the report changed."""
    report = {key: value for key, value in (REPORT | changes).items() if value is not ...}
    return json.dumps({"time": "2026-11-21T18:00:00+08:00", "broker": "b:8080", "report": report})


def rows(outcome: Outcome) -> list[tuple[str, dict[str, Any]]]:
    assert isinstance(outcome, Rows), outcome
    return list(outcome.rows)


def reason(outcome: Outcome) -> str:
    assert isinstance(outcome, Rejected), outcome
    return outcome.reason


def test_report_of_a_broker_that_measures_nothing_keeps_its_minus_one() -> None:
    [(table, row)] = rows(load_report(reported(), ORIGIN))

    assert "load_reports" == table
    assert (-1.0, -1.0) == (row["bandwidth_in_usage"], row["bandwidth_in_limit"])
    assert row["bandwidth_out_usage"] != row["bandwidth_out_usage"]
    assert (TEN, None) == (row["time"], row["started"])


def test_bundles_stand_under_an_old_name_in_old_reports() -> None:
    stats = {
        **{key: 1.5 for key in ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")},
        **{key: 2 for key in ("topics", "producerCount", "consumerCount", "cacheSize")},
    }

    new = rows(load_report(reported(lastStats={BUNDLE: stats}, bundleStats={}), ORIGIN))
    old = rows(load_report(reported(lastStats=..., bundleStats={BUNDLE: stats}), ORIGIN))

    assert new == old
    assert BUNDLE == old[1][1]["bundle"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"time": oops', "not JSON at column 10: Expecting value"),
        ("[]", "found [], expected an object"),
        ("{}", "key time: missing"),
        ('{"time": "2026-11-21T10:00:00"}', 'key time: found "2026-11-21T10:00:00", expected ISO'),
        ('{"time": 1, "broker": 7}', "key broker: found 7, expected text"),
        ('{"time": 1, "broker": "b"}', "key report: missing"),
        (reported(cpu=...), "key report.cpu: missing"),
        (reported(cpu={"usage": 1}), "key report.cpu.limit: missing"),
        (reported(cpu={"usage": True}), "key report.cpu.usage: found true, expected a number"),
        (reported(numTopics=1.5), "key report.numTopics: found 1.5, expected a whole number"),
        (reported(numTopics=2**64), f"key report.numTopics: found {2**64}, expected a whole"),
        (reported(lastUpdate=1e300), "key report.lastUpdate: found 1e+300, expected ISO"),
        (reported(bundles=[1]), "key report.bundles: found [1], expected a list of texts"),
        (reported(lastStats={"b": {}}), "key report.lastStats.b.msgRateIn: missing"),
        ('{"time": ' + "[" * 100_000, "not JSON: maximum recursion depth"),
    ],
)
def test_reject_names_key_found_and_expected(line: str, expected: str) -> None:
    assert expected == reason(load_report(line, ORIGIN))[: len(expected)]


def test_blank_line_is_understood() -> None:
    for parser in (load_report, store_broker, action, conf_line, prom_line):
        assert OTHER is parser("  ", ORIGIN)


def test_gone_broker_has_no_version() -> None:
    line = '{"time": 0, "broker": "b:8080", "version": null, "mtime": null, "report": null}'

    [(_, row)] = rows(store_broker(line, ORIGIN))

    assert (True, None, None) == (row["is_gone"], row["version"], row["written"])


def test_report_that_is_left_out_is_no_gone_broker() -> None:
    assert "key report: missing" == reason(store_broker('{"time": 0, "broker": "b"}', ORIGIN))


def test_leader_of_an_old_release_is_told_by_its_address() -> None:
    line = '{"time": 0, "version": 1, "mtime": 5, "leader": {"serviceUrl": "https://b:8443"}}'

    [(_, row)] = rows(store_leader(line, ORIGIN))

    assert ("b:8443", 1) == (row["broker"], row["version"])


def test_namespaces_among_the_owned_are_no_bundles() -> None:
    line = json.dumps({"time": 0, "full": False, "change": {"public/default": "", "a/b": None}})

    assert OTHER is store_ownership(line, ORIGIN)


def test_full_listing_of_nothing_is_not_lost() -> None:
    [(_, row)] = rows(store_ownership('{"time": 0, "full": true, "change": {}}', ORIGIN))

    assert (True, None, None) == (row["is_full"], row["bundle"], row["broker"])


def test_average_without_samples_is_rejected() -> None:
    node = {"mtime": 0, "v": {"shortTermData": {}, "longTermData": {}, "topics": 0}}
    line = json.dumps({"time": 0, "nodes": {f"/loadbalance/bundle-data/{BUNDLE}": node}})

    assert (
        f"key nodes./loadbalance/bundle-data/{BUNDLE}.v.shortTermData.numSamples: missing"
        == reason(store_bundles(line, ORIGIN))
    )


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("a=1", "a", "1"),
        ("  a.b-c   =   1 2  ", "a.b-c", "1 2"),
        ("a=", "a", ""),
        ("a=b=c # not a comment", "a", "b=c # not a comment"),
        ("a = 10 * 1024 * 1024", "a", "10 * 1024 * 1024"),
        ("a: 1", "a", "1"),
        ('  a: "1"   # a comment', "a", "1"),
        ("a: 'x y'", "a", "x y"),
        ('a: ""', "a", ""),
        ("url=http://a:80", "url", "http://a:80"),
        ("\ufeffa=1", "a", "1"),
    ],
)
def test_setting(line: str, key: str, value: str) -> None:
    [(_, row)] = rows(conf_line(line, ORIGIN))

    assert {"log_broker": "broker1", "key": key, "value": value, "origin": "conf"} == row


@pytest.mark.parametrize("line", ["# a=1", "  ! a=1", "", "configData:", "configData:  # heading"])
def test_line_of_a_conf_that_sets_nothing(line: str) -> None:
    assert OTHER is conf_line(line, ORIGIN)


@pytest.mark.parametrize("line", ["a 1", "=1", "1a=2", "- a", "{}", "a:1"])
def test_line_of_a_conf_that_is_none(line: str) -> None:
    assert f"found {line!r}, expected key=value" == reason(conf_line(line, ORIGIN))


def test_effective_settings_know_their_line() -> None:
    text = '{\n"a": "b",\n"b": "\\"c\\": 1",\n\n"c": 2, "d": [true]}'

    found = [
        (row["key"], row["value"], row["line"]) for _, row in rows(runtime_config(text, ORIGIN))
    ]

    assert [("a", "b", 2), ("b", '"c": 1', 3), ("c", "2", 5), ("d", "[true]", 5)] == found


def test_settings_as_a_broker_prints_them_are_those_in_force() -> None:
    text = "configs=ServiceConfiguration(a=Optional[0.01],\n b=[c, d])"

    found = rows(runtime_config(text, ORIGIN))

    assert [("a", "Optional[0.01]", "runtime", 1), ("b", "[c, d]", "runtime", 2)] == [
        (row["key"], row["value"], row["origin"], row["line"]) for _, row in found
    ]
    assert "found an empty ServiceConfiguration()" == reason(
        runtime_config("ServiceConfiguration()", ORIGIN)
    )


def test_helm_values_are_the_settings_of_the_broker_alone() -> None:
    text = "broker:\n  configData:\n    a: '1'\nproxy:\n  configData:\n    a: '2'\n"

    [(table, row)] = rows(helm_values(text, ORIGIN))

    assert "settings" == table
    assert ("a", "1", "conf", 3) == (row["key"], row["value"], row["origin"], row["line"])
    assert "found no setting, expected broker.configData" == reason(helm_values("", ORIGIN))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "b",\n', "not JSON at line 2 column 1: Expecting property name"),
        ("[]", "found [], expected an object of settings"),
        ("{}", "found {}, expected an object of settings"),
    ],
)
def test_document_that_is_no_settings(text: str, expected: str) -> None:
    assert expected == reason(runtime_config(text, ORIGIN))[: len(expected)]


def test_sample_has_the_time_of_its_file() -> None:
    line = r'pulsar_lb_cpu_usage{cluster="a", b="x\"y\\z\n,}"} 24.70339'

    [(table, row)] = rows(prom_line(line, ORIGIN))

    assert "metrics" == table
    assert {"cluster": "a", "b": 'x"y\\z\n,}'} == row["labels"]
    assert (24.70339, "broker1") == (row["value"], row["log_broker"])
    assert datetime(2026, 11, 21, 6, 41, 25, 663000, tzinfo=UTC) == row["time"]


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("pulsar_lb_unload_bundle_total 2", "pulsar_lb_unload_bundle_total", 2.0),
        ("brk_lb_cpu_usage{} 1e+2 1795255200000", "brk_lb_cpu_usage", 100.0),
        ('pulsar_broker_rate_in{cluster="a",} -Inf', "pulsar_broker_rate_in", float("-inf")),
        ('pulsar_throughput_out{namespace="a/b"} .5', "pulsar_throughput_out", 0.5),
        ("pulsar_bundle_topics_count 3", "pulsar_bundle_topics_count", 3.0),
        ('process_cpu_seconds_total{cluster="a"} 24.31', "process_cpu_seconds_total", 24.31),
        (
            'pulsar_broker_load_manager_bundle_assigment{quantile="0.5"} 7',
            "pulsar_broker_load_manager_bundle_assigment",
            7.0,
        ),
    ],
)
def test_kept_sample(line: str, name: str, value: float) -> None:
    [(_, row)] = rows(prom_line(line, ORIGIN))

    assert (name, value) == (row["name"], row["value"])


def test_sample_with_a_time_of_its_own() -> None:
    [(_, row)] = rows(prom_line("pulsar_lb_cpu_usage 1 1795255200000", ORIGIN))

    assert TEN == row["time"]


@pytest.mark.parametrize(
    "line",
    [
        "# HELP pulsar_lb_cpu_usage x",
        'jvm_threads_current{a="b"} 90',
        'pulsar_rate_in{topic="persistent://a/b/c"} 1',
        "pulsar_rate_in_total 1",
        "process_cpu_seconds_total_created 1",
        'pulsar_rate_in_histogram_bucket{le="+Inf"} 1',
    ],
)
def test_sample_that_is_not_needed(line: str) -> None:
    assert OTHER is prom_line(line, ORIGIN)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("<html>401</html>", "found '<html>401</html>', expected a sample"),
        ("pulsar_lb_cpu_usage", "found 'pulsar_lb_cpu_usage', expected a sample"),
        ("pulsar_lb_cpu_usage abc", "found 'pulsar_lb_cpu_usage abc', expected a sample"),
        ('pulsar_lb_cpu_usage{a="b} 1', 'found labels \'a="b\', expected name="value"'),
        ("pulsar_lb_cpu_usage{a=b} 1", "found labels 'a=b', expected name=\"value\""),
    ],
)
def test_line_of_a_scrape_that_is_none(line: str, expected: str) -> None:
    assert expected == reason(prom_line(line, ORIGIN))[: len(expected)]


def test_sample_without_any_time_is_rejected() -> None:
    origin = Origin("metrics/b/scrape.prom", "b", UTC, None)

    assert reason(prom_line("pulsar_lb_cpu_usage 1", origin)).startswith("no time")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2026-11-21T10-00-00Z.prom", TEN),
        ("2026-11-21T10:00:00.000+00:00.prom.gz", TEN),
        ("b-2026-11-21T100000Z.prom", TEN),
        ("2026-11-21T18-00-00+0800.prom", TEN),
        ("2026-11-21T06-00-00-04-00.prom", TEN),
        ("2026-11-21T18-00-00.prom", TEN),
        ("1795255200.prom", TEN),
        ("1795255200000.prom", TEN),
        ("2026-11-21T99-00-00Z.prom", None),
        ("scrape1.prom", None),
    ],
)
def test_time_in_a_name(name: str, expected: datetime | None) -> None:
    assert expected == scrape_time(f"metrics/b/{name}", CHINA)


def exported(*series: Any) -> str:
    return json.dumps({"data": {"result": series}})


def test_series_without_a_name_is_named_after_the_file() -> None:
    text = exported({"metric": {"broker": "b"}, "value": [1795255200, "1.5"]})

    [(_, row)] = rows(query_range(text, Origin("metrics/spread.json.gz", "", UTC, None)))

    assert ("spread", {"broker": "b"}, 1.5, TEN) == tuple(
        row[key] for key in ("name", "labels", "value", "time")
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "expected the object that query_range answers"),
        ('{"status": "error"}', "key data: missing"),
        ('{"data": {}}', "key data.result: found null, expected a list of series"),
        (exported(1), "key data.result.0: found 1, expected a series"),
        (exported({"values": []}), "key data.result.0.metric: missing"),
        (exported({"metric": {"a": 1}}), "key data.result.0.metric.a: found 1, expected text"),
        (
            exported({"metric": {}, "values": [[0, "x"]]}),
            'key data.result.0.values: found [0, "x"], expected samples such as',
        ),
    ],
)
def test_export_that_is_none(text: str, expected: str) -> None:
    outcome = query_range(text, ORIGIN)

    assert isinstance(outcome, Rejected)
    assert expected == outcome.reason[: len(expected)]


def test_action_is_kept_whole() -> None:
    line = (
        '{"time": "2026-11-21T10:00:00Z", "event": "kill", "broker": 2, "id": "b:8080", "x": "é"}'
    )

    [(_, row)] = rows(action(line, ORIGIN))

    assert (TEN, "kill", "b:8080") == (row["time"], row["event"], row["broker"])
    assert json.loads(line) == json.loads(row["detail"])


@given(
    st.sampled_from(sorted(LINE_PARSERS | DOCUMENT_PARSERS)), st.text() | st.from_regex(r'\{".*')
)
def test_no_text_makes_a_parser_fail(source: str, text: str) -> None:
    parser = (LINE_PARSERS | DOCUMENT_PARSERS)[source]

    outcome = parser(text, ORIGIN)

    # Rows only of known tables and columns; `line` is a document's own.
    for table, row in outcome.rows if isinstance(outcome, Rows) else ():
        assert set(row) - {"line"} <= set(INGESTED[table].names)
