"""What other strategies would have made of a recorded load: rules, matrix, changes, and words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from test_recorded_traffic import CONF, MEASURED, two_brokers
from trimtab.files.fields import FieldError
from trimtab.lab.reconstruct.cluster import rebuilt
from trimtab.lab.simulate.balancer import Balancer
from trimtab.pulsar.shed import SHEDDERS
from trimtab.trials.sweep.task import NOBODY, StrategyKey, Task
from trimtab.trials.what_if.answer import answer
from trimtab.trials.what_if.fidelity import fidelity
from trimtab.trials.what_if.lines import lines
from trimtab.trials.what_if.matrix import changes, matrix
from trimtab.trials.what_if.replay import MATRIX_MEASURES, Replay, digest, numbers, p95
from trimtab.trials.what_if.variants import TRIED, real, refuse_unknown, variants

PLACER = "LeastLongTermMessageRate"
REAL = StrategyKey("UniformLoadShedder", PLACER, "4.0.8", "{}")
AVG = StrategyKey("AvgShedder", "AvgShedder", "4.0.8", "{}")
EAGER = StrategyKey("AvgShedder", "AvgShedder", "4.0.8", '{"hits": "2"}')
NONE = StrategyKey(NOBODY, PLACER, "4.0.8", "{}")

# ---------------------------------------------------------------- fidelity


def replayed(
    *, agreed: int = 10, real_unloads: int = 20, ours: float = 20.0, spread: float | None = 30.0
) -> dict[str, Any]:
    usage = None if spread is None else {"real": 30.0, "median": spread}
    return {
        "held": {"rounds": [{}] * 10, "same_trigger": agreed},
        "free": {
            "unloads": {"real": real_unloads, "median": ours, "p10": ours, "p90": ours},
            "spread": {"usage": usage},
        },
    }


@pytest.mark.parametrize(
    ("changed", "error", "failed"),
    [
        ({}, 0.0, []),
        ({"agreed": 8}, 0.0, []),
        ({"agreed": 7}, 0.0, ["to shed or not"]),
        ({"ours": 26.0}, 0.0, []),
        ({"ours": 26.5}, 0.0, ["unloads"]),
        ({"ours": 13.5}, 0.0, ["unloads"]),
        ({"real_unloads": 0, "ours": 3.0}, 0.0, []),
        ({"real_unloads": 0, "ours": 3.5}, 0.0, ["unloads"]),
        ({"spread": 37.5}, 0.0, []),
        ({"spread": 22.4}, 0.0, ["mean spread of usage"]),
        ({"spread": None}, 0.0, ["mean spread of usage"]),
        ({}, 10.0, []),
        ({}, 10.1, ["usage by the costs alone"]),
        ({}, math.nan, ["usage by the costs alone"]),
    ],
)
def test_a_replay_is_believed_as_far_as_the_rules_go(
    changed: Mapping[str, Any], error: float, failed: list[str]
) -> None:
    found = fidelity(replayed(**changed), error, is_shedding=True)
    assert [each["name"] for each in found["checks"] if each["is_met"] is False] == failed
    assert found["is_trusted"] is (not failed)


def test_where_shedding_was_off_nothing_is_concluded_from_unloads() -> None:
    again = replayed(ours=9.0, real_unloads=0)
    again["held"] = {"rounds": [], "same_trigger": 0}
    off = fidelity(again, 1.0, is_shedding=False)
    assert [each["is_met"] for each in off["checks"]] == [None, None, True, True]
    assert off["is_trusted"]
    # The same where there should have been rounds.
    on = fidelity(again, 1.0, is_shedding=True)
    assert not on["is_trusted"]
    assert on["checks"][0]["found"] == "no round of a leader is known"


# ---------------------------------------------------------------- variants


def tried(conf: Mapping[str, str], *pairs: str, settings: tuple[str, ...] = ()) -> list[str]:
    balancer = Balancer("ThresholdShedder", PLACER, "4.0.8", conf)
    return [
        " ".join([each.shedder, each.placement, *(f"{k}={v}" for k, v in each.settings.items())])
        for each in variants(balancer, pairs, settings, None)
    ]


def test_what_really_steered_is_not_tried_again_and_neither_is_its_setting() -> None:
    key = "loadBalancerBrokerThresholdShedderPercentage"
    found = tried({}, "ThresholdShedder")
    # 10 is the default, so it is what was.
    assert found == [f"ThresholdShedder {PLACER} {key}={value}" for value in ("5", "20")]
    found = tried({key: "20"}, "ThresholdShedder")
    assert found == [f"ThresholdShedder {PLACER} {key}={value}" for value in ("5", "10")]


def test_every_strategy_is_tried_where_none_is_named() -> None:
    found = tried({})
    assert {each.split()[0] for each in found} == {*TRIED, NOBODY}
    assert len(set(found)) == len(found)
    assert "AvgShedder AvgShedder" in found


def test_named_settings_replace_what_is_tried() -> None:
    key = "loadBalancerBrokerThresholdShedderPercentage"
    found = tried({}, "ThresholdShedder", "none", settings=(f"{key}=7", f"{key}=9"))
    assert found == [
        f"{who} {PLACER} {key}={value}" for who in ("ThresholdShedder", "none") for value in "79"
    ]


def test_every_shedder_is_tried_or_said_not_to_be_covered() -> None:
    plain = {name for name, _ in SHEDDERS}
    assert set(TRIED) <= plain
    with pytest.raises(FieldError, match="needs ExtensibleLoadManagerImpl"):
        refuse_unknown(["TransferShedder"], ())


@pytest.mark.parametrize(
    ("pairs", "settings", "told"),
    [
        (["NoSuchShedder"], (), "NoSuchShedder"),
        (["AvgShedder"], ("loadBalancerEnabled",), "key=value"),
        (["AvgShedder"], ("loadBalancerNoSuchKey=1",), "loadBalancerNoSuchKey"),
    ],
)
def test_what_nobody_knows_is_refused(
    pairs: list[str], settings: tuple[str, ...], told: str
) -> None:
    with pytest.raises(FieldError, match=told):
        refuse_unknown(pairs, settings)


def test_nobody_is_what_really_steered_where_nothing_was_shed() -> None:
    assert real(Balancer(None, PLACER, "4.0.8")).shedder == NOBODY


# ---------------------------------------------------------------- replay

THRESHOLD_TASK = Task("night", "ThresholdShedder", "LeastResourceUsageWithWeight", "4.0.8", "{}", 0)


def test_a_task_is_replayed_the_same_every_time_and_sheds_though_shedding_was_off() -> None:
    again = rebuilt(two_brokers().told(), MEASURED, seed=0)
    costs = (again.used.costs,) * 2
    off = Replay(again, {**CONF, "loadBalancerSheddingEnabled": "false"}, costs)

    shed, same = off(THRESHOLD_TASK), off(THRESHOLD_TASK)
    nothing = off(Task("night", NOBODY, PLACER, "4.0.8", "{}", 0))

    assert repr(shed) == repr(same)
    assert shed.numbers is not None
    assert nothing.numbers is not None
    assert set(shed.numbers) == set(MATRIX_MEASURES)
    assert shed.numbers["unloads_a_day"] > 0 == nothing.numbers["unloads_a_day"]
    hours = again.world.duration_s / 3600
    assert shed.numbers["unloads_a_day"] == pytest.approx(
        shed.outcomes["unloads"] * 24 / hours, rel=0.05
    )


def test_another_load_and_other_settings_have_another_digest() -> None:
    again = rebuilt(two_brokers().told(), MEASURED, seed=0)
    moved = rebuilt(two_brokers(owned=[(0.0, b, b % 2) for b in range(4)]).told(), MEASURED)
    costs = (again.used.costs,)
    known = {
        digest(Replay(again, {}, costs)),
        digest(Replay(again, {"a": "1"}, costs)),
        digest(Replay(again, {}, costs * 2)),
        digest(Replay(moved, {}, costs)),
    }
    assert len(known) == 4
    assert digest(Replay(again, {}, costs)) in known


def test_a_spread_is_judged_where_it_is_known() -> None:
    spread = np.append(np.arange(101.0), np.nan)
    assert p95(spread) == pytest.approx(95.0)
    assert np.isnan(p95(np.full(3, np.nan)))


# ---------------------------------------------------------------- matrix and changes


def rows(
    key: StrategyKey, unloads: float, spread: float, *, seeds: int = 8, **other: Any
) -> list[dict[str, Any]]:
    shedder, placement, release, settings = key
    found = []
    for seed in range(seeds):
        luck = float(np.random.default_rng(seed).uniform(0.9, 1.1))
        taken = dict.fromkeys(MATRIX_MEASURES, 1.0) | {
            "unloads_a_day": unloads * luck,
            "p95_spread_points": spread * luck,
        }
        found.append(
            {
                "shedder": shedder,
                "placement": placement,
                "release": release,
                "settings": settings,
                "seed": seed,
                "status": "ok",
                "error": None,
                "numbers": list(taken.items()),
                **other,
            }
        )
    return found


KEYS = (REAL, AVG, EAGER, NONE)


def four() -> list[dict[str, Any]]:
    return [
        *rows(REAL, 100.0, 30.0),
        *rows(AVG, 20.0, 20.0),
        *rows(EAGER, 200.0, 15.0),
        *rows(NONE, 0.0, 60.0),
    ]


def test_the_real_strategy_stands_first_and_the_others_by_their_spread() -> None:
    found = matrix(four(), KEYS)
    assert [each["label"] for each in found] == [
        f"UniformLoadShedder + {PLACER}",
        "AvgShedder",
        "AvgShedder",
        "no shedding",
    ]
    assert [each["is_baseline"] for each in found] == [True, False, False, False]
    assert [each["is_on_frontier"] for each in found] == [False, True, True, True]
    assert found[1]["settings"] == {"hits": "2"}
    spread = found[2]["measures"]["p95_spread_points"]
    assert spread["median"]["low"] < spread["median"]["estimate"] < spread["median"]["high"]
    assert spread["difference"]["median"]["high"] < 0
    assert spread["difference"]["smaller"] == 8
    assert matrix(list(reversed(four())), KEYS) == found
    json.dumps(found, allow_nan=False)


def test_settings_that_make_no_difference_have_no_row_of_their_own() -> None:
    same = rows(AVG, 20.0, 20.0) + rows(EAGER, 20.0, 20.0) + rows(REAL, 1.0, 1.0)
    found = matrix(same, (REAL, AVG, EAGER))
    assert [(each["settings"], each["alike"]) for each in found] == [
        ({}, []),
        ({}, [{"hits": "2"}]),
    ]
    # Another strategy that came to the same is another strategy.
    alike = rows(NONE, 1.0, 1.0) + rows(REAL, 1.0, 1.0)
    assert len(matrix(alike, (REAL, NONE))) == 2


def test_runs_that_failed_count_for_nothing_and_are_told() -> None:
    failed = rows(AVG, 1.0, 1.0, status="error", error="boom", numbers=None)
    found = matrix(four()[:8] + failed, (REAL, AVG))
    assert found[1]["runs"] == 0
    assert len(found[1]["failures"]) == 8
    assert found[1]["measures"]["unloads_a_day"]["median"]["estimate"] is None
    assert not found[1]["is_on_frontier"]
    assert changes(found) == []


def test_a_change_is_advised_if_it_is_better_in_one_and_worse_in_neither() -> None:
    found = changes(matrix(four(), KEYS))
    # More unloads, or a larger spread, is a price; only the patient one has none.
    assert [each["strategy"] for each in found] == ["AvgShedder"]
    package = "org.apache.pulsar.broker.loadbalance.impl"
    assert found[0]["set"] == {
        "loadBalancerLoadSheddingStrategy": f"{package}.AvgShedder",
        "loadBalancerLoadPlacementStrategy": f"{package}.AvgShedder",
    }
    effects = {each["measure"]: each for each in found[0]["effects"]}
    assert set(effects) == set(MATRIX_MEASURES)
    assert effects["unloads_a_day"]["then"] < effects["unloads_a_day"]["now"]
    assert effects["unloads_a_day"]["difference"]["high"] < 0


def test_at_most_five_changes_are_advised_the_largest_gain_first() -> None:
    keys = [
        StrategyKey("AvgShedder", "AvgShedder", "4.0.8", json.dumps({"hits": str(n)}))
        for n in range(9)
    ]
    made = rows(REAL, 100.0, 30.0)
    for n, key in enumerate(keys):
        made += rows(key, 50.0 + n, 20.0 - n)
    found = changes(matrix(made, (REAL, *keys)))
    assert len(found) == 5
    assert found[0]["set"]["hits"] == "8"


def test_of_changes_that_come_to_the_same_the_smallest_is_advised() -> None:
    made = rows(REAL, 100.0, 30.0) + rows(AVG, 0.0, 20.0) + rows(NONE, 0.0, 20.0)
    found = changes(matrix(made, (REAL, AVG, NONE)))
    assert [each["set"] for each in found] == [{"loadBalancerSheddingEnabled": "false"}]


def test_nothing_is_advised_where_nothing_differs_beyond_doubt() -> None:
    same = [row | {"shedder": "AvgShedder", "placement": "AvgShedder"} for row in four()[:8]]
    assert changes(matrix(four()[:8] + same, (REAL, AVG))) == []


def test_to_stop_shedding_is_said_in_a_key() -> None:
    found = changes(matrix(rows(REAL, 100.0, 30.0) + rows(NONE, 0.0, 30.0), (REAL, NONE)))
    assert found[0]["set"] == {"loadBalancerSheddingEnabled": "false"}
    back = changes(matrix(rows(NONE, 0.0, 30.0) + rows(REAL, 0.0, 10.0), (NONE, REAL)))
    assert back[0]["set"]["loadBalancerSheddingEnabled"] == "true"


# ---------------------------------------------------------------- words


def document(*, is_trusted: bool = True) -> dict[str, Any]:
    """Give an answer as `comparison.json` has it."""
    shown = matrix(four(), KEYS) if is_trusted else []
    error = 1.0 if is_trusted else 11.0
    made: dict[str, Any] = {
        "trimtab": "0.1.0",
        "command": "trimtab compare night -o what-if",
        "recording": "night",
        "release": "4.0.8",
        "from": "2026-11-21T07:10:33.000+00:00",
        "to": "2026-11-21T07:23:45.000+00:00",
        "hours": 0.22,
        "brokers": 4,
        "bundles": 28,
        "fidelity": fidelity(replayed(), error, is_shedding=True),
        "costs": {
            "cpu": {
                "terms": [
                    {
                        "of": "1 MiB/s in",
                        "unit": "points",
                        "cost": 2.0,
                        "low": 1,
                        "high": 3,
                        "is_told": False,
                    }
                ],
                "error_points": 4.5,
                "r_squared": 0.1,
                "windows": 35,
                "by_broker": [
                    {"broker": "b1:8080", "error_points": 4, "bias_points": -1, "n_windows": 9}
                ],
            },
            "network": {
                "overhead": 1.1,
                "low": 1.0,
                "high": 1.2,
                "error_points": 0.2,
                "r_squared": 0.99,
                "windows": 70,
            },
            "draws": 200,
        },
        "untold": ["traffic: windows of 15 s tell of 89 % of the bundles' time"],
        "not_covered": [{"strategy": "TransferShedder", "why": "it needs another load manager"}],
        "seeds": 8,
        "confidence": 0.95,
        "measures": [{"name": name, **asdict(each)} for name, each in MATRIX_MEASURES.items()],
        "strategies": shown,
        "changes": changes(shown) if shown else [],
    }
    return {"answer": answer(made), **made}


def test_the_answer_comes_first_and_then_how_well_the_replay_does() -> None:
    told = "\n".join(lines(document()))
    places = [
        told.index(words)
        for words in (
            "would have been better: 95th percentile of spread",
            "✓ to shed or not: the same in 10 of 10 rounds",
            "1 MiB/s in: 2 points (1 to 3) ?",
            "b1:8080: misses 4.0 points, -1.0 on average, 9 windows",
            "The same load under every strategy, median of 8 seeds",
            "as it really was",
            "Not covered: TransferShedder",
        )
    ]
    assert places == sorted(places)


def test_a_replay_that_is_not_true_ranks_nothing() -> None:
    told = list(lines(document(is_trusted=False)))
    assert any(line.startswith("  ✗ usage by the costs alone: misses 11.0 points") for line in told)
    assert told[0] == (
        "What other strategies would have done is not known: the replay does not reproduce what "
        "really happened (usage by the costs alone)."
    )
    assert not any("UniformLoadShedder" in line for line in told)


def test_too_few_windows_are_told() -> None:
    plain = document()
    plain["costs"]["cpu"] |= {"r_squared": None, "error_points": None, "windows": 2}
    assert "  too few windows of a minute (2) to say what that misses" in list(lines(plain))


def test_numbers_of_a_run_that_was_cut_are_not_known() -> None:
    again = rebuilt(two_brokers().told(), MEASURED, seed=0)
    from dataclasses import replace

    from trimtab.lab.reconstruct.leadership import continuation

    run = continuation(again, Balancer(None, PLACER, "4.0.8", CONF), 0.0, 0).run
    assert all(math.isnan(value) for value in numbers(replace(run, is_cut=True)).values())
    assert not math.isnan(numbers(run)["p95_spread_points"])
