"""The commands that act on a cluster: what they print, write and end with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fake_pulsar import FakePulsar, fake_pulsar
from test_planning import known_cluster
from trimtab.cli import main
from trimtab.lab.costs import nothing_known
from trimtab.live.apply.drain import drain_limits
from trimtab.live.apply.files import write_plan
from trimtab.live.apply.lock import file_lock
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Plan, read_plan
from trimtab.trials.costs.state import write_state

TOKEN = "eyJhbGciOiJIUzI1NiJ9.a-secret-of-this-test"


@pytest.fixture
def cluster() -> Iterator[FakePulsar]:
    # Every bundle has clients, so none is waited for.
    with fake_pulsar(busy=6) as running:
        yield running


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIMTAB_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("trimtab.live.apply.drain.drain_limits", _hurried)
    return tmp_path


def _hurried(bar_percent: float, every_s: float) -> Limits:
    """Let a bundle that was just moved move again at once: here no unload takes long."""
    return replace(drain_limits(bar_percent, every_s), in_flight_s=0.4)


def run(cluster: FakePulsar, *words: str) -> Result:
    admin = ["--admin", f"http://{cluster.brokers[0].id}"]
    return CliRunner().invoke(main, [*words, *admin, "--lock-here"])


def written(cluster: FakePulsar, count: int, folder: Path, name: str = "plan.json") -> Plan:
    plan = cluster.plan(count)
    write_plan(folder / name, plan)
    return plan


@pytest.mark.parametrize("command", ["apply", "drain"])
def test_a_dry_run_is_there_by_its_usual_name(
    command: str, cluster: FakePulsar, folder: Path
) -> None:
    written(cluster, 2, folder)
    what = {"apply": "plan.json", "drain": cluster.brokers[1].id}[command]
    looked = run(cluster, command, what, "--dry-run")
    assert looked.exit_code == 0, looked.output
    assert "Nothing was done: --yes carries it out" in looked.stdout
    both = run(cluster, command, what, "--dry-run", "--yes")
    assert both.exit_code == 2
    assert "--dry-run: found with --yes, expected one of them" in both.output
    assert cluster.unloads == {}


def test_a_plan_from_the_look_to_the_end(cluster: FakePulsar, folder: Path) -> None:
    plan = written(cluster, 2, folder)

    looked = run(cluster, "apply", "plan.json")
    assert looked.exit_code == 0
    assert looked.stdout.splitlines()[1:6] == [
        f"1. {plan.moves[0].bundle}: {plan.moves[0].source} → {plan.moves[0].destination}",
        "   because   to see",
        "   expected  source anything → anything, destination anything → anything",
        f"   now       {plan.moves[0].source} 40.0 %, {plan.moves[0].destination} 40.0 %",
        "   guards    nothing against it",
    ]
    assert looked.stdout.splitlines()[-2] == "2 of 2 moves may be made now"
    assert "Nothing was done: --yes carries it out" in looked.stdout
    assert cluster.unloads == {}

    done = run(cluster, "apply", "plan.json", "--yes")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-2:] == ["2 moves: 2 verified", "Journal: plan.json.journal"]
    assert f"1. {plan.moves[0].bundle}: verified at {plan.moves[0].destination}" in done.stdout
    assert f"trimtab: 1. {plan.moves[0].bundle}: accepted" in done.stderr

    again = run(cluster, "apply", "plan.json")
    assert again.exit_code == 0
    assert again.stdout.splitlines()[-2] == "0 of 0 moves may be made now; 2 begun"


def test_the_same_for_a_program(cluster: FakePulsar, folder: Path) -> None:
    plan = written(cluster, 1, folder)
    cluster.is_shedding = True

    looked = run(cluster, "apply", "plan.json", "--json")
    assert looked.exit_code == 1
    (move,) = json.loads(looked.stdout)["moves"]
    assert [each["guard"] for each in move["objections"]] == ["shedding"]
    assert move["objections"][0]["kind"] == "stops"
    stopped = run(cluster, "apply", "plan.json", "--json", "--yes")
    assert stopped.exit_code == 1
    assert json.loads(stopped.stdout)["ended"].startswith("Pulsar's own shedding is on")
    assert cluster.unloads == {}

    cluster.is_shedding = False
    done = run(cluster, "apply", "plan.json", "--json", "--yes")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert [(each["state"], each["owner"]) for each in told["moves"]] == [
        ("verified", plan.moves[0].destination)
    ]
    assert (told["runs"], told["is_done"], told["ended"]) == (2, True, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "plan.json: the plan: found no JSON, expected a plan"),
        ('{"cluster": "fake"}', "plan.json: made_s: found nothing, expected a value"),
        ("\xff", "plan.json: found bytes that are no UTF-8, expected a plan"),
    ],
)
def test_what_is_no_plan_is_said(
    cluster: FakePulsar, folder: Path, text: str, message: str
) -> None:
    (folder / "plan.json").write_text(text, encoding="latin-1")

    found = run(cluster, "apply", "plan.json", "--yes")

    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_who_cannot_act_is_told_why(cluster: FakePulsar, folder: Path) -> None:
    written(cluster, 1, folder)
    with file_lock(folder / "state", "fake"):
        held = run(cluster, "apply", "plan.json", "--yes")
    assert held.exit_code == 2
    assert "another run holds the lock of fake: wait for it to end" in held.stderr
    written(cluster, 2, folder, "other.json")
    run(cluster, "apply", "plan.json", "--yes")
    (folder / "other.json.journal").write_bytes((folder / "plan.json.journal").read_bytes())
    other = run(cluster, "apply", "other.json", "--yes")
    assert other.exit_code == 2
    assert "the journal of plan" in other.stderr
    nobody = CliRunner().invoke(main, ["apply", "plan.json", "--admin", "http://127.0.0.1:9"])
    assert nobody.exit_code == 2
    assert "connection refused" in nobody.stderr
    assert CliRunner().invoke(main, ["apply", "plan.json"]).exit_code == 2
    assert cluster.unloads.total() == 1


@pytest.mark.slow
def test_a_broker_is_emptied_and_filled_again(cluster: FakePulsar, folder: Path) -> None:
    broker = cluster.brokers[0].id
    drain = ("drain", broker, "--every", "0.01s")

    looked = run(cluster, *drain, "-o", "look.json")
    assert looked.exit_code == 0, looked.output
    assert looked.stdout.count("nothing against it") == 6
    assert f"{broker} leads the load balancer: once it stops" in looked.stderr
    assert {move.destination for move in read_plan((folder / "look.json").read_text()).moves} == {
        each.id for each in cluster.brokers[1:]
    }
    done = run(cluster, *drain, "-o", "gone.json", "--yes")
    assert done.exit_code == 0, done.output
    assert broker not in cluster.owners.values()
    # It has nothing to do now, and so takes back what the others carry.
    cluster.brokers[0].usage_percent = 4.0
    # Nobody moves anything there now.
    there = replace(
        cluster.plan(0),
        moves=tuple(
            replace(each, source=each.destination, destination=broker, reason="back")
            for each in read_plan((folder / "gone.json").read_text()).moves[:1]
        ),
    )
    write_plan(folder / "there.json", there)
    refused = run(cluster, "apply", "there.json")
    assert refused.exit_code == 1
    assert f"stops: {broker} is being emptied" in refused.stdout

    back = run(cluster, *drain, "--return", "gone.json", "-o", "back.json")
    # The mark goes when the lock is held, not when it is only looked.
    assert back.exit_code == 1
    assert len(read_plan((folder / "back.json").read_text()).moves) == 6
    done = run(cluster, *drain, "--return", "gone.json", "-o", "again.json", "--yes")
    assert done.exit_code == 0, done.output
    assert set(cluster.owners.values()) == {broker}
    assert cluster.doubles == []


def test_what_cannot_be_emptied_is_said(cluster: FakePulsar, folder: Path) -> None:
    first, second = (each.id for each in cluster.brokers[:2])
    unknown = run(cluster, "drain", "b-9:8080")
    assert unknown.exit_code == 2
    assert "found no broker b-9:8080, expected one of 127.0.0.1:" in unknown.stderr
    itself = run(cluster, "drain", first, "--to", first)
    assert itself.exit_code == 2
    assert f"--to: found {first}, which is to be emptied" in itself.stderr
    written(cluster, 1, folder)
    other = run(cluster, "drain", second, "--return", "plan.json")
    assert other.exit_code == 2
    assert f"found a plan that empties {first}, not {second}" in other.stderr


def test_a_restart_is_foretold(cluster: FakePulsar, folder: Path) -> None:
    ids = [each.id for each in cluster.brokers]
    for i, name in enumerate(cluster.owners):
        cluster.owners[name] = ids[i % 3]
    words = ("restart-plan", "--down", "30s", "--every", "3m", "--seeds", "2")

    found = run(cluster, *words, "-o", "restarts.json")
    assert found.exit_code == 0, found.output
    assert "Best order: " in found.stdout
    told = json.loads((folder / "restarts.json").read_text())
    assert len(told["orders"]) == 3
    for order in told["orders"]:
        brokers = [each["broker"] for each in order["restarts"]]
        assert sorted(brokers) == sorted(ids)
        assert brokers[-1] == told["leader"] == ids[0]
    again = run(cluster, *words, "--json")
    assert json.loads(again.stdout)["orders"] == told["orders"]
    # Three at 40 %: with one away two stand at 60.
    assert run(cluster, *words, "--bar", "50").exit_code == 1
    wrong = run(cluster, "restart-plan", "--down", "5m", "--every", "3m")
    assert wrong.exit_code == 2
    assert "--every: found 180 s, expected more than --down, 300 s" in wrong.stderr


def test_who_asks_is_written_nowhere(cluster: FakePulsar, folder: Path) -> None:
    (folder / "secrets").mkdir()
    conf = folder / "secrets" / "client.conf"
    conf.write_text(
        "authPlugin=org.apache.pulsar.client.impl.auth.AuthenticationToken\n"
        f"authParams=token:{TOKEN}\nwebServiceUrl=http://{cluster.brokers[0].id}\n"
    )
    written(cluster, 2, folder)
    fails = [500]
    cluster.fault = lambda moment, bundle: fails.pop() if fails else None
    told = ""
    for words in (
        ["apply", "plan.json"],
        ["apply", "plan.json", "--yes"],
        ["drain", cluster.brokers[1].id, "-o", "drain.json", "--every", "0.01s", "--yes"],
        ["restart-plan", "--seeds", "1", "--every", "3m", "-o", "restarts.json"],
    ):
        told += CliRunner().invoke(main, [*words, "--client-conf", str(conf), "--lock-here"]).output

    assert set(cluster.headers) == {f"Bearer {TOKEN}"}
    files = [each for each in folder.rglob("*") if each.is_file() and each != conf]
    assert len(files) >= 8
    for each in files:
        assert TOKEN not in each.read_text(), each
        assert each.stat().st_mode & 0o077 == 0, each
    assert TOKEN not in told
    assert len(told) > 1000


def test_a_bundle_that_comes_meanwhile_is_told(
    cluster: FakePulsar, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = cluster.brokers[0].id
    late = "t/late/0x00000000_0xffffffff"
    unload = FakePulsar.unload

    def placing(self: FakePulsar, bundle: str) -> int:
        self.owners[late] = broker
        return unload(self, bundle)

    monkeypatch.setattr(FakePulsar, "unload", placing)
    found = run(cluster, "drain", broker, "--every", "0.01s", "-o", "drain.json", "--yes")

    assert found.exit_code == 1
    assert f"{broker} owns 1 bundles that came meanwhile: {late}; drain it again" in found.stderr


def test_a_plan_is_made_and_carried_out(cluster: FakePulsar, folder: Path) -> None:
    busy, *others = cluster.brokers
    busy.usage_percent = 90.0
    for each in others:
        each.usage_percent = 20.0

    made = run(cluster, "plan", "--moves", "2")
    assert made.exit_code == 0, made.output
    heading, costs, *lines, last = made.stdout.splitlines()
    assert heading == "fake: highest 90.0 %, lowest 20.0 %"
    assert costs.startswith("costs: by the share of traffic, since none were learned")
    assert last == "Plan: plan.json"
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["0", "90.0", "%"],
        ["1", "75.0", "%"],
        ["2", "60.0", "%"],
    ]
    assert lines[4] == "Recommended: 2 moves, 90.0 to 60.0 %; more were not asked for"
    # Six equal bundles of 15 points: one to each of the others.
    assert [line.split()[-4:] for line in lines[6:]] == [
        ["75.0", "%", "20.0", "%"],
        ["60.0", "%", "35.0", "%"],
    ]
    plan = read_plan((folder / "plan.json").read_text())
    assert {move.destination for move in plan.moves} == {each.id for each in others}
    looked = run(cluster, "apply", "plan.json")
    # The second goes out from where the first leaves the broker: 75 %, give or take half of 15.
    assert looked.exit_code == 0, looked.output
    assert plan.moves[1].before.source is not None
    low, high = plan.moves[1].before.source
    assert low < 60.0
    assert high > 90.0

    program = run(cluster, "plan", "--moves", "1", "-o", "one.json", "--json")
    assert json.loads(program.stdout)["highest_percent"] == [90.0, 75.0]
    for each in others:
        each.usage_percent = 89.5
    nothing = run(cluster, "plan").stdout
    assert "No move would gain enough" in nothing
    assert re.search(r"is highest, by CPU at [\d.]+ %: ", nothing), nothing


def test_an_isolated_or_grouped_namespace_stays_where_its_policies_leave_it(
    cluster: FakePulsar,
) -> None:
    busy, first, second = cluster.brokers
    busy.usage_percent = 90.0
    first.usage_percent = second.usage_percent = 20.0
    # A policy's patterns are of hosts or whole ids; here brokers differ by their ports.
    cluster.isolation = {"only": {"namespaces": ["t/n"], "primary": [busy.id, second.id]}}

    plan = json.loads(run(cluster, "plan", "--moves", "2", "--json").stdout)
    assert {move["destination"] for move in plan["moves"]} == {second.id}

    cluster.isolation, cluster.groups = {}, {"t/n": "apart"}
    plan = json.loads(run(cluster, "plan", "--moves", "2", "--json").stdout)
    assert plan["moves"] == []
    assert "not moved, as their anti-affinity groups could break: t/n" in plan["notes"]


def test_costs_that_were_learned_before_are_taken_from_their_file(
    cluster: FakePulsar, folder: Path
) -> None:
    busy, *others = cluster.brokers
    busy.usage_percent = 90.0
    for each in others:
        each.usage_percent = 20.0
    write_state(folder / "costs.npz", known_cluster())
    write_state(folder / "nothing.npz", nothing_known((), ()))

    learned, untold = (
        json.loads(run(cluster, "plan", "--costs", name, "--json", "--even-if-unsure").stdout)
        for name in ("costs.npz", "nothing.npz")
    )

    assert (learned["costs"], untold["costs"]) == ("learned", "share of traffic")
    assert learned["highest_percent"][0] == pytest.approx(90.0, abs=0.5)
    # A host of one core, where the costs of sixteen were learned: more than its share.
    assert learned["frontier"][1]["peak"] < 70.0
    assert untold["frontier"][1]["peak"] == pytest.approx(75.0)


def test_a_plan_for_hours_to_come_needs_a_recording(cluster: FakePulsar) -> None:
    wrong = run(cluster, "plan", "--horizon", "24h")

    assert wrong.exit_code == 2
    assert "--horizon: found no RECORDING, expected one, by whose hours it goes" in wrong.stderr


def test_unknown_traffic_is_said_and_nothing_is_planned(cluster: FakePulsar, folder: Path) -> None:
    cluster.owners = {}
    cluster.busy = set()
    made = run(cluster, "plan")
    assert made.exit_code == 2
    assert "no broker reports traffic of any of its bundles" in made.output
    assert "No move would gain" not in made.output
    assert list(folder.glob("plan*.json")) == []
