"""Every message of the catalogue, and eleven lines of a real leader to the last digit."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trimtab.files.tables import INGESTED
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.layouts import log_line, simple_class_name
from trimtab.ingest.messages import MESSAGES, Message
from trimtab.ingest.messages.template import needle_of, shape
from trimtab.ingest.outcome import Origin, Rejected, Rows

TESTDATA = Path(__file__).parent / "testdata" / "ingest"
ORIGIN = Origin("logs/leader/pulsar-broker.log", "leader", timezone(timedelta(hours=8)), None)
PREFIX = "2026-11-21T06:37:17,331+0000 [main] INFO  "
IMPL = f"{PREFIX}org.apache.pulsar.broker.loadbalance.impl."


def row(line: str, origin: Origin = ORIGIN) -> dict[str, Any]:
    """Read a line that must give one row."""
    outcome = broker_log(line, origin)
    assert isinstance(outcome, Rows), (line, outcome)
    ((table, columns),) = outcome.rows
    assert table == "log_events"
    return columns


def reason(line: str, origin: Origin = ORIGIN) -> str:
    """Read a line that must be rejected."""
    outcome = broker_log(line, origin)
    assert isinstance(outcome, Rejected), (line, outcome)
    return outcome.reason


# ------------------------------------------------------------------- catalogue


def test_catalogue_is_not_empty() -> None:
    assert len(MESSAGES) > 200
    assert len({message.kind for message in MESSAGES}) > 150


def each_message() -> list[Any]:
    seen: Counter[str] = Counter()
    parameters = []
    for message in MESSAGES:
        seen[message.kind] += 1
        parameters.append(pytest.param(message, id=f"{message.kind}-{seen[message.kind]}"))
    return parameters


@pytest.mark.parametrize("message", each_message())
def test_example_gives_a_row_of_its_kind(message: Message) -> None:
    columns = row(message.example)

    assert columns["kind"] == message.kind
    assert columns["logger"] in message.loggers
    assert set(columns) == set(INGESTED["log_events"].names) - {"file", "line"}
    assert columns["time"] == datetime(2026, 11, 21, 6, 37, 17, 331000, tzinfo=UTC)
    assert columns["log_broker"] == "leader"


@pytest.mark.parametrize("message", each_message())
def test_example_is_no_other_message(message: Message) -> None:
    line = log_line(message.example)
    assert line is not None

    assert message.needle in line.message
    assert [other.template for other in MESSAGES if fits(other, line.message)] == [message.template]


def fits(message: Message, text: str) -> bool:
    try:
        return message.read(text) is not None
    except ValueError:
        return False


@pytest.mark.parametrize("message", each_message())
def test_message_says_all_that_its_page_needs(message: Message) -> None:
    assert message.kind == message.kind.lower().replace(" ", "-").replace("_", "-")
    assert message.loggers
    assert message.releases
    assert message.meaning.endswith(".")
    known = {"broker", "bundle", "target", "strategy", "count", "map", "low", "list", "load"}
    groups = set(message.pattern.groupindex) | set(message.attributes.values())
    named = {name for name in groups if not name.startswith(("n_", "is_"))} - {"attributes"}
    assert named <= known
    assert bool(message.attributes) == ("attributes" in message.pattern.groupindex)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"meaning": 3}, "Expected `str`, got `int` - at `$.meaning`"),
        ({"meanning": "Nothing."}, "Object contains unknown field `meanning`"),
        ({"template": "no {brokr}"}, "'no {brokr}': found {brokr}, expected one of broker, bundle"),
    ],
)
def test_entry_that_is_wrong_is_refused(change: dict[str, object], fault: str) -> None:
    entry: dict[str, object] = {
        "kind": "none",
        "loggers": ["A"],
        "template": "no {broker}",
        "example": "",
        "releases": "none",
        "meaning": "Nothing.",
    }
    assert msgspec.convert(entry, Message).needle == "no"

    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(entry | change, Message)

    assert str(error.value).startswith(fault)


@pytest.mark.parametrize("message", [m for m in MESSAGES if m.is_telling and not m.attributes])
def test_message_cut_short_is_rejected_or_still_its_own(message: Message) -> None:
    """A line that ends behind the needle must not vanish among the uninteresting ones."""
    cut = message.example[: message.example.index(message.needle) + len(message.needle)]
    outcome = broker_log(cut, ORIGIN)

    assert isinstance(outcome, Rows | Rejected), outcome


# ------------------------------------------- eleven lines that a real leader wrote

ROUND = "2024-06-11T07:33:42"
THIRD = "2024-06-12T02:24:02"


def eleven() -> list[dict[str, Any]]:
    lines = (TESTDATA / "eleven_lines.log").read_text(encoding="utf-8").splitlines()
    return [row(line) for line in lines]


def test_eleven_lines_are_eleven_rows() -> None:
    rows = eleven()

    assert [row["kind"] for row in rows] == [
        "usage-unsmoothed",
        "usage-smoothed",
        "shed-attempt",
        "placer-scores",
        "placed-at-random",
        "placer-chosen",
        "unload",
        "shed-attempt",
        "placer-scores",
        "placed-at-random",
        "unload",
    ]
    times = [row["time"].isoformat(timespec="milliseconds") for row in rows]
    assert times == [
        *[f"{ROUND}.642+00:00"] * 3,
        *[f"{ROUND}.663+00:00"] * 4,
        f"{THIRD}.245+00:00",
        *[f"{THIRD}.246+00:00"] * 2,
        f"{THIRD}.247+00:00",
    ]
    assert {row["thread"] for row in rows} == {"pulsar-load-manager-1-1"}
    assert [row["level"] for row in rows].count("WARN") == 2


def test_maps_are_read_to_the_last_digit() -> None:
    rows = eleven()

    assert rows[0]["scores"] == {
        "XXX.83:8081": 0.6200548553466797,
        "XXX.32:8081": 0.6142524337768555,
        "XXX.87:8081": 0.34531837463378906,
        "XXX.206:8081": 0.6850704193115235,
        "XXX.161:8081": 0.4193758010864258,
    }
    assert rows[1]["scores"] == {
        "XXX.83:8081": 0.146445592841173,
        "XXX.32:8081": 0.1780747564543283,
        "XXX.87:8081": 0.13442747117624326,
        "XXX.206:8081": 0.28951184996156754,
        "XXX.161:8081": 0.11923764428233738,
    }
    assert rows[1]["numbers"] == {
        "average": 0.1735394629431299,
        "threshold": 0.1,
        "minimum_mbyte_s": 10.0,
    }
    assert rows[3]["scores"] == {
        "XXX.83:8081": 0.08251018381118773,
        "XXX.32:8081": 0.11141611766815185,
        "XXX.87:8081": 0.0459994751214981,
        "XXX.206:8081": 0.23925241661071778,
        "XXX.161:8081": 0.06012571454048156,
    }
    assert rows[3]["numbers"] == {"average": 0.10786078155040742, "threshold": 0.1}
    order = [f"XXX.{number}:8081" for number in (83, 32, 87, 206, 161)]
    assert rows[3]["brokers"] == order
    assert rows[8]["scores"] == {
        "XXX.83:8081": 0.6968493632164602,
        "XXX.32:8081": 0.6564280053774565,
        "XXX.206:8081": 0.5447576150322107,
    }
    assert rows[8]["numbers"] == {"average": 0.6326783278753757, "threshold": 0.1}
    assert rows[8]["brokers"] == [f"XXX.{number}:8081" for number in (83, 32, 206)]


def test_decisions_are_read_to_the_last_digit() -> None:
    rows = eleven()

    assert rows[2]["broker"] == "XXX.206:8081"
    assert rows[2]["numbers"] == {
        "usage_percent": 28.951184996156755,
        "average_percent": 17.35394629431299,
        "threshold_percent": 10.0,
        "offload_mbyte_s": 14.70925448705765,
        "left_mbyte_s": 208.25151973726722,
    }
    assert rows[7]["broker"] == "XXX.32:8081"
    assert rows[7]["numbers"] == {
        "usage_percent": 78.09468007403726,
        "average_percent": 65.79112414711298,
        "threshold_percent": 10.0,
        "offload_mbyte_s": 14.886936767013715,
        "left_mbyte_s": 188.94441491927364,
    }
    assert [rows[4]["count"], rows[9]["count"]] == [5, 3]
    assert rows[5]["brokers"] == rows[3]["brokers"]
    assert (rows[5]["bundle"], rows[5]["target"]) == (
        "public/default/0x70000000_0x80000000",
        "XXX.83:8081",
    )
    unloads = [
        (row["strategy"], row["bundle"], row["broker"], row["target"])
        for row in (rows[6], rows[10])
    ]
    assert unloads == [
        (
            "ThresholdShedder",
            "public/default/0x70000000_0x80000000",
            "XXX.206:8081",
            "XXX.83:8081",
        ),
        (
            "ThresholdShedder",
            "public/default/0x30000000_0x40000000",
            "XXX.32:8081",
            "XXX.83:8081",
        ),
    ]


def test_eleven_lines_agree_with_one_another() -> None:
    rows = eleven()
    smoothed, attempt, placer = rows[1], rows[2]["numbers"], rows[3]

    assert math.fsum(smoothed["scores"].values()) / 5 == pytest.approx(
        smoothed["numbers"]["average"], rel=1e-15
    )
    assert attempt["usage_percent"] / 100 == pytest.approx(
        smoothed["scores"]["XXX.206:8081"], rel=1e-15
    )
    # What is shed is the excess over average and threshold, plus the shedder's margin of 5%.
    need, left = attempt["offload_mbyte_s"], attempt["left_mbyte_s"]
    excess = smoothed["scores"]["XXX.206:8081"] - smoothed["numbers"]["average"] - 0.1 + 0.05
    assert need / (need + left) == pytest.approx(excess, rel=1e-12)
    assert excess == pytest.approx(0.06597238701843762, rel=1e-15)
    # Nobody is a threshold below the average: hence the random choice.
    assert math.fsum(placer["scores"].values()) / 5 == pytest.approx(
        placer["numbers"]["average"], rel=1e-15
    )
    assert all(score + 0.1 > placer["numbers"]["average"] for score in placer["scores"].values())
    assert rows[5]["target"] in rows[5]["brokers"]
    assert rows[6]["target"] == rows[5]["target"]


# -------------------------------------------------------- forms of other releases


def test_resources_and_double_blank_of_other_releases() -> None:
    columns = row(
        f"{IMPL}ThresholdShedder - Attempting to shed load on b1:8080, which has max resource "
        "usage above avgUsage  and threshold 36.5% > 25.0% + 8.0% -- Offloading at least 0.07 "
        "MByte/s of traffic, left throughput NaN MByte/s (cpu: 15.89%, memory: 42.17%, "
        "directMemory: 9.96%, bandwidthIn: Infinity%, bandwidthOut: 0.04%)"
    )

    assert columns["numbers"]["cpu_percent"] == 15.89
    assert columns["numbers"]["bandwidth_in_percent"] == math.inf
    assert math.isnan(columns["numbers"]["left_mbyte_s"])


def test_unload_before_destinations_has_no_target() -> None:
    columns = row(
        f"{IMPL}ModularLoadManagerImpl - [Overload shedder] Unloading bundle: "
        "a/b/0x00000000_0x80000000 from broker http://b1:8080"
    )

    assert columns["strategy"] == "Overload shedder"
    assert columns["broker"] == "http://b1:8080"
    assert columns["target"] is None


@pytest.mark.parametrize("printed", ["Optional[b2:8080]", "Optional.empty"])
def test_extensible_unload_is_an_unload(printed: str) -> None:
    columns = row(
        f"{PREFIX}org.apache.pulsar.broker.loadbalance.extensions.scheduler.UnloadScheduler - "
        "[TransferShedder] Unloading bundle: Unload[sourceBroker=b1:8080, "
        f"serviceUnit=a/b/0x00000000_0x80000000, destBroker={printed}, force=true]"
    )

    assert columns["kind"] == "unload"
    assert columns["strategy"] == "TransferShedder"
    assert columns["broker"] == "b1:8080"
    assert columns["bundle"] == "a/b/0x00000000_0x80000000"
    assert columns["target"] == ("b2:8080" if "[" in printed else None)
    assert columns["numbers"] == {"is_forced": 1.0}


@pytest.mark.parametrize(
    "values",
    [
        "class=ThresholdShedder bundle=a/b/0x0_0x1 sourceBroker=b1:8080 destBroker=b2:8080",
        "class=x.y.ThresholdShedder, bundle=a/b/0x0_0x1, sourceBroker=b1:8080, destBroker=b2:8080",
        "{destBroker=b2:8080, sourceBroker=b1:8080, bundle=a/b/0x0_0x1, class=ThresholdShedder}",
        '{"class":"ThresholdShedder","bundle":"a/b/0x0_0x1","sourceBroker":"b1:8080",'
        '"destBroker":"b2:8080"}',
    ],
    ids=["blanks", "commas", "braces", "json"],
)
def test_values_behind_a_constant_message(values: str) -> None:
    columns = row(
        f"{IMPL}ModularLoadManagerImpl - Unloading bundle from source broker to dest broker "
        f"{values}"
    )

    found = [columns[name] for name in ("strategy", "bundle", "broker", "target")]
    assert found == ["ThresholdShedder", "a/b/0x0_0x1", "b1:8080", "b2:8080"]


def test_json_layout_carries_the_values_beside_the_message() -> None:
    columns = row(
        '{"@timestamp":"2026-11-21T06:37:17.331Z","level":"INFO","thread":"main",'
        '"loggerName":"org.apache.pulsar.broker.loadbalance.impl.AvgShedder",'
        '"message":"Broker hit counts","brokerHitCountForHigh":{"b1:8080":1},'
        '"brokerHitCountForLow":{"b2:8080":2}}'
    )

    assert columns["kind"] == "hit-counts"
    assert columns["scores"] == {"b1:8080": 1.0}
    assert columns["numbers"] == {"low:b2:8080": 2.0}
    assert columns["time"] == datetime(2026, 11, 21, 6, 37, 17, 331000, tzinfo=UTC)


def test_load_data_is_named_with_its_units() -> None:
    example = next(m.example for m in MESSAGES if m.kind == "load-data-skipped")

    numbers = row(example)["numbers"]

    assert numbers["memory_percent"] == 38.0
    assert numbers["msg_throughput_in"] == 174033.58
    assert numbers["bundle_count"] == 33.0
    assert numbers["updated_at"] == 1795242461263.0


# -------------------------------------------------------------------- the pieces


def test_a_blank_of_a_template_is_one_or_more() -> None:
    assert shape("a {count} b").fullmatch("a  7   b")
    assert not shape("a {count} b").fullmatch("a7 b")


def test_the_needle_leaves_out_what_is_optional() -> None:
    assert needle_of("Attempting to shed load on {broker}, which") == "Attempting to shed load on"
    assert needle_of("{count} x{? a very long optional stretch?} y") == " x"


@pytest.mark.parametrize(
    ("printed", "simple"),
    [
        ("org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder", "ThresholdShedder"),
        ("o.a.p.b.l.i.ThresholdShedder", "ThresholdShedder"),
        ("ThresholdShedder:415", "ThresholdShedder"),
        ("a.b.LoadManager.create(LoadManager.java:59)", "LoadManager"),
        ("a.b.LoadManager$1.lambda$run$0(LoadManager.java:59)", "LoadManager"),
        ("org.eclipse.jetty.util.log", "log"),
    ],
)
def test_loggers_are_cut_to_their_class(printed: str, simple: str) -> None:
    assert simple_class_name(printed) == simple
