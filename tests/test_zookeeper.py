"""ZooKeeper's logs and snapshots: every write once, and a clear word where a file is broken."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.ingest.zookeeper_files.bytestream import BrokenFileError, ByteStream
from trimtab.ingest.zookeeper_files.snapshot import Snapshot
from trimtab.ingest.zookeeper_files.transactions import Operation, TransactionLog
from trimtab.ingest.zookeeper_files.writes import Share, Write, opened, shares, survey, writes
from zookeeper_files import (
    LOG_HEADER,
    ONE,
    START_MS,
    TWO,
    WANTED,
    chunked,
    close,
    container,
    create,
    delete,
    digest,
    error,
    in_short,
    log,
    multi,
    node,
    put,
    read,
    read_together,
    record,
    snapshot,
)

REAL = Path(__file__).parent / "testdata" / "zookeeper"
LEADER = "/loadbalance/leader"
OWNER = "/namespace/shop/orders/0x00000000_0x80000000"


def refusal(content: bytes) -> str:
    with pytest.raises(BrokenFileError) as broken:
        list(opened(chunked(content), WANTED))
    return str(broken.value)


def given_before_fault(content: bytes) -> tuple[list[int], str | None]:
    """Transactions that a file gives, and what it then says is wrong."""
    found: list[int] = []
    try:
        found.extend(item.zxid for item in TransactionLog(chunked(content, 97), WANTED))
    except BrokenFileError as fault:
        return found, str(fault)
    return found, None


# ------------------------------------------------------------- transactions


def test_a_write_says_who_when_and_what() -> None:
    content = log(
        record(7, create(LEADER, b"{}", ephemeral=True), session=TWO),
        record(8, put(LEADER, b"[1]", 1), tail=digest()),
        record(9, delete(LEADER)),
    )

    assert read(content) == [
        Write(7, START_MS + 7000, TWO, Operation.CREATE, LEADER, b"{}", 0, True),
        Write(8, START_MS + 8000, ONE, Operation.SET, LEADER, b"[1]", 1, None),
        Write(9, START_MS + 9000, ONE, Operation.DELETE, LEADER, None, None, None),
    ]


def test_only_what_is_below_the_prefixes_is_given() -> None:
    wanted = ["/loadbalance", "/loadbalance/a", "/namespace/b"]
    others = ["/loadbalancer", "/ledgers/loadbalance", "/", "/admin/namespace"]
    everything = [*others[:2], *wanted, *others[2:]]
    content = log(*(record(i, create(path)) for i, path in enumerate(everything)))
    file = TransactionLog(chunked(content), WANTED)

    assert [change.path for item in file for change in item.changes] == wanted
    assert file.count == len(everything)


def test_a_multi_does_all_of_it_or_nothing() -> None:
    done = multi(create("/ledgers/1"), put(LEADER, b"a", 4), delete(OWNER), container(WANTED[0]))
    failed = multi(create(LEADER), error(), create("/loadbalance/never"))
    content = log(record(1, done), record(2, failed), record(3, multi()))

    assert in_short(read(content)) == [
        (1, "set", LEADER, b"a"),
        (1, "delete", OWNER, None),
        (1, "create", "/loadbalance", b""),
    ]


def test_nodes_end_with_a_session_that_lists_them() -> None:
    content = log(record(1, close(LEADER, "/ledgers/x", OWNER), tail=digest()))

    assert in_short(read(content)) == [(1, "delete", LEADER, None), (1, "delete", OWNER, None)]
    assert all(write.is_ephemeral for write in read(content))


def test_nodes_end_with_a_session_that_does_not_list_them() -> None:
    """One of its two nodes was deleted before, one is another session's."""
    content = log(
        record(1, create(LEADER, ephemeral=True)),
        record(2, create(OWNER, ephemeral=True)),
        record(3, create("/loadbalance/stays")),
        record(4, create("/loadbalance/brokers/two", ephemeral=True), session=TWO),
        record(5, delete(LEADER)),
        record(6, close(is_listed=False), tail=digest()),
        record(7, close(is_listed=False)),
    )

    assert in_short(read(content))[5:] == [(6, "delete", OWNER, None)]


def test_sessions_end_in_another_file_than_they_began_in() -> None:
    began = log(record(1, create(LEADER, ephemeral=True)))
    taken = snapshot(node(OWNER, b"{}", 2, 5, owner=ONE))
    ended = log(record(9, close(is_listed=False)))

    for order in ([0, 1, 2], [2, 1, 0]):
        files = [(began, taken, ended)[i] for i in order]
        found = dict(zip(order, read_together(files), strict=True))
        assert in_short(found[2]) == [(9, "delete", LEADER, None), (9, "delete", OWNER, None)]


def test_a_log_ends_where_its_zeros_begin() -> None:
    assert read(log()) == []
    assert read(LOG_HEADER + bytes(5)) == []
    assert len(read(log(record(1, create(LEADER)), zeros=1 << 20))) == 1


# ---------------------------------------------------------- files together


def test_what_several_servers_logged_counts_once() -> None:
    records = [record(i, put(LEADER, str(i).encode(), i)) for i in range(1, 10)]
    files = [log(*records[:4]), log(*records[2:7]), log(*records), log(*records[5:])]
    found = read_together(files)

    assert [[write.zxid for write in each] for each in found] == [
        [1, 2, 3, 4],
        [5, 6, 7],
        [8, 9],
        [],
    ]


def test_a_snapshot_gives_what_no_log_has() -> None:
    """It is fuzzy: it holds a write that came after its name, and the log has that too."""
    first = snapshot(node(LEADER, b"{}", 3, 7, owner=ONE), node(OWNER, b"o", 20, 1), tail=b"more")
    second = snapshot(node(LEADER, b"{}", 3, 7, owner=ONE), node("/namespace/n", b"", 4, 0))
    content = log(record(20, put(OWNER, b"o", 1)), record(21, delete(OWNER)))
    found = read_together([content, first, second])

    assert [in_short(each) for each in found] == [
        [(20, "set", OWNER, b"o"), (21, "delete", OWNER, None)],
        [(3, "set", LEADER, b"{}")],
        [(4, "create", "/namespace/n", b"")],
    ]
    leader = found[1][0]
    assert (leader.version, leader.session, leader.time_ms) == (7, ONE, START_MS + 3000)
    assert leader.is_snapshot
    assert leader.is_ephemeral


def test_containers_and_timed_nodes_belong_to_no_session() -> None:
    content = snapshot(
        node("/loadbalance/c", b"", 1, 0, owner=-(1 << 63)),
        node("/loadbalance/t", b"", 2, 0, owner=-(1 << 56) + 3_600_000),
        node("/loadbalance/e", b"", 3, 0, owner=TWO),
    )

    assert [(write.session, write.is_ephemeral) for write in read(content)] == [
        (0, False),
        (0, False),
        (TWO, True),
    ]


@pytest.mark.parametrize("kind", ["listed", "unlisted"])
def test_a_real_servers_log_leads_to_its_own_snapshots(kind: str) -> None:
    """ZooKeeper 3.9.5 wrote both, with and without a session's nodes in its end."""
    content = gzip.decompress((REAL / kind / "log.1.gz").read_bytes())
    snapshots = [(REAL / kind / name).read_bytes() for name in ("snapshot.18", "snapshot.1e")]
    found, *rest = read_together([content, *snapshots])
    assert rest == [[], []]
    for name, taken in zip((0x18, 0x1E), snapshots, strict=True):
        state: dict[str, tuple[object, ...]] = {}
        for write in found:
            if write.zxid <= name:
                state[write.path] = (write.value, write.version, write.zxid, write.time_ms)
                if write.operation is Operation.DELETE:
                    del state[write.path]
        nodes = list(Snapshot(chunked(taken), WANTED))
        assert len(nodes) >= 10
        assert state == {
            change.path: (change.value, change.version, it.zxid, it.time_ms)
            for it in nodes
            for change in it.changes
        }
    gone = [write.path for write in found if write.zxid in {0x1D, 0x1F}]
    assert sorted(gone) == [
        "/loadbalance/brokers/one:8080",
        "/loadbalance/brokers/two:8080",
        LEADER,
        "/loadbalance/one",
        OWNER,
    ]


# --------------------------------------------------------------- broken files


def test_a_file_that_is_neither_is_named_by_its_first_bytes() -> None:
    assert refusal(b"") == (
        "byte 0: found the end of the file, expected a transaction log, which begins with ZKLG"
    )
    assert refusal(b"PK\3\4").startswith(r"byte 0: found b'PK\x03\x04', expected a transaction log")
    assert refusal(b"ZKLG\0").startswith("byte 0: found less than a header, expected 16 bytes")
    assert refusal(b"ZKSN\0").startswith("byte 0: found the end of the file, expected 16 bytes")


def test_a_torn_record_costs_nothing_before_it() -> None:
    records = [record(i, create(f"{LEADER}/{i}")) for i in range(3)]
    content = log(*records)
    found, fault = given_before_fault(content[:-7])

    assert found == [0, 1]
    start = len(content) - len(records[2])
    left = len(records[2]) - 7
    expected = f"{len(records[2])} bytes"
    assert fault == f"byte {start}: found a record torn after {left} bytes, expected {expected}"


def test_a_wrong_checksum_or_end_or_tail_is_named_with_its_place() -> None:
    first, second = record(1, create(LEADER)), record(2, create(OWNER))
    start = len(log(first))
    spoiled = bytearray(log(first, second, zeros=64))
    spoiled[start + 40] ^= 1
    assert given_before_fault(bytes(spoiled)) == (
        [1],
        f"byte {start}: found a record that is not its checksum, expected one that is",
    )
    no_end = log(first, second[:-1] + b"C")
    assert given_before_fault(no_end)[1] == (
        f"byte {len(no_end) - 1}: found no end of a record, expected a B"
    )
    behind = log(first, zeros=40) + second
    assert given_before_fault(behind)[0] == [1]
    assert "behind the log's end, expected zeros or a record" in str(given_before_fault(behind)[1])
    absurd = log(first) + bytes(8) + b"\xff" * 4
    assert "found a record of -1 bytes, expected one of 32 to" in str(given_before_fault(absurd)[1])


def test_a_record_whose_contents_are_too_short_is_named() -> None:
    kind, body = create(LEADER, b"value")
    content = log(record(1, create(LEADER)), record(2, (kind, body[:-30])))

    found, fault = given_before_fault(content)
    assert found == [1]
    assert re.fullmatch(r"byte \d+: found a record that ends \d+ bytes on, expected .*", str(fault))
    assert "found a multi in a multi" in refusal(log(record(1, multi(multi(create(LEADER))))))


def test_a_snapshot_that_is_not_whole_counts_for_nothing() -> None:
    whole = snapshot(node(LEADER, b"{}", 3, 7, owner=ONE))
    content = log(record(9, close(is_listed=False)))
    spoiled = bytearray(whole)
    spoiled[-40] ^= 1
    for broken in (whole[:-20], bytes(spoiled)):
        assert survey(chunked(broken), WANTED).fault is not None
        known = shares([survey(chunked(each), WANTED) for each in (broken, content)])
        assert not any(known[0].kept)
        assert known[1].ended == {}
    assert refusal(bytes(spoiled)).endswith("expected their own")


def spoilt(content: bytes, random: Random) -> bytes:
    """Cut it, flip a byte, put bytes in, or leave some out."""
    place = random.randrange(len(content))
    match random.randrange(4):
        case 0:
            return content[:place]
        case 1:
            byte = bytes([content[place] ^ (1 << random.randrange(8))])
            return content[:place] + byte + content[place + 1 :]
        case 2:
            return content[:place] + random.randbytes(random.randrange(1, 40)) + content[place:]
        case _:
            return content[:place] + content[place + random.randrange(1, 40) :]


def test_a_thousand_broken_logs_give_all_that_stands_before_the_break() -> None:
    random = Random(5)
    records = [
        record(i, put(LEADER, random.randbytes(random.randrange(200)), i)) for i in range(12)
    ]
    content = log(*records, zeros=50)
    ends = [len(log(*records[:i])) for i in range(13)]
    faults = 0
    for _ in range(1000):
        broken = spoilt(content, random)
        same = next(
            (i for i, (a, b) in enumerate(zip(content, broken, strict=False)) if a != b),
            min(len(content), len(broken)),
        )
        untouched = [i for i in range(12) if ends[i + 1] <= same]
        found, fault = given_before_fault(broken)
        assert found[: len(untouched)] == untouched
        assert found == sorted(found)
        if fault is not None:
            faults += 1
            at = re.match(r"byte (\d+): found .+, expected .+", fault)
            assert at is not None
            assert int(at[1]) <= len(broken)
        else:
            # Cut between two records, or what differs is zeros behind them or a header's rest.
            assert found == list(range(len(found)))
    assert faults > 800


def test_a_thousand_broken_snapshots_are_told() -> None:
    random = Random(6)
    content = snapshot(*(node(f"{LEADER}/{i}", random.randbytes(50), i, i) for i in range(9)))
    faults = 0
    for _ in range(1000):
        broken = spoilt(content, random)
        found = survey(chunked(broken), WANTED)
        if found.fault is None:
            # Behind the checksum stands a path that nobody needs.
            assert broken[: len(content) - 5] == content[: len(content) - 5]
        else:
            faults += 1
            assert re.match(r"byte \d+: found .+, expected .+", found.fault)
    assert faults > 950


@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_make_more_than_a_message(rest: bytes, is_log: bool) -> None:
    content = (LOG_HEADER if is_log else b"ZKSN" + bytes(12)) + rest
    found = survey(chunked(content), WANTED)
    assert found.fault is None or re.match(r"byte \d+: found .+, expected .+", found.fault)


@given(st.binary(max_size=120), st.sampled_from([1, 2, 5, 14, 15, 19, 20, 21, -1, -10, -11, 99]))
def test_no_contents_make_more_than_a_message(body: bytes, kind: int) -> None:
    content = log(record(1, (kind, body)), record(2, (kind, body[:4] + b"/loadbalance" + body)))
    found = survey(chunked(content), ("",))
    assert found.fault is None or re.match(r"byte \d+: found .+, expected .+", found.fault)


# --------------------------------------------------------- chunks and memory


@given(st.lists(st.integers(min_value=1, max_value=90), min_size=1), st.booleans())
def test_how_the_bytes_are_cut_changes_nothing(sizes: list[int], is_log: bool) -> None:
    records = [record(i, multi(put(LEADER, b"v" * i, i), create("/x"))) for i in range(9)]
    nodes = [node(f"{LEADER}/{i}", b"v" * i, i, i) for i in range(9)]
    content = log(*records, zeros=200) if is_log else snapshot(*nodes)

    def pieces() -> Iterator[bytes]:
        at = 0
        while at < len(content):
            size = sizes[at % len(sizes)]
            yield content[at : at + size]
            at += size

    whole = survey(ByteStream([content]), WANTED)
    stream = ByteStream(pieces())
    cut = opened(stream, WANTED)
    share = shares([whole])[0]
    found = [made for _, made in writes(cut, share)]
    assert found == [made for _, made in writes(opened(ByteStream([content]), WANTED), share)]
    assert len(found) == 9
    assert cut.count == whole.count
    assert stream.offset == len(content)


@pytest.mark.slow
def test_a_long_log_is_read_in_the_memory_of_a_short_one() -> None:
    """100 MB of reports with 2 kB each; what is held is a chunk, a record and the keys."""
    block = b"".join(
        record(i, put(f"/loadbalance/brokers/b{i % 50}:8080", b"r" * 2000, i)) for i in range(500)
    )

    def content(blocks: int) -> Iterator[bytes]:
        yield LOG_HEADER
        for _ in range(blocks):
            yield block

    assert peak(content(2)) < 6 * len(block)
    assert peak(content(100)) < 6 * len(block)


def peak(content: Iterator[bytes]) -> int:
    tracemalloc.start()
    try:
        file = opened(ByteStream(content), WANTED)
        count = sum(len(made) for _, made in writes(file, Share()))
        assert count >= 1000
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
