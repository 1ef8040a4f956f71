"""Filters that Spark hands down → one condition of Arrow's, of those that mean the same in both."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from datetime import UTC
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import datasource as spark

from trimtab.files.partitions import DAY, TIME

_COMPARED: dict[type[spark.Filter], Callable[[Any, Any], ds.Expression]] = {
    spark.EqualTo: operator.eq,
    spark.GreaterThan: operator.gt,
    spark.GreaterThanOrEqual: operator.ge,
    spark.LessThan: operator.lt,
    spark.LessThanOrEqual: operator.le,
}
#: How the day compares where the time compares so.
_DAY_COMPARED = {
    operator.eq: operator.eq,
    operator.gt: operator.ge,
    operator.ge: operator.ge,
    operator.lt: operator.le,
    operator.le: operator.le,
}
_MATCHED: dict[type[spark.Filter], Callable[[Any, str], ds.Expression]] = {
    spark.StringStartsWith: pc.starts_with,
    spark.StringEndsWith: pc.ends_with,
    spark.StringContains: pc.match_substring,
}


def taken(
    filters: Sequence[spark.Filter], schema: pa.Schema
) -> tuple[ds.Expression | None, list[spark.Filter]]:
    """Return the condition of the filters that can be taken, if any, and the others.

    Args:
        filters: all of them are to hold.
        schema: of the rows that they are asked of.
    """
    conditions = [(each, condition(each, schema)) for each in filters]
    mine = [it for _, it in conditions if it is not None]
    return (
        reduce(operator.and_, mine) if mine else None,
        [each for each, it in conditions if it is None],
    )


def condition(each: spark.Filter, schema: pa.Schema) -> ds.Expression | None:
    """Return the condition that a filter is; None where Arrow would take other rows than Spark.

    Both drop a row of which a filter is neither true nor false.  What they differ in is left to
    Spark: numbers with a fraction, of which one may be none, and lists with nothing in them.
    """
    if isinstance(each, spark.Not):
        inner = condition(each.child, schema)
        # Arrow calls it false that nothing is in a list.
        known = _field(each.child, schema) if isinstance(each.child, spark.In) else None
        if inner is None or known is None:
            return None if inner is None else ~inner
        return known.is_valid() & ~inner
    column = _field(each, schema)
    if column is None:
        return None
    if isinstance(each, spark.IsNull):
        return column.is_null()
    if isinstance(each, spark.IsNotNull):
        return column.is_valid()
    try:
        return _compared(each, column, schema)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Not a value that the column could have.
        return None


def _compared(each: Any, column: ds.Expression, schema: pa.Schema) -> ds.Expression | None:
    [name] = each.attribute
    kind = schema.field(name).type
    if isinstance(each, spark.In):
        values = pa.array(each.value, kind)
        return None if values.null_count else column.isin(values)
    if each.value is None:
        return None
    if compare := _COMPARED.get(type(each)):
        compared = compare(column, pa.scalar(each.value, kind))
        if name != TIME or DAY not in schema.names:
            return compared
        # By the day whole files are passed by.
        day = each.value.astimezone(UTC).date()
        return compared & _DAY_COMPARED[compare](ds.field(DAY), pa.scalar(day, pa.date32()))
    if match := _MATCHED.get(type(each)):
        return match(column, each.value)
    return None


def _field(each: Any, schema: pa.Schema) -> ds.Expression | None:
    """Return the column that a filter is about, if it is one that Arrow compares as Spark does."""
    path: tuple[str, ...] = getattr(each, "attribute", ())
    if len(path) != 1 or path[0] not in schema.names:
        return None
    kind = schema.field(path[0]).type
    is_same = (
        pa.types.is_string(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
    )
    return ds.field(path[0]) if is_same else None
