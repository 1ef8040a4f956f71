"""Which function decides for a class in a release."""

from __future__ import annotations

import pytest

from trimtab.place import PLACERS, placer
from trimtab.releases import newest_entry, release_order
from trimtab.shed import SHEDDERS, shedder
from trimtab.shed.overload_shedder import overload_shedder, overload_shedder_2_10
from trimtab.shed.uniform_load_shedder import (
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
        ("UniformLoadShedder", "3.0.6", uniform_load_shedder_3_0),
        ("UniformLoadShedder", "3.0.7", uniform_load_shedder_3_0_7),
        # A line stands for its newest release.
        ("UniformLoadShedder", "3.0", uniform_load_shedder_3_0_7),
        ("UniformLoadShedder", "4.1.2", uniform_load_shedder_3_0_7),
        ("UniformLoadShedder", "5.0.0-M1", uniform_load_shedder),
        ("UniformLoadShedder", "5.0.1", uniform_load_shedder),
    ],
)
def test_shedder_is_the_newest_that_is_not_newer(name: str, release: str, function: object) -> None:
    entry = shedder(name, release)

    assert entry is not None
    assert entry.shed is function


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
    keys = [*SHEDDERS, *PLACERS]

    assert keys
    assert all(release_order(since)[2] < 1_000 for _, since in keys), "a line, not a release"
