"""Whatever stands in a file, nothing fails and every line is accounted for.

Files of every kind are damaged by chance, from the same seed on every run; with `--exhaustive`,
100,000 times.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, date
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests import log_text
from tests.log_text import damaged
from tests.zookeeper_files import create, digest, log, multi, put, record
from trimtab.files.tables import INGESTED
from trimtab.ingest.outcome import Origin
from trimtab.ingest.recording import open_recording
from trimtab.ingest.split_result import CLASSES, PARSED, SplitAccount, TableRows
from trimtab.ingest.splits import cut
from trimtab.ingest.store_columns import Waiting
from trimtab.ingest.worker import DOCUMENT_PARSERS, LINE_PARSERS, SIEVES, parse_split
from trimtab.ingest.zookeeper import SOURCE as ZOOKEEPER

ROOT = Path(__file__).parent.parent
RECORDINGS = (
    *("recordings/threshold", "recordings/avg"),
    *("tests/testdata/recordings/mixed", "tests/testdata/recordings/loads"),
)
STORE = ROOT / "tests/testdata/zookeeper"
SOURCES = (*LINE_PARSERS, *DOCUMENT_PARSERS, ZOOKEEPER)
#: Damages of all kinds of files together, and with `--exhaustive`.
FEW, MANY = 3_000, 100_000
#: Lines of a file, each of which is damaged once.
LINES = 50
#: A document or a store's file that is larger takes long to read so often.
SIZE_MAX = 40_000


@lru_cache(maxsize=1)
def recorded() -> dict[str, list[tuple[str, bytes]]]:
    """Give the recordings' files by what they are read as: name and content."""
    # No recording is of a chart's.
    values = ROOT / "tests" / "testdata" / "helm" / "values.yaml"
    found = {"helm-values": [("conf/values.yaml", values.read_bytes())]}
    for name in RECORDINGS:
        with open_recording(ROOT / name) as recording:
            for source, files in recording.files.items():
                for file in files:
                    content = file.path.read_bytes()
                    if content.startswith(b"\x1f\x8b"):
                        content = gzip.decompress(content)
                    found.setdefault(source, []).append((file.name, content))
    return found


@lru_cache(maxsize=len(SOURCES))
def known_lines(source: str) -> tuple[bytes, ...]:
    """Give lines of a source that are whole, no more of one shape than it takes."""
    if source == "log":
        return log_text.lines()
    lines = [line for _, content in recorded()[source] for line in content.split(b"\n")[:300]]
    return tuple(dict.fromkeys(line for line in lines if len(line) < SIZE_MAX))


def name_of(source: str) -> str:
    return "store/zookeeper/log.1" if source == ZOOKEEPER else recorded()[source][0][0]


# ----------------------------------------------------------------- damaged files


def files_of_lines(source: str, random: Random, damages: int) -> Iterator[bytes]:
    """Give files in which every line is damaged, a few twice."""
    for _ in range(0, damages, LINES):
        lines = [damaged(random.choice(known_lines(source)), random) for _ in range(LINES)]
        lines += [damaged(line, random) for line in lines[: LINES // 10]]
        end = random.choice((b"\n", b"\n", b"\r\n"))
        yield end.join(lines) + random.choice((end, b""))


def documents(source: str, random: Random, damages: int) -> Iterator[bytes]:
    """Give documents, each damaged in one place; fewer of them, for they are whole files."""
    whole = [content for _, content in recorded()[source] if len(content) < SIZE_MAX]
    for _ in range(-(-damages // 5)):
        yield damaged(random.choice(whole), random)


def store_files(random: Random, damages: int) -> Iterator[bytes]:
    """Give ZooKeeper's files: damaged ones, and whole ones in which values are damaged."""
    files = [gzip.decompress((STORE / "listed/log.1.gz").read_bytes()).rstrip(b"\0")]
    files += [path.read_bytes() for path in sorted(STORE.glob("*/snapshot.*"))]
    values = known_values()
    for i in range(damages):
        if i % 2:
            content = random.choice(files)[:SIZE_MAX]
            yield content[:20] + damaged(content[20:], random)
        else:
            path, value = random.choice(values)
            operations = [create(path, damaged(value, random)), put(path, value, 1)]
            operations.append(multi(*operations))
            tail = random.choice((b"", digest()))
            yield log(*(record(n, it, tail=tail) for n, it in enumerate(operations, 1)))


@lru_cache(maxsize=1)
def known_values() -> list[tuple[str, bytes]]:
    """Give nodes of the store that are understood, each with a value."""
    report = known_lines("load-reports")[0]
    bundles = known_lines("store-bundles")[0]
    state = known_lines("store-states")[0]
    return [
        ("/loadbalance/brokers/10.0.0.1:8080", report[report.index(b'"report"') + 9 : -1]),
        ("/loadbalance/bundle-data/a/b/0x00000000_0xffffffff", bundles),
        ("/loadbalance/broker-time-average/10.0.0.1:8080", b'{"shortTermMsgRateIn": 1.0}'),
        ("/loadbalance/leader", b'{"serviceUrl": "http://10.0.0.1:8080"}'),
        ("/namespace/a/b/0x00000000_0xffffffff", b'{"nativeUrl": "pulsar://10.0.0.1:6650"}'),
        ("/service_unit_state/a/b/0x00000000_0xffffffff", state[state.index(b'"record"') + 9 : -1]),
    ]


def files_of(source: str, damages: int) -> Iterator[bytes]:
    random = Random(f"damage {source}")
    if source == ZOOKEEPER:
        return store_files(random, damages)
    made: Callable[[str, Random, int], Iterator[bytes]] = (
        documents if source in DOCUMENT_PARSERS else files_of_lines
    )
    return made(source, random, damages)


@pytest.fixture
def damages(is_exhaustive: bool) -> int:
    """Damages of one kind of files."""
    return -(-(MANY if is_exhaustive else FEW) // len(SOURCES))


# --------------------------------------------------------------------- the check


def parsed(path: Path, source: str) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Parse a file in one piece: its accounting, and its tables."""
    origin = Origin(name_of(source), "broker1", UTC, date(2026, 11, 21))
    [split] = cut(path, origin, source, size=1 << 30)
    tables: dict[str, list[pa.Table]] = {}
    *parts, account = parse_split(split)
    for part in parts:
        assert isinstance(part, TableRows)
        tables.setdefault(part.table, []).append(part.rows)
    assert isinstance(account, SplitAccount)
    return asdict(account), {name: pa.concat_tables(made) for name, made in tables.items()}


def checked(path: Path, content: bytes, source: str) -> dict[str, Any]:
    """Parse what a file may hold, and check that nothing is lost and nothing has failed."""
    path.write_bytes(content)
    account, tables = parsed(path, source)
    classes = [account[name] for name in CLASSES]
    assert account["lines"] == sum(classes)
    assert min(classes) >= 0
    if source != ZOOKEEPER:
        assert account["bytes"] == len(content)
        assert account["lines"] == content.count(b"\n") + (content[-1:] not in (b"", b"\n"))
    assert dict(account["table_rows"]) == {name: len(rows) for name, rows in tables.items()}
    assert set(tables) <= set(PARSED)
    for name, rows in tables.items():
        assert rows.schema.equals(INGESTED[name], check_metadata=True)
        rows.validate(full=True)
    reasons = tables["rejects"].column("reason").to_pylist() if "rejects" in tables else []
    assert not [reason for reason in reasons if not reason or "the parser failed" in reason]
    return account


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_damage_of_any_kind_costs_what_is_damaged(
    source: str, tmp_path: Path, damages: int
) -> None:
    sums: Counter[str] = Counter()
    for content in files_of(source, damages):
        if content and not content.startswith(b"\x1f\x8b"):
            account = checked(tmp_path / "file", content, source)
            sums.update({name: account[name] for name in CLASSES})

    # Some of the damage is found, and some of the lines survive it.
    assert sums["rejected"] > 0
    assert sums["rows"] + sums["other"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("source", [*SIEVES, ZOOKEEPER])
def test_damaged_lines_are_the_same_in_blocks_and_singly(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damages: int
) -> None:
    path = tmp_path / "file"
    contents = list(files_of(source, damages))
    by_blocks = []
    for content in contents:
        path.write_bytes(content)
        by_blocks.append(parsed(path, source))
    monkeypatch.delitem(SIEVES, source, raising=False)
    monkeypatch.setattr(Waiting, "add_load", lambda *_: False)
    for content, (account, tables) in zip(contents, by_blocks, strict=True):
        path.write_bytes(content)
        expected_account, expected = parsed(path, source)
        assert account == expected_account
        assert {name: repr(of.to_pylist()) for name, of in tables.items()} == {
            name: repr(of.to_pylist()) for name, of in expected.items()
        }
    assert contents


@pytest.mark.slow
@pytest.mark.parametrize("source", [source for source in SOURCES if source != ZOOKEEPER])
def test_packed_files_break_off_anywhere(source: str, tmp_path: Path, damages: int) -> None:
    random = Random(f"packed {source}")
    content = (
        b"\n".join(known_lines(source)[:100])
        if source in LINE_PARSERS
        else (recorded()[source][0][1])
    )
    packed = gzip.compress(content)
    path = tmp_path / "file.gz"
    n_damaged = 0
    for _ in range(max(damages // 50, 5)):
        path.write_bytes(packed[:10] + damaged(packed[10:], random))
        account, tables = parsed(path, source)
        assert account["lines"] == sum(account[name] for name in CLASSES)
        assert dict(account["table_rows"]) == {name: len(rows) for name, rows in tables.items()}
        n_damaged += account["is_damaged"]

    assert n_damaged > 0
