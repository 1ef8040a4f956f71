"""The parts of docs/ that the code knows better: each function returns Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import click
import pyarrow as pa

from trimtab.cli import main as command_line
from trimtab.diagnose.findings import FINDINGS
from trimtab.files import tables as schemas
from trimtab.ingest.messages import MESSAGES
from trimtab.ingest.wrapped.foreign import kinds
from trimtab.ingest.wrapped.shapes import SHAPES, Shape
from trimtab.live.control.limits import Limits
from trimtab.pulsar.keys import KEYS, Key, Value
from trimtab.pulsar.releases import RELEASE_LINES

#: Help is printed for a page, not for whatever terminal the docs are made in.
_HELP_WIDTH = 88


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Lay out a Markdown table; bars within cells are escaped."""
    lines = [list(headings)]
    lines.append(["---"] * len(lines[0]))
    lines.extend([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(text: str) -> str:
    """Set text as code, with a longer fence where it holds a backtick; nothing stays nothing."""
    if not text:
        return ""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def first_line(thing: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


# ------------------------------------------------------------ commands


def commands(parent: click.Context | None = None) -> Iterator[click.Context]:
    """Walk the command line: the program itself, then each command below it."""
    if parent is None:
        parent = click.Context(
            command_line,
            info_name="trimtab",
            terminal_width=_HELP_WIDTH,
            **{**command_line.context_settings, "max_content_width": _HELP_WIDTH},
        )
    yield parent
    if isinstance(parent.command, click.Group):
        for name, command in parent.command.commands.items():
            yield from commands(click.Context(command, parent, info_name=name))


def cli() -> str:
    """Return the help text of every command."""
    return "".join(
        f"\n## {command.command_path}\n\n```text\n{command.get_help().rstrip()}\n```\n"
        for command in commands()
    )


# -------------------------------------------------------------- tables


def all_tables() -> dict[str, pa.Schema]:
    """Return every table: what ingest writes, a diagnosis, a sweep, and what is made of a fleet."""
    return {
        **schemas.INGESTED,
        **schemas.DIAGNOSED,
        **schemas.TRACED,
        **schemas.JUDGED,
        **schemas.SWEPT,
        **schemas.FLEET,
    }


def tables() -> str:
    """Return every table with its columns."""
    parts = []
    for name, schema in all_tables().items():
        rows = (
            (code(field.name), str(field.type), said(field, "unit"), said(field, "meaning"))
            for field in schema
        )
        parts.append(f"\n## {name}\n\n{said(schema, 'meaning')}\n\n")
        parts.append(table(("column", "type", "unit", "meaning"), rows))
    return "".join(parts)


def said(thing: pa.Schema | pa.Field, key: str) -> str:
    """Read what a schema or column says of itself."""
    return bytes((thing.metadata or {}).get(key.encode(), b"")).decode()


# ------------------------------------------------------------ settings


def settings() -> str:
    """Return every key of broker.conf that is read."""
    return table(
        ("key", "default", "unit", "value", "dynamic", "decides"),
        (
            (
                code(key.name),
                defaults(key),
                key.unit,
                key.kind.value,
                "yes" if key.is_dynamic else "",
                key.meaning + (f"; the same as {code(key.twin)}" if key.twin else ""),
            )
            for key in KEYS.values()
        ),
    )


def limits() -> str:
    """List what bounds a run of moves."""
    rows = []
    for each in fields(Limits):
        told = each.metadata
        default = "none" if each.default == float("inf") else f"{each.default:g}"
        rows.append((code(each.name), default, told["unit"], told["meaning"], told["origin"]))
    return table(("key", "default", "unit", "bounds", "where the default is from"), rows)


def defaults(key: Key) -> str:
    """Spell out a key's defaults, with the releases from which they hold."""
    oldest = RELEASE_LINES[0]
    return ", ".join(
        shown(value) + ("" if since == key.since <= f"{oldest}.0" else f" from {since}")
        for since, value in key.defaults.items()
    )


def shown(value: Value) -> str:
    """Write a default as broker.conf has it."""
    if isinstance(value, bool):
        return code(str(value).lower())
    return code(str(value)) or "empty"


# -------------------------------------------------------- log messages


def log_messages() -> str:
    """Return every log message that is understood, by kind."""
    kinds: dict[str, list[Any]] = {}
    for message in MESSAGES:
        kinds.setdefault(message.kind, []).append(message)
    parts = []
    for kind, messages in kinds.items():
        parts.append(f"\n## {kind}\n\n{messages[0].meaning}\n")
        for message in messages:
            loggers = ", ".join(map(code, message.loggers))
            parts.append(f"\nPrinted by {loggers}; releases: {message.releases}.\n\n")
            parts.append(f"```text\n{message.template}\n\n{message.example}\n```\n")
    return "".join(parts)


def log_shapes() -> str:
    """Return every shape in which logs are read, with the command that makes it."""
    rows = ((shape.name, code(shape.command), _read_of(shape)) for shape in SHAPES)
    return table(("shape", "command or place that makes it", "what is read"), rows)


def _read_of(shape: Shape) -> str:
    """Return what is read of a shape: the line, its time, and whose it is."""
    if shape.form == "text":
        groups = shape.pattern.groupindex
        parts = ["what stands behind the prefix"]
        parts += ["the time in it"] * ("time" in groups)
        parts += ["the broker in it"] * bool({"broker", "labels"} & set(groups))
        parts += ["lines in parts are joined"] * ("part" in groups)
        return "; ".join(parts)
    if not shape.line:
        return f"each of {code('.'.join(shape.records))}, by its own shape"
    inner = "".join(f" of each of {code(path)}" for path in reversed(shape.records))
    times = " or ".join(map(code, shape.times))
    labels = ", ".join(map(code, shape.labels))
    parts = [f"line {code(shape.line)}{inner}", f"time {times}" if times else "no time"]
    parts += [f"labels also in {labels}"] * bool(labels)
    parts += ["lines in parts are joined"] * shape.is_cut
    return "; ".join(parts)


def foreign_kinds() -> str:
    """Return what files are called that are no logs of Pulsar's."""
    return "".join(f"- {name}\n" for name in kinds())


# ------------------------------------------------------------ findings


def findings() -> str:
    """Return the list of findings with what each looks for."""
    return table(
        ("finding", "what it finds"),
        ((f"[{name}]({name}.md)", first_line(entry.rule)) for name, entry in FINDINGS.items()),
    )
