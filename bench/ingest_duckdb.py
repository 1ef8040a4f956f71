"""The benchmark's logs into tables with DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from bench.ingest_kinds import CONTINUATION, KINDS, PLAIN, PREFIX, TIME, Kind

#: No byte of a log, so that a line is one field.
_NO_DELIMITER = "\x01"
_PAIRS = "STRUCT(key VARCHAR, value DOUBLE)[]"
#: What parts `key=value`; the value of what is no number is null.
_PAIR = (
    "struct_pack(key := regexp_extract(entry, '^(.*)=[^=]*$', 1), "
    "value := try_cast(regexp_extract(entry, '=([^=]*)$', 1) AS DOUBLE))"
)


def ingest_duckdb(logs: Sequence[Path], tables: Path, threads: int) -> None:
    """Write the events, the rejected lines and the accounting of some logs, a file each."""
    tables.mkdir()
    with duckdb.connect(config={"threads": threads}) as connection:
        connection.execute("SET enable_progress_bar = false")
        lines = _lines(connection, logs)
        connection.execute(_counted(lines))
        connection.execute(_asked(lines))
        connection.execute(_prefixed())
        kinds = " UNION ALL ".join(_of_kind(name, kind) for name, kind in KINDS.items())
        connection.execute(f"CREATE TEMP TABLE events AS {kinds}")
        for name, query in {
            "log_events": "SELECT * EXCLUDE index FROM events ORDER BY index",
            "rejects": _rejects(),
            "files": _accounts(),
        }.items():
            path = _text(f"{tables / name}.parquet")
            connection.execute(f"COPY ({query}) TO {path} (FORMAT parquet, COMPRESSION zstd)")


def _lines(connection: duckdb.DuckDBPyConnection, logs: Sequence[Path]) -> str:
    """Give what reads the lines of all files, in their order."""
    paths = ", ".join(_text(str(path)) for path in logs)
    return (
        f"read_csv([{paths}], delim = {_text(_NO_DELIMITER)}, header = false, quote = '', "
        "escape = '', auto_detect = false, columns = {'text': 'VARCHAR'}, filename = true)"
    )


def _counted(lines: str) -> str:
    """Count the lines of each file, and those before it."""
    return (
        "CREATE TEMP TABLE counted AS SELECT filename, lines, "
        "sum(lines) OVER (ORDER BY filename) - lines AS before, "
        "regexp_extract(filename, '(logs/[^/]+/[^/]+)$', 1) AS file, "
        "regexp_extract(filename, 'logs/([^/]+)/[^/]+$', 1) AS log_broker "
        f"FROM (SELECT filename, count(*) AS lines FROM {lines} GROUP BY filename)"
    )


def _asked(lines: str) -> str:
    """Keep the lines that are not obviously of no interest, each with its number."""
    # Looking for each needle by itself takes less time than one expression of all of them.
    may_be = " OR ".join(f"contains(text, {_text(kind.needle)})" for kind in KINDS.values())
    is_timed = f"regexp_matches(text, {_text(TIME)})"
    return (
        "CREATE TEMP TABLE asked AS SELECT index, filename, text, "
        f"NOT {is_timed} AND regexp_matches(text, {_text(CONTINUATION)}) AS continues "
        f"FROM (SELECT row_number() OVER () AS index, filename, text FROM {lines}) "
        f"WHERE NOT {is_timed} OR {may_be}"
    )


def _prefixed() -> str:
    """Take the beginnings off the lines that begin with a time."""
    parts = "['time', 'thread', 'level', 'logger', 'text']"
    return (
        "CREATE TEMP TABLE prefixed AS SELECT index, file, log_broker, "
        "(index - before)::BIGINT AS line, "
        f"unnest(regexp_extract(asked.text, {_text(PREFIX)}, {parts})) "
        "FROM asked JOIN counted USING (filename) WHERE NOT continues"
    )


def _of_kind(name: str, kind: Kind) -> str:
    """Make the rows of one kind; a line with a value that is none makes no row."""
    groups = ", ".join(map(_text, kind.groups))
    plain = [
        f"found.{column} AS {column}" if column in kind.groups else f"NULL::VARCHAR AS {column}"
        for column in PLAIN
        if column != "count"
    ]
    numbers = ", ".join(
        f"{{'key': {_text(group[2:])}, 'value': found.{group}::DOUBLE}}" for group in kind.numbers
    )
    scores = f"list_transform(string_split(found.scores, ', '), lambda entry: {_PAIR})"
    columns = [
        "index",
        "strptime(replace(time, ',', '.'), '%Y-%m-%dT%H:%M:%S.%g%z') AS time",
        *("log_broker", "file", "line", "thread", "level"),
        "regexp_extract(logger, '([^.]+)$', 1) AS logger",
        f"{_text(name)} AS kind",
        *plain,
        f"{'found.count' if 'count' in kind.groups else 'NULL'}::BIGINT AS count",
        f"{f'[{numbers}]' if numbers else 'NULL'}::{_PAIRS} AS numbers",
        f"{scores if 'scores' in kind.groups else 'NULL'}::{_PAIRS} AS scores",
        f"{_list(kind)}::VARCHAR[] AS brokers",
        "text",
    ]
    is_whole = "NOT list_contains(list_transform(scores, lambda pair: pair.value IS NULL), true)"
    return (
        f"SELECT {', '.join(columns)} FROM (SELECT *, regexp_extract(text, {_text(kind.pattern)}, "
        f"[{groups}]) AS found FROM prefixed WHERE contains(text, {_text(kind.needle)})) "
        f"WHERE found.{kind.groups[0]} <> ''"
        + (f" AND {is_whole}" if "scores" in kind.groups else "")
    )


def _list(kind: Kind) -> str:
    return "string_split(found.brokers, ', ')" if "brokers" in kind.groups else "NULL"


def _rejects() -> str:
    return (
        "SELECT file, (index - before)::BIGINT AS line, text "
        "FROM asked JOIN counted USING (filename) "
        "WHERE NOT continues AND index NOT IN (SELECT index FROM events) ORDER BY index"
    )


def _accounts() -> str:
    """Count the lines of each file by their class."""
    return (
        "SELECT file, lines, rows, lines - rows - continuation - rejected AS other, "
        "continuation, rejected FROM (SELECT file, any_value(lines) AS lines, "
        "count(*) FILTER (continues) AS continuation, "
        "count(*) FILTER (NOT continues AND index IN (SELECT index FROM events)) AS rows, "
        "count(*) FILTER (NOT continues AND index NOT IN (SELECT index FROM events)) AS rejected "
        "FROM counted JOIN asked USING (filename) GROUP BY file) ORDER BY file"
    )


def _text(value: str) -> str:
    """Quote a text for SQL."""
    return "'" + value.replace("'", "''") + "'"
