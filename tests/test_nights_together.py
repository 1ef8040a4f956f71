"""Nights of one cluster put together: in order, by what all tell of costs, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tools import sizes
from trimtab.files.fields import FieldError
from trimtab.lab.costs import Windows
from trimtab.lab.costs.arrays import among, only
from trimtab.lab.costs.knowledge import unwatched
from trimtab.lab.reconstruct.cluster import Measured, rebuilt
from trimtab.lab.reconstruct.costs import known_costs
from trimtab.lab.simulate.draw import drawn
from trimtab.trials.recorded_cluster import RecordedCluster, RecordedNight, together

WINDOWS = Windows(60.0, 60.0)
MEASURED = Measured(host_s=60.0, stats_s=60.0, write_quorum=2.0)


@pytest.fixture(scope="module")
def nights() -> tuple[RecordedNight, ...]:
    """Two nights of a cluster that sheds, one after the other."""
    cluster, balancer = sizes.cluster_of(1)
    evidence = sizes.recorded(drawn(cluster, 1), balancer, cluster, 2)
    return tuple(
        RecordedNight(
            RecordedCluster(each, rebuilt(each, MEASURED), balancer, 60.0, True, MEASURED),
            {"recording": name},
        )
        for name, each in zip(("monday", "tuesday"), evidence, strict=True)
    )


def test_nights_are_put_in_order_and_know_what_all_tell(nights: tuple[RecordedNight, ...]) -> None:
    first, second = together(nights[::-1])
    assert (first.name, second.name) == ("monday", "tuesday")
    alone = nights[0].cluster.rebuilt.used.known
    known = [each.cluster.rebuilt.used.known for each in (first, second)]
    assert known[0].time_s == known[1].time_s > alone.time_s
    assert known[0].shared.tobytes() == known[1].shared.tobytes() != alone.shared.tobytes()
    assert together(nights[:1]) == nights[:1]


def of(night: RecordedNight, **changed: Any) -> RecordedNight:
    """Give a night of another balancer."""
    balancer = replace(night.cluster.balancer, **changed)
    return replace(night, cluster=replace(night.cluster, balancer=balancer))


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"release": "3.0"}, "tuesday: release: found 3.0, expected 4.0 as in monday: nights of "),
        ({"shedder": None}, "tuesday: strategy: found none, expected UniformLoadShedder as in "),
        ({"placer": "AvgShedder"}, "tuesday: placement: found AvgShedder, expected LeastLong"),
        (
            {"conf": {"loadBalancerSheddingIntervalMinutes": "2"}},
            "loadBalancerSheddingIntervalMinutes: found 2, expected nothing as in monday",
        ),
    ],
)
def test_nights_that_were_steered_otherwise_are_refused(
    nights: tuple[RecordedNight, ...], changed: dict[str, Any], error: str
) -> None:
    with pytest.raises(FieldError) as caught:
        together([nights[0], of(nights[1], **changed)])
    assert error in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_settings_that_steer_nothing_do_not_count(nights: tuple[RecordedNight, ...]) -> None:
    assert together([nights[0], of(nights[1], conf={"advertisedAddress": "here"})])


def test_another_cluster_and_the_same_night_are_refused(nights: tuple[RecordedNight, ...]) -> None:
    cluster = nights[1].cluster
    renamed = tuple(f"other-{name}" for name in cluster.evidence.bundles)
    other = replace(cluster, evidence=replace(cluster.evidence, bundles=renamed))
    with pytest.raises(FieldError, match=r"tuesday: bundles: found 0 of \d+, expected at least"):
        together([nights[0], replace(nights[1], cluster=other)])
    again = replace(nights[0], findings={"recording": "again"})
    with pytest.raises(FieldError, match="again: found a night during that of monday, expected"):
        together([nights[0], again])


def test_a_night_begins_with_costs_and_without_what_has_passed(
    nights: tuple[RecordedNight, ...],
) -> None:
    known = nights[0].cluster.rebuilt.used.known
    rested = unwatched(known)
    assert np.isnan(rested.brokers.level).all()
    assert (rested.bundles.owner == -1).all()
    assert not rested.brokers.unverified.any()
    assert rested.brokers.blocks.tobytes() == known.brokers.blocks.tobytes()
    assert rested.shared.tobytes() == known.shared.tobytes()
    # A night without a move of its own verifies none, whoever has what when it begins.
    still = nights[0].cluster.evidence
    owned = len(still.bundles)
    owners = replace(
        still.owners,
        **{name: getattr(still.owners, name)[:owned] for name in still.owners.__slots__},
    )
    later = replace(nights[1].cluster.evidence, owners=owners)
    (alone,), (_, both) = (known_costs(it, WINDOWS) for it in ((later,), (later, later)))
    assert both.missed.tolist() == alone.missed.tolist()


def test_what_is_known_of_some_names_is_that_of_all(nights: tuple[RecordedNight, ...]) -> None:
    known = nights[0].cluster.rebuilt.used.known
    brokers, bundles = known.broker_names[::-1][:2], known.bundle_names[3:9]
    few = only(known, brokers, bundles)
    assert (few.broker_names, few.bundle_names) == (brokers, bundles)
    whole = among(known, brokers, bundles)
    assert few.brokers.rest.tobytes() == whole.brokers.rest[:2].tobytes()
    assert few.following.tobytes() == whole.following[:2].tobytes()
    # Of brokers that are left out nobody owns anything.
    owner = np.where(whole.bundles.owner[:6] < 2, whole.bundles.owner[:6], -1)
    assert few.bundles.owner.tolist() == owner.tolist()
