"""A JSON line read key by key, so that an error names the key, what was found and expected.

What a key means stands in the parser of its file, not here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, TypeAlias

from trimtab.files.errors import TrimtabError
from trimtab.ingest.outcome import OTHER, Origin, Outcome, Rejected, Rows

#: A table's name, and a row of it without `file` and `line`.
Row: TypeAlias = tuple[str, dict[str, Any]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1
#: Whole numbers up to here are floats, too.
_EXACT_MAX = 2**53
_FLOAT, _INT = {float}, {int}
#: A character beyond 16 bits is written as two halves, such as \ud83d\ude00.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
#: How Java's JSON writes what JSON has no numbers for.
_NOT_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class MalformedError(TrimtabError, ValueError):
    """A JSON document is not what its file should hold."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A JSON object that knows where it stands."""

    values: Mapping[str, Any]
    #: Keys that lead here, each with a dot behind it; empty at the top.
    place: str = ""

    def has(self, key: str) -> bool:
        """Return whether the key is there and not null."""
        return self.values.get(key) is not None

    def entry(self, key: str) -> Entry:
        """Return the object at the key."""
        value = self._at(key)
        if not isinstance(value, dict):
            raise self.wrong(key, value, "an object")
        return Entry(value, f"{self.place}{key}.")

    def text(self, key: str) -> str:
        """Return the text at the key."""
        value = self._at(key)
        if not isinstance(value, str) or not value:
            raise self.wrong(key, value, "text")
        return value

    def number(self, key: str) -> float:
        """Return the number at the key; Java's "NaN" and "Infinity" are numbers."""
        value = self._at(key)
        if isinstance(value, str) and value in _NOT_NUMBERS:
            return _NOT_NUMBERS[value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, value, "a number")
        try:
            return float(value)
        except OverflowError:
            raise self.wrong(key, value, "a number of 64 bits") from None

    def count(self, key: str) -> int:
        """Return the whole number of 64 bits at the key."""
        return self._whole(key, _INT64_MAX)

    def small(self, key: str) -> int:
        """Return the whole number of 32 bits at the key."""
        return self._whole(key, _INT32_MAX)

    def numbers(self, keys: Iterable[str]) -> Sequence[float]:
        """Return the numbers at some keys, as `number` does one after the other."""
        values = list(map(self.values.get, keys))
        # Nearly all are numbers with a point, and there are millions of them.
        if set(map(type, values)) == _FLOAT:
            return values  # type: ignore[return-value]  # it was just looked at
        return [self.number(key) for key in keys]

    def counts(self, keys: Iterable[str]) -> Sequence[int]:
        """Return the whole numbers at some keys, as `count` does one after the other."""
        values = list(map(self.values.get, keys))
        if set(map(type, values)) == _INT and max(map(abs, values)) <= _EXACT_MAX:  # type: ignore[arg-type]  # it was just looked at
            return values  # type: ignore[return-value]  # it was just looked at
        return [self.count(key) for key in keys]

    def flag(self, key: str) -> bool:
        """Return the truth value at the key."""
        value = self._at(key)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def moment(self, key: str) -> datetime:
        """Return the time at the key: ISO 8601 with a zone, or epoch milliseconds."""
        value = self._at(key)
        expected = "ISO 8601 with a zone, or epoch milliseconds"
        try:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return _EPOCH + timedelta(milliseconds=value)
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            pass
        raise self.wrong(key, value, expected)

    def texts(self, key: str) -> list[str]:
        """Return the list of texts at the key."""
        value = self._at(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, value, "a list of texts")
        return value

    def wrong(self, key: str, value: object, expected: str) -> MalformedError:
        """Return the error that names a key, what was found there and what was expected."""
        shown = json.dumps(value, ensure_ascii=False, default=str)
        return MalformedError(f"key {self.place}{key}: found {shown[:80]}, expected {expected}")

    def _at(self, key: str) -> Any:
        if key not in self.values:
            raise MalformedError(f"key {self.place}{key}: missing")
        return self.values[key]

    def _whole(self, key: str, largest: int) -> int:
        number = self.number(key)
        if not number.is_integer() or abs(number) > largest:
            raise self.wrong(key, self.values[key], f"a whole number up to {largest}")
        return int(self.values[key])


def decode(text: str) -> Any:
    """Return the value of one JSON document.

    Raises:
        MalformedError: it is not JSON; the message says at which column.

    Quirks:
        A lone half of a surrogate pair is valid JSON and no valid text; it becomes a `?`.
    """
    try:
        value = json.loads(text)
        if _HALF.search(text):
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column" if error.lineno > 1 else "column"
        raise MalformedError(f"not JSON at {place} {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"not JSON: {error}") from None
    return value


def of_entry(rows: Callable[[Entry], Iterable[Row]]) -> Callable[[str, Origin], Outcome]:
    """Return what reads a line of JSON Lines by the rows of its object.

    A blank line, and an object that gives no row, are understood and not needed.
    """

    @wraps(rows)
    def outcome(text: str, origin: Origin) -> Outcome:
        if not text.strip():
            return OTHER
        try:
            document = decode(text)
            if not isinstance(document, dict):
                shown = json.dumps(document, ensure_ascii=False)
                raise MalformedError(f"found {shown[:80]}, expected an object")
            result = tuple(rows(Entry(document)))
        except MalformedError as error:
            return Rejected(str(error))
        return Rows(result) if result else OTHER

    return outcome
