"""What stands around the strategies agrees with Pulsar's own load manager, answer by answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests import leader_parts
from tests.both_leaders import reports
from tests.plain_leader.load_manager import LoadManager
from trimtab.pulsar.candidates import chain, chosen_again, considered
from trimtab.pulsar.candidates.before_unload import would_crowd_its_group
from trimtab.pulsar.leader.load import broker_load
from trimtab.pulsar.leader.report_gate import need_broker_data_update
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.model import UnreportedCandidateError
from trimtab.pulsar.settings import load_manager_settings

MODULAR = chain("ModularLoadManagerImpl", leader_parts.RELEASE)
assert MODULAR is not None


def _selected(question: dict[str, Any]) -> dict[str, Any]:
    """Select as the question says: one of the candidates, then perhaps one of others."""
    assert MODULAR is not None
    asked = leader_parts.asked(question)
    names = asked.brokers.names
    first = considered(MODULAR, np.arange(len(names)), asked)
    found = {"candidates": [sorted(names[i] for i in first.brokers)]}
    if not first.brokers.size:
        return found
    among = sorted(first.brokers.tolist(), key=lambda i: names[i])
    chosen = among[question["choose"] % len(among)]
    try:
        again = chosen_again(MODULAR, asked, leader_parts.load(question), chosen)
    except UnreportedCandidateError:
        return {"error": "NullPointerException", **found}
    if again is not None:
        found["candidates"].append(sorted(names[i] for i in again))
    return found


def test_selection_asks_placement_about_the_same_brokers() -> None:
    seen: Counter[str] = Counter()
    for question in leader_parts.recorded("select"):
        asked = leader_parts.asked(question)
        answer = dict(question["answer"])
        stays = answer.pop("stays")
        owner = asked.brokers.names.index(question["owner"])

        assert _selected(question) == answer, question
        assert MODULAR is not None
        allowed = MODULAR.policies(np.arange(len(asked.brokers.names)), asked)
        assert would_crowd_its_group(asked, allowed, owner) == stays, question
        seen["stays" if stays else "goes"] += 1
        seen["error" if "error" in answer else f"{len(answer['candidates'])} choices"] += 1
        seen["nobody"] += answer["candidates"] == [[]]
        result = considered(MODULAR, np.arange(len(asked.brokers.names)), asked)
        seen["fallback"] += result.is_fallback
        for step in result.steps:
            seen[step.name] += bool(step.removed.size)
    assert MODULAR is not None
    # Every filter has removed somebody at least so often, and every way out was taken.
    wanted = [*(name for name, _ in MODULAR.filters), "fallback", "nobody", "error", "stays"]
    assert {name: seen[name] for name in [*wanted, "2 choices"] if seen[name] < 10} == {}


def test_reports_are_written_when_the_broker_writes_them() -> None:
    written: Counter[bool] = Counter()
    for question in leader_parts.recorded("gate"):
        conf = {
            "loadBalancerReportUpdateThresholdPercentage": str(question["threshold"]),
            "loadBalancerReportUpdateMaxIntervalMinutes": str(question["minutes"]),
        }
        is_written = need_broker_data_update(
            leader_parts.measured([question["written"]]),
            leader_parts.measured([question["current"]]),
            np.array([question["age_ms"] / 1000.0]),
            load_manager_settings(conf, leader_parts.RELEASE),
        )

        assert is_written.tolist() == [question["answer"]["written"]], question
        written[question["answer"]["written"]] += 1
    assert min(written[True], written[False]) > 50


def _plain(plain: LoadManager, look: dict[str, Any]) -> dict[str, Any]:
    """Let the plain leader look at the reports, and return what it knows then."""
    for bundle, broker in look["preallocate"]:
        plain.preallocate_bundle(bundle, broker)
    plain.own = set(look["own"])
    plain.update_bundle_data()
    return {
        "bundles": {name: data.contents() for name, data in plain.bundle_data.items()},
        "brokers": {
            broker: {
                "long": data.long_term,
                "ahead": {
                    bundle: [*ahead.long.values[:2], ahead.topics]
                    for bundle, ahead in plain.preallocated_bundle_data.get(broker, {}).items()
                },
            }
            for broker, data in plain.broker_data.items()
        },
        "assigned": plain.preallocated_bundle_to_broker,
    }


def _fast(fast: LeaderView, look: dict[str, Any]) -> dict[str, Any]:
    """Let the leader that runs look at the reports, and return what it knows then."""
    for bundle, broker in look["preallocate"]:
        fast.give(bundle, broker)
    fast.own = set(look["own"])
    fast.recompute()
    data, load = fast.averages.bundle_data(), broker_load(fast)
    assert data is not None and load.long_rate_in is not None and load.long_rate_out is not None
    ahead = load.preallocations
    given = list(zip(ahead.rate_in.tolist(), ahead.rate_out.tolist(), strict=True))
    return {
        "bundles": dict(zip(data.rows, data.values.tolist(), strict=True)),
        "brokers": {
            broker: {
                "long": [float(load.long_rate_in[i]), float(load.long_rate_out[i])],
                "ahead": sorted(given[j] for j in np.flatnonzero(ahead.broker == i)),
            }
            for i, broker in enumerate(load.brokers)
        },
    }


def _of_the_class(answer: dict[str, Any], looks: dict[str, Any]) -> dict[str, Any]:
    """Return what the leader that runs keeps of an answer: rates of brokers, and no topics.

    It adds up what a broker's bundles carry when all are fed, and the class in between; so
    brokers are left out of which another one reports a bundle, too.
    """
    count = Counter(bundle for stats in looks.values() for bundle in stats)
    return {
        "bundles": answer["bundles"],
        "brokers": {
            broker: {
                "long": said["long"][:2],
                "ahead": sorted(tuple(rates[:2]) for rates in said["ahead"].values()),
            }
            for broker, said in answer["brokers"].items()
            if all(count[bundle] == 1 for bundle in looks[broker])
        },
    }


@pytest.mark.slow
@pytest.mark.parametrize("number", range(60))
def test_looks_at_the_reports_leave_the_same_behind(number: int) -> None:
    question = list(leader_parts.recorded("look"))[number]
    fast, plain = LeaderView(), LoadManager()
    reported: dict[str, Any] = {}
    for look, answer in zip(question["looks"], question["answer"]["looks"], strict=True):
        for broker, stats in look["reports"].items():
            report, same = reports(broker, stats)
            fast.put(report)
            plain.write(same)
        reported |= look["reports"]
        assert _plain(plain, look) == answer
        wanted, found = _of_the_class(answer, reported), _fast(fast, look)
        found["brokers"] = {name: found["brokers"][name] for name in wanted["brokers"]}
        assert found == wanted


def _looked() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each answer with all reports that there were by then."""
    for question in leader_parts.recorded("look"):
        reported: dict[str, Any] = {}
        for look, answer in zip(question["looks"], question["answer"]["looks"], strict=True):
            reported = reported | look["reports"]
            yield answer, reported


def test_looks_are_not_vacuous() -> None:
    answers = [
        look for question in leader_parts.recorded("look") for look in question["answer"]["looks"]
    ]
    ahead = [broker["ahead"] for look in answers for broker in look["brokers"].values()]

    assert sum(map(bool, ahead)) > 10
    assert sum(len(_of_the_class(*looked)["brokers"]) for looked in _looked()) > 100
    assert max(row[4] for look in answers for row in look["bundles"].values()) == 10
    assert sum(not look["bundles"] for look in answers) > 1
