"""Settings: keys, defaults by release, conversions, and what a slip in a file leads to."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.golden_vectors import GOLDEN, defaults
from trimtab.pulsar.bundles import is_system_bundle, namespace
from trimtab.pulsar.keys import KEYS, Kind
from trimtab.pulsar.releases import RELEASE_LINES, release_line, release_order
from trimtab.pulsar.settings import (
    SettingError,
    avg_shedder_settings,
    broker_load_settings,
    extensions_least_resource_usage_with_weight_settings,
    least_long_term_message_rate_settings,
    least_resource_usage_with_weight_settings,
    load_manager_settings,
    setting,
    threshold_shedder_settings,
    transfer_shedder_settings,
    unknown_keys,
)

RELEASES = sorted(
    (path.stem.removeprefix("defaults-") for path in GOLDEN.glob("defaults-*.json")),
    key=release_order,
)
# Keys of the load balancer that the recorded defaults leave out, because of their names.
NOT_RECORDED = {
    "defaultNamespaceBundleSplitAlgorithm",
    "defaultNumberOfNamespaceBundles",
    "exposeBundlesMetricsInPrometheus",
    "failureDomainsEnabled",
    "flowOrQpsDifferenceThresholdPercentage",
    "loadManagerClassName",
    "loadManagerServiceUnitStateTableViewClassName",
    "preferLaterVersions",
    "statsUpdateFrequencyInSecs",
    "statsUpdateInitialDelayInSecs",
    "supportedNamespaceBundleSplitAlgorithms",
    "topicBundleAssignmentStrategy",
}
IMPL = "org.apache.pulsar.broker.loadbalance.impl."


def test_seven_releases_are_recorded() -> None:
    expected = ["2.10.4", "3.0.0", "3.0.7", "3.3.5", "4.0.0", "4.0.8", "5.0.0-M1"]

    assert expected == RELEASES


@pytest.mark.parametrize("release", RELEASES)
def test_defaults_are_those_of_the_release(release: str) -> None:
    """Every key the release has, with its default and type, and no other key."""
    expected = defaults(release)
    found = {
        name: default
        for name, key in KEYS.items()
        if (default := key.default(release)) is not None and name not in NOT_RECORDED
    }

    assert {name: _as_written(value) for name, value in expected.items()} == found
    for name, value in found.items():
        assert type(value) is type(_as_written(expected[name])), name


def _as_written(value: Any) -> Any:
    """Nothing at all is written as nothing in broker.conf."""
    return "" if value in ("Optional.empty", "[]") else value


@pytest.mark.parametrize("release", [*RELEASES, *RELEASE_LINES])
def test_every_default_is_a_value_of_its_key(release: str) -> None:
    for name, key in KEYS.items():
        default = key.default(release)
        if default in (None, ""):
            continue
        text = str(default).lower() if key.kind is Kind.BOOL else str(default)
        assert default == setting({name: text}, name, release)


def test_every_key_has_what_its_page_needs() -> None:
    for name, key in KEYS.items():
        assert re.fullmatch(r"[a-z][A-Za-z]+", name)
        assert key.meaning
        assert key.meaning == key.meaning.strip().removesuffix(".")
        assert list(key.defaults) == sorted(key.defaults, key=release_order)
        assert not key.twin or KEYS[key.twin].twin == name


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("4.0.8", "4.0"),
        ("4.0", "4.0"),
        ("5.0.0-M1", "5.0"),
        ("3.2.4", "3.0"),
        ("3.1.2-SNAPSHOT", "3.0"),
        ("4.2.1", "4.0"),
        ("2.11.3", "2.10"),
        ("2.10.4.3", "2.10"),
        ("7.1.0", "5.0"),
    ],
)
def test_release_counts_to_the_nearest_line_below(release: str, line: str) -> None:
    assert line == release_line(release)


@pytest.mark.parametrize("release", ["2.9.5", "four", "", "4", "4.0.x"])
def test_release_that_is_not_known_is_refused(release: str) -> None:
    with pytest.raises(ValueError, match=f"release '{release}'"):
        release_line(release)


def test_releases_have_an_order() -> None:
    expected = ["2.10.4", "2.11.0", "3.0.7", "3.0", "3.1.0", "5.0.0-M1", "5.0.0", "5.0.1", "5.0"]

    assert expected == sorted(reversed(expected), key=release_order)


def test_direct_memory_counted_before_3_1_1() -> None:
    expected = [1.0, 1.0, 0.0, 0.0, 0.0]
    releases = ["2.10.4", "3.1.0", "3.1.1", "3.2.4", "4.0"]

    assert expected == [
        threshold_shedder_settings({}, release).weights.direct_memory for release in releases
    ]


def test_heap_counts_in_2_10_alone() -> None:
    conf = {"loadBalancerMemoryResourceWeight": "0.5"}

    assert threshold_shedder_settings(conf, "2.10.4").weights.memory == 0.5
    assert threshold_shedder_settings(conf, "3.0.0").weights.memory is None
    assert threshold_shedder_settings(conf, "4.0.8").weights.memory is None


@pytest.mark.parametrize(
    ("new", "old", "release", "expected"),
    [
        (None, None, "4.0", 1.0),
        ("0.5", None, "4.0", 0.5),
        (None, "0.7", "4.0", 0.7),
        ("0.5", "0.7", "4.0", 0.5),
        ("1.0", "0.7", "4.0", 0.7),
        ("0.5", "1.0", "4.0", 0.5),
        ("0.5", "0.7", "3.3.5", 0.7),
        ("0.5", None, "3.0", 1.0),
    ],
)
def test_bandwidth_has_two_spellings(
    new: str | None, old: str | None, release: str, expected: float
) -> None:
    """The new one wins, but 1.0 counts as not set; releases before 4.0 know the old alone."""
    for direction in ("In", "Out"):
        pairs = {
            f"loadBalancerBandwidth{direction}ResourceWeight": new,
            f"loadBalancerBandwith{direction}ResourceWeight": old,
        }
        conf = {name: text for name, text in pairs.items() if text is not None}
        weights = threshold_shedder_settings(conf, release).weights
        other = {"In": weights.bandwidth_out, "Out": weights.bandwidth_in}[direction]

        assert expected == {"In": weights.bandwidth_in, "Out": weights.bandwidth_out}[direction]
        assert other == 1.0


def test_units_are_converted() -> None:
    conf = {
        "loadBalancerBrokerThresholdShedderPercentage": "7",
        "loadBalancerBundleUnloadMinThroughputThreshold": "0.01",
        "loadBalancerHistoryResourcePercentage": ".5",
        "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": "35",
        "lowerBoundarySheddingEnabled": " TRUE ",
    }
    shedder = threshold_shedder_settings(conf, "4.0")

    assert shedder.threshold == 7 / 100.0
    assert shedder.throughput_min == 0.01 * 1048576
    assert shedder.history_share == 0.5
    assert shedder.is_lower_boundary_enabled
    # 35 * 0.01 would be 0.35000000000000003.
    assert least_resource_usage_with_weight_settings(conf, "4.0").difference_threshold == 0.35


def test_avg_shedder_by_default_goes_by_points_of_percent_and_whole_counts() -> None:
    found = avg_shedder_settings({}, "4.0.8")

    assert (found.low_threshold_points, found.high_threshold_points) == (15.0, 40.0)
    assert (found.low_hits, found.high_hits) == (8, 2)
    assert (found.unload_share, found.rate_min, found.throughput_min) == (0.2, 1000, 1048576)
    # At 5.0 the share was raised, so that a pair is level after one move.
    assert avg_shedder_settings({}, "5.0.0").unload_share == 0.5


def test_overload_threshold_of_placement_is_that_of_shedding() -> None:
    conf = {"loadBalancerBrokerOverloadedThresholdPercentage": "70"}

    assert least_long_term_message_rate_settings(conf, "2.10.4").overloaded_threshold == 0.7


def test_load_manager_by_default() -> None:
    found = load_manager_settings({}, "4.0.8")

    assert (found.shedding_interval_s, found.grace_period_s) == (60, 1800)
    assert (found.report_interval_s_min, found.report_interval_s_max) == (5, 900)
    assert (found.stats_interval_s, found.averages_interval_s) == (60, 900)
    assert (found.overloaded_threshold, found.report_threshold) == (0.85, 0.10)
    assert (found.is_enabled, found.is_shedding_enabled, found.distributes_evenly) == (True,) * 3
    assert found.bundles_stored_max == 10
    assert found.shedding_strategy == "ThresholdShedder"
    assert found.placement_strategy == "LeastLongTermMessageRate"


def test_load_manager_by_release() -> None:
    oldest, newest = load_manager_settings({}, "2.10.4"), load_manager_settings({}, "5.0.0")

    assert oldest.distributes_evenly
    assert oldest.placement_strategy == "LeastLongTermMessageRate"
    assert load_manager_settings({}, "3.3.5").bundles_stored_max is None
    assert not newest.distributes_evenly
    assert newest.shedding_strategy == newest.placement_strategy == "AvgShedder"
    assert load_manager_settings({}, "5.0.0-M1").shedding_strategy == "ThresholdShedder"


def test_strategies_of_others_keep_their_whole_name() -> None:
    """The extensible load manager has a class of the same simple name; it decides otherwise."""
    other = "org.apache.pulsar.broker.loadbalance.extensions.strategy.LeastResourceUsageWithWeight"
    conf = {
        "loadBalancerLoadSheddingStrategy": f"{IMPL}OverloadShedder",
        "loadBalancerLoadPlacementStrategy": other,
    }
    found = load_manager_settings(conf, "4.0")

    assert (found.shedding_strategy, found.placement_strategy) == ("OverloadShedder", other)


@pytest.mark.parametrize("limit", ["0", "-1"])
def test_no_limit_of_stored_averages(limit: str) -> None:
    conf = {"loadBalancerMaxNumberOfBundlesInBundleLoadReport": limit}

    assert load_manager_settings(conf, "4.0").bundles_stored_max is None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("loadBalancerBrokerThresholdShedderPercentage", "10.5", "a whole number of 32 bits"),
        ("loadBalancerBrokerThresholdShedderPercentage", "1_0", "a whole number of 32 bits"),
        ("loadBalancerBrokerThresholdShedderPercentage", "2147483648", "a whole number of 32 bits"),
        ("loadBalancerHistoryResourcePercentage", "90%", "a number"),
        ("loadBalancerHistoryResourcePercentage", "nan", "a number"),
        ("lowerBoundarySheddingEnabled", "yes", "true or false"),
    ],
)
def test_value_that_cannot_be_read_is_told(name: str, text: str, expected: str) -> None:
    with pytest.raises(SettingError) as caught:
        threshold_shedder_settings({name: text}, "4.0")

    assert str(caught.value) == f"{name}: found {text!r}, expected {expected}"
    assert (caught.value.key, caught.value.found, caught.value.expected) == (name, text, expected)


@pytest.mark.parametrize("text", ["", "  "])
def test_blank_value_counts_as_not_set(text: str) -> None:
    conf = {"loadBalancerBrokerThresholdShedderPercentage": text}

    assert threshold_shedder_settings(conf, "4.0") == threshold_shedder_settings({}, "4.0")


def test_key_of_a_later_release_is_passed_over() -> None:
    """A 2.10 broker never looks at it, so it may hold anything."""
    conf = {"lowerBoundarySheddingEnabled": "perhaps"}

    assert not threshold_shedder_settings(conf, "2.10.4").is_lower_boundary_enabled


def test_strategy_that_a_release_lacks_is_told() -> None:
    with pytest.raises(SettingError, match="expected a release that has this key"):
        least_resource_usage_with_weight_settings({}, "2.10.4")
    with pytest.raises(SettingError, match="expected a release that has this key"):
        avg_shedder_settings({}, "2.10.4")


def test_misspelt_keys_are_told_with_what_was_meant() -> None:
    conf = dict.fromkeys(
        [
            "loadBalancerSheddingEnabeld",
            "lowerBoundaryShedingEnabled",
            "maxUnloadPercentages",
            "loadBalancerFrobnicate",
            "loadbalancerEnabled",
            "loadBalancerEnabled",
            "minUnloadMessage",
        ],
        "1",
    )
    expected = (
        ("loadBalancerSheddingEnabeld", "loadBalancerSheddingEnabled"),
        ("lowerBoundaryShedingEnabled", "lowerBoundarySheddingEnabled"),
        ("maxUnloadPercentages", "maxUnloadPercentage"),
        ("loadBalancerFrobnicate", None),
        ("loadbalancerEnabled", "loadBalancerEnabled"),
    )

    assert expected == unknown_keys(conf)


def test_keys_of_other_subjects_are_passed_over() -> None:
    """The nearest of the hundreds of other keys that a broker.conf of 4.0.8 has."""
    names = """
        allowAutoTopicCreation brokerServicePort clusterName defaultNumPartitions
        exposeConsumerLevelMetricsInPrometheus exposeProducerLevelMetricsInPrometheus
        exposeTopicLevelMetricsInPrometheus exposeManagedLedgerMetricsInPrometheus
        managedLedgerOffloadDriver managedLedgerStatsPeriodSeconds maxMessageSize
        maxTopicsPerNamespace maxUnackedMessagesPerBroker maxUnackedMessagesPerConsumer
        metadataStoreBatchingEnabled namespaceBundleUnloadingTimeoutMs topicLoadTimeoutSeconds
        transactionLogBatchedWriteEnabled maxConcurrentTopicLoadRequest
        delayedDeliveryMaxNumBuckets resourceUsageTransportPublishIntervalInSecs
    """.split()

    assert unknown_keys(dict.fromkeys(names, "1")) == ()


RANGE = "0x00000000_0xffffffff"


@pytest.mark.parametrize(
    ("name", "until_4", "from_5"),
    [
        ("pulsar/broker-1:8080", True, True),
        ("pulsar/c1/broker-1:8080", True, False),
        ("sla-monitor/c1/broker-1:8080", True, False),
        ("sla-monitor/broker-1:8080", False, True),
        ("pulsar/system", False, False),
        ("public/default", False, False),
        ("pulsarish/broker-1:8080", False, False),
    ],
)
def test_system_bundles_by_release(name: str, until_4: bool, from_5: bool) -> None:
    for release in ("2.10.4", "3.0.7", "3.3", "4.0.8"):
        assert until_4 == is_system_bundle(f"{name}/{RANGE}", release)
    assert from_5 == is_system_bundle(f"{name}/{RANGE}", "5.0.0-M1")


def test_system_namespace_is_shielded_in_3_0_0_alone() -> None:
    assert is_system_bundle(f"pulsar/system/{RANGE}", "3.0.0")
    assert not is_system_bundle(f"pulsar/system/{RANGE}", "3.0")


def test_namespace_is_what_stands_before_the_range() -> None:
    assert namespace(f"t/n/{RANGE}") == "t/n"
    assert namespace(f"t/c/n/{RANGE}") == "t/c/n"


# ------------------------------------------------------------------ the extensible load manager


def test_transfer_shedder_goes_by_what_is_set() -> None:
    conf = {
        "loadBalancerBrokerLoadTargetStd": "0.1",
        "loadBalancerBrokerOverloadedThresholdPercentage": "70",
        "loadBalanceSheddingDelayInSeconds": "60",
        "loadBalancerTransferEnabled": "false",
        "loadBalancerSheddingExcludedNamespaces": "t/n1, t/n2,",
    }
    found = transfer_shedder_settings(conf, "5.0.0-M1")

    assert (found.deviation_target, found.overloaded_threshold) == (0.1, 0.7)
    assert (found.hits, found.brokers_max) == (3, 3)
    assert (found.pause_s, found.load_data_age_s_max) == (60, 1800)
    assert (found.is_transferring, found.sheds_with_policies, found.is_debugging) == (False,) * 3
    assert found.excluded_namespaces == {"t/n1", "t/n2"}


def test_no_namespace_is_excluded_where_there_is_no_such_key() -> None:
    conf = {"loadBalancerSheddingExcludedNamespaces": "t/n1"}

    assert transfer_shedder_settings(conf, "4.0.8").excluded_namespaces == frozenset()
    assert transfer_shedder_settings({}, "5.0.0-M1").excluded_namespaces == frozenset()


@pytest.mark.parametrize(("release", "weight"), [("3.0.7", 1.0), ("4.0.8", 0.0)])
def test_the_heap_counts_in_what_brokers_publish(release: str, weight: float) -> None:
    assert broker_load_settings({}, release).weights.memory == weight
    heavy = broker_load_settings({"loadBalancerMemoryResourceWeight": "0.5"}, release)
    assert heavy.weights.memory == 0.5
    assert heavy.history_share == 0.9


def test_extensions_placer_goes_by_a_fraction() -> None:
    conf = {"loadBalancerAverageResourceUsageDifferenceThresholdPercentage": "25"}
    read = extensions_least_resource_usage_with_weight_settings

    assert read(conf, "4.0.8").difference_threshold == 0.25
    assert read({}, "3.0.0").difference_threshold == 0.1
