"""What is said of lines a block at a time is what their parser says of each."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import asdict
from datetime import UTC, date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.log_text import composed, damaged, lines
from trimtab.ingest import splits
from trimtab.ingest.outcome import Origin
from trimtab.ingest.split_result import TableRows
from trimtab.ingest.splits import Split, cut
from trimtab.ingest.worker import SIEVES, parse_split

ORIGIN = Origin("logs/b/x.log", "b", UTC, date(2026, 11, 21))


def found(split: Split, chunk_size: int) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Parse a split: its accounting, and the rows of each table."""
    rows: dict[str, list[dict[str, Any]]] = {}
    account: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "_CHUNK_SIZE", chunk_size)
        for part in parse_split(split):
            if isinstance(part, TableRows):
                rows.setdefault(part.table, []).extend(part.rows.to_pylist())
            else:
                account = asdict(part)
    return account, rows


def by_lines(split: Split) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Parse a split with the parser of lines alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(SIEVES, "log")
        return found(split, 1 << 20)


def agreed(path: Path, chunk_size: int) -> dict[str, Any]:
    """Check that both ways say the same of a file, and give its accounting."""
    [split] = cut(path, ORIGIN, "log", size=1 << 30)
    account, rows = found(split, chunk_size)
    expected_account, expected = by_lines(split)
    # As text, for a NaN is no NaN.
    assert repr(account) == repr(expected_account)
    assert repr(rows) == repr(expected)
    told = sum(account[name] for name in ("rows", "other", "continuation", "rejected"))
    assert account["lines"] == told
    return account


def written(folder: Path, data: bytes) -> Path:
    path = folder / "x.log"
    path.write_bytes(data)
    return path


GZIP = b"\x1f\x8b"
CHUNK_SIZES = st.sampled_from([1, 7, 31, 32, 33, 100, 1000, 1 << 20])
#: By their numbers, for Hypothesis prints what it draws from.
KNOWN = st.integers(0, len(lines()) - 1).map(lines().__getitem__)
RANDOMS = st.randoms(use_true_random=False)
LINES = st.one_of(
    KNOWN,
    RANDOMS.map(lambda random: composed(random.choice)),
    st.tuples(KNOWN, RANDOMS).map(lambda pair: damaged(*pair)),
    st.binary(max_size=80),
)


@pytest.mark.slow
@given(st.lists(LINES, max_size=20), st.sampled_from([b"\n", b"\r\n"]), st.booleans(), CHUNK_SIZES)
@example([GZIP, b"x"], b"\n", False, 1)
@example([GZIP], b"\n", True, 1)
@settings(max_examples=300)
def test_any_lines_in_any_blocks(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[bytes],
    end: bytes,
    is_torn: bool,
    chunk_size: int,
) -> None:
    data = end.join(texts) + (b"" if is_torn else end)

    account = agreed(written(tmp_path_factory.getbasetemp(), data), chunk_size)

    in_text = data.count(b"\n") + bool(data and not data.endswith(b"\n"))
    # Whatever begins as gzip does is taken for it, and is a single rejected piece.
    assert account["lines"] == (1 if data.startswith(GZIP) else in_text)


@pytest.mark.parametrize("chunk_size", [3000, 1 << 20])
def test_all_known_lines_at_once(tmp_path: Path, chunk_size: int) -> None:
    account = agreed(written(tmp_path, b"\n".join(lines())), chunk_size)

    assert min(account[name] for name in ("rows", "other", "continuation", "rejected")) > 20


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_put_together_of_common_and_odd_parts(tmp_path: Path, end: bytes) -> None:
    random = Random(5)
    # Mostly the first of each, or hardly a line would be whole.
    made = [
        composed(lambda of: of[0] if len(of) < 20 and random.random() < 0.9 else random.choice(of))
        for _ in range(4000)
    ]

    account = agreed(written(tmp_path, end.join(made)), 1 << 20)

    assert min(account["rows"], account["rejected"]) > 300


def test_the_last_line_torn_at_any_byte(tmp_path: Path) -> None:
    whole = lines()[0] + b"\n"
    counts: Counter[int] = Counter()
    for length in range(1, len(lines()[3]) + 1):
        account = agreed(written(tmp_path, whole + lines()[3][:length]), 1 << 20)
        counts[account["rows"]] += 1

    assert counts.keys() == {1, 2}


def test_a_packed_log_that_breaks_off(tmp_path: Path) -> None:
    packed = gzip.compress(b"\n".join(lines()))
    account = agreed(written(tmp_path, packed[: len(packed) // 2]), 1000)

    assert account["is_damaged"]
    assert account["rows"] > 20
