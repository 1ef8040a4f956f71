"""What is read in columns is what the parsers of lines and documents make row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, date
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trimtab.ingest import splits
from trimtab.ingest.averages import listed_averages
from trimtab.ingest.bundle_states import topic_states
from trimtab.ingest.columns import may_hold_endless_number
from trimtab.ingest.exports import exported_samples
from trimtab.ingest.load_reports import answered_reports, stored_reports
from trimtab.ingest.outcome import Origin
from trimtab.ingest.split_result import TableRows
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import DOCUMENT_SIEVES, SIEVES, parse_split

ORIGIN = Origin("store/x.json", "b", UTC, date(2026, 11, 21))
TIME = "2026-11-21T06:37:26.786Z"
BUNDLE = "public/default/0x00000000_0x80000000"
OTHER_BUNDLE = "public/default/0x80000000_0xffffffff"

USAGE = {"usage": 23.5, "limit": 80.0}
TRAFFIC = {
    "msgRateIn": 0.1,
    "msgThroughputIn": 1024.25,
    "msgRateOut": 2,
    "msgThroughputOut": 1e-7,
}
STATS = TRAFFIC | {"consumerCount": 3, "producerCount": 0, "topics": 4, "cacheSize": 1 << 40}
REPORT = {
    "webServiceUrl": "http://10.0.0.1:8080",
    **dict.fromkeys(("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut"), USAGE),
    **TRAFFIC,
    "lastUpdate": 1795243037519,
    "lastStats": {BUNDLE: STATS, OTHER_BUNDLE: STATS},
    "numTopics": 4,
    "bundles": [BUNDLE, OTHER_BUNDLE],
    "brokerVersionString": "4.0.8",
    "loadManagerClassName": "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl",
    "startTimestamp": 1795243025000,
}
TERM = TRAFFIC | {"maxSamples": 10, "numSamples": 7}
AVERAGES = {"shortTermData": TERM, "longTermData": TERM, "topics": 3}
MEASURES = ("MsgRateIn", "MsgRateOut", "MsgThroughputIn", "MsgThroughputOut")
BROKER_AVERAGES = {f"{term}Term{name}": 1.5 for term in ("short", "long") for name in MEASURES}
NODES = {
    f"/loadbalance/bundle-data/{BUNDLE}": {"mtime": 1795243098335, "v": AVERAGES},
    "/loadbalance/bundle-data/public/default": {"mtime": 1795243098335, "v": ""},
    f"/loadbalance/bundle-data/{OTHER_BUNDLE}": {"mtime": 1795243098336, "v": AVERAGES},
    "/loadbalance/broker-time-average/b:1": {"mtime": 1795243098337, "v": BROKER_AVERAGES},
    "/loadbalance/elsewhere": 1,
}
STATE = {
    "state": "Releasing",
    "dstBroker": "b:2",
    "sourceBroker": "b:1",
    "splitServiceUnitToDestBroker": None,
    "force": False,
    "timestamp": 1795243046786,
    "versionId": 3,
}
LABELS = {"__name__": "pulsar_lb_cpu_usage", "cluster": "lab", "broker": "b"}
SERIES = [
    {"metric": LABELS, "values": [[1718091222.642, "24.7"], [1718091282, "-1.5e+09"]]},
    {"metric": {"broker": "c"}, "values": [[1718091222.642, "NaN"], [0, "+Inf"], [1, "7"]]},
]
#: A source → lines or documents of it, as they usually are.
USUAL: dict[str, list[dict[str, Any]]] = {
    "store-brokers": [
        {"time": TIME, "broker": "b:1", "version": 0, "mtime": 1795243037519, "report": REPORT},
        {"time": TIME, "broker": "b:2", "report": REPORT | {"lastStats": {}, "bundles": []}},
        {
            "time": 1795243037519,
            "broker": "b:3",
            "version": None,
            "report": {key: of for key, of in REPORT.items() if key != "lastStats"}
            | {"bundleStats": {BUNDLE: STATS}, "brokerVersionString": None, "brokerVersion": "3"},
        },
    ],
    "load-reports": [{"time": TIME, "broker": "b:1", "version": 3, "report": REPORT}],
    "store-bundles": [{"time": TIME, "nodes": NODES}],
    "store-states": [
        {"time": TIME, "bundle": BUNDLE, "record": STATE},
        {"time": 1795243037519, "bundle": BUNDLE, "record": {"state": "Free", "dstBroker": None}},
    ],
    "metrics-export": [{"status": "success", "data": {"resultType": "matrix", "result": SERIES}}],
}
SOURCES = st.sampled_from(sorted(USUAL))
SIEVE_OF: dict[str, Callable[[bytes], object]] = {
    "store-brokers": lambda block: stored_reports(block, 0).left,
    "load-reports": lambda block: answered_reports(block, 0).left,
    "store-bundles": lambda block: listed_averages(block, 0).left,
    "store-states": lambda block: topic_states(block, 0).left,
    "metrics-export": lambda block: () if exported_samples(block, ORIGIN) else "left",
}

#: What stands in JSON where something else is usual.
ODD = (
    *("null", "true", "false", '""', '" "', '"NaN"', '"Infinity"', "{}", "[]", "[{}]", '{"a": 1}'),
    *("NaN", "-Infinity", "1e999", "-1e400", "1e-400", "5e-324", "2.2250738585072011e-308"),
    *("-0", "-0.0", "0.1", "1.0", "1e2", "7.0e0", "01", "1.", ".5", "+1", "0x1f", "1_0", "--1"),
    *(str(2**power + by) for power in (31, 32, 53, 63, 64, 100) for by in (-1, 0, 1)),
    *(str(by - 2**power) for power in (31, 53, 63, 64) for by in (-1, 0, 1)),
    *("9" * 400, "1" * 4300, "1" * 4301, "0." + "1" * 5000, "1" * 25 + ".5"),
    *("0.1000000000000000055511151231257827021181583404541015625", "9007199254740993.0"),
    *("-62135596800001", "-62135596800000", "253402300799999", "253402300800000", "1.5e12"),
    *('"2026-11-21T06:37:26Z"', '"2026-11-21T06:37:26"', '"2026-11-21"', '"1795243037519"'),
    *(r'"\ud800"', r'["\udfff"]', r'{"\ud800": 1}', r'{"a": "\udc00"}'),
    *(r'"\ud83d\ude00"', r'"\u0000"', r'"\q"', r'"\u12"'),
    *('"\x01"', '"\t"', '"\x7f"', '"é"', '"\ufffd"', '"\ufeff"', '"\u2028"', '"', "'a'", "nul"),
    *("[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "[1,]", '{"a":1,}', "[,1]"),
    *('[1718091222.642, "1"]', '[[1e400, "1"]]', '[[1e15, "1"]]', '[[1, "1", 2]]', "[[1]]"),
    *('[["1", "1"]]', "[[1, 1]]", '[[true, "1"]]', '[[-1e10, "1"]]', '[[0.0000005, "1"]]'),
    *(f'[[1, "{text}"], [2, "3"]]' for text in ("a", "N", "\u0661", "nan", "Na", "inf")),
    *(f'[[1, "{text}"], [2, "3"]]' for text in ("Infinity", "-NaN", "+Inf", "NaNInf", "1NaN")),
    *(f'[[1, "{text}"], [2, "N"]]' for text in ("1_0", " 1", "1e", "1e400", ".5", "5.", "", "+7")),
)  # fmt: skip
#: What may stand in front of a line, or behind it.
AROUND = ("", " ", "\t", "\r", "\x0c", "\xa0", "\ufeff", "x", "{}", ",", "}", "\x00")


@lru_cache(maxsize=1)
def places() -> dict[str, list[tuple[int, tuple[str | int, ...]]]]:
    """List what can be changed: of each source, which of its texts, and keys into it."""
    return {
        source: [(i, keys) for i, text in enumerate(texts) for keys in keys_into(text, ())]
        for source, texts in USUAL.items()
    }


def keys_into(value: object, above: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Give the keys that lead to each value within a value, behind those that lead to it."""
    inner = enumerate(value) if isinstance(value, list) else ()
    for key, below in value.items() if isinstance(value, dict) else inner:
        yield (*above, key)
        yield from keys_into(below, (*above, key))


def changed(text: dict[str, Any], keys: tuple[str | int, ...], change: str, odd: str) -> str:
    """Change a text in one place."""
    copy = json.loads(json.dumps(text))
    holder = copy
    for key in keys[:-1]:
        holder = holder[key]
    last = keys[-1]
    if change == "without":
        del holder[last]
    elif change == "renamed" and isinstance(holder, dict):
        holder["@key"] = holder.pop(last)
    elif change == "twice" and isinstance(holder, dict):
        holder["@again"] = holder[last]
        written = json.dumps(copy).replace('"@again"', json.dumps(last))
        # The first of the two is odd; which of them counts is JSON's affair.
        return written.replace(json.dumps(holder[last]), odd, 1)
    else:
        holder[last] = "@value"
    written = json.dumps(copy)
    return written.replace('"@value"', odd).replace('"@key"', odd if odd[:1] == '"' else '"a"')


def parsed(path: Path, source: str, chunk_size: int) -> tuple[str, str]:
    """Parse a file: its accounting, and the rows of each table, as text, for NaN is no NaN."""
    [split] = cut(path, ORIGIN, source, size=1 << 30)
    rows: dict[str, list[Any]] = {}
    account = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "_CHUNK_SIZE", chunk_size)
        for piece in parse_split(split):
            if isinstance(piece, TableRows):
                piece.rows.validate(full=True)
                rows.setdefault(piece.table, []).extend(piece.rows.to_pylist())
            else:
                account = asdict(piece)
    return repr(account), repr(rows)


def agreed(path: Path, source: str, chunk_size: int = 1 << 20) -> tuple[str, str]:
    """Check that both ways say the same of a file, and give what they say."""
    found = parsed(path, source, chunk_size)
    with pytest.MonkeyPatch.context() as patch:
        for sieves in (SIEVES, DOCUMENT_SIEVES):
            patch.delitem(sieves, source, raising=False)
        assert found == parsed(path, source, 1 << 20)
    return found


@pytest.mark.parametrize("source", USUAL)
def test_what_is_usual_is_read_in_columns(source: str, tmp_path: Path) -> None:
    for text in USUAL[source]:
        line = json.dumps(text).encode()
        assert not list(SIEVE_OF[source](line + b"\n"))
        (tmp_path / "file").write_bytes(line)

        _, rows = agreed(tmp_path / "file", source)

        assert "rejects" not in rows


@pytest.mark.parametrize("source", USUAL)
def test_every_value_is_odd_once(source: str, tmp_path: Path) -> None:
    # Each with a whole line before it and behind it: odd ones and others share a batch.
    path = tmp_path / "file"
    changes = [(*place, "odd", odd) for place in places()[source] for odd in ("null", "[]", "2")]
    changes += [(*place, how, "1") for place in places()[source] for how in ("without", "twice")]
    lines = [changed(USUAL[source][i], keys, how, odd) for i, keys, how, odd in changes]
    if source in DOCUMENT_SIEVES:
        found = []
        for line in lines:
            path.write_text(line)
            found.append(agreed(path, source)[0])
    else:
        path.write_text("".join(f"{line}\n{json.dumps(USUAL[source][0])}\n" for line in lines))
        found = [agreed(path, source, 1 << 14)[0]]

    assert any("'rows': 0" not in account for account in found)
    assert any("'rejected': 0" not in account for account in found)


@pytest.mark.slow
@pytest.mark.parametrize("source", USUAL)
def test_every_oddity_in_values_that_count_and_in_one_that_does_not(
    source: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    deepest = max(places()[source], key=lambda place: len(place[1]))
    for i, keys in (deepest, (0, ("unknown",)), places()[source][0]):
        text = USUAL[source][i] | {"unknown": 1}
        accounts = set()
        for odd in ODD:
            path.write_text(changed(text, keys, "odd", odd) + "\n", encoding="utf-8")
            accounts.add(agreed(path, source)[0])

        assert len(accounts) > 1


#: What stands behind lines, what ends them, bytes of a block.
SHAPES = st.tuples(
    st.sampled_from(AROUND),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([7, 100, 3000, 1 << 20]),
)
TEXTS = st.tuples(
    st.integers(0, 10**6),
    st.sampled_from(["odd", "odd", "odd", "without", "renamed", "twice"]),
    st.sampled_from(ODD) | st.integers().map(str) | st.floats().map(json.dumps) | st.text(),
)


@pytest.mark.slow
@given(
    SOURCES,
    st.lists(TEXTS | st.sampled_from(AROUND) | st.just(None), max_size=12),
    SHAPES,
)
@example("store-brokers", [None, "", None, (0, "odd", "1" * 4301), None], ("", "\n", 1 << 20))
@settings(max_examples=400)
def test_any_texts_in_any_blocks(
    tmp_path_factory: pytest.TempPathFactory,
    source: str,
    texts: list[tuple[int, str, str] | str | None],
    shape: tuple[str, str, int],
) -> None:
    around, end, chunk_size = shape
    lines = []
    for i, text in enumerate(texts):
        if isinstance(text, tuple):
            place, change, odd = text
            number, keys = places()[source][place % len(places()[source])]
            lines.append(changed(USUAL[source][number], keys, change, odd))
        else:
            whole = json.dumps(USUAL[source][i % len(USUAL[source])])
            lines.append(whole if text is None else text + whole + around)
    path = tmp_path_factory.getbasetemp() / "columns"
    path.write_bytes((end.join(lines) + around).encode())

    agreed(path, source, chunk_size)


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("store-brokers", ("broker",)),
        ("load-reports", ("report", "brokerVersionString")),
        ("store-bundles", ("nodes", "/loadbalance/elsewhere")),
        ("metrics-export", ("data", "result", 0, "metric", "cluster")),
    ],
)
@pytest.mark.parametrize(
    "text", [rb'"\ud800"', rb'"a\udc00\ud800"', b'"\xff"', b'"\xed\xa0\x80"', b'"\xe2\x82"']
)
def test_what_is_no_text_is_replaced(
    source: str, keys: tuple[str | int, ...], text: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    line = changed(USUAL[source][0], keys, "odd", '"@text"').encode()
    path.write_bytes(line.replace(b'"@text"', text) + b"\n")

    _, rows = agreed(path, source)

    assert "rejects" not in rows


def test_a_name_that_is_no_text_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    line = changed(USUAL["store-brokers"][0], ("report", "lastStats"), "odd", '{"@name": {}}')
    path.write_text(line.replace('"@name": {}', rf'"\ud83d\ude00\ude00": {json.dumps(STATS)}'))

    _, rows = agreed(path, "store-brokers")

    assert "'bundle': '😀?'" in rows


@pytest.mark.slow
@given(st.lists(st.floats(width=64) | st.integers(-(2**70), 2**70), min_size=8, max_size=8))
@settings(max_examples=300)
def test_numbers_keep_their_bits(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[float]
) -> None:
    path = tmp_path_factory.getbasetemp() / "numbers"
    values = dict(zip(BROKER_AVERAGES, numbers, strict=True))
    nodes = {"/loadbalance/broker-time-average/b:1": {"mtime": 1, "v": values}}
    path.write_text(json.dumps({"time": TIME, "nodes": nodes}))
    agreed(path, "store-bundles")
    samples = [[i / 7, json.dumps(number)] for i, number in enumerate(numbers)]
    series = [{"metric": LABELS, "values": samples}]
    path.write_text(json.dumps({"data": {"result": series}}))
    agreed(path, "metrics-export")


@pytest.mark.parametrize("length", [4300, 4301, 4302, 9000])
@pytest.mark.parametrize("before", range(0, 61, 7))
def test_no_endless_number_is_overlooked(length: int, before: int) -> None:
    text = b" " * before + b"1" * length + b"]"

    assert may_hold_endless_number(text) or length <= 4300
    assert not may_hold_endless_number(b'[1795352410.000,"27572063.436"],' * 40_000)
