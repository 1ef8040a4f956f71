"""Recordings of hosts that measure themselves wrongly, and of leaders that change."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tools.precision.explained import explained
from tools.precision.ingested import ingested
from tools.precision.witness import Witness
from trimtab.ingest.recording import open_recording
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.scenario import scenario
from trimtab.pulsar.leader.reports import Report
from trimtab.trials.record import Options, record

NIGHT = {
    "run": {"minutes": 12},
    "machines": [{"count": 3}],
    "bundles": [{"count": 12}],
    "settings": {"loadBalancerBundleUnloadMinThroughputThreshold": 1},
    "traffic": {"cpu_percent": 30},
    "events": [{"what": "leader", "at_min": 6.0}],
}


def unmeasured(broker: int, time_s: float, report: Report) -> Report:
    """Let the first broker's network have no speed, and be full."""
    del time_s
    if broker != 0:
        return report
    usage, limit = report.usage.copy(), report.limit.copy()
    limit[3], usage[4] = 0.0, 0.9 * limit[4]
    return report._replace(usage=usage, limit=limit)


def recorded(root: Path, release: str = "4.0.8") -> Witness:
    asked = scenario(NIGHT, "three brokers")
    world = drawn(asked, 1)
    witness = Witness(world.bundles.names, world.machines.names)
    options = Options(reported=unmeasured, witnesses=(witness,), metrics_s=0.0)
    balancer = Balancer("ThresholdShedder", "LeastLongTermMessageRate", release, asked.settings)
    record(world, balancer, asked.parameters, root, options)
    return witness


def test_the_leader_goes_by_what_a_host_tells_and_so_do_store_and_rest(tmp_path: Path) -> None:
    witness = recorded(tmp_path / "night")
    for name in ("store/brokers.jsonl", "load-reports.jsonl"):
        rows = map(json.loads, (tmp_path / "night" / name).read_text("utf-8").splitlines())
        reports = [row["report"] for row in rows if row["broker"] == witness.brokers[0]]
        assert len(reports) > 3
        assert {report["bandwidthIn"]["limit"] for report in reports} == {0.0}
        assert all(0.89 < report["maxResourceUsage"] < 0.91 for report in reports)
    load = witness.rounds[-1].shed.load
    at = load.brokers.index(witness.brokers[0])
    assert load.resource_limit[at, 3] == 0.0
    assert np.all(np.delete(load.resource_limit, at, axis=0) > 0)
    # It is full to the leader, so it gives bundles away.
    assert {unload.source for _, unload in witness.unloads} == {0}


def test_a_scenarios_leader_is_followed_by_another_broker(tmp_path: Path) -> None:
    witness = recorded(tmp_path / "night")
    assert [broker for _, broker in witness.elections] == [0, 1]
    elected = "was elected leader"
    for folder, is_elected in (("broker-0", True), ("broker-1", True), ("broker-2", False)):
        log = (tmp_path / "night" / "logs" / folder / "pulsar-broker.log").read_text("utf-8")
        assert (elected in log) is is_elected


def test_a_night_of_a_release_without_the_resource_placer_is_explained(tmp_path: Path) -> None:
    recorded(tmp_path / "night", release="2.10.4")
    with open_recording(tmp_path / "night") as opened:
        ingested(opened, tmp_path / "tables")
        document = explained(tmp_path / "tables", opened.cluster).document
    assert document["release"] == "2.10.4"
    assert document["rounds"] > 0
