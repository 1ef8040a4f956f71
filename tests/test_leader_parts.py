"""What stands around the strategies agrees with Pulsar's own load manager, answer by answer."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests import leader_parts
from trimtab.pulsar.candidates import chain, chosen_again, considered
from trimtab.pulsar.candidates.before_unload import would_crowd_its_group
from trimtab.pulsar.leader.broker_averages import time_average_broker_data
from trimtab.pulsar.leader.bundle_averages import (
    BundleAverages,
    meet,
    no_averages,
    update_bundle_data,
)
from trimtab.pulsar.leader.preallocations import Preallocated, clean_up, preallocate
from trimtab.pulsar.leader.report_gate import need_broker_data_update
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


@dataclasses.dataclass
class Leader:
    """What looks at the reports change."""

    brokers: list[str]
    bundles: list[str]
    averages: BundleAverages
    given: Preallocated
    told: dict[str, Any] = dataclasses.field(default_factory=dict)

    def look(self, look: dict[str, Any]) -> dict[str, Any]:
        self.told |= look["reports"]
        stored = no_averages(len(self.bundles))
        for bundle, broker in look["preallocate"]:
            at = self.bundles.index(bundle)
            self.averages = meet(self.averages, np.array([at]), stored)
            to = self.brokers.index(broker)
            self.given = preallocate(self.given, at, to, self.averages)
        reported = leader_parts.reports(self.told, self.brokers, self.bundles)
        is_own = np.array([bundle in look["own"] for bundle in self.bundles])
        looked = update_bundle_data(self.averages, reported, stored)
        self.averages = looked.averages
        self.given = clean_up(self.given, reported, is_own, self.averages)
        long = time_average_broker_data(looked.long, reported.broker, len(self.brokers))
        return {
            "bundles": {self.bundles[i]: self.row(i) for i in self.known()},
            "brokers": {
                broker: {
                    "long": long[self.brokers.index(broker)].tolist(),
                    "ahead": self.to(broker),
                }
                for broker in self.told
            },
            "assigned": {
                self.bundles[bundle]: self.brokers[broker]
                for bundle, broker in self.given.assigned.items()
            },
        }

    def known(self) -> list[int]:
        return np.flatnonzero(self.averages.is_known).tolist()

    def row(self, i: int) -> list[float]:
        a = self.averages
        short, long = a.short[i].tolist(), a.long[i].tolist()
        return [*short, a.short_samples[i], *long, a.long_samples[i], a.topics[i]]

    def to(self, broker: str) -> dict[str, list[float]]:
        mine = np.flatnonzero(self.given.broker == self.brokers.index(broker))
        return {
            self.bundles[self.given.bundle[i]]: [*self.given.rate[i], self.given.topics[i]]
            for i in mine
        }


@pytest.mark.parametrize("number", range(60))
def test_looks_at_the_reports_leave_the_same_behind(number: int) -> None:
    question = list(leader_parts.recorded("look"))[number]
    reports = [look["reports"] for look in question["looks"]]
    names = {broker for told in reports for broker in told}
    brokers = sorted(names | {to for look in question["looks"] for _, to in look["preallocate"]})
    bundles = [f"t/n/0x{i}" for i in range(6)]
    leader = Leader(brokers, bundles, no_averages(len(bundles)), Preallocated())
    for look, answer in zip(question["looks"], question["answer"]["looks"], strict=True):
        assert leader.look(look) == answer


def test_looks_are_not_vacuous() -> None:
    answers = [
        look for question in leader_parts.recorded("look") for look in question["answer"]["looks"]
    ]
    ahead = [broker["ahead"] for look in answers for broker in look["brokers"].values()]

    assert sum(map(bool, ahead)) > 10
    assert max(row[4] for look in answers for row in look["bundles"].values()) == 10
    assert sum(not look["bundles"] for look in answers) > 1
