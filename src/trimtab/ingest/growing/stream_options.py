"""Options that only streams have."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
)

from trimtab.files.fields import FieldError

#: As Spark writes them for its own sources, in small letters, as it hands them on.
_FILES, _BYTES, _LOSS, _REST = "maxfilespertrigger", "maxbytespertrigger", "failondataloss", "rest"
#: Names of them all.
STREAM_OPTIONS = (_FILES, _BYTES, _LOSS, _REST)
#: Seconds without a write after which a file is at rest.
_REST_S = 10.0
#: What Spark takes for sizes: binary ones, whatever they are called.
_SIZE = re.compile(r"([1-9][0-9]*)(?:(b)|([kmgtp])i?b?)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How a recording is streamed."""

    #: How much of it makes a batch.
    limit: ReadLimit
    rest_s: float
    #: What cannot be read any more counts as a rejected line, and stops nothing.
    is_loss_fine: bool


def stream_options(options: Mapping[str, str]) -> StreamOptions:
    """Return how options have a recording streamed.

    Raises:
        FieldError: one of them is not what it should be.
    """
    if _FILES in options and _BYTES in options:
        raise FieldError("maxBytesPerTrigger", "maxFilesPerTrigger beside it", "one of the two")
    limit: ReadLimit = ReadAllAvailable()
    if (files := options.get(_FILES)) is not None:
        if not re.fullmatch("[1-9][0-9]*", files):
            raise FieldError("maxFilesPerTrigger", repr(files), "a whole number above 0")
        limit = ReadMaxFiles(int(files))
    if (size := options.get(_BYTES)) is not None:
        limit = ReadMaxBytes(_size(size))
    loss = options.get(_LOSS, "true").lower()
    if loss not in {"true", "false"}:
        raise FieldError("failOnDataLoss", repr(loss), "true or false")
    return StreamOptions(limit, _rest(options.get(_REST)), loss == "false")


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise FieldError("maxBytesPerTrigger", repr(text), "a size, such as 67108864 or 64m")
    unit = (match[3] or "b").lower()
    return int(match[1]) << 10 * "bkmgtp".index(unit)


def _rest(text: str | None) -> float:
    try:
        rest_s = _REST_S if text is None else float(text)
    except ValueError:
        rest_s = math.nan
    if not 0 <= rest_s < math.inf:
        raise FieldError("rest", repr(text), "a number of seconds, 0 or more")
    return rest_s
