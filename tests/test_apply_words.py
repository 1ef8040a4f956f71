"""What a run says while it waits, when it has stopped, and with which exit code it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fake_pulsar import FakePulsar, fake_pulsar
from trimtab.cli import main
from trimtab.cli.waits import Waits
from trimtab.live.apply.files import write_plan
from trimtab.live.apply.text import wait_words
from trimtab.live.control.plan import Plan
from trimtab.live.control.step import Wait


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePulsar]:
    monkeypatch.chdir(tmp_path)
    with fake_pulsar(busy=6) as running:
        yield running


def apply(cluster: FakePulsar, plan: Plan) -> Result:
    write_plan(Path("plan.json"), plan)
    admin = ("--admin", f"http://{cluster.brokers[0].id}", "--lock-here", "--state", "state")
    return CliRunner().invoke(main, ["apply", "plan.json", *admin, "--yes"])


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (Wait("a is on its way"), "a is on its way"),
        (Wait("a was moved 3 s ago", 90.4), "a was moved 3 s ago; goes on in 2 min"),
        (Wait("a was moved 3 s ago", 42.0), "a was moved 3 s ago; goes on in 42 s"),
        (
            Wait("b started less than 300 s ago", 600.0, is_last=True),
            "b started less than 300 s ago; stops in 10 min if that stays so",
        ),
    ],
)
def test_a_wait_says_how_long_it_may_last(wait: Wait, words: str) -> None:
    assert wait_words(wait) == words


def test_a_wait_is_told_once_a_minute() -> None:
    waits = Waits()
    told = [
        now for now in range(180) if waits.is_due(Wait(f"a was moved {now} s ago", 1800.0), now)
    ]
    assert told == [0, 60, 120]
    assert waits.is_due(Wait("b is on its way"), 181.0)
    assert waits.is_due(Wait("a was moved 182 s ago"), 182.0)


def test_who_has_stopped_does_not_wait(cluster: FakePulsar) -> None:
    cluster.is_shedding = True
    stopped = apply(cluster, cluster.plan(1))

    assert stopped.exit_code == 1
    assert "trimtab: stopped: Pulsar's own shedding is on" in stopped.stderr
    assert "waiting" not in stopped.stderr
    assert "No bundle is on its way" in stopped.stdout


def test_a_bundle_that_is_elsewhere_is_to_be_looked_at(cluster: FakePulsar) -> None:
    def lost(when: str, bundle: str) -> None:
        if when == "after":
            cluster.meant.pop(bundle, None)

    cluster.fault = lost
    stopped = apply(cluster, cluster.plan(1))

    assert stopped.exit_code == 3
    assert "Look at it: " in stopped.stdout


def test_every_bundle_is_looked_at_once_more_in_the_end(cluster: FakePulsar) -> None:
    plan = cluster.plan(2)
    first, second = plan.moves
    other = next(each.id for each in cluster.brokers[1:] if each.id != first.destination)

    def taken(when: str, bundle: str) -> None:
        # Somebody else moves the first one on while the second is on its way.
        if when == "before" and bundle == second.bundle:
            cluster.owners[first.bundle] = other

    cluster.fault = taken
    done = apply(cluster, plan)

    assert done.exit_code == 3
    assert f"1. {first.bundle}: verified at {first.destination}" in done.stdout
    assert f"in the end at {other}" in done.stdout
    assert f"Look at it: {first.bundle} is at {other}" in done.stdout
