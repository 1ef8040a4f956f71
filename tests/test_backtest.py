"""Walks through recorded time: what is predicted when, and how it is scored."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from trimtab.lab.costs import Windows
from trimtab.lab.reconstruct.evidence import Evidence, Lines, Owners, ProcessCpu, Reports
from trimtab.lab.reconstruct.looks import looks, moves
from trimtab.trials.backtest.command import documents
from trimtab.trials.backtest.laboratory import Trial, outcomes
from trimtab.trials.backtest.lines import lines
from trimtab.trials.backtest.summary import summary
from trimtab.trials.backtest.walk import Scored, backtest
from trimtab.trials.costs.document import document, night
from trimtab.trials.costs.lines import lines as cost_lines

_WINDOWS = Windows(60.0, 15.0)
_EVERY_S, _MINUTES, _MOVED_S = 20.0, 60, 1830.0
_BUNDLES, _REST, _PER_K = 12, 10.0, 4.0


def _evidence(minutes: int = _MINUTES) -> Evidence:
    """Return three brokers that report every 20 s; bundle 0 goes from 0 to 1 after half an hour."""
    time_s = np.arange(_EVERY_S, 60.0 * minutes, _EVERY_S)
    random = np.random.default_rng(5)
    phase = random.uniform(0.0, 6.0, _BUNDLES)
    rates = 1000.0 * (1.0 + 0.6 * np.sin(phase + time_s[:, None] / 400.0))
    owner = np.tile(np.arange(_BUNDLES) % 3, (time_s.size, 1))
    owner[time_s > _MOVED_S, 0] = 1
    work = np.stack([np.where(owner == b, rates, 0.0).sum(axis=1) for b in range(3)], axis=1)
    percent = _REST + _PER_K * work / 1000.0 + random.normal(0.0, 0.3, work.shape)
    at, broker = (each.reshape(-1) for each in np.meshgrid(time_s, np.arange(3), indexing="ij"))
    limit = np.full((at.size, 5), 400.0)
    usage = np.zeros((at.size, 5))
    usage[:, 0] = 4.0 * percent.reshape(-1)
    none = np.zeros(at.size, np.bool_)
    count = rates.size
    rows = rates.reshape(-1)
    first = np.full(_BUNDLES, 0.0)
    return Evidence(
        brokers=("a:8080", "b:8080", "c:8080"),
        bundles=tuple(f"t/n/0x{i:08x}_0x{i + 1:08x}" for i in range(_BUNDLES)),
        reports=Reports(at, broker, none, none, np.full(at.size, -9000.0), usage, limit),
        lines=Lines(
            np.repeat(time_s, _BUNDLES),
            owner.reshape(-1),
            np.tile(np.arange(_BUNDLES), time_s.size),
            np.stack((rows, 0.0 * rows, 500.0 * rows, 0.0 * rows), axis=1),
            np.ones(count),
            np.ones(count),
            np.zeros(count, np.bool_),
        ),
        owners=Owners(
            np.append(first, _MOVED_S),
            np.append(np.arange(_BUNDLES), 0),
            np.append(np.arange(_BUNDLES) % 3, 1),
            *np.zeros((2, _BUNDLES + 1), np.bool_),
        ),
        leaders=(),
        stops=(),
        rounds=(),
    )


def test_a_move_is_scored_at_both_ends_after_5_and_30_minutes() -> None:
    run = backtest(_evidence(minutes=64), _WINDOWS)
    ends = [(each.minutes, each.broker) for each in run.scored if each.is_move]
    assert ends == [(5, 0), (5, 1), (30, 0), (30, 1)]
    assert not run.skipped


def test_when_a_process_began_is_known_though_the_last_report_of_a_window_does_not_say() -> None:
    evidence = _evidence()
    started_s = evidence.reports.started_s.copy()
    # Two of three reports of a minute were asked for, and those do not say.
    started_s[np.round(evidence.reports.time_s) % 60.0 > 1.0] = np.nan
    reports = dataclasses.replace(evidence.reports, started_s=started_s)
    told = list(looks(dataclasses.replace(evidence, reports=reports), 60.0))
    assert all((look.started_s == -9000.0).all() for look in told[1:-1])
    scored = backtest(dataclasses.replace(evidence, reports=reports), _WINDOWS)
    assert "the broker began anew" not in scored.skipped
    assert [each for each in scored.scored if each.is_move]


def test_the_change_is_nearer_than_by_the_share_of_traffic() -> None:
    run = backtest(_evidence(), _WINDOWS)
    source = next(each for each in run.scored if each.is_move and each.broker == 0)
    change = source.measured_after - source.measured_before
    assert abs(source.after - source.before - change) < abs(source.by_share - change)
    assert source.after - source.before < 0


def test_untouched_brokers_are_scored_where_nobody_moves() -> None:
    run = backtest(_evidence(), _WINDOWS)
    calm = [each for each in run.scored if not each.is_move]
    assert {each.minutes for each in calm} == {5, 30}
    touched = [each for each in calm if each.broker in (0, 1)]
    for each in touched:
        ends_s = each.time_s + 60.0 * each.minutes
        assert ends_s < _MOVED_S or each.time_s > _MOVED_S


def test_nothing_later_is_known_to_a_prediction() -> None:
    evidence = _evidence()
    # From the next window on, brokers use twice as much.
    usage = evidence.reports.usage.copy()
    usage[evidence.reports.time_s > _MOVED_S + 60.0] *= 2.0
    reports = dataclasses.replace(evidence.reports, usage=usage)
    one, other = (
        [(each.before, each.after, each.deviation) for each in run.scored if each.is_move]
        for run in (
            backtest(evidence, _WINDOWS),
            backtest(dataclasses.replace(evidence, reports=reports), _WINDOWS),
        )
    )
    assert one
    assert one == other


def test_a_broker_that_contradicts_itself_is_named_with_its_time() -> None:
    evidence = _evidence()
    usage = evidence.reports.usage.copy()
    usage[(evidence.reports.broker == 2) & (evidence.reports.time_s > 2400.0), 0] += 4.0 * 15.0
    reports = dataclasses.replace(evidence.reports, usage=usage)
    learned = night(dataclasses.replace(evidence, reports=reports), _WINDOWS)
    (jump,) = learned.jumps
    assert jump.broker == "c:8080"
    assert 2400.0 <= jump.time_s <= 2400.0 + 4 * 60.0
    assert jump.points == pytest.approx(15.0, abs=3.0)
    text = "\n".join(cost_lines(document("night", learned)))
    assert "c:8080 contradicts itself: since about 00:4" in text
    assert not night(evidence, _WINDOWS).jumps


def test_a_broker_that_began_anew_is_not_scored() -> None:
    evidence = _evidence()
    started = evidence.reports.started_s.copy()
    started[(evidence.reports.broker == 1) & (evidence.reports.time_s > _MOVED_S + 200)] = 2000.0
    reports = dataclasses.replace(evidence.reports, started_s=started)
    run = backtest(dataclasses.replace(evidence, reports=reports), _WINDOWS)
    assert [each.broker for each in run.scored if each.is_move and each.minutes == 5] == [0]
    assert run.skipped["the broker began anew"] >= 1


def test_a_look_has_the_mean_of_what_each_broker_said() -> None:
    look = next(iter(looks(_evidence(), 60.0)))
    assert look.broker.tolist() == [0, 1, 2]
    assert look.written_s.tolist() == [20.0, 20.0, 20.0]
    assert look.cores.tolist() == [4.0, 4.0, 4.0]
    assert look.counts.shape == (_BUNDLES, 7)
    assert set(look.moved_from.tolist()) == {-1}


def test_other_processes_are_what_the_host_used_beyond_the_brokers_own() -> None:
    evidence = _evidence(minutes=4)
    time_s = np.arange(5.0, 240.0, 20.0)
    # Broker 1 uses half a core of four; broker 2 began anew in between, broker 0 is not scraped.
    used = ProcessCpu(
        np.concatenate((time_s, time_s)),
        np.repeat((1, 2), time_s.size),
        np.concatenate((0.5 * time_s, np.where(time_s < 100.0, 900.0, 0.0))),
    )
    order = np.argsort(used.time_s, kind="stable")
    used = ProcessCpu(used.time_s[order], used.broker[order], used.used_s[order])
    all_looks = list(looks(dataclasses.replace(evidence, process_cpu=used), 60.0))
    for look in all_looks[1:]:
        assert np.isnan(look.others[0])
        assert look.others[1] == pytest.approx(look.cpu[1] - 12.5)
    assert np.isnan(all_looks[1].others[2])


def test_a_bundle_without_an_owner_in_between_moves_once() -> None:
    nobody = Owners(
        np.array([0.0, 10.0, 12.0]),
        np.array([0, 0, 0]),
        np.array([2, -1, 1]),
        *np.zeros((2, 3), np.bool_),
    )
    found = moves(nobody)
    assert found.source.tolist() == [-1, 2]
    assert found.target.tolist() == [2, 1]


def _scored(after: float, measured: float, deviation: float = 1.0) -> Scored:
    return Scored(True, 5, 0.0, 0, 1, 20.0, after, deviation, deviation, 20.0, measured, -4.0)


def test_errors_coverage_and_bias_are_what_they_say() -> None:
    good = summary([_scored(10.0, 10.0), _scored(15.0, 12.0), _scored(25.0, 25.5)])
    model = good["model"]
    assert model["level_error_points"] == pytest.approx(3.5 / 3)
    # 10 of 10, 5 of 8, 5 of 5.5.
    assert model["bias"] == pytest.approx(20.0 / 23.5)
    assert model["change_error_percent"] == pytest.approx(100 * 0.5 / 5.5)
    # Off by 0, 3 and 0.5 deviations.
    assert model["level_coverage"] == {
        "50": pytest.approx(2 / 3),
        "80": pytest.approx(2 / 3),
        "90": pytest.approx(2 / 3),
    }
    assert good["nothing_changes"]["change_error_percent"] == pytest.approx(100.0)


def test_a_recording_without_a_move_says_that_nothing_was_predicted() -> None:
    evidence = _evidence(minutes=4)
    text = "\n".join(lines(documents([("short", evidence, _WINDOWS)])))
    assert "short: 4 looks, 0 moves" in text
    assert "nothing could be predicted" in text


@pytest.mark.slow
def test_the_laboratory_agrees_with_its_truth() -> None:
    rows = list(outcomes(Trial("S08", 100)))
    change = np.array([row.true_after - row.true_before for row in rows])
    ours = np.array([row.after - row.before for row in rows])
    share = np.array([row.by_share for row in rows])
    assert len(rows) >= 60
    assert np.abs(ours - change).mean() < 0.6 * np.abs(share - change).mean()
    inside = np.abs(ours - change) <= 1.645 * np.array([row.change_deviation for row in rows])
    assert 0.8 <= inside.mean() <= 1.0
    level = np.array([abs(row.after - row.true_after) / max(row.true_after, 5.0) for row in rows])
    assert level.mean() < 0.05
