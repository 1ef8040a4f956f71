"""`trimtab costs` and `trimtab backtest` on a recorded night."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests import fake_admin as fake
from trimtab.cli import main
from trimtab.trials.costs.state import read_state

ROOT = Path(__file__).parent.parent
NIGHT = str(ROOT / "recordings" / "uniform")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.usefixtures("spark")
def test_a_short_night_is_priced_with_intervals_and_says_what_it_does_not_tell(
    tmp_path: Path,
) -> None:
    picture, state = tmp_path / "costs.svg", tmp_path / "costs.npz"
    result = run("costs", NIGHT, "--json", "--plot", str(picture), "--state", str(state))
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    assert len(document["units"]) == 7
    for price in (*document["units"].values(), document["traffic"], *document["rest"].values()):
        assert 0 <= price["low"] <= price["value"] <= price["high"]
    # A quarter of an hour on a full host: nothing of it is to be believed.
    assert not document["traffic"]["is_told"]
    assert any(words.startswith("what a move does") for words in document["untold"])
    assert [0.0 <= row["cpu_percent"] <= 100.0 for row in document["brokers"]] == [True] * 4
    assert "what traffic costs" in picture.read_text(encoding="utf-8")
    again = run("costs", NIGHT, "--state", str(state))
    assert again.exit_code == 0, again.output
    assert "cannot be told: what a move does" in again.stdout


@pytest.mark.usefixtures("spark")
def test_the_end_of_a_night_is_planned_and_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "frontier.svg"
    night = str(ROOT / "recordings" / "avg")
    result = run(
        "plan", night, "--moves", "4", "--horizon", "24h", "--json", "--plot", str(picture)
    )
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    assert (document["cluster"], document["costs"]) == ("avg", "share of traffic")
    # A quarter of an hour tells neither costs nor days.
    assert document["hours"] == 0
    assert document["notes"] == [
        "planned for now: without learned costs the hours ahead cannot be told"
    ]
    curve = document["frontier"]
    assert [row["moves"] for row in curve] == [0, 1, 2, 3, 4]
    assert all(row["bound"] <= row["peak"] + 1e-9 for row in curve)
    assert len(document["moves"]) == document["recommended"] > 0
    assert document["highest_percent"][-1] < document["highest_percent"][0] - 10
    assert "how low the peak may come" in picture.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [picture]


@pytest.mark.usefixtures("spark")
def test_moves_of_a_night_are_predicted_and_scored() -> None:
    result = run("backtest", NIGHT, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    (night,) = document["recordings"]
    assert night["recording"] == "uniform"
    # As many as the leader's 88 unloads, and those of a broker that stopped.
    assert night["moves"] >= 88
    row = next(row for row in night["scores"] if row["of"] == "moves" and row["minutes"] == 5)
    assert row["brokers"] == sum(
        each["is_move"] and each["minutes"] == 5 for each in night["predictions"]
    )
    # Levels of processes that are a minute old fall by themselves; what moves change is foretold.
    changes = [row[way]["change_error_points"] for way in ("model", "nothing_changes")]
    assert changes[0] < changes[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--plot", "costs.gif"), "expected a name in .svg or .png"),
        (("--plot", "no/such/folder/costs.svg"), "found no folder"),
        (("--state", __file__), "expected a file of costs learned by trimtab"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(
    options: tuple[str, ...], words: str
) -> None:
    result = run("costs", NIGHT, *options)
    assert result.exit_code != 0
    assert words in result.output


@pytest.mark.usefixtures("spark")
def test_a_night_of_the_extensible_manager_is_refused(tmp_path: Path) -> None:
    conf = tmp_path / "night" / "conf"
    conf.mkdir(parents=True)
    manager = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
    (conf / "broker.conf").write_text(f"loadManagerClassName={manager}\n", encoding="utf-8")
    result = run("backtest", str(tmp_path / "night"))
    assert result.exit_code != 0
    assert "expected ModularLoadManagerImpl" in result.output


def test_a_recording_and_a_cluster_are_not_both_learned_from() -> None:
    both = run("costs", NIGHT, "--admin", "http://127.0.0.1:1")
    assert both.exit_code == 2
    assert "found RECORDING and --admin, expected one of them" in both.output
    neither = run("costs")
    assert neither.exit_code == 2
    assert "--admin: found nothing" in neither.output


@pytest.mark.usefixtures("spark")
def test_a_live_cluster_is_asked_and_what_it_tells_is_kept(tmp_path: Path) -> None:
    state = tmp_path / "costs.npz"
    with fake.brokers(2) as cluster:
        words = ("costs", "--admin", cluster[0].address, "--for", "3s", "--state", str(state))
        result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["recording"] == "h1"
    # A few seconds tell who is there and nothing of what traffic costs.
    assert sorted(row["broker"] for row in document["brokers"]) == sorted(b.id for b in cluster)
    assert not document["traffic"]["is_told"]
    known = read_state(state)
    assert known is not None
    assert set(known.broker_names) == {broker.id for broker in cluster}
