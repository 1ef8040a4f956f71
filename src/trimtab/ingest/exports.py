"""Exports of Prometheus: answers of query_range, or of query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
from msgspec import Struct
from msgspec.json import Decoder

from trimtab.files.tables import INGESTED, TIME
from trimtab.ingest.columns import ODD, may_hold_endless_number, repeated
from trimtab.ingest.entries import Entry, MalformedError, Row, decode
from trimtab.ingest.json_fields import Text
from trimtab.ingest.metrics import NUMBER
from trimtab.ingest.outcome import OTHER, Origin, Outcome, Rejected, Rows
from trimtab.ingest.sieve import Columns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: What numbers are written with.
_SIGNS = b"0123456789+-.eE"
#: Label with the name of a series.
_NAME = "__name__"
_LABELS = INGESTED["metrics"].field("labels").type


class _Series(Struct, gc=False):
    metric: dict[str, Text]
    #: Each at some seconds since 1970, with a number as text.
    values: list[tuple[float, str]]


class _Results(Struct, gc=False):
    result: list[_Series]


class _Answer(Struct, gc=False):
    data: _Results


_ANSWER = Decoder(_Answer)


def query_range(text: str, origin: Origin) -> Outcome:
    """Return the samples in a whole answer of Prometheus' query_range, or of query.

    Every series is kept, whatever its name: somebody asked for exactly these.  A series
    without a name, as functions leave it, is named after the file.
    """
    try:
        document = decode(text)
        if not isinstance(document, dict):
            raise MalformedError("expected the object that query_range answers")
        rows = tuple(_series_rows(Entry(document), _file_name(origin)))
    except MalformedError as error:
        return Rejected(str(error))
    return Rows(rows) if rows else OTHER


def _file_name(origin: Origin) -> str:
    """Return what a series without a name is called."""
    return PurePosixPath(origin.file).name.split(".")[0]


def _series_rows(answer: Entry, file_name: str) -> Iterator[Row]:
    results = answer.entry("data")
    results_list = results.values.get("result")
    if not isinstance(results_list, list):
        raise results.wrong("result", results_list, "a list of series")
    for i, fields in enumerate(results_list):
        if not isinstance(fields, dict):
            raise results.wrong(f"result.{i}", fields, "a series")
        series = Entry(fields, f"data.result.{i}.")
        labels = {key: series.entry("metric").text(key) for key in series.entry("metric").values}
        name = labels.pop(_NAME, file_name)
        samples = fields.get("values", [fields.get("value")])
        for sample in samples if isinstance(samples, list) else [samples]:
            time, value = _exported(series, sample)
            row = {"time": time, "name": name, "labels": labels, "value": value}
            yield "metrics", row | {"log_broker": None}


def _exported(series: Entry, sample: object) -> tuple[datetime, float]:
    """Return one sample of an export: `[1718091222.642, "24.7"]`, in epoch seconds."""
    match sample:
        case [int() | float() as seconds, str() as value] if re.fullmatch(NUMBER, value):
            try:
                return _EPOCH + timedelta(seconds=seconds), float(value)
            except (ValueError, OverflowError):
                pass
    raise series.wrong("values", sample, 'samples such as [1718091222.642, "24.7"]')


def exported_samples(document: bytes, origin: Origin) -> dict[str, Columns]:
    """Return the samples in an answer of Prometheus' query_range, if they are as usual.

    Properties:
        Whatever the bytes, `query_range` says of them what is said here, unless that is nothing.
    """
    try:
        if may_hold_endless_number(document):
            return {}
        series = _ANSWER.decode(document).data.result
        columns = _columns(series, _file_name(origin))
    except ODD:
        return {}
    return {"metrics": columns} if len(columns["line"]) else {}


def _columns(series: Sequence[_Series], file_name: str) -> Columns:
    """Return samples as columns.

    Raises:
        ODD: one is not as usual.
    """
    names = [one.metric.pop(_NAME, file_name) for one in series]
    by_series = {
        "name": pa.array(names, pa.string()),
        "labels": pa.array([one.metric for one in series], _LABELS),
        # A document begins with its first line, whatever line a sample stands in.
        "line": pa.repeat(pa.scalar(1), len(series)),
        "log_broker": pa.nulls(len(series), pa.string()),
    }
    # A time, a number, and so on.
    samples: list[Any] = list(
        chain.from_iterable(chain.from_iterable(one.values for one in series))
    )
    return {
        **repeated(by_series, [len(one.values) for one in series]),
        "time": _times(samples[::2]),
        "value": _numbers(samples[1::2]),
    }


def _times(seconds: Sequence[float]) -> pa.Array:
    """Return times as a column; most series have the same ones.

    Raises:
        OverflowError: there is no such time.
    """
    since = {it: (_EPOCH + timedelta(seconds=it) - _EPOCH) // _MICROSECOND for it in set(seconds)}
    return pa.array([since[it] for it in seconds], pa.int64()).cast(TIME)


def _numbers(texts: Sequence[str]) -> pa.Array:
    """Return numbers, as Go prints them, as a column.

    Raises:
        ValueError: one is no number, or one that Go prints otherwise.
    """
    joined = "".join(texts)
    plain = joined.replace("NaN", "").replace("Inf", "")
    if plain.encode("ascii").translate(None, _SIGNS):
        raise ValueError("no numbers")
    if len(plain) == len(joined):
        try:
            # Arrow reads numbers four times as fast as Python, to the same bit.
            return pa.array(texts, pa.string()).cast(pa.float64())
        except pa.ArrowInvalid:
            pass
    return pa.array(list(map(float, texts)), pa.float64())
