"""Messages of AvgShedder, as shedder and as placer."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_LOGGER = "broker.loadbalance.impl.AvgShedder"
_CLASS = "AvgShedder"

MESSAGES = (
    message(
        "brokers-ranked",
        _CLASS,
        "sorted broker list:{list}",
        line(_LOGGER, "sorted broker list:[10.213.0.12:8080, 10.213.0.11:8080]"),
        releases="4.0.8",
        meaning="The brokers from the lowest score to the highest.",
    ),
    message(
        "brokers-ranked",
        _CLASS,
        "sorted broker list{attributes}",
        line(_LOGGER, "sorted broker list brokers=[10.213.0.12:8080, 10.213.0.11:8080]"),
        attributes="brokers=list",
        releases="structured generation of 2026, by the source",
        meaning="The brokers from the lowest score to the highest.",
    ),
    message(
        "hit-counts",
        _CLASS,
        "brokerHitCountForHigh:{map}, brokerHitCountForLow:{low}",
        line(
            _LOGGER,
            "brokerHitCountForHigh:{10.213.0.11:8080=1, 10.213.0.12:8080=1}, "
            "brokerHitCountForLow:{10.213.0.11:8080=2, 10.213.0.12:8080=2}",
        ),
        releases="4.0.8",
        meaning="Rounds in a row that a broker's pair was over the high threshold (scores) and "
        "over the low one (numbers, `low:` in front of the broker).",
    ),
    message(
        "hit-counts",
        _CLASS,
        "Broker hit counts{attributes}",
        line(
            _LOGGER,
            "Broker hit counts brokerHitCountForHigh={b1:8080=1}, brokerHitCountForLow={b2:8080=2}",
        ),
        attributes="brokerHitCountForHigh=map brokerHitCountForLow=low",
        releases="structured generation of 2026, by the source",
        meaning="Rounds in a row that a broker's pair was over the high threshold (scores) and "
        "over the low one (numbers, `low:` in front of the broker).",
    ),
    message(
        "too-little-to-shed",
        _CLASS,
        "broker:[{broker}] is planning to shed bundles to broker:[{target}],but the throughput "
        "{n_offload_mbyte_s} MByte/s is less than minimumThroughputThreshold {n_minimum_mbyte_s} "
        "MByte/s, and the msgRate {n_offload_rate} rate/s is also less than "
        "minimumMsgRateThreshold {n_minimum_rate} rate/s, skipping bundle unload.",
        line(
            _LOGGER,
            "broker:[b1:8080] is planning to shed bundles to broker:[b2:8080],but the throughput "
            "0.5 MByte/s is less than minimumThroughputThreshold 10.0 MByte/s, and the msgRate "
            "12.0 rate/s is also less than minimumMsgRateThreshold 1000.0 rate/s, skipping bundle "
            "unload.",
        ),
        releases="by the source",
        meaning="The pair is far apart, but what would go is under both floors.",
    ),
    message(
        "avg-shed-attempt",
        _CLASS,
        "broker:[{broker}] is planning to shed bundles to broker:[{target}]. maxBroker "
        "stat:scores:{n_score_percent}, throughput:{n_throughput}, msgRate:{n_rate}. minBroker "
        "stat:scores:{n_target_score_percent}, throughput:{n_target_throughput}, "
        "msgRate:{n_target_rate}. isMsgRateToOffload:{is_rate_to_offload}, "
        "trafficMarkedToOffload:{n_offload}",
        line(
            _LOGGER,
            "broker:[10.213.0.11:8080] is planning to shed bundles to broker:[10.213.0.12:8080]. "
            "maxBroker stat:scores:36.856781005859375, throughput:1107008.1771438464, "
            "msgRate:922.0114853429365. minBroker stat:scores:2.841362476348877, throughput:0.0, "
            "msgRate:0.0. isMsgRateToOffload:true,  trafficMarkedToOffload:461.00574267146823",
        ),
        releases="4.0.8",
        meaning="A pair of brokers is to be brought level; the offload is messages/s if "
        "is_rate_to_offload, else bytes/s.",
    ),
    message(
        "avg-bundle-found",
        _CLASS,
        "Found bundle to unload:{any_bundle}, isMsgRateToOffload:{is_rate_to_offload}, "
        "traffic:{n_traffic}",
        line(
            _LOGGER,
            "Found bundle to unload:shop/orders/0x00000000_0x80000000=NamespaceBundleStats(...), "
            "isMsgRateToOffload:true, traffic:12.5",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="A bundle is chosen towards the offload.",
    ),
    message(
        "broker-score",
        _CLASS,
        "broker:{broker}, scores:{n_score_percent}, throughput:{n_throughput}, "
        "messageRate:{n_rate}",
        line(
            _LOGGER,
            "broker:b1:8080, scores:36.856781005859375, throughput:1107008.17, messageRate:922.01",
        ),
        releases="by the source, mostly at DEBUG",
        meaning="A broker's score and traffic.",
    ),
    message(
        "broker-score",
        _CLASS,
        "Broker score{attributes}",
        line(
            _LOGGER,
            "Broker score broker=b1:8080 score=36.85 throughput=1107008.17 messageRate=922.01",
        ),
        attributes="broker=broker score=n_score_percent throughput=n_throughput messageRate=n_rate",
        releases="structured generation of 2026, by the source",
        meaning="A broker's score and traffic.",
    ),
    message(
        "avg-thresholds",
        _CLASS,
        "highThreshold:{n_high}, lowThreshold:{n_low}, hitCountHighThreshold:{n_hits_high}, "
        "hitCountLowThreshold:{n_hits_low}, minMsgThreshold:{n_minimum_rate}, "
        "minThroughputThreshold:{n_minimum_throughput}",
        line(
            _LOGGER,
            "highThreshold:40, lowThreshold:15, hitCountHighThreshold:2, hitCountLowThreshold:8, "
            "minMsgThreshold:1000.0, minThroughputThreshold:1.0E7",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="The settings of this round.",
    ),
    message(
        "no-broker-overloaded",
        _CLASS,
        "there is no any overload broker, no need to shedding bundles.",
        line(_LOGGER, "there is no any overload broker, no need to shedding bundles.", "DEBUG"),
        releases="by the source, at DEBUG",
        meaning="No pair was apart long enough.",
    ),
    message(
        "cluster-initializing",
        _CLASS,
        "cluster is initializing",
        line(_LOGGER, "cluster is initializing", "DEBUG"),
        releases="by the source, at DEBUG",
        meaning="A bundle without load data is placed, as after a start.",
    ),
    message(
        "placed-on-stand-in",
        _CLASS,
        "expected broker:{broker} is shutdown, candidates:{list}",
        line(
            _LOGGER, "expected broker:b3:8080 is shutdown, candidates:[b1:8080, b2:8080]", "DEBUG"
        ),
        releases="by the source, at DEBUG",
        meaning="The broker that a bundle was to go to has left.",
    ),
    message(
        "placed-by-hash",
        _CLASS,
        "Assignment details: brokers={list}, bundle={any_bundle}, hashcode={n_hash}, "
        "index={n_index}",
        line(
            _LOGGER,
            "Assignment details: brokers=[b1:8080, b2:8080], "
            "bundle=public/default/0x9c000000_0xa0000000, hashcode=1364617948, index=0",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="The bundle goes to the broker at this index of the list.",
    ),
)
