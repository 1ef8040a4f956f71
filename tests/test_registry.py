"""Which function decides for a class in a release."""

from __future__ import annotations

import pytest

from trimtab.pulsar.place import EXTENSIBLE_PLACERS, PLACERS, extensible_placer, placer
from trimtab.pulsar.releases import newest_entry, release_order
from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS, SHEDDERS, extensible_shedder, shedder
from trimtab.pulsar.shed.avg_shedder import (
    avg_shedder,
    avg_shedder_3_0,
    avg_shedder_4_0_0,
    avg_shedder_5_0,
)
from trimtab.pulsar.shed.overload_shedder import overload_shedder, overload_shedder_2_10
from trimtab.pulsar.shed.transfer_shedder import (
    transfer_shedder,
    transfer_shedder_3_0,
    transfer_shedder_4_0_0,
)
from trimtab.pulsar.shed.uniform_load_shedder import (
    uniform_load_shedder,
    uniform_load_shedder_2_10,
    uniform_load_shedder_3_0,
    uniform_load_shedder_3_0_7,
)


@pytest.mark.parametrize(
    ("name", "release", "function"),
    [
        ("OverloadShedder", "2.10.4", overload_shedder_2_10),
        ("OverloadShedder", "3.3.5", overload_shedder_2_10),
        ("OverloadShedder", "3.3", overload_shedder_2_10),
        ("OverloadShedder", "4.0.0", overload_shedder),
        ("OverloadShedder", "5.0", overload_shedder),
        ("UniformLoadShedder", "2.10", uniform_load_shedder_2_10),
        ("UniformLoadShedder", "3.0.0", uniform_load_shedder_3_0),
        ("UniformLoadShedder", "3.0.2", uniform_load_shedder_3_0_7),
        ("UniformLoadShedder", "3.0.7", uniform_load_shedder_3_0_7),
        # A line stands for its newest release.
        ("UniformLoadShedder", "3.0", uniform_load_shedder_3_0_7),
        # The fix of 3.0.2 is not in 3.1.0, which was cut before.
        ("UniformLoadShedder", "3.1.0", uniform_load_shedder_3_0),
        ("UniformLoadShedder", "3.1", uniform_load_shedder_3_0_7),
        ("UniformLoadShedder", "4.1.2", uniform_load_shedder_3_0_7),
        ("UniformLoadShedder", "5.0.0-M1", uniform_load_shedder),
        ("UniformLoadShedder", "5.0.1", uniform_load_shedder),
        ("AvgShedder", "3.0.6", avg_shedder_3_0),
        ("AvgShedder", "4.0.7", avg_shedder_4_0_0),
        ("AvgShedder", "5.0.0-M1", avg_shedder),
        ("AvgShedder", "5.0.1", avg_shedder_5_0),
    ],
)
def test_shedder_is_the_newest_that_is_not_newer(name: str, release: str, function: object) -> None:
    entry = shedder(name, release)

    assert entry is not None
    assert entry.shed is function


@pytest.mark.parametrize(
    ("release", "function"),
    [
        ("3.0.0", transfer_shedder_3_0),
        ("3.0.7", transfer_shedder_4_0_0),
        ("3.0", transfer_shedder_4_0_0),
        # What 3.0.5 has is not in releases that were cut before.
        ("3.1.0", transfer_shedder_3_0),
        ("3.2.2", transfer_shedder_3_0),
        ("3.2.3", transfer_shedder_4_0_0),
        ("3.3.2", transfer_shedder_4_0_0),
        ("3.3.5", transfer_shedder),
        # Nor is what 3.3.5 has in 4.0.0.
        ("4.0.0", transfer_shedder_4_0_0),
        ("4.0.1", transfer_shedder),
        ("4.0", transfer_shedder),
        ("5.0.0-M1", transfer_shedder),
    ],
)
def test_transfer_shedder_is_that_of_its_line(release: str, function: object) -> None:
    entry = extensible_shedder("TransferShedder", release)

    assert entry is not None
    assert entry.shed is function


def test_no_load_manager_knows_the_others_strategies() -> None:
    names = [{n for n, _ in of} for of in (SHEDDERS, EXTENSIBLE_SHEDDERS)]
    assert names[0].isdisjoint(names[1])
    names = [{n for n, _ in of} for of in (PLACERS, EXTENSIBLE_PLACERS)]
    assert names[0].isdisjoint(names[1])
    assert extensible_shedder("ThresholdShedder", "4.0.8") is None
    assert extensible_shedder("TransferShedder", "2.10.4") is None
    assert extensible_placer("LeastResourceUsageWithWeight", "4.0.8") is None
    assert extensible_placer("ExtensionsLeastResourceUsageWithWeight", "2.10.4") is None


def test_what_is_not_known_is_none() -> None:
    assert shedder("ThresholdShedder", "2.9.5") is None
    assert shedder("OverloadShedder", "2.10.0-SNAPSHOT") is None
    assert shedder("TransferShedder", "4.0.8") is None
    assert placer("LeastResourceUsageWithWeight", "2.10.4") is None
    assert placer("ThresholdShedder", "4.0.8") is None


def test_a_release_must_be_one() -> None:
    with pytest.raises(ValueError, match="release 'newest' is not understood"):
        shedder("ThresholdShedder", "newest")


def test_order_of_entries_does_not_matter() -> None:
    entries = {("a", "4.0.0"): 2, ("b", "4.0.8"): 9, ("a", "3.0.0"): 1, ("a", "5.0.0-M1"): 3}

    found = [newest_entry(entries, "a", release) for release in ("2.10", "3.3", "4.0", "5.0.0-M1")]
    assert [None, 1, 2, 3] == found


def test_entries_are_of_releases() -> None:
    keys = [*SHEDDERS, *PLACERS, *EXTENSIBLE_SHEDDERS, *EXTENSIBLE_PLACERS]

    assert keys
    assert all(release_order(since)[2] < 1_000 for _, since in keys), "a line, not a release"
