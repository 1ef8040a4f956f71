"""What measures is right before it is fast: clusters, comparison, page; no Java, no times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench import page
from bench.__main__ import BENCHMARKS
from bench.clusters import cluster, load, without
from bench.sides import Case, Measured, Ours, agreed
from bench.strategies import PLACE_CONF, SHED_CONF, three_digits
from bench.table import DifferenceError, Table
from trimtab.pulsar.map_order import concurrent_hash_map_order
from trimtab.pulsar.place import PLACERS
from trimtab.pulsar.shed import SHEDDERS

RELEASE = "4.0.8"
TABLE = Table("What was measured.\n", ("Pulsar 4.0.8",), ("class", "ms"), (("AvgShedder", "1.5"),))


def test_benchmark_is_file_and_function() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert benchmark.__name__ == name
        assert benchmark.__module__ == f"bench.{name}"
    assert BENCHMARKS


def test_every_strategy_of_the_modular_load_manager_is_measured() -> None:
    modular = {name for name, _ in (*SHEDDERS, *PLACERS)}

    assert {*SHED_CONF, *PLACE_CONF} == modular


def test_a_cluster_depends_on_its_size_and_seed_alone() -> None:
    text = json.dumps(cluster(20, 300, 7))

    assert json.dumps(cluster(20, 300, 7)) == text
    assert json.dumps(cluster(20, 300, 8)) != text


def test_a_cluster_is_laid_out_as_the_leader_has_it() -> None:
    asked = cluster(20, 300, 7)
    found = load(asked, RELEASE)

    assert found.brokers == concurrent_hash_map_order(asked["brokers"])
    assert sorted(found.bundles) == sorted(asked["bundle_data"])
    assert found.bundle_is_sheddable.all()
    np.testing.assert_allclose(
        np.bincount(found.bundle_broker, found.bundle_traffic().throughput_in, minlength=20),
        found.throughput_in,
    )
    with pytest.raises(ValueError, match="read-only"):
        found.resource_usage[0, 0] = 1.0


def test_brokers_that_are_lost_leave_their_bundles_behind() -> None:
    asked = cluster(20, 300, 7)
    gone = frozenset(list(asked["brokers"])[:3])
    left = without(asked, gone)

    assert len(left["brokers"]) == 17
    assert left["bundle_data"].keys() == asked["bundle_data"].keys()
    assert len(load(left, RELEASE).bundles) < 300


@pytest.fixture(scope="module")
def ours() -> Ours:
    found = Ours(RELEASE)
    found.lay_out(cluster(100, 5_000, 1))
    return found


@pytest.mark.parametrize("strategy", SHED_CONF)
def test_every_shedder_has_something_to_do(ours: Ours, strategy: str) -> None:
    shed, placed = ours.ask(Case(strategy, SHED_CONF[strategy], rounds=2, seconds=60.0))

    assert len(shed.wall_s) == len(shed.cpu_s) == len(shed.decided) == 2
    assert shed.decided[0]
    assert placed.decided == []


@pytest.mark.parametrize("strategy", PLACE_CONF)
def test_every_placer_has_something_to_do(ours: Ours, strategy: str) -> None:
    bundles, candidates = ours.load.bundles[:5], ours.load.brokers[:50]
    case = Case(strategy, PLACE_CONF[strategy], 1, 60.0, bundles, candidates)
    _, placed = ours.ask(case)

    assert len(placed.wall_s) == len(placed.decided) == 5
    assert all(placed.decided)


def test_a_class_that_has_used_up_its_time_is_asked_once(ours: Ours) -> None:
    shed, _ = ours.ask(Case("ThresholdShedder", rounds=9, seconds=0.0))

    assert len(shed.decided) == 1


def test_what_differs_is_an_error_and_so_is_nothing() -> None:
    three, two = Measured(decided=[1, 2, 3]), Measured(decided=[1, 2])

    assert agreed(three, two) == 2
    with pytest.raises(DifferenceError, match=r"1 of 3 decisions differ, the first is \[2\]"):
        agreed(three, Measured(decided=[1, 2, 4]))
    with pytest.raises(DifferenceError, match="0 of 0"):
        agreed(three, Measured())


def test_the_first_half_of_the_calls_only_warms_up() -> None:
    assert Measured([9.0, 9.0, 1.0, 3.0], [8.0, 8.0, 2.0, 2.0]).medians_ms() == (2000.0, 2000.0)
    assert Measured([9.0], [8.0]).medians_ms() == (9000.0, 8000.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.000451, "0.000451"), (7.5, "7.50"), (123.4, "123"), (16130.2, "16,130")],
)
def test_numbers_have_three_digits_that_count(value: float, text: str) -> None:
    assert three_digits(value) == text


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(page, "PAGE", tmp_path / "performance.md")
    yield tmp_path / "performance.md"


def test_a_section_replaces_the_older_one_and_leaves_the_others(written: Path) -> None:
    newer = Table("It was measured again.\n", (), TABLE.headings, (("AvgShedder", "1.2"),))
    page.write("Lost rack", TABLE, ["Strategies", "Lost rack"])
    page.write("Strategies", TABLE, ["Strategies", "Lost rack"])
    page.write("Lost rack", newer, ["Strategies", "Lost rack"])
    text = written.read_text(encoding="utf-8")

    assert text.count("\n## ") == 2
    assert text.index("## Strategies") < text.index("## Lost rack")
    assert "| class | ms |\n| --- | --- |\n| AvgShedder | 1.5 |\n\n## Lost rack" in text
    assert text.endswith("| AvgShedder | 1.2 |\n")
    assert "Pulsar 4.0.8" in text
