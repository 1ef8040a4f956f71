"""JSON in columns: rows that come by the thousand, without an object for each of their values.

Read here is what is as it usually is, known by its types and decoded against them.  Whatever is
odd, be it in one value, is left to the parser of its line or document, the authority: what is
said of a line here, it would say too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from msgspec import MsgspecError

from trimtab.files.tables import INGESTED
from trimtab.ingest.json_fields import check_filled
from trimtab.ingest.sieve import BlockContent, Columns, every_line
from trimtab.ingest.splits import lines_of

_Read = TypeVar("_Read")

#: What is raised for JSON that is not as it usually is, be it no JSON at all.
ODD = (MsgspecError, ValueError, ArithmeticError, RecursionError)

#: Digits that Python reads a whole number of.
_DIGITS_MAX = 4300
#: Every so many bytes is looked at for longer ones.  A prime, for rows of equal length have
#: the same at other distances.
_LOOK_EVERY = 61


def usual_lines(
    block: bytes, before: int, read: Callable[[bytes], _Read]
) -> tuple[list[int], list[_Read], BlockContent]:
    """Return the lines of a block that are as usual, decoded.

    Args:
        block: whole lines.
        before: lines that stand before it.
        read: reads a line, and raises one of `ODD` where it is not as usual.

    Returns:
        The numbers of those lines, what they hold, and the account of the block, in which
        all others are left.
    """
    if may_hold_endless_number(block):
        return [], [], every_line(block, before)
    lines = block.split(b"\n")
    if not lines[-1]:
        del lines[-1]
    numbers, lines_read, left = [], [], []
    for number, line in enumerate(lines, before + 1):
        try:
            lines_read.append(read(line))
        except ODD:
            left.append(number)
        else:
            numbers.append(number)
    content = BlockContent(len(lines), rows=len(numbers))
    if left:
        # As the parser of lines gets them: decoded, and without their ends.
        texts = lines_of(block)
        content.left = [(number, texts[number - before - 1]) for number in left]
    return numbers, lines_read, content


def may_hold_endless_number(text: bytes) -> bool:
    """Return whether JSON may hold a whole number that is too long for Python's decoder.

    Wherever one stands, Python refuses the document; a decoder that passes over what is not
    asked for does not see it.

    >>> may_hold_endless_number(b"[" + b"1" * 4301 + b"]"), may_hold_endless_number(b"[1]")
    (True, False)
    """
    if len(text) <= _DIGITS_MAX:
        return False
    looked = np.frombuffer(text, np.uint8)[::_LOOK_EVERY]
    # What is below "0" wraps round.
    others = np.flatnonzero(looked - ord("0") > 9)
    digits = np.diff(others, prepend=-1, append=looked.size) - 1
    return bool(digits.max() >= _DIGITS_MAX // _LOOK_EVERY)


def repeated(columns: Mapping[str, pa.Array], counts: Sequence[int]) -> dict[str, pa.Array]:
    """Return columns with each row repeated its number of times."""
    places = pa.array(np.repeat(np.arange(len(counts)), counts))
    return {column: values.take(places) for column, values in columns.items()}


def laid_out(table: str, columns: Columns, file: str) -> pa.Table:
    """Return columns as the rows of a table that come from one file.

    Raises:
        ValueError: a column is declared and not filled, or filled and not declared.
    """
    check_filled(table, columns)
    schema = INGESTED[table]
    files = pa.repeat(pa.scalar(file, pa.string()), len(columns["line"]))
    values = [(it.type, files if it.name == "file" else columns[it.name]) for it in schema]
    arrays = [of if isinstance(of, pa.Array) else pa.array(of, kind) for kind, of in values]
    return pa.Table.from_arrays(arrays, schema=schema)


def table_of(table: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table.

    Raises:
        ValueError: a row leaves out a declared column, or has a value of another type; the
            message says where.
    """
    schema = INGESTED[table]
    return pa.Table.from_arrays([_array(rows, column) for column in schema], schema=schema)


def _array(rows: Sequence[Mapping[str, Any]], column: pa.Field) -> pa.Array:
    name, faults = column.name, (pa.ArrowException, OverflowError, TypeError, KeyError)
    try:
        return pa.array([row[name] for row in rows], column.type)
    except faults:
        for row in rows:
            try:
                pa.array([row[name]], column.type)
            except faults:
                place = f"{row.get('file')} line {row.get('line')}, column {name}"
                value = repr(row[name]) if name in row else "nothing"
                raise ValueError(f"{place}: found {value}, expected {column.type}") from None
        raise
