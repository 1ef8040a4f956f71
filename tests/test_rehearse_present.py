"""`trimtab rehearse --admin`: a cluster as it stands, looked at once, and what is planned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fake_pulsar import FakePulsar, fake_pulsar
from trimtab.cli import main
from trimtab.lab.rehearsal.plan import Rehearsal, Scaling
from trimtab.lab.rehearsal.present import rehearsed_now
from trimtab.lab.restarts.snapshot import BundleLoad, ClusterNow
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.world import Event, Kind

NOBODY = Balancer(None, "LeastLongTermMessageRate", "4.0.8")
LOAD = BundleLoad(1000.0, 1000.0, 1e6, 1e6, 1.0)
NOW = ClusterNow(
    {"b1:8080": 40.0, "b2:8080": 40.0},
    {"b1:8080": {"t/n/0x0_0x1": LOAD}, "b2:8080": {"t/n/0x1_0x2": LOAD}},
)
AT_S, END_S = 120.0, 600.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakePulsar]:
    with fake_pulsar(busy=6) as running:
        ids = [each.id for each in running.brokers]
        for i, name in enumerate(running.owners):
            running.owners[name] = ids[i % 3]
        yield running


def run(cluster: FakePulsar, tmp_path: Path, *words: str) -> Result:
    admin = f"http://{cluster.brokers[0].id}"
    out = str(tmp_path / "out")
    return CliRunner().invoke(main, ["rehearse", "--admin", admin, *words, "-o", out])


def test_who_is_lost_leaves_its_bundles_to_the_other() -> None:
    lost = Rehearsal(AT_S, NOBODY, (Event(AT_S, Kind.KILL, (1,)),))
    ran, still = (rehearsed_now(NOW, plan, END_S, 0) for plan in (lost, Rehearsal(AT_S, NOBODY)))
    assert [int(it) for it in ran.moves.bundle] == [1]
    assert still.moves.bundle.size == 0
    last = round(60.0 / ran.tick_s)
    full, level = (float(each.usage[-last:, 0].mean()) for each in (ran, still))
    low, high = 30.0, 50.0
    assert low < level < high
    assert full > level + 25.0
    again = rehearsed_now(NOW, lost, END_S, 0)
    assert again.usage.tobytes() == ran.usage.tobytes()


def test_traffic_that_is_planned_comes_and_goes() -> None:
    plan = Rehearsal(AT_S, NOBODY, scalings=(Scaling((0,), 120.0, 360.0, 1.5),))
    ran = rehearsed_now(NOW, plan, END_S, 0)
    means = [
        float(ran.usage[round(a / ran.tick_s) : round(b / ran.tick_s), 0].mean())
        for a, b in ((0.0, 110.0), (130.0, 350.0), (370.0, 600.0))
    ]
    assert means[1] > 1.3 * means[0]
    assert means[2] == pytest.approx(means[0], rel=0.1)


def test_brokers_that_are_added_stand_behind_the_others() -> None:
    plan = Rehearsal(AT_S, NOBODY, (Event(AT_S, Kind.JOIN, (2,)),), added=("added-1",))
    ran = rehearsed_now(NOW, plan, END_S, 0)
    assert ran.world.machines.names == ("b1:8080", "b2:8080", "added-1")


@pytest.mark.slow
@pytest.mark.spark
def test_a_live_cluster_is_looked_at_and_nothing_is_changed(
    cluster: FakePulsar, tmp_path: Path
) -> None:
    owners, name = dict(cluster.owners), cluster.brokers[1].id
    few = ("--for", "20m", "--seeds", "2", "--peak", "55", "--minutes-over", "0", "--json")
    result = run(cluster, tmp_path, f"lose {name} at +5m", *few)
    assert result.exit_code == 1, result.output
    document = json.loads((tmp_path / "out" / "rehearsal.json").read_text(encoding="utf-8"))
    assert json.loads(result.stdout) == document
    planned, still = (document["courses"][each] for each in ("as planned", "undisturbed"))
    # Three at 40 %: with one away two stand at 60.
    assert (planned["kept"], still["kept"]) == (0, 2)
    assert document["from_s"] == 300.0
    assert document["fidelity"]["is_trusted"] is None
    assert document["fidelity"]["checks"][0]["is_met"] is None
    assert "that no replay backs" in document["answer"]
    assert "add 1" in {each["event"] for each in document["remedies"]}
    assert "--admin" in document["command"]
    assert (tmp_path / "out" / "rehearsal.html").read_text(encoding="utf-8").count("<svg") == 2
    assert (cluster.owners, cluster.doubles, dict(cluster.unloads)) == (owners, [], {})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "EVENT: found nothing, expected an event such as"),
        (("lose nobody",), "found 'nobody', expected one of 127.0.0.1"),
        (("lose all at +3h",), "expected a time within the stretch of --for, "),
        (("lose all at 1999-01-01T00:00",), "expected a time within the stretch of --for, "),
        (("add 1 at +59m",), "at the latest: the stretch of --for ends at"),
        (("lose all",), "found no broker left at "),
        (("traffic t/m/* x2",), "found 't/m/*', expected "),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    cluster: FakePulsar, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    result = run(cluster, tmp_path, *words)
    assert result.exit_code == 2
    assert told in result.output
    assert len(result.output.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--for", "10m", "nowhere", "add 1"), "--for: found 600 s, expected it with --admin only"),
        (("--admin", "http://127.0.0.1:1", "add 1"), "127.0.0.1:1"),
        ((), "RECORDING: found nothing, expected a recording, or --admin URL"),
    ],
)
def test_where_no_cluster_is_told_it_is_said(
    tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    result = CliRunner().invoke(main, ["rehearse", *words, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert told in result.output
    assert len(result.output.splitlines()) == 1
