"""Every recorded decision of Pulsar's own classes is reached here, bit for bit.

It is reached twice: with the orders in which the Java walked its maps, and from the input
alone.  How many decisions there are stands in docs/agreement.md, which `make regen` rewrites.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from oracle.agreement import agreement, is_known

from tests.golden_vectors import FULL, recorded_classes, vectors, whole_vectors
from trimtab.pulsar.model import MEBIBYTE, ClusterLoad, Decision, Reason
from trimtab.pulsar.releases import release_order
from trimtab.pulsar.shed import shedder

PAGE = Path(__file__).resolve().parent.parent / "docs" / "agreement.md"
ROW = "| {} | {} | {} | {} | {} | {} | {} |\n"


@dataclass
class Tally:
    """What became of the vectors of one class in one release."""

    sequences: int = 0
    shed: int = 0
    selected: int = 0
    ties: int = 0
    differences: tuple[str, ...] = ()

    def row(self, strategy: str, release: str) -> str:
        counts = (self.sequences, self.shed, self.selected, self.ties, len(self.differences))
        return ROW.format(strategy, release, *(f"{count:,}" for count in counts))


@cache
def tally(strategy: str, release: str) -> Tally:
    found = Tally()
    for vector in whole_vectors(strategy, release):
        outcome = agreement(vector, release)
        found.sequences += 1
        found.shed += outcome.shed
        found.selected += outcome.selected
        found.ties += vector.get("ties", False)
        if outcome.difference is not None:
            where = f"{vector['id']} round {outcome.round}"
            found.differences += (f"{where}: {outcome.difference}",)
    return found


@pytest.mark.parametrize(
    ("strategy", "release"),
    # What decides in other releases is mostly the same code.
    [pytest.param(*of, marks=[pytest.mark.slow] * (of[1] != FULL)) for of in recorded_classes()],
)
def test_class_decides_as_the_java_does(
    strategy: str, release: str, record_property: pytest.RecordProperty
) -> None:
    found = tally(strategy, release)

    record_property("decisions", found.shed + found.selected)
    assert found.differences == ()
    assert is_known(strategy, release)
    assert found.shed + found.selected > found.sequences > 0


@pytest.mark.slow
def test_the_counts_are_on_record(request: pytest.FixtureRequest) -> None:
    """A file of vectors that was lost or cut short must not pass."""
    page = PAGE.read_text(encoding="utf-8")
    head, rule, rest = page.partition("| --- | --- | --- | --- | --- | --- | --- |\n")
    assert rule
    classes = sorted(recorded_classes(), key=lambda of: (of[0], release_order(of[1])))
    rows = "".join(tally(*of).row(*of) for of in classes)
    tail = rest[rest.rindex("|\n") + 2 :]
    if request.config.getoption("regen_all"):
        PAGE.write_text(head + rule + rows + total(classes) + tail, encoding="utf-8")
    else:
        assert rest == rows + total(classes) + tail


def total(classes: list[tuple[str, str]]) -> str:
    tallies = [tally(*of) for of in classes]
    everything = Tally(
        sum(found.sequences for found in tallies),
        sum(found.shed for found in tallies),
        sum(found.selected for found in tallies),
        sum(found.ties for found in tallies),
        tuple(difference for found in tallies for difference in found.differences),
    )
    return everything.row("all", "")


# --------------------------------------------------------- differences are noticed


def _another_unload(answer: dict[str, Any]) -> None:
    answer["unload"].pop()


def _another_order(answer: dict[str, Any]) -> None:
    answer["unload"].reverse()


def _another_destination(answer: dict[str, Any]) -> None:
    answer["dest"][0] = "elsewhere:8080"


def _a_bit_more(answer: dict[str, Any]) -> None:
    numbers = next(iter(answer["state"].values()))
    broker = next(iter(numbers))
    numbers[broker] = math.nextafter(numbers[broker], math.inf)


def _one_hit_more(answer: dict[str, Any]) -> None:
    broker = next(iter(answer["state"]["hit_high"]))
    answer["state"]["hit_high"][broker] += 1


def _an_error(answer: dict[str, Any]) -> None:
    answer["error"] = "java.lang.NullPointerException"


def _another_draw(answer: dict[str, Any]) -> None:
    answer["select"][0]["set"].reverse()


def _another_turn(answer: dict[str, Any]) -> None:
    answer["select"][0]["count"] += "0"


def _another_hit(answer: dict[str, Any]) -> None:
    answer["state"]["hits"] += 1


def _a_bit_more_deviation(answer: dict[str, Any]) -> None:
    answer["state"]["std"] = math.nextafter(answer["state"]["std"], math.inf)


def _another_cause(answer: dict[str, Any]) -> None:
    answer["unload"][0][3] = "Admin"


def _another_skip(answer: dict[str, Any]) -> None:
    answer["skip"] += "!"


def _a_bit_more_load(answer: dict[str, Any]) -> None:
    published = next(iter(answer["load_data"].values()))
    published[1] = math.nextafter(published[1], math.inf)


@pytest.mark.parametrize(
    ("strategy", "change"),
    [
        ("ThresholdShedder", _another_unload),
        ("ThresholdShedder", _a_bit_more),
        ("OverloadShedder", _another_order),
        ("OverloadShedder", _an_error),
        ("UniformLoadShedder", _another_unload),
        ("AvgShedder", _another_destination),
        ("AvgShedder", _one_hit_more),
        ("LeastLongTermMessageRate", _another_draw),
        ("LeastResourceUsageWithWeight", _another_draw),
        ("RoundRobinBrokerSelector", _another_turn),
        ("TransferShedder", _another_unload),
        ("TransferShedder", _another_cause),
        ("TransferShedder", _another_hit),
        ("TransferShedder", _a_bit_more_deviation),
        ("TransferShedder", _another_skip),
        ("TransferShedder", _a_bit_more_load),
        ("ExtensionsLeastResourceUsageWithWeight", _another_draw),
    ],
)
def test_a_difference_is_noticed(strategy: str, change: Callable[[dict[str, Any]], None]) -> None:
    """The vector is the first in which there is something to change."""
    for vector in whole_vectors(strategy, "4.0.8"):
        changed: Any = copy.deepcopy(vector)
        for answer in changed["expect"]:
            before = copy.deepcopy(answer)
            try:
                change(answer)
            except (IndexError, KeyError, StopIteration, AttributeError):
                continue
            if answer != before:
                assert agreement(vector, "4.0.8").difference is None
                assert agreement(changed, "4.0.8").difference is not None
                return
    pytest.fail("there was nothing to change")


# -------------------------------------------------------------------- explanations

# INFO Attempting to shed load on b1:8080, which has max resource usage above avgUsage and
# threshold 24.55% > 13.31% + 10.0% -- Offloading at least 13.9 MByte/s of traffic, left …
ATTEMPT = re.compile(
    r"INFO Attempting to shed load on (?P<broker>\S+), which has max resource usage above "
    r"avgUsage and threshold (?P<usage>\S+)% > (?P<average>\S+)% \+ \S+% -- "
    r"Offloading at least (?P<offload>\S+) MByte/s"
)


@pytest.mark.slow
def test_threshold_shedder_explains_as_the_java_logs() -> None:
    """The usage, the average and the offload that the class printed are the decision's."""
    entry = shedder("ThresholdShedder", "4.0.8")
    assert entry is not None
    lines = 0
    for vector in vectors("ThresholdShedder", "4.0.8"):
        settings, memory = entry.settings(vector.conf, "4.0.8"), entry.memory
        for recorded in vector.rounds:
            if "active_brokers" in recorded.asked:
                memory = entry.forget(memory, recorded.asked["active_brokers"])
            decision, memory = entry.shed(recorded.load, memory, settings)
            if "logs" not in recorded.answered or settings.is_lower_boundary_enabled:
                continue  # a second smoothing would have replaced what was printed
            printed = {
                match["broker"]: tuple(float(match[k]) for k in ("usage", "average", "offload"))
                for line in recorded.answered["logs"]
                if (match := ATTEMPT.match(line))
            }
            lines += len(printed)
            assert printed == _attempts(recorded.load, decision), vector.id

    assert lines == 160


def _attempts(load: ClusterLoad, decision: Decision) -> dict[str, tuple[float, float, float]]:
    """What the Java prints of each broker that it tries to relieve."""
    return {
        broker: (100 * float(score), 100 * decision.average, float(offload) / MEBIBYTE)
        for broker, score, reason, offload in zip(
            load.brokers, decision.scores, decision.reasons, decision.offload, strict=True
        )
        if reason not in (Reason.BALANCED, Reason.LOW_THROUGHPUT)
    }
