"""Findings of one kind at one place are one finding, no graver than it lasts and weighs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.places import by_place
from trimtab.diagnose.usages import usages_of

TIME = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
NIGHT = Night((), usages_of(()), 0.1, 0.1, 1800.0, 60.0)


def skipped(minute: int, broker: str = "b1", bundles: int = 1) -> Finding:
    line = Event(TIME, "b1", "logs/b1.log", minute, "same-destination", "")
    return Finding(
        "skipped-bundles",
        "medium",
        TIME + timedelta(minutes=minute),
        minute,
        brokers=(broker,),
        bundles=(f"t/n/{minute}",),
        evidence=(line,),
        numbers={"skipped": bundles, "moved": 0},
        values={"why": f"{bundles} had no broker to go to"},
    )


def hot(minute: int, past: float) -> Finding:
    return Finding(
        "over-placement.hot",
        "high",
        TIME + timedelta(minutes=minute),
        minute,
        brokers=("b1",),
        numbers={"bundles": 1, "usage_after": 0.6 + past, "bar_after": 0.6},
        values={"signs": "it rose"},
    )


def test_rounds_at_one_broker_are_one_finding_with_all_of_them_inside() -> None:
    findings = [skipped(1), skipped(2, "b2"), skipped(4, bundles=3)]
    (first, mine), (second, other) = by_place(NIGHT, findings)

    assert (mine, other) == ([0, 2], [1])
    assert first.text("title") == "Bundles of b1 were chosen and not moved, 4 times in 2 rounds"
    assert first.text("text").startswith("2 times from 22:01:00 to 22:04:00. At worst, ")
    assert [part.round for part in first.parts] == [1, 4]
    assert first.bundles == ("t/n/1", "t/n/4")
    assert [event.line for event in first.evidence] == [1, 4]
    assert first.numbers["skipped"] == 4
    assert second.parts == ()


@pytest.mark.parametrize(
    ("findings", "severity"),
    [
        pytest.param([skipped(1), skipped(2)], "medium", id="two rounds"),
        pytest.param([skipped(1)], "low", id="one round"),
        pytest.param([hot(1, 0.05), hot(2, 0.05)], "high", id="clearly past the bar"),
        pytest.param([hot(1, 0.01), hot(2, 0.015)], "low", id="less than two points past it"),
        pytest.param([hot(1, 0.01), hot(2, 0.03)], "high", id="once clearly"),
    ],
)
def test_severity_follows_from_margin_and_length(findings: list[Finding], severity: str) -> None:
    ((finding, _),) = by_place(NIGHT, findings)
    assert finding.severity == severity


def test_what_harms_at_once_needs_no_second_round() -> None:
    emptied = Finding(
        "emptied-broker", "high", TIME, 1, brokers=("b1",), numbers={"bundles": 9, "moved": 9}
    )
    ((finding, _),) = by_place(NIGHT, [emptied])
    assert finding.severity == "high"


def test_rounds_that_a_finding_counts_itself_are_added_up() -> None:
    stretches = [
        Finding(
            "blind-to-imbalance.other",
            "medium",
            TIME + timedelta(minutes=minute),
            0,
            brokers=("b1", "b2"),
            numbers={"rounds": rounds, "spread": 0.3},
            values={"usage": 0.7, "least": 0.4, "score": 0.7, "bar": 0.8},
        )
        for minute, rounds in ((0, 12), (40, 15))
    ]
    ((both, _),) = by_place(NIGHT, stretches)

    assert both.text("title").endswith("nothing moved for 27 rounds in 2 stretches")
