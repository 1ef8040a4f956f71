"""`trimtab simulate`: what it tells, what it writes, and what it says of wrong use."""

from __future__ import annotations

import json
import math
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trimtab import __version__
from trimtab.cli import main
from trimtab.lab.outcomes import MEASURES
from trimtab.lab.scenarios import built_in
from trimtab.trials.simulate.command import simulate
from trimtab.trials.simulate.history import short_brokers, short_bundles
from trimtab.trials.simulate.plot import chart
from trimtab.trials.simulate.question import Question, experiment_of
from trimtab.trials.simulate.simulation import tell

#: Two brokers, of which one holds all: something has to move, in seconds.
SCENARIO = """\
# One of two brokers holds everything.
# Is the other one found?

[run]
minutes = 40
event_at_min = 5

[[machines]]
count = 2

[[bundles]]
count = 16

[traffic]
cpu_percent = 35

[start]
owners = "counts"
counts = [16, 0]

[[events]]
what = "background"
at_min = 20
brokers = [1]
percent = 10
"""

EXPECTATION = """
[[expect]]
outcome = "unloads"
at_most = {bound}
because = "one move is as good as another"
"""


def simulated(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *arguments])


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return path


def test_a_run_is_told_round_by_round(scenario: Path) -> None:
    found = simulated(str(scenario), "--strategy", "AvgShedder", "--seed", "2")
    text = found.stdout

    assert (found.exit_code, found.stderr) == (0, "")
    assert "2 brokers, 16 bundles, 40 minutes, seed 2" in text
    assert "One of two brokers holds everything. Is the other one found?" in text
    assert "AvgShedder, placed by AvgShedder, as Pulsar 4.0.8" in text
    assert "min   5.0   from here on outcomes count" in text
    assert "min  20.0   other processes take +10 points more on broker-1" in text
    assert "rounds, nothing to do; spread" in text
    # Who stood where, by truth and by the strategy; what went where, and what it did to both.
    assert "usage   broker-0 " in text
    assert "scores  broker-0 " in text
    assert "moved " in text
    assert "→" in text
    assert all(measure.title in text for measure in MEASURES.values())
    lines = text.splitlines()
    assert max(map(len, lines)) < 200


def test_the_command_at_the_end_gives_the_same_again(scenario: Path) -> None:
    given = [str(scenario), "--strategy", "AvgShedder", "--seed", "2", "--minutes", "20"]
    given += ["--set", "loadBalancerAvgShedderHitCountHighThreshold=3"]
    first = simulated(*given)
    command = first.stdout.splitlines()[-1]

    assert command.endswith(f"  # trimtab {__version__}")
    words = shlex.split(command, comments=True)
    assert words[:2] == ["trimtab", "simulate"]
    assert "--placement AvgShedder --release 4.0.8" in command
    again = simulated(*words[2:])
    assert again.stdout == first.stdout


def test_json_holds_what_the_text_tells(scenario: Path) -> None:
    found = simulated(str(scenario), "--strategy", "AvgShedder", "--seed", "2", "--json")
    document = json.loads(found.stdout)
    outcomes = document["outcomes"]

    assert list(outcomes) == list(MEASURES)
    assert document["shedder"] == document["placement"] == "AvgShedder"
    assert document["simulated_min"] == 40
    since = [move for move in document["moves"] if move["time_s"] >= 300]
    assert outcomes["unloads"] == len(since) > 0
    assert sum(each["moved"] for each in document["rounds"]) == len(document["moves"])
    assert {move["source"] for move in since} >= {"broker-0:8080"}
    assert "NaN" not in found.stdout


def test_nobody_sheds(scenario: Path) -> None:
    found = simulated(str(scenario), "--strategy", "none", "--json")
    outcomes = json.loads(found.stdout)["outcomes"]

    assert outcomes["unloads"] == outcomes["triggers"] == 0
    assert outcomes["first_trigger_min"] == outcomes["time_to_balance_min"] == "Infinity"
    assert outcomes["last_unload_min"] is None


def test_a_shedder_may_be_named_with_its_placer(scenario: Path) -> None:
    pair = "ThresholdShedder+LeastResourceUsageWithWeight"
    joined = experiment_of(Question(str(scenario), pair)).balancer
    apart = experiment_of(
        Question(str(scenario), "ThresholdShedder", placement="LeastResourceUsageWithWeight")
    ).balancer

    assert joined == apart
    assert experiment_of(Question(str(scenario), "AvgShedder")).balancer.placer == "AvgShedder"
    usual = experiment_of(Question(str(scenario), "OverloadShedder")).balancer.placer
    assert usual == "LeastLongTermMessageRate"


# ------------------------------------------------------------------ expectations


def test_an_expectation_that_is_not_met_is_an_exit_code(scenario: Path) -> None:
    scenario.write_text(SCENARIO + EXPECTATION.format(bound=0))
    found = simulated(str(scenario), "--strategy", "AvgShedder", "--seed", "2")

    assert found.exit_code == 1
    assert "✗ unloads at most 0: " in found.stdout
    assert "expected because: one move is as good as another" in found.stdout


def test_an_expectation_that_is_met_is_none(scenario: Path) -> None:
    scenario.write_text(SCENARIO + EXPECTATION.format(bound=100))
    found = simulated(str(scenario), "--strategy", "AvgShedder", "--seed", "2")

    assert found.exit_code == 0
    assert "✓ unloads at most 100: " in found.stdout


@pytest.mark.parametrize("more", ['of = "median"', 'known = "nobody knows why"'])
def test_one_run_does_not_decide_everything(scenario: Path, more: str) -> None:
    scenario.write_text(SCENARIO + EXPECTATION.format(bound=0) + more + "\n")
    found = simulated(str(scenario), "--strategy", "AvgShedder", "--seed", "2")

    assert found.exit_code == 0
    assert "· unloads at most 0" in found.stdout


def test_what_was_left_out_on_purpose_is_not_judged(scenario: Path) -> None:
    scenario.write_text(SCENARIO + EXPECTATION.format(bound=0))
    found = simulated(str(scenario), "--strategy", "AvgShedder", "--seed", "2", "--minutes", "20")

    assert found.exit_code == 0
    assert "· unloads at most 0: a run cut short at minute 20" in found.stdout


# ------------------------------------------------------------------ pictures and folders


@pytest.mark.parametrize(("name", "begins"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG")])
def test_a_picture_is_drawn(scenario: Path, tmp_path: Path, name: str, begins: bytes) -> None:
    picture = tmp_path / name
    found = simulated(
        str(scenario), "--strategy", "AvgShedder", "--seed", "2", "--plot", str(picture)
    )

    assert found.exit_code == 0
    assert picture.read_bytes().startswith(begins)


def test_the_picture_shows_what_happened(scenario: Path) -> None:
    result = simulate(Question(str(scenario), "AvgShedder", seed=2), None, None)
    spec = chart(result)
    data = spec["datasets"]

    assert {row["broker"] for row in data["lines"]} == {"broker-0", "broker-1"}
    assert len(data["moves"]) == sum(row["count"] for row in data["unloads"])
    assert len(data["moves"]) == result.run.rounds.moved.sum() > 0
    assert [row["what"] for row in data["labels"]] == [
        "from here on outcomes count",
        "other processes take +10 points more on broker-1",
    ]
    # Two brokers: neither bands nor a mean line.
    assert not data["bands"]
    assert not data["mean"]


@pytest.mark.slow
def test_of_some_brokers_the_picture_shows_pale_lines_and_their_mean(scenario: Path) -> None:
    some = SCENARIO.replace("count = 2", "count = 20")
    counts = "[" + ", ".join(["16", *["0"] * 19]) + "]"
    scenario.write_text(some.replace("[16, 0]", counts))
    spec = chart(simulate(Question(str(scenario), "none"), None, scenario.parent / "out"))
    data, layers = spec["datasets"], spec["vconcat"][1]["layer"]
    (lines,) = (layer for layer in layers if layer["data"]["name"] == "lines")

    assert len({row["broker"] for row in data["lines"]}) == 20
    assert data["mean"]
    assert not data["bands"]
    assert lines["encoding"]["detail"] == {"field": "broker"}
    assert (scenario.parent / "out" / "usage.svg").is_file()


@pytest.mark.slow
def test_of_many_brokers_the_picture_shows_bands(scenario: Path) -> None:
    many = SCENARIO.replace("count = 2", "count = 60")
    counts = "[" + ", ".join(["16", *["0"] * 59]) + "]"
    scenario.write_text(many.replace("[16, 0]", counts))
    data = chart(simulate(Question(str(scenario), "none"), None, None))["datasets"]

    assert {row["brokers"] for row in data["bands"]} == {
        "all brokers",
        "nine in ten",
        "every other",
    }
    assert not data["lines"]
    assert all(row["low"] <= row["high"] for row in data["bands"])


def test_a_folder_gets_everything(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "out"
    found = simulated(str(scenario), "--strategy", "AvgShedder", "--seed", "2", "-o", str(folder))

    assert sorted(path.name for path in folder.iterdir()) == [
        "history.txt",
        "outcomes.json",
        "usage.svg",
    ]
    assert (folder / "history.txt").read_text() == found.stdout
    assert json.loads((folder / "outcomes.json").read_text())["seed"] == 2


# ------------------------------------------------------------------ what would have done


def test_unloads_stand_beside_the_fewest_that_would_have_done(scenario: Path) -> None:
    """One broker holds 16 bundles; with some of them moved the two are alike."""
    found = simulate(Question(str(scenario), "AvgShedder", seed=2), None, None)

    assert found.fewest_unloads is not None
    assert found.fewest_unloads.is_exact
    assert 1 <= found.fewest_unloads.moves <= 8
    told = "\n".join(tell(found, as_json=False))
    assert (
        f"Had the work of all bundles been known, it would have taken exactly"
        f" {found.fewest_unloads.moves:.0f} unloads."
    ) in told
    document = json.loads("".join(tell(found, as_json=True)))
    assert document["needed_unloads"] == {"count": found.fewest_unloads.moves, "is_exact": True}


def test_the_fewest_do_not_depend_on_who_sheds(scenario: Path) -> None:
    """They are of the bundles as they lay at the event, which is before anybody sheds."""
    shed, unshed = (
        simulate(Question(str(scenario), name, seed=2), None, None)
        for name in ("OverloadShedder", "none")
    )

    assert shed.fewest_unloads == unshed.fewest_unloads is not None


def test_bundles_that_lost_their_broker_leave_the_question_open(scenario: Path) -> None:
    leave = '\n[[events]]\nwhat = "leave"\nat_min = 10\nbrokers = [0]\n'
    scenario.write_text(SCENARIO + leave)
    found = simulate(Question(str(scenario), "none"), None, None)
    lines = list(tell(found, as_json=False))

    assert found.fewest_unloads is None
    assert not [line for line in lines if "would have taken" in line]
    assert "min  10.0   broker-0 leaves" in lines
    assert [line for line in lines if line.endswith("16 bundles without an owner placed")]


# ------------------------------------------------------------------ wrong use


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--strategy", "none"], "scenario 'nowhere': expected"),
        (["{scenario}", "--strategy", "TresholdShedder"], "--strategy: found 'TresholdShedder'"),
        (
            ["{scenario}", "--strategy", "none", "--placement", "Nobody"],
            "--placement: found 'Nobody'",
        ),
        (
            ["{scenario}", "--strategy", "AvgShedder", "--release", "2.10"],
            "--strategy: found AvgShedder, expected a class that Pulsar 2.10 has",
        ),
        (
            ["{scenario}", "--strategy", "none", "--placement", "AvgShedder", "--release", "2.10"],
            "--placement: found AvgShedder, expected a class that Pulsar 2.10 has",
        ),
        (["{scenario}", "--strategy", "none", "--release", "4"], "--release: found"),
        (
            ["{scenario}", "--strategy", "AvgShedder+AvgShedder", "--placement", "RoundRobin"],
            "--placement: found 'RoundRobin', expected AvgShedder, as --strategy has it",
        ),
        (
            ["{scenario}", "--strategy", "none", "--set", "x"],
            "--set: found 'x', expected key=value",
        ),
        (["{scenario}", "--strategy", "none", "--set", "x=1"], "--set: found 'x', expected a key"),
        (
            ["{scenario}", "--strategy", "none", "--set", "loadBalancerSheddingIntervalMinutes=?"],
            "--set loadBalancerSheddingIntervalMinutes: found '?'",
        ),
        (
            ["{scenario}", "--strategy", "none", "--set", "loadBalancerSheddingIntervalMinutes=0"],
            "loadBalancerSheddingIntervalMinutes: found '0', expected more than 0",
        ),
        (
            [
                *("{scenario}", "--strategy", "none"),
                *("--set", "loadBalancerReportUpdateMinIntervalMillis=-1"),
            ],
            "loadBalancerReportUpdateMinIntervalMillis: found '-1', expected more than 0",
        ),
        (
            ["{scenario}", "--strategy", "none", "--minutes", "5"],
            "--minutes: found 5, expected more than 5, since outcomes count from there",
        ),
        (
            ["{scenario}", "--strategy", "none", "--plot", "a.jpg"],
            "--plot: found 'a.jpg', expected a name that ends in .svg or .png",
        ),
        (
            ["{scenario}", "--strategy", "none", "--plot", "no/such/a.svg"],
            "--plot: found no folder 'no/such'",
        ),
    ],
)
def test_wrong_use_is_one_line(scenario: Path, arguments: list[str], message: str) -> None:
    found = simulated(*(word.format(scenario=scenario) for word in arguments))

    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr.startswith(f"trimtab: {message}")
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["nan", "inf", "1e999"])
def test_a_number_without_end_is_none(scenario: Path, text: str) -> None:
    found = simulated(str(scenario), "--strategy", "none", "--minutes", text)

    assert found.exit_code == 2
    assert f"'--minutes': found '{text}', expected a number" in found.stderr


def test_a_strategy_is_needed(scenario: Path) -> None:
    found = simulated(str(scenario))

    assert found.exit_code == 2
    assert "Missing option '--strategy'" in found.stderr


def test_a_stop_leaves_nothing_behind(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trimtab.trials.simulate.command.run", stopped)
    found = simulated(str(scenario), "--strategy", "none", "-o", str(tmp_path / "out"))

    assert found.exit_code == 130
    assert found.stderr == "trimtab: stopped\n"
    assert not (tmp_path / "out").exists()


def test_the_list_names_every_scenario_and_its_question() -> None:
    found = simulated("--list")
    names = [line.split()[0] for line in found.stdout.splitlines() if line[:1].strip()]

    assert found.exit_code == 0
    assert tuple(names) == built_in()
    assert found.stdout.count("?") >= len(names) > 10
    assert max(map(len, found.stdout.splitlines())) <= 100


@pytest.mark.slow
def test_simulating_needs_no_spark() -> None:
    import subprocess

    program = (
        "import sys; from trimtab.cli import main;"
        "main(['simulate', 'S02', '--strategy', 'none', '--minutes', '45', '--json'],"
        " standalone_mode=False); sys.exit('pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


# ------------------------------------------------------------------ names


def test_names_are_shortened_only_while_they_differ() -> None:
    assert short_brokers(["a:1", "b:1"]) == ("a", "b")
    assert short_brokers(["a:1", "a:2"]) == ("a:1", "a:2")
    assert short_brokers(["a"]) == ("a",)
    assert short_bundles(["t/n/0x00000000_0x10000000", "t/n/0x10000000_0x20000000"]) == (
        "0x0_0x1",
        "0x1_0x2",
    )
    # Cut of its zeros, a hash may look like another one.
    same = ["t/n/0x10000000_0x20000000", "t/n/0x01000000_0x20000000"]
    assert short_bundles(same) == ("0x1_0x2", "0x01_0x2")
    assert short_bundles(["t/n/heartbeat"]) == ("heartbeat",)


def test_numbers_in_json_say_what_they_cannot_be() -> None:
    from trimtab.trials.sweep.task import json_number

    assert [json_number(x) for x in (1.0, math.nan, math.inf, -math.inf)] == [
        1.0,
        None,
        "Infinity",
        "-Infinity",
    ]
