"""Decisions of a night beside what as many moves could have done."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from report_nights import decision
from trimtab.lab.costs import Windows
from trimtab.lab.reconstruct.evidence import Evidence, Lines, Owners, Reports
from trimtab.report.regret_section import section_of
from trimtab.trials.regret.document import _needed, _verdict, decisions
from trimtab.trials.regret.walk import Decision, Judged, Open, Peak, judged

_WINDOWS = Windows(60.0, 15.0)
_EVERY_S, _MINUTES = 20.0, 60
_DECIDED_S = 3000.0
_REST, _PER_K = 5.0, 4.0
_WEIGHTS = np.ones(3)
# Messages/s of each bundle at its mean, and its owner: a is the busiest.
_RATES = np.array((4000.0, 3000.0, 2000.0, 1000.0, 500.0, 2500.0, 800.0))
_OWNER = np.array((0, 0, 0, 0, 0, 1, 2))
_SENT_PER_BYTE = 2.0


def _evidence() -> Evidence:
    """Return three brokers whose traffic varies for an hour, without a move."""
    time_s = np.arange(_EVERY_S, 60.0 * _MINUTES, _EVERY_S)
    random = np.random.default_rng(5)
    phase = random.uniform(0.0, 6.0, _RATES.size)
    rates = _RATES * (1.0 + 0.4 * np.sin(phase + time_s[:, None] / 300.0))
    work = np.stack([rates[:, _OWNER == b].sum(axis=1) for b in range(3)], axis=1)
    percent = _REST + _PER_K * work / 1000.0 + random.normal(0.0, 0.2, work.shape)
    at, broker = (each.reshape(-1) for each in np.meshgrid(time_s, np.arange(3), indexing="ij"))
    limit = np.full((at.size, 5), 400.0)
    limit[:, 3:] = 1e6
    usage = np.zeros((at.size, 5))
    usage[:, 0] = 4.0 * percent.reshape(-1)
    # kbit/s: of each byte that comes in two go out, to the storage.
    usage[:, 4] = _SENT_PER_BYTE * 100.0 * work.reshape(-1) * 8.0 / 1000.0
    none = np.zeros(at.size, np.bool_)
    rows, count = rates.reshape(-1), rates.size
    return Evidence(
        brokers=("a:8080", "b:8080", "c:8080"),
        bundles=tuple(f"t/n/0x{i}_0x{i + 1}" for i in range(_RATES.size)),
        reports=Reports(at, broker, none, none, np.full(at.size, -9000.0), usage, limit),
        lines=Lines(
            np.repeat(time_s, _RATES.size),
            np.tile(_OWNER, time_s.size),
            np.tile(np.arange(_RATES.size), time_s.size),
            np.stack((rows, 0.0 * rows, 100.0 * rows, 0.0 * rows), axis=1),
            np.ones(count),
            # So many that no batch of one fills up: what more traffic takes is what all of it does.
            np.full(count, 50.0),
            np.zeros(count, np.bool_),
        ),
        owners=Owners(
            np.zeros(_RATES.size),
            np.arange(_RATES.size),
            _OWNER,
            *np.zeros((2, _RATES.size), np.bool_),
        ),
        leaders=(),
        stops=(),
        rounds=(),
    )


def _decision(bundles: Sequence[int], targets: Sequence[int], number: int = 1) -> Decision:
    source = _OWNER[np.array(bundles)]
    return Decision(number, _DECIDED_S, np.array(bundles), source, np.array(targets))


def _judged(*made: Decision, evidence: Evidence | None = None) -> list[Judged | Open]:
    return list(judged(evidence or _evidence(), _WINDOWS, made, _WEIGHTS))


def _only(*made: Decision, evidence: Evidence | None = None) -> Judged:
    (only,) = _judged(*made, evidence=evidence)
    assert isinstance(only, Judged)
    return only


def test_the_best_move_misses_nothing_and_a_small_bundle_much() -> None:
    best, small = _only(_decision([0], [2])), _only(_decision([4], [1]))
    assert best.missed.percent == pytest.approx(0.0, abs=0.5)
    assert best.needed == 1
    # By 3,500 messages/s, give or take what the bundles' waves are at that time.
    assert small.missed.percent > 5.0
    assert _verdict(best) == "as-low-as-possible"
    assert _verdict(small) == "missed"
    assert small.before.percent == best.before.percent
    assert best.possible.percent <= best.after.percent < best.before.percent


def test_what_is_possible_is_never_above_what_was_done_nor_below_the_bound() -> None:
    for bundles, targets in (([0], [1]), ([0, 1], [2, 2]), ([4, 3], [1, 1]), ([5], [0])):
        one = _only(_decision(bundles, targets))
        assert one.possible.percent <= one.after.percent
        assert one.bounds[-1] <= one.possible.percent + 1e-9
        assert one.needed <= len(bundles)
        assert one.possible.low <= one.possible.percent <= one.possible.high


@pytest.mark.parametrize(
    ("missed", "verdict"),
    [
        ((0.0, 0.0, 0.0), "as-low-as-possible"),
        ((0.2, -1.0, 0.4), "as-low-as-possible"),
        ((0.2, 0.0, 3.0), "not-sure"),
        ((4.0, 0.1, 8.0), "not-sure"),
        ((4.0, 0.5, 8.0), "missed"),
    ],
)
def test_a_verdict_is_given_only_where_the_interval_allows_no_other(
    missed: tuple[float, float, float], verdict: str
) -> None:
    one = _only(_decision([0], [2]))
    assert _verdict(dataclasses.replace(one, missed=Peak(*missed))) == verdict


def test_moves_that_were_needed_are_so_many_by_all_that_may_be() -> None:
    # One move does as well as these two, and two where what they relieve is drawn large.
    one = _only(_decision([0, 1], [2, 2]))
    drawn = one.needed_drawn
    assert one.needed == 1
    assert set(drawn.tolist()) >= {1, 2}
    assert drawn.max() <= 2
    assert _needed("needed", one.needed, drawn) == {
        "needed": 1, "needed_low": int(np.quantile(drawn, 0.1, method="nearest")),
        "needed_high": 2,
    }  # fmt: skip
    # Drawn in the same way at another time, as what a bundle costs does not change.
    again = _only(_decision([0, 1], [2, 2], number=7))
    assert again.needed_drawn.tolist() == drawn.tolist()


def test_moves_that_made_it_worse_needed_none() -> None:
    worse = _only(_decision([5], [0]))
    assert worse.after.percent > worse.before.percent
    assert worse.needed == 0


def test_nothing_later_is_known_to_a_judgement() -> None:
    evidence = _evidence()
    usage = evidence.reports.usage.copy()
    usage[evidence.reports.time_s > _DECIDED_S + 60.0] *= 2.0
    later = dataclasses.replace(
        evidence, reports=dataclasses.replace(evidence.reports, usage=usage)
    )
    one, other = (_only(_decision([1], [1]), evidence=each) for each in (evidence, later))
    assert one.possible == other.possible
    assert one.after == other.after


def test_the_second_decision_of_a_window_goes_out_from_the_first() -> None:
    first, second = _judged(_decision([0], [2]), _decision([1], [1], number=2))
    assert isinstance(first, Judged)
    assert isinstance(second, Judged)
    # But for what a curve makes of work that came or went.
    assert second.before.percent == pytest.approx(first.after.percent, abs=0.5)
    assert second.before.percent < first.before.percent - 5.0


def test_the_network_card_counts_where_it_is_the_busiest() -> None:
    evidence = _evidence()
    limit = evidence.reports.limit.copy()
    limit[:, 4] = 30_000.0
    tight = dataclasses.replace(
        evidence, reports=dataclasses.replace(evidence.reports, limit=limit)
    )
    one = _only(_decision([0], [2]), evidence=tight)
    carried = evidence.lines.rates[
        (evidence.lines.time_s < _DECIDED_S) & (evidence.lines.broker == 0), 2
    ][-5:]
    percent = 100.0 * _SENT_PER_BYTE * carried.sum() * 8.0 / 1000.0 / 30_000.0
    assert one.before.percent == pytest.approx(percent, rel=0.05)
    assert one.after.percent < one.before.percent


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (_decision([0], [-1]), "where t/n/0x0_0x1 went was not recorded"),
        (
            Decision(1, _DECIDED_S, np.array([-1]), np.array([0]), np.array([1])),
            "no report told of the traffic of a bundle before",
        ),
        (
            Decision(1, 1.0, np.array([0]), np.array([0]), np.array([1])),
            "no report told of the traffic of t/n/0x0_0x1 before",
        ),
    ],
)
def test_what_is_not_decidable_says_what_is_missing(decision: Decision, why: str) -> None:
    (answer,) = _judged(decision)
    assert isinstance(answer, Open)
    assert answer.why == why


def test_a_broker_that_had_not_measured_itself_decides_nothing() -> None:
    evidence = _evidence()
    usage = evidence.reports.usage.copy()
    usage[evidence.reports.broker == 2, 0] = 0.0
    silent = dataclasses.replace(
        evidence, reports=dataclasses.replace(evidence.reports, usage=usage)
    )
    (answer,) = _judged(_decision([0], [2]), evidence=silent)
    assert isinstance(answer, Open)
    assert answer.why == "c:8080 had not measured its CPU before"
    # It is nobody's target either.
    other = _only(_decision([0], [1]), evidence=silent)
    assert other.missed.percent == pytest.approx(0.0, abs=0.5)


def test_of_a_night_of_very_many_moves_the_first_are_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trimtab.trials.regret.walk.MOVES_MAX", 2)
    first, second = _judged(_decision([0, 1], [2, 1]), _decision([3], [2], number=2))
    assert isinstance(first, Judged)
    assert isinstance(second, Open)
    assert second.why == "2 moves were judged before it: cut the recording in time"


def test_unloads_are_gathered_by_round_in_order_of_time() -> None:
    def unload(number: int, second: int, bundle: str) -> dict[str, Any]:
        time = f"2026-11-21T06:37:{second:02d}.000Z"
        ends = {"source": "a:8080", "target": "elsewhere:8080"}
        return {"round": number, "time": time, "bundle": bundle, **ends}

    names = _evidence().bundles
    first, second = decisions(
        _evidence(), [unload(2, 40, names[1]), unload(1, 20, names[0]), unload(2, 30, "t/n/new")]
    )
    assert (first.round, second.round) == (1, 2)
    assert second.bundle.tolist() == [1, -1]
    assert second.target.tolist() == [-1, -1]
    assert second.time_s - first.time_s == 10.0


# ------------------------------------------------------------------------- the page


def _section(*rows: dict[str, Any], used: int = 4, needed: int = 2) -> dict[str, Any]:
    regret = {
        "why_not": "", "moves_used": used, "moves_needed": needed,
        "moves_needed_low": needed, "moves_needed_high": needed + 1, "decisions": list(rows),
    }  # fmt: skip
    section = section_of({"regret": regret, "unloads": [{}]})
    assert section is not None
    return section


def test_the_answer_is_one_sentence_and_the_worst_round_another() -> None:
    section = _section(decision(1, "as-low-as-possible", 0.0), decision(2, "missed", 10.0))
    assert section["line"] == (
        "4 moves: by the costs known then, 2 would have been needed to bring the busiest broker "
        "as low (in eight cases of ten 2 to 3)."
    )
    assert section["best"] == (
        "By the same costs 1 of 2 rounds left it as low as so many moves can."
    )
    assert section["worst"].startswith(
        "Round 2: 84 → 71 %, 61 % was possible with 2 moves (missed by 9.0 to 11.0 points"
    )
    assert section["needed_percent"] == 50.0
    assert section["frontier_of"] == 2


def test_a_miss_that_is_beyond_doubt_comes_before_a_larger_one_that_is_not() -> None:
    section = _section(decision(1, "not-sure", 12.0), decision(2, "missed", 10.0))
    assert section["worst"].startswith("Round 2:")
    assert [row["tone"] for row in section["rows"]] == ["doubtful", "useless"]
    assert section["best"] == (
        "By the same costs none of 2 rounds surely left it as low as so many moves can; 1 may have."
    )
    assert section["rows"][0]["needed"] == "1 (1 to 2)"


def test_rounds_that_are_not_decidable_say_so_and_are_not_counted() -> None:
    undecided = {
        "round": 1, "time": "2026-11-21T06:37:22.000Z", "moves": 14,
        "verdict": "not-decidable", "why_not": "no report told of it",
    }  # fmt: skip
    section = _section(undecided, decision(2, "as-low-as-possible", 0.0), used=2, needed=2)
    assert section["line"] == (
        "2 moves in 1 of 2 rounds: by the costs known then, all would have been needed to bring "
        "the busiest broker as low (in eight cases of ten 2 to 3)."
    )
    assert section["rows"][0]["words"] == "not decidable"
    alone = _section(undecided, used=0, needed=0)
    assert alone["line"] == ""
    assert alone["decisions"] == []


def test_of_a_night_without_a_move_nothing_is_said() -> None:
    assert section_of({"regret": {"why_not": "", "decisions": []}, "unloads": []}) is None
    # Nor of findings that are older than this.
    assert section_of({"unloads": [{}]}) is None
