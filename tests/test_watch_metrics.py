"""Metrics of a watch: their names, their rules and their dashboard, by Prometheus' own tools."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from tests import prometheus_server as server
from tests.watched_nights import seen
from trimtab.diagnose.deployment import deployment
from trimtab.explanation.words import finding_pages
from trimtab.live.control.trust import Outcome, Trust
from trimtab.live.gather.access import GatherError
from trimtab.live.watch.metrics import Metrics, dashboard, offered, rules
from trimtab.live.watch.nouns import Acted, Steered
from trimtab.live.watch.screen import summary
from trimtab.live.watch.tally import Tally
from trimtab.live.watch.thresholds import Thresholds, thresholds

SERIES = Path(__file__).parent / "testdata" / "watch" / "rules_test.yaml"
#: What the query of an alert ends in: a number, or a setting of the cluster.
BAR = re.compile(r"(?m)(?:(?<= > )([\d.]+)|(?<=group_left \(cluster\) )trimtab_setting_\w+_ratio)$")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the metrics of a watch over a recorded night are offered."""
    port = server.free_port()
    view = seen("uniform")
    tally = deepcopy(view.tally)
    # A turn of Foresee, which has been right about its moves.
    outcomes = (Outcome(view.memory.began.timestamp(), 0.8),) * 8
    tally.add([Steered(1, view.memory.began, "Foresee", "", (), (), (), {}, Trust(), outcomes)])
    with offered(str(port), finding_pages()) as metrics:
        assert list(metrics.followed([replace(view, tally=tally)]))
        yield f"127.0.0.1:{port}"


def scraped(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def test_what_was_seen_is_told(address: str) -> None:
    text = scraped(address)

    assert 'trimtab_watch_rounds_compared_total{verdict="equal"} 9.0' in text
    assert 'trimtab_watch_rounds_compared_total{verdict="differs"} 0.0' in text
    assert 'trimtab_watch_info{cluster="h1",release="4.0.8",shadow="UniformLoadShedder"' in text
    assert text.count("\ntrimtab_broker_usage_ratio{") == 4
    assert text.count("\ntrimtab_broker_leads{") == 4
    assert text.count("} 1.0\n") >= 1


def test_how_many_brokers_to_have_is_told_once_all_had_a_say(address: str) -> None:
    text = scraped(address)
    assert "\ntrimtab_cluster_brokers 4.0\n" in text
    # It was looked at once.
    assert "\ntrimtab_cluster_brokers_recommended" not in text
    metrics, view = Metrics(is_offered=True), seen("uniform")
    for i in range(10):
        metrics.take(view, 1_700_000_040.0 + 30.0 * i)
    told = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in metrics.collect()
        for sample in metric.samples
        if sample.name.startswith("trimtab_cluster_brokers")
    }
    low, high = (told[("trimtab_cluster_brokers_needed", end)] for end in ("low", "high"))
    assert 2 <= low <= high < 4
    assert told[("trimtab_cluster_brokers_recommended",)] == 4


def test_acting_is_told(address: str) -> None:
    assert "trimtab_acting" not in scraped(address)
    time = datetime(2026, 11, 21, tzinfo=UTC)
    wish = Acted(1, time, 3, 0.5, ("publishing takes 300 ms",), "the last plan is still on")
    states = (("a", "verified"), ("b", "verified"), ("c", "under way"))
    over = Acted(1, time, 3, 1.5, (), "", is_over=True, states=states)
    tally = Tally()
    tally.add([wish, over])
    view = replace(seen("uniform"), tally=tally)
    metrics = Metrics(is_offered=True)
    metrics.take(view, 0.0)

    told = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in metrics.collect()
        for sample in metric.samples
        if sample.name.startswith("trimtab_acting")
    }
    assert told == {
        ("trimtab_acting_moves_total", "verified"): 2,
        ("trimtab_acting_moves_total", "under_way"): 1,
        ("trimtab_acting_moves_allowed",): 0.5,
        ("trimtab_acting_bad_signs",): 1,
        ("trimtab_acting_idle_info", "the last plan is still on"): 1,
    }
    assert "moves of this watch: 2 verified, 1 under way" in summary(view)


@pytest.mark.prometheus
def test_names_are_as_prometheus_has_them(address: str) -> None:
    done = subprocess.run(
        [server.tool("promtool"), "check", "metrics"],
        input=scraped(address),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.prometheus
def test_rules_are_as_prometheus_has_them(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(rules())
    command = [server.tool("promtool"), "check", "rules", "--lint-fatal", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def told_by_promtool(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Play the series of `rules_test.yaml` to rules, and say which alerts are as it has them."""
    (folder / "rules.yaml").write_text(text)
    shutil.copy(SERIES, folder)
    command = [server.tool("promtool"), "test", "rules", str(folder / SERIES.name)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.prometheus
def test_alerts_are_given_when_they_should_be(tmp_path: Path) -> None:
    done = told_by_promtool(tmp_path, rules())

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.prometheus
@pytest.mark.slow
def test_series_are_played_to_every_bar(tmp_path: Path) -> None:
    """A rule whose bar moves fails its series, so none is given by accident."""
    text = rules()
    bars = list(BAR.finditer(text))
    alerts = text.count("- alert:")
    assert len(bars) == alerts
    for bar in bars:
        moved = f"{float(bar[0]) * 4 + 3}" if bar[1] else f"{bar[0]} * 4"
        done = told_by_promtool(tmp_path, text[: bar.start()] + moved + text[bar.end() :])
        assert done.returncode == 1, moved


def test_an_alert_leads_to_the_page_of_a_finding_that_the_watch_offers(address: str) -> None:
    alerts = [rule for group in yaml.safe_load(rules())["groups"] for rule in group["rules"]]
    books = [
        rule["annotations"]["runbook_url"].replace("{{ $labels.instance }}", address)
        for rule in alerts
        if rule.get("alert", "").startswith("Pulsar")
    ]
    assert len(books) == 6
    for book in books:
        with urllib.request.urlopen(book, timeout=10) as answer:
            assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
            assert "## What to change" in answer.read().decode()
    # What is no page is answered with the metrics, as by any exporter.
    assert "trimtab_watch_info" in scraped(f"{address}/findings/../../etc/passwd")


@pytest.mark.parametrize(
    ("conf", "spread"),
    [
        pytest.param({}, 0.2, id="twice the threshold of ThresholdShedder"),
        pytest.param({"loadBalancerBrokerThresholdShedderPercentage": "25"}, 0.5, id="its own"),
        pytest.param({"loadBalancerLoadSheddingStrategy": "x.AvgShedder"}, 0.15, id="AvgShedder"),
        pytest.param(
            {"loadBalancerLoadSheddingStrategy": "x.UniformLoadShedder"},
            0.3,
            id="no usage compared",
        ),
    ],
)
def test_what_is_too_much_is_in_the_settings(conf: dict[str, str], spread: float) -> None:
    given = {"loadBalancerBrokerOverloadedThresholdPercentage": "70", **conf}
    rows = [
        {"key": key, "value": value, "log_broker": "b", "origin": "conf", "file": "conf", "line": 1}
        for key, value in given.items()
    ]
    ran = deployment({"pulsar": "4.0.8"}, rows, (), ((), ()))

    assert thresholds(ran) == Thresholds(60.0, 900.0, 0.7, spread)


@pytest.mark.prometheus
def test_every_query_answers_with_data(address: str, tmp_path: Path) -> None:
    with server.prometheus(address, tmp_path / "prometheus") as running:
        chosen = server.variables(running)
        assert chosen == {"cluster": "h1", "instance": address}
        queries = server.shipped_queries(chosen)
        assert len(queries) > 20
        assert server.unanswered(running, queries) == []
        assert server.ill_rules(running) == []


def test_a_panel_has_a_place_a_unit_and_a_query() -> None:
    panels = json.loads(dashboard())["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels) > 10
    for panel in panels:
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["targets"]
        assert panel["description"].endswith(".")
        assert all('instance=~"$instance"' in target["expr"] for target in panel["targets"])
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def test_only_this_machine_is_listened_to(address: str) -> None:
    port = int(address.rpartition(":")[2])
    with socket.socket() as other:
        # Another address of the loopback interface, which a listener to all would have taken.
        assert other.connect_ex(("127.0.0.2", port)) != 0


@pytest.mark.parametrize("given", ["", "host", "host:", "70000", "host:http"])
def test_what_is_no_address_is_said(given: str) -> None:
    expected = r"--metrics: found .*, expected PORT or HOST:PORT"
    with pytest.raises(GatherError, match=expected), offered(given):
        pass


def test_a_port_that_is_taken_is_said(address: str) -> None:
    port = address.rpartition(":")[2]
    expected = r"--metrics: \d+: Address already in use"
    with pytest.raises(GatherError, match=expected), offered(port):
        pass
