"""Every line of a file is in exactly one split, wherever the cuts fall."""

from __future__ import annotations

import gzip
import random
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.ingest.outcome import Origin
from trimtab.ingest.splits import DamagedError, Split, cut, lines_of, pack, read_blocks

ORIGIN = Origin("logs/b/x.log", "b", UTC, None)

#: Line ends of both kinds, lone CRs and other breaks that end no line, text of several bytes.
TEXTS = st.text(st.sampled_from("ab\n\n\r\x0b\u2028é\U0001f600"), max_size=60)


def lines(text: str) -> list[str]:
    """What the lines of a text are, said another way."""
    expected = text.replace("\r\n", "\n").split("\n")
    return expected[:-1] if expected[-1] == "" else expected


def all_lines(splits: list[Split]) -> list[str]:
    return [line for split in splits for block in read_blocks(split) for line in lines_of(block)]


def damaged(path: Path) -> tuple[list[str], DamagedError]:
    """Read a file that breaks off: the lines before, and what was said."""
    found: list[str] = []
    with pytest.raises(DamagedError) as error:
        for block in read_blocks(cut(path, ORIGIN, "log")[0]):
            found += lines_of(block)
    return found, error.value


@given(TEXTS, st.integers(1, 20))
def test_splits_together_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "text.log"
    path.write_bytes(text.encode())

    splits = cut(path, ORIGIN, "log", size=size)

    assert lines(text) == all_lines(splits)
    assert text.encode() == b"".join(block for it in splits for block in read_blocks(it))


@given(TEXTS, st.integers(0, 200))
def test_any_cut_gives_each_line_to_the_split_of_its_first_byte(
    tmp_path_factory: pytest.TempPathFactory, text: str, place: int
) -> None:
    data = text.encode()
    path = tmp_path_factory.getbasetemp() / "cut.log"
    path.write_bytes(data)
    place = min(place, len(data))
    starts = [i for i in range(len(data)) if i == 0 or data[i - 1 : i] == b"\n"]

    before = all_lines([Split(path, ORIGIN, "log", 0, place, False)])
    behind = all_lines([Split(path, ORIGIN, "log", place, len(data), False)])

    assert lines(text) == before + behind
    assert len(before) == sum(1 for start in starts if start < place)


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_packed_members_read_like_the_plain_file(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "packed.log.gz"
    path.write_bytes(b"".join(gzip.compress(text.encode()) for text in texts) + bytes(8))

    splits = cut(path, ORIGIN, "log", size=5)

    assert len(splits) == 1
    assert lines("".join(texts)) == all_lines(splits)


def test_lines_longer_than_a_chunk_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    long = "x" * (3 << 20)
    path.write_text(f"a\n{long}\nb")

    assert ["a", long, "b"] == all_lines(cut(path, ORIGIN, "log", size=1 << 20))


def test_a_small_file_that_holds_much_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "dense.log.gz"
    path.write_bytes(gzip.compress(b"a\n" * 1_500_000) + gzip.compress(b"b"))
    assert 1 << 14 > path.stat().st_size
    assert ["a"] * 1_500_000 + ["b"] == all_lines(cut(path, ORIGIN, "log"))


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "latin.log"
    path.write_bytes(b"caf\xe9\nend \xe2\x82")

    assert ["caf\ufffd", "end \ufffd"] == all_lines(cut(path, ORIGIN, "log"))


def test_packed_is_told_by_content_and_not_by_name(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.log.gz", tmp_path / "packed.log"
    plain.write_text("a\nb\n")
    packed.write_bytes(gzip.compress(b"c\nd\n"))

    assert ["a", "b", "c", "d"] == all_lines(
        [*cut(plain, ORIGIN, "log"), *cut(packed, ORIGIN, "log")]
    )


def test_empty_file_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "empty.log"
    path.touch()

    assert [] == all_lines(cut(path, ORIGIN, "log"))


def noise(n: int) -> bytes:
    """Lines that hardly compress, so that a byte of packed data is about one of text."""
    numbers = random.Random(7)
    return b"".join(b"%s\n" % numbers.randbytes(20).hex().encode() for _ in range(n))


def test_lines_before_the_end_of_a_cut_off_file_are_kept(tmp_path: Path) -> None:
    text = noise(5000)
    path = tmp_path / "cut.log.gz"
    path.write_bytes(gzip.compress(text)[:-2000])

    found, error = damaged(path)

    kept = "\n".join([*found, error.rest]).encode()
    assert text.startswith(kept)
    assert len(text) - 8000 < len(kept) < len(text)
    assert "the file breaks off: the gzip data is cut off" == error.reason


def test_lines_before_damage_are_kept(tmp_path: Path) -> None:
    text = noise(5000)
    # Stored, not compressed: 10 bytes of header, then blocks with 5 of their own, of which
    # the first says the kind; there is no kind 3.
    packed = bytearray(gzip.compress(text, 0))
    length = int.from_bytes(packed[11:13], "little")
    packed[15 + length] = 0xFF
    path = tmp_path / "damaged.log.gz"
    path.write_bytes(packed)

    found, error = damaged(path)

    assert text[:length].decode() == "\n".join([*found, error.rest])
    assert error.reason.startswith("the file breaks off: damaged gzip data")


def test_wrong_checksum_costs_no_line(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"a\nb\n"))
    packed[-8] ^= 0xFF
    path = tmp_path / "checksum.log.gz"
    path.write_bytes(packed)

    found, error = damaged(path)

    assert (["a", "b"], "") == (found, error.rest)
    assert error.reason.startswith("the file breaks off: damaged gzip data")


def test_file_that_cannot_be_opened_breaks_off_at_once(tmp_path: Path) -> None:
    found, error = damaged(tmp_path / "gone.log")

    assert [] == found
    assert "the file breaks off: No such file or directory" == error.reason


@given(st.lists(st.integers(0, 200 << 20), max_size=50))
def test_tasks_hold_all_splits_in_order(sizes: list[int]) -> None:
    splits = [Split(Path(str(i)), ORIGIN, "log", 0, n, False) for i, n in enumerate(sizes)]

    tasks = pack(splits)

    assert splits == [split for task in tasks for split in task]
    assert all(tasks)
    # One split alone may be heavier than a task should be, two together may not.
    assert all(len(task) == 1 or sum(it.weight for it in task) <= 64 << 20 for task in tasks)


def test_of_a_large_recording_there_are_larger_tasks_and_not_more() -> None:
    a_day, brokers = 70 << 20, 1000
    splits = [Split(Path(str(i)), ORIGIN, "log", 0, a_day, False) for i in range(brokers)]

    assert len(pack(splits[:100])) == 100
    assert len(pack(splits)) == 143
    assert len(pack(splits * 10)) <= 256
