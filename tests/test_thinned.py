"""Of a recording of which only some is left no more is said than of the whole.

Two hundred recordings, thinned at random: without sources, brokers, or a stretch of time.  What
happened before or after what is left nobody can say of it, so moves of which that is the harm
are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.thinned import NAMES, Thinning, Whole, faults, thinned, thinning, whole
from tools.needs_page import answer
from trimtab.diagnose.findings import FINDINGS

_QUICK = 8
_ALL = 200


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Whole]:
    return {name: whole(name, tmp_path_factory.mktemp(name)) for name in NAMES}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(_QUICK))
def test_thinned_recording(seed: int, wholes: Mapping[str, Whole], tmp_path: Path) -> None:
    _check(thinning(seed, wholes), wholes, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(_QUICK, _ALL))
def test_every_thinned_recording(seed: int, wholes: Mapping[str, Whole], tmp_path: Path) -> None:
    _check(thinning(seed, wholes), wholes, tmp_path)


def _check(left: Thinning, wholes: Mapping[str, Whole], folder: Path) -> None:
    of = wholes[left.name]
    said = thinned(of, left, folder)
    assert list(faults(said, of.document, left)) == [], left


#: Kind of docs/what-is-needed.md → what is left out of a whole recording.
_LEFT_OUT = {
    "the leader's log": ("load-reports", "store/", "metrics/", "logs/other"),
    "logs and metrics": ("load-reports", "store/"),
    "reports, no log": ("logs/", "metrics/"),
    "ZooKeeper's folder": ("conf/", "runtime-config/", "load-reports", "logs/", "metrics/"),
    "all of it": (),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["threshold", "uniform"])
@pytest.mark.parametrize("kind", _LEFT_OUT)
def test_page_lists_what_each_kind_of_recording_answers(
    kind: str, name: str, wholes: Mapping[str, Whole], tmp_path: Path
) -> None:
    of = wholes[name]
    leaders = {each["leader"] for each in of.document["round_list"]}
    logs = {f"logs/{broker}/" for broker in of.tables["log_events"]["log_broker"].to_pylist()}
    others = logs - {f"logs/{broker}/" for broker in leaders}
    without = [
        each
        for source in _LEFT_OUT[kind]
        for each in (others if source == "logs/other" else (source,))
    ]
    left = Thinning(name, tuple(sorted(without)), (), None)
    said = thinned(of, left, tmp_path)
    assert list(faults(said, of.document, left)) == []
    codes = {each["code"] for each in said["findings"]}
    assert {code for code in codes if answer(kind, FINDINGS[code]) == "no"} == set()
    has_loads = kind not in ("the leader's log", "logs and metrics")
    acquitted = [each["id"] for each in said["unloads"] if each["useless"] is False]
    assert has_loads or not acquitted


@pytest.mark.slow
def test_judge_finds_what_goes_too_far(wholes: Mapping[str, Whole]) -> None:
    full = wholes["threshold"].document
    left = Thinning("threshold", (), (), None)
    moves = [{**each, "useless": not each["useless"]} for each in full["unloads"]]
    stranger = {**full["findings"][0], "code": "two-leaders"}
    nothing = {"text": "The balancer moved nothing.", "sting": ""}
    for wrong in (
        {"unloads": moves},
        {"findings": [stranger]},
        {"headline": nothing},
    ):
        assert list(faults({**full, **wrong}, full, left))
    assert list(faults(full, full, left)) == []


def test_snapshot_is_decided_as_it_stands(wholes: Mapping[str, Whole], tmp_path: Path) -> None:
    others = ("logs/", "store/", "metrics/", "actions")
    said = thinned(wholes["threshold"], Thinning("threshold", others, (), None), tmp_path)
    shown = said["snapshot"]
    assert shown["origin"] == "rest"
    assert {each["broker"]: each["state"] for each in shown["brokers"]} == {
        "10.213.0.11:8080": "idle",
        "10.213.0.12:8080": "within",
        "10.213.0.13:8080": "over",
        "10.213.0.14:8080": "over",
    }
    # Both are over the bar, and what they would lose is below minimum throughput.
    assert shown["unloads"] == []
    assert "what is to go is below the floor" in shown["text"]
    assert shown["text"] in said["headline"]["sting"]


def test_snapshot_of_the_store_says_what_would_be_moved(
    wholes: Mapping[str, Whole], tmp_path: Path
) -> None:
    tables = wholes["uniform"].tables
    times = tables["load_reports"]["time"].to_pylist()
    # While the first round was on its way, one broker had nearly all.
    first = wholes["uniform"].document["round_list"][0]["time"]
    moment = max(time for time in times if time and time.isoformat() < first[:19])
    left = Thinning("uniform", ("logs/", "load-reports", "metrics/"), (), (min(times), moment))
    shown = thinned(wholes["uniform"], left, tmp_path)["snapshot"]
    assert shown["origin"] == "store"
    assert shown["unloads"], shown["text"]
    assert "would now unload" in shown["text"]


def test_no_snapshot_beside_a_log(wholes: Mapping[str, Whole]) -> None:
    assert all(each.document["snapshot"] is None for each in wholes.values())
