"""Maps, lists and numbers that Java has printed, of many messages at once, as Arrow's columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.ingest.messages.java_text import ABSENT, printed_list

#: Groups of a pattern that stand for nothing.
NOTHING = ABSENT | {None}
_EQUALS, _COMMA = b"=,"


def printed_maps(texts: Sequence[str | None]) -> pa.Array:
    """Return the insides of printed maps of names to numbers, a map a row.

    Args:
        texts: those that stand for something are usual maps: nothing but what parts their
            entries is a comma or an equals sign.

    Raises:
        ValueError: one has a name twice.
    """
    is_absent = [text in NOTHING for text in texts]
    printed = [text for text in texts if text is not None and text not in ABSENT]
    sizes = np.zeros(len(texts) + 1, np.int64)
    sizes[1:][~np.array(is_absent)] = [text.count("=") for text in printed]
    names, numbers = _entries(", ".join(printed).encode())
    codes = names.dictionary_encode().indices.to_numpy()
    # A map and a name in one number.  To sort takes a tenth of the time of `unique`.
    entries = np.sort(np.repeat(np.arange(sizes.size), sizes) * codes.size + codes)
    if (entries[1:] == entries[:-1]).any():
        raise ValueError("found a name twice in a map, expected it once")
    ends = pa.array(np.cumsum(sizes), pa.int32(), mask=np.array([*is_absent, False]))
    return pa.MapArray.from_arrays(ends, names, numbers)


def _entries(text: bytes) -> tuple[pa.Array, pa.Array]:
    """Return the names and the numbers of `b0:8080=0.1, b1:8080=0.2`."""
    letters = np.frombuffer(text, np.uint8)
    marks = np.append(np.flatnonzero((letters == _EQUALS) | (letters == _COMMA)), letters.size)
    equals, ends = marks[:-1:2], marks[1::2]
    # Name, equals sign, number, comma and blank, and so on.
    bounds = np.zeros(4 * equals.size + 1, np.int32)
    bounds[1::4], bounds[2::4], bounds[3::4], bounds[4::4] = equals, equals + 1, ends, ends + 2
    bounds[-1:] = letters.size
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(text)]
    parts = pa.Array.from_buffers(pa.string(), bounds.size - 1, buffers)
    numbers = parts.take(pa.array(np.arange(2, bounds.size, 4)))
    # Arrow reads numbers four times as fast as Python, to the same bit.
    return parts.take(pa.array(np.arange(0, bounds.size - 1, 4))), numbers.cast(pa.float64())


def printed_lists(texts: Sequence[str | None]) -> pa.Array:
    """Return the insides of printed lists, a list a row, as `printed_list` does."""
    insides = [None if text is None or text in ABSENT else text.strip("[] ") for text in texts]
    lists = pc.split_pattern(pa.array(insides, pa.string()), ", ")
    if not pc.any(pc.equal(lists.flatten(), "")).as_py():
        return lists
    return pa.array([None if text is None else printed_list(text) for text in insides], lists.type)


def numbers_by_name(columns: dict[str, Sequence[float | None]]) -> pa.Array:
    """Return columns of numbers as a map a row, without those that are not known."""
    joined = pa.concat_arrays([pa.array(column, pa.float64()) for column in columns.values()])
    width, n = len(columns), len(joined) // len(columns)
    # Row after row.
    places = np.arange(len(joined)).reshape(width, n).T.ravel()
    is_known = joined.is_valid().to_numpy(zero_copy_only=False)[places]
    ends = np.append(0, np.cumsum(is_known)[width - 1 :: width])
    is_empty = np.append(ends[1:] == ends[:-1], [False])
    names = pa.array(list(columns), pa.string())
    return pa.MapArray.from_arrays(
        pa.array(ends, pa.int32(), mask=is_empty),
        names.take(pa.array(np.tile(np.arange(width), n)[is_known])),
        joined.take(pa.array(places[is_known])),
    )
