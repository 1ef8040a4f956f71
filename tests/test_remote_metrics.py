"""A recording without metrics gets them of a Prometheus, or a reason why not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from tests import fake_admin as fake
from trimtab.cli import main
from trimtab.diagnose.usage import usages_from_metrics
from trimtab.ingest.exports import query_range
from trimtab.ingest.outcome import Origin, Rows
from trimtab.ingest.recording import open_recording
from trimtab.live.gather import GatherError
from trimtab.live.gather.remote_metrics import Remote, with_metrics
from trimtab.pulsar.settings import threshold_shedder_settings

SERIES = "/api/v1/query_range"
NIGHT = ("2026-11-21T06:00:00Z", "2026-11-21T06:10:00Z")
LINE = "2026-11-21T06:05:00,331+0000 [main] INFO  a.B - x\n"


def answer(*brokers: str) -> fake.Answer:
    """What a Prometheus has of a CPU at 50 %, of each broker."""
    result = [
        {
            "metric": {"__name__": "pulsar_lb_cpu_usage", "broker": it, "instance": f"{it}:8080"},
            "values": [[1795241100, "50"], [1795241115, "50"]],
        }
        for it in brokers
    ]
    body = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return fake.said(200, json.dumps(body).encode())


@pytest.fixture
def prometheus() -> Iterator[fake.Broker]:
    with fake.brokers(1) as (server,):
        server.answers[SERIES] = answer("10.0.0.1", "10.0.0.2")
        yield server


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """Logs and nothing else."""
    (tmp_path / "night/logs/broker1").mkdir(parents=True)
    (tmp_path / "night/logs/broker1/pulsar-broker.log").write_text(LINE, encoding="utf-8")
    return tmp_path / "night"


def test_metrics_of_the_time_are_there_as_long_as_the_recording_is_open(
    night: Path, prometheus: fake.Broker
) -> None:
    with (
        open_recording(night) as found,
        with_metrics(found, Remote(prometheus.address, *NIGHT)) as opened,
    ):
        (file,) = opened.files["metrics-export"]
        held = gzip.decompress(file.path.read_bytes())
        assert found.files["log"] == opened.files["log"]
    assert not file.path.exists()
    assert file.name == "metrics/prometheus/2026-11-21T06-00-00Z.json.gz"
    (asked,) = (parse_qs(urlsplit(path).query) for path, _ in prometheus.asked)
    first, last = (datetime.fromtimestamp(float(asked[it][0]), UTC) for it in ("start", "end"))
    assert (last - first, asked["step"]) == (timedelta(minutes=10), ["15"])

    outcome = query_range(held.decode(), Origin(file.name, "", UTC, None, ""))
    assert isinstance(outcome, Rows)
    rows = [row for _, row in outcome.rows]
    weights = threshold_shedder_settings({}, "4.0.8").weights
    names = {"one": "10.0.0.1:8081", "two": "10.0.0.3:8080"}
    usages = usages_from_metrics(rows, names, weights)
    assert [(it.broker, it.usage) for it in usages] == [
        ("10.0.0.1:8081", 0.5),
        ("10.0.0.2:8080", 0.5),
    ] * 2


def test_the_time_may_stand_in_recording_toml_and_then_is_of_its_zone(
    night: Path, prometheus: fake.Broker
) -> None:
    text = 'time_zone = "+01:00"\nfrom = "2026-11-21T07:00:00"\nto = "2026-11-21T07:10:00"\n'
    (night / "recording.toml").write_text(text, encoding="utf-8")
    with open_recording(night) as found, with_metrics(found, Remote(prometheus.address)) as opened:
        (file,) = opened.files["metrics-export"]
    assert file.name.endswith("2026-11-21T06-00-00Z.json.gz")


def test_a_prometheus_that_has_nothing_of_the_time_is_named(
    night: Path, prometheus: fake.Broker
) -> None:
    prometheus.answers[SERIES] = answer()
    with (
        open_recording(night) as found,
        with_metrics(found, Remote(prometheus.address, *NIGHT)) as opened,
    ):
        (unused,) = opened.unused
    assert unused.name == "--prometheus"
    assert "has no metrics of brokers from 2026-11-21T06:00:00+00:00 to" in unused.reason


def test_a_recording_with_metrics_is_left_as_it_is(night: Path, prometheus: fake.Broker) -> None:
    (night / "metrics").mkdir()
    (night / "metrics/export.json").write_text("{}", encoding="utf-8")
    with open_recording(night) as found, with_metrics(found, Remote(prometheus.address)) as opened:
        assert found.files == opened.files
        (unused,) = opened.unused
    assert (unused.name, prometheus.asked) == ("--prometheus", [])
    assert unused.reason == "not asked: the recording has metrics of its own"
    with open_recording(night) as found, with_metrics(found, None) as opened:
        assert found is opened


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (("tonight", None), "--from: found 'tonight', expected a time such as 2026-11-21T22:00"),
        ((NIGHT[1], NIGHT[0]), "--to: found 2026-11-21T06:00:00+00:00, expected a time after"),
    ],
)
def test_a_time_that_is_none_is_said(
    night: Path, prometheus: fake.Broker, times: tuple[str | None, str | None], expected: str
) -> None:
    with (
        open_recording(night) as found,
        pytest.raises(GatherError) as raised,
        with_metrics(found, Remote(prometheus.address, *times)),
    ):
        pass
    assert str(raised.value).startswith(expected)
    assert prometheus.asked == []


def test_where_nobody_says_the_time_it_is_that_of_the_logs(
    night: Path, prometheus: fake.Broker
) -> None:
    log = night / "logs/broker1/pulsar-broker.log"
    log.write_text(LINE + LINE.replace("06:05", "06:25") + "\tat a.B.c(D.java:1)\n")
    with open_recording(night) as found, with_metrics(found, Remote(prometheus.address)):
        pass
    (asked,) = (parse_qs(urlsplit(path).query) for path, _ in prometheus.asked)
    first, last = (datetime.fromtimestamp(float(asked[it][0]), UTC) for it in ("start", "end"))
    assert [it.isoformat(timespec="milliseconds") for it in (first, last)] == [
        "2026-11-21T06:05:00.331+00:00",
        "2026-11-21T06:25:00.332+00:00",
    ]
    # Lines that print the time of day alone do not say it.
    log.write_text("06:05:00.331 [main] INFO  o.a.p.broker.X - x\n")
    with (
        open_recording(night) as found,
        pytest.raises(GatherError, match="found nothing, and neither recording"),
        with_metrics(found, Remote(prometheus.address)),
    ):
        pass


def test_who_cannot_be_reached_or_refuses_ends_the_command_in_one_line(
    night: Path, prometheus: fake.Broker
) -> None:
    def said(url: str, *options: str) -> str:
        done = CliRunner().invoke(main, ["explain", str(night), "--prometheus", url, *options])
        assert done.exit_code == 2
        assert len(done.stderr.splitlines()) == 1
        return done.stderr

    times = ("--from", NIGHT[0], "--to", NIGHT[1])
    body = b'{"status": "error", "error": "query processing would load too many samples"}'
    prometheus.answers[SERIES] = fake.said(200, body)
    assert "query processing would load too many samples" in said(prometheus.address, *times)
    prometheus.vanish()
    told = said(prometheus.address, *times)
    assert told.startswith(f"trimtab: --prometheus: GET {prometheus.address}/api/v1/query_range?")
    assert told.endswith("connection refused\n")
    assert "--prometheus: found 'p', expected http://host:port" in said("p", *times)
    done = CliRunner().invoke(main, ["explain", str(night), *times])
    assert done.exit_code == 2
    assert "--from and --to: found nobody who is asked" in done.stderr
