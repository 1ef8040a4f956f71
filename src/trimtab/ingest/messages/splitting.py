"""Messages of bundles being split, by either manager."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_BUNDLE = "shop/orders/0xd0000000_0xe0000000"
_MODULAR = "ModularLoadManagerImpl"
_MANAGERS = f"{_MODULAR} SimpleLoadManagerImpl"
_LOGGER = f"broker.loadbalance.impl.{_MODULAR}"
_SIMPLE = "broker.loadbalance.impl.SimpleLoadManagerImpl"
_STRATEGIES = (
    f"BundleSplitStrategy BundleSplitterTask DefaultNamespaceBundleSplitStrategyImpl {_MODULAR}"
)
_SPLITTER = "broker.loadbalance.BundleSplitStrategy"
_EXTENSIBLE = "broker.loadbalance.extensions.strategy.DefaultNamespaceBundleSplitStrategyImpl"
_CHANNEL = "broker.loadbalance.extensions.channel.ServiceUnitStateChannelImpl"
_MANAGER = "broker.loadbalance.extensions.manager.SplitManager"

#: A bundle's load, each part with the limit it is compared with.
_LOAD = (
    "Topics: {count}/{n_topics_max}, Sessions: ({n_producers}+{n_consumers})/{n_sessions_max}, "
    "Message Rate: {n_rate}/{n_rate_max} (msgs/s), "
    "Message Throughput: {n_throughput_mbyte_s}/{n_throughput_mbyte_s_max} (MB/s)"
)

MESSAGES = (
    message(
        "split-due",
        _STRATEGIES,
        "The bundle {bundle} is considered to be unload. " + _LOAD,
        line(
            _SPLITTER,
            f"The bundle {_BUNDLE} is considered to be unload. Topics: 9/1000, Sessions: "
            "(8+3)/1000, Message Rate: 39837.6273878898/30000 (msgs/s), Message Throughput: "
            "0.41714825665545885/100 (MB/s)",
        ),
        releases="posted by users, modular manager",
        meaning="The bundle is over a limit and is to be split; the text says unload.",
    ),
    message(
        "split-due",
        _STRATEGIES,
        "The bundle is considered to be unloaded{attributes}",
        line(_SPLITTER, f"The bundle is considered to be unloaded bundle={_BUNDLE}, topics=9"),
        attributes="bundle=bundle topics=count",
        releases="structured generation of 2026, by the source, modular manager",
        meaning="The bundle is over a limit and is to be split; the text says unloaded.",
    ),
    message(
        "split-due",
        _STRATEGIES,
        "Splitting bundle: {bundle}. " + _LOAD,
        line(
            _EXTENSIBLE,
            f"Splitting bundle: {_BUNDLE}. Topics: 54/1000, Sessions: (125+51)/1000, "
            "Message Rate: 2077.90/250 (msgs/s), Message Throughput: 0.42/100 (MB/s)",
        ),
        releases="posted by users, extensible manager",
        meaning="The bundle is over a limit and is to be split.",
    ),
    message(
        "split-refused",
        _STRATEGIES,
        "Could not split namespace bundle {bundle} because namespace {*} has too many "
        "bundles:{? ?}{count}",
        line(
            _SPLITTER,
            f"Could not split namespace bundle {_BUNDLE} because namespace shop/orders has too "
            "many bundles: 128",
            "WARN",
        ),
        releases="posted by users",
        meaning="The bundle is over a limit, but the namespace has as many bundles as it may.",
    ),
    message(
        "split-refused",
        _STRATEGIES,
        "The count of topics on the bundle {bundle} is less than 2, skip split!",
        line(
            _SPLITTER,
            f"The count of topics on the bundle {_BUNDLE} is less than 2, skip split!",
        ),
        releases="by the source",
        meaning="The bundle is over a limit, but has one topic.",
    ),
    message(
        "split-refused",
        _STRATEGIES,
        "Can't split broker:{bundle}. The size of split boundaries is not 1. splitBoundary:[{*}]",
        line(
            _EXTENSIBLE,
            f"Can't split broker:{_BUNDLE}. The size of split boundaries is not 1. "
            "splitBoundary:[3211714940, 3266565899]",
            "WARN",
        ),
        releases="posted by users, extensible manager",
        meaning="The split algorithm gave other than one boundary.",
    ),
    message(
        "split",
        _MODULAR,
        "Load-manager splitting {*} {bundle} and unloading {is_unloading}",
        line(_LOGGER, f"Load-manager splitting bundle {_BUNDLE} and unloading true"),
        releases="posted by users; in 2017 `budnle`",
        meaning="The leader has the bundle split.",
    ),
    message(
        "split",
        _MODULAR,
        "Load-manager splitting bundle and unloading{attributes}",
        line(
            _LOGGER, f"Load-manager splitting bundle and unloading bundle={_BUNDLE} unloading=true"
        ),
        attributes="bundle=bundle unloading=is_unloading",
        releases="structured generation of 2026, by the source",
        meaning="The leader has the bundle split.",
    ),
    message(
        "split-done",
        _MANAGERS,
        "Successfully split namespace bundle {bundle}",
        line(_LOGGER, f"Successfully split namespace bundle {_BUNDLE}"),
        releases="posted by users",
        meaning="The bundle has been split.",
    ),
    message(
        "split-done",
        _MANAGERS,
        "Successfully split namespace bundle{attributes}",
        line(_LOGGER, f"Successfully split namespace bundle bundle={_BUNDLE} "),
        attributes="bundle=bundle",
        releases="structured generation of 2026, by the source",
        meaning="The bundle has been split.",
    ),
    message(
        "split-failed",
        _MANAGERS,
        "Failed to split namespace bundle {bundle}",
        line(_LOGGER, f"Failed to split namespace bundle {_BUNDLE}", "ERROR"),
        releases="posted by users",
        meaning="The bundle has not been split; an exception follows.",
    ),
    message(
        "split-leftover",
        _MODULAR,
        "Failed to delete bundle-data {bundle} from {*}",
        line(_LOGGER, f"Failed to delete bundle-data {_BUNDLE} from zookeeper", "WARN"),
        releases="posted by users",
        meaning="The split bundle's averages stay in the store; harmless.",
    ),
    message(
        "split-due",
        "SimpleLoadManagerImpl",
        "Will split hot namespace bundle {bundle}, topics {count}, "
        "producers+consumers {n_sessions}, msgRate in+out {n_rate}, "
        "bandwidth in+out {n_throughput}",
        line(
            _SIMPLE,
            f"Will split hot namespace bundle {_BUNDLE}, topics 2, producers+consumers 2, "
            "msgRate in+out 3753.588550254447, bandwidth in+out 3967543.0976189505",
        ),
        releases="posted by users, simple manager",
        meaning="The bundle is over a limit and is to be split.",
    ),
    message(
        "split-done",
        "ServiceUnitStateChannelImpl",
        "Successfully split {bundle} parent namespace-bundle to [{*}] in {n_took_ms} ms",
        line(
            _CHANNEL,
            "Successfully split lb/admx/0xb0000000_0xc0000000 parent namespace-bundle to "
            "[lb/admx/0xb0000000_0xb8000000, lb/admx/0xb8000000_0xc0000000] in 83.0 ms",
            thread="metadata-store-10-1",
        ),
        releases="4.0.8, extensible manager",
        meaning="The bundle has been split, in the parts that the text names.",
    ),
    message(
        "split",
        "SplitManager",
        "Published the bundle split event for bundle:{bundle}. Waiting the split event to "
        "complete. Timeout: {n_timeout_ms} MILLISECONDS",
        line(
            _MANAGER,
            f"Published the bundle split event for bundle:{_BUNDLE}. Waiting the split event to "
            "complete. Timeout: 60000 MILLISECONDS",
        ),
        releases="4.0.8, extensible manager",
        meaning="The bundle's split is asked for.",
    ),
    message(
        "split-completed",
        "SplitManager",
        "Completed the bundle split event for bundle:{bundle}",
        line(_MANAGER, f"Completed the bundle split event for bundle:{_BUNDLE}"),
        releases="4.0.8, extensible manager",
        meaning="The split that was asked for is done.",
    ),
)
