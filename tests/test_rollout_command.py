"""The command that restarts brokers: what it prints, writes and ends with."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fake_pulsar import SHEDDING, FakePulsar, fake_pulsar
from simulated_rollout import HOOK, hurry, spread
from trimtab.cli import main
from trimtab.live.control.rollout.plan import read_rollout

COMMAND = shlex.join(HOOK.words)
#: Carries the command out as it is, but for limits that no simulated broker needs.
HURRIED = (
    "import pytest, simulated_rollout; simulated_rollout.hurry(pytest.MonkeyPatch()); "
    "from trimtab.cli import main; main(prog_name='trimtab')"
)
QUICK = ("--every", "0.01s", "--warm", "0.01s", "--back-within", "60s")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePulsar]:
    hurry(monkeypatch)
    with fake_pulsar(busy=6) as running:
        running.is_shedding = True
        spread(running)
        yield running


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIMTAB_STATE", str(tmp_path / "state"))
    return tmp_path


def words_for(cluster: FakePulsar, *words: str) -> list[str]:
    return ["rollout", *words, "--admin", f"http://{cluster.brokers[0].id}", "--lock-here"]


def run(cluster: FakePulsar, *words: str) -> Result:
    return CliRunner().invoke(main, words_for(cluster, *words))


def order(cluster: FakePulsar) -> list[str]:
    """Name the brokers in the order of a test, as options; the first leads."""
    return [f"--order={each.id}" for each in reversed(cluster.brokers)]


def test_a_look_writes_the_plan_and_changes_nothing(cluster: FakePulsar, folder: Path) -> None:
    looked = run(cluster, "friday.json")

    assert looked.exit_code == 0, looked.output
    plan = read_rollout((folder / "friday.json").read_text())
    assert sorted(plan.brokers) == sorted(each.id for each in cluster.brokers)
    assert plan.brokers[-1] == cluster.brokers[0].id
    lines = looked.stdout.splitlines()
    assert lines[0] == "Plan: friday.json"
    assert lines[1].endswith(f"for cluster fake: 3 brokers, {plan.rule}")
    assert lines[2:5] == [
        f"{i}. {name}: 2 bundles to move, and there is room for them"
        for i, name in enumerate(plan.brokers, start=1)
    ]
    assert "Pulsar's own shedding is on: it is switched off meanwhile, and put back" in lines
    assert lines[-1].startswith("Nothing was done: --yes carries it out.")
    assert "nobody sheds" in looked.stderr
    assert cluster.unloads == cluster.restarts == {}
    assert cluster.changes == []
    program = json.loads(run(cluster, "friday.json", "--json").stdout)
    assert program["may_go"]
    assert [each["moves"] for each in program["brokers"]] == [2, 2, 2]


@pytest.mark.slow
def test_from_the_look_to_the_end(cluster: FakePulsar) -> None:
    assert run(cluster, "friday.json", *QUICK, *order(cluster)).exit_code == 0
    part = run(cluster, "friday.json", "--hook", COMMAND, "--until", cluster.brokers[2].id, "--yes")
    assert part.exit_code == 0, part.output
    assert part.stdout.splitlines()[-3:-1] == [
        "3 brokers: 1 restarted, 2 open",
        "Stopped: as far as --until has it",
    ]

    done = run(cluster, "friday.json", "--hook", COMMAND, "--yes", *QUICK)

    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-2:] == [
        "3 brokers: 3 restarted",
        "Journal: friday.json.journal",
    ]
    told = done.stderr.splitlines()
    first, second = (each.id for each in cluster.brokers[:2])
    assert f"trimtab: {second}: handed over to {' '.join(HOOK.words)}" in told
    assert f"trimtab: {first}: restarted, 2 bundles moved to it" in told
    assert "trimtab: switching Pulsar's own shedding off: it was true" in told
    assert "trimtab: Pulsar's own shedding is true again" in told
    assert any("2 of 3 brokers restarted; the last took" in line for line in told)
    assert cluster.restarts == {each.id: 1 for each in cluster.brokers}
    program = run(cluster, "friday.json", "--ask", "--yes", "--json")
    assert [each["state"] for each in json.loads(program.stdout)["brokers"]] == ["restarted"] * 3
    looked = run(cluster, "friday.json")
    assert looked.exit_code == 0
    assert f"1. {cluster.brokers[2].id}: restarted; " in looked.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "PLAN: found none, expected a file"),
        (("p.json", "--put-back"), "PLAN: found with --put-back, expected without"),
        (("p.json", "--yes"), "--yes: found neither --hook nor --ask, expected who restarts"),
        (("p.json", "--ask", "--hook", "true {host}"), "--ask: found with --hook, expected one"),
        (
            ("p.json", "--hook", "true"),
            "found 'true', expected one of {broker}, {host}, {name} in it",
        ),
        (("p.json", "--hook", "no-such {host}"), "found no command no-such, expected one that"),
        (("p.json", "--hook", "true '{host}"), "expected a command: No closing quotation"),
        (("p.json", "--order", "b-9:8080"), "--order: found b-9:8080, expected one of 127.0.0.1:"),
        (("p.json", "--until", "b-9:8080"), "--until: found b-9:8080, expected one of 127.0.0.1:"),
        (("p.json", "--yes", "--dry-run"), "--dry-run: found with --yes, expected one of them"),
    ],
)
def test_wrong_use_is_said_in_a_line_and_nothing_is_written(
    cluster: FakePulsar, folder: Path, words: tuple[str, ...], message: str
) -> None:
    wrong = run(cluster, *words)

    assert wrong.exit_code == 2, wrong.output
    assert message in wrong.stderr
    assert wrong.stderr.splitlines()[-1].startswith("trimtab: ")
    assert not (folder / "p.json").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.json: the plan: found no JSON, expected a plan of a restart"),
        ("{}", "p.json: cluster: found nothing, expected a value"),
        ("\xff", "p.json: found bytes that are no UTF-8, expected a plan"),
    ],
)
def test_what_is_no_plan_is_said(
    cluster: FakePulsar, folder: Path, text: str, message: str
) -> None:
    (folder / "p.json").write_text(text, encoding="latin-1")
    wrong = run(cluster, "p.json")
    assert wrong.exit_code == 2
    assert message in wrong.stderr


def test_a_plan_that_is_there_is_not_made_another(cluster: FakePulsar, folder: Path) -> None:
    twice = order(cluster)
    assert run(cluster, "p.json", *QUICK, *twice).exit_code == 0
    written = (folder / "p.json").read_bytes()
    same = run(cluster, "p.json", *QUICK, *twice)
    assert same.exit_code == 0
    other = run(cluster, "p.json", "--bar", "90")
    assert other.exit_code == 2
    assert "--bar: found other than 85.0, which the plan has that is there already" in other.stderr
    assert (folder / "p.json").read_bytes() == written
    known = json.loads(written)
    for key, value, message in (
        ("cluster", "other", "expected 'other' as the plan has it"),
        ("warm_s", -1, "warm_s: found -1, expected a number above 0"),
        ("give_back", "some", "give_back: found 'some', expected one of all, level, none"),
        ("brokers", [twice[0]] * 2, "expected a broker that is not named yet"),
    ):
        (folder / "q.json").write_text(json.dumps(known | {key: value}))
        wrong = run(cluster, "q.json", "--ask", "--yes")
        assert wrong.exit_code == 2, (key, wrong.output)
        assert message in wrong.stderr
    named = run(cluster, "r.json", twice[0], twice[0])
    assert named.exit_code == 2
    assert "twice, expected it once" in named.stderr


def test_a_stopped_run_says_what_to_look_at(cluster: FakePulsar) -> None:
    stopped = run(cluster, "p.json", "--hook", "false {broker}", "--yes", *QUICK, *order(cluster))
    assert stopped.exit_code == 3, stopped.output
    assert f"1. {cluster.brokers[2].id}: handed over; 2 bundles moved away" in stopped.stdout
    assert "Stopped: the command that was to restart" in stopped.stdout
    assert f"by --again {cluster.brokers[2].id}" in stopped.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["paused", "emptied", "handed", "back"])
def test_after_kill_9_the_next_start_says_first_that_shedding_is_off(
    cluster: FakePulsar, folder: Path, kind: str
) -> None:
    typed = words_for(cluster, "p.json", "--hook", COMMAND, "--yes", *QUICK, *order(cluster))
    journal = folder / "p.json.journal"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", HURRIED, *typed], env=environment) as process:
        last = time.monotonic() + 60
        while not (journal.exists() and f'"{kind}"' in journal.read_text()):
            assert process.poll() is None
            assert time.monotonic() < last
            time.sleep(0.002)
        # The setting follows what was written at once; the hook is a process of its own, and one
        # that had not begun yet would never restart the broker.
        time.sleep(0.1)
        while kind == "handed" and not cluster.restarts:
            assert time.monotonic() < last
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert not cluster.sheds
    time.sleep(0.5)

    looked = run(cluster, "p.json")
    said = "Pulsar's own shedding was switched off by the run of"
    assert said in looked.stderr.splitlines()[1]
    assert not cluster.sheds
    other = CliRunner().invoke(
        main, ["drain", cluster.brokers[0].id, "--admin", f"http://{cluster.brokers[0].id}"]
    )
    assert said in other.stderr
    if kind == "emptied":
        back = run(cluster, "--put-back")
        assert (back.exit_code, back.stdout) == (1, "Nothing was done: --yes puts it back.\n")
        back = run(cluster, "--put-back", "--yes")
        assert (back.exit_code, back.stdout) == (0, "Pulsar's own shedding is as it was.\n")
        assert cluster.sheds
        nothing = run(cluster, "--put-back", "--yes")
        assert nothing.stdout == "Nothing is to be put back: no run has left shedding off.\n"
    done = CliRunner().invoke(main, typed)
    assert done.exit_code == 0, done.output
    assert cluster.restarts == {each.id: 1 for each in cluster.brokers}
    assert cluster.sheds
    assert cluster.overrides == {}
    assert SHEDDING in cluster.changes[0]


def test_the_page_has_what_was_measured_and_options_that_there_are() -> None:
    page = (Path(__file__).parents[1] / "docs" / "rollout.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (trimtab rollout|in order[^|]*) \| (\d+) \| ([\d.]+) % \|", page)
    ours, in_order = [(int(moves), float(peak)) for _, moves, peak in rows]
    assert ours[0] < in_order[0]
    assert ours[1] < in_order[1]
    there = {name for param in main.commands["rollout"].params for name in param.opts}
    assert set(re.findall(r"--[a-z][a-z-]+", page)) - there == {"--exhaustive", "--regen-all"}
