"""The judging of the diagnosis by planted faults: how it counts, and a small part of it again."""

from __future__ import annotations

import pytest

from tools.precision.__main__ import PAGE, RESULTS
from tools.precision.families import CLEAN, FAMILIES, case, missing
from tools.precision.held_out import one
from tools.precision.judging import Verdict, counts, read, result, wilson
from tools.precision.page import rewritten
from tools.precision.recorded import Judged
from tools.precision.truth import Named, Planted
from trimtab.diagnose.findings import FINDINGS

#: Recordings that are judged again: the first that was held out of some families.
AGAIN = (
    *("over-placement", "ping-pong", "emptied-broker", "jitter-chasing", "grace-starvation"),
    *("cold-cpu", "memory-as-load", "two-leaders", "no-acting-leader", "vanished-bundle"),
    *("chatty-reports", "slow-round", "wrong-extreme", "clean-threshold", "clean-avg"),
)


def test_every_cause_has_a_family_and_a_row_of_the_page() -> None:
    text = PAGE.read_text("utf-8")
    assert missing() == []
    assert set(FAMILIES) == set(FINDINGS)
    for code in FINDINGS:
        assert f"| [{code}](findings/{code}.md) |" in text, f"{code}: run `make precision`"


def test_the_page_says_what_the_results_say() -> None:
    results = read(RESULTS)
    assert len(results) > 20 * (len(FAMILIES) + len(CLEAN)) - 20
    assert rewritten(PAGE.read_text("utf-8"), results) == PAGE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("family", AGAIN)
def test_the_present_rules_give_the_same_results(family: str) -> None:
    [stored, *_] = [each for each in read(RESULTS) if each.family == family]
    assert one(family, stored.seed).line() == stored.line()


def test_a_finding_is_right_if_it_names_what_is_true_at_its_time() -> None:
    planted = Planted("sole-bundle", 1_000_000, 2_000_000, ("b1",))
    found = Named("sole-bundle", "high", 2_100_000, frozenset({"b1", "b2"}), frozenset(), "")
    assert planted.names(found)
    for other in (
        Named("giant-bundle", "high", 2_100_000, frozenset({"b1"}), frozenset(), ""),
        Named("sole-bundle", "high", 2_100_000, frozenset({"b2"}), frozenset(), ""),
        Named("sole-bundle", "high", 2_200_000, frozenset({"b1"}), frozenset(), ""),
    ):
        assert not planted.names(other)


def test_what_is_open_counts_neither_way() -> None:
    judged = Judged(
        case("sole-bundle", 1),
        (
            Planted("sole-bundle", brokers=("b1",)),
            Planted("sole-bundle", brokers=("b2",)),
            Planted("sole-bundle", brokers=("b3",), is_marginal=True),
        ),
        tuple(
            Named("sole-bundle", "high", 0, frozenset({broker}), frozenset(), "")
            for broker in ("b1", "b3", "b4")
        ),
        None,  # type: ignore[arg-type]  # the diagnosis itself is not asked
    )
    found = result(judged)
    assert found.verdicts == {"sole-bundle": Verdict(planted=2, missed=1, right=1, wrong=1)}
    assert found.grave == 1
    counted = counts([found])["sole-bundle"]
    assert (counted.planted, counted.recalled, counted.found, counted.precise) == (1, 0, 1, 0)


def test_intervals_are_wilsons() -> None:
    # Brown, Cai and DasGupta (2001) have them for small samples.
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)
