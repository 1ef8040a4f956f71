"""The parts of docs/ that the code knows better: each function returns Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click
import pyarrow as pa

from trimtab import tables as schemas
from trimtab.cli import main as command_line
from trimtab.diagnose import FINDINGS
from trimtab.ingest.messages import MESSAGES
from trimtab.keys import KEYS, Key, Value
from trimtab.place import PLACERS
from trimtab.releases import release_order
from trimtab.shed import SHEDDERS

#: Help is printed for a page, not for whatever terminal the docs are made in.
_HELP_WIDTH = 88
_SECTION = re.compile(r"(Args|Returns|Raises|Properties|Quirks|Source|Example):")
#: Sections of a strategy's docstring that its page shows, with the page's heading.
_SHOWN = {"Quirks": "Quirks", "Source": "Source"}


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
    """Return every table: what ingest writes, then what diagnosis writes."""
    return {**schemas.INGESTED, **getattr(schemas, "DIAGNOSED", {})}


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


def defaults(key: Key) -> str:
    """Spell out a key's defaults, with the releases from which they hold."""
    oldest = min(since for known in KEYS.values() for since in known.defaults)
    return ", ".join(
        shown(value) + ("" if since == oldest else f" from {since}")
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


# ---------------------------------------------------------- strategies


def strategies() -> dict[str, dict[Callable[..., Any], list[tuple[str, str]]]]:
    """Group the strategies by page.

    Returns:
        Name of the page, which is that of the module → function → the (class, release from
        which on) pairs that it stands for, newest first, since older ones are described by
        what they do otherwise.  A class that sheds and places has one page.
    """
    pages: dict[str, dict[Callable[..., Any], list[tuple[str, str]]]] = {}
    sheds: list[tuple[Any, tuple[str, str]]] = [(e.shed, key) for key, e in SHEDDERS.items()]
    places: list[tuple[Any, tuple[str, str]]] = [(e.place, key) for key, e in PLACERS.items()]
    for function, key in sheds + places:
        page = function.__module__.rpartition(".")[2]
        pages.setdefault(page, {}).setdefault(function, []).append(key)
    return {
        page: dict(sorted(functions.items(), key=lambda item: _newest_first(*item)))
        for page, functions in pages.items()
    }


def _newest_first(
    function: Callable[..., Any], keys: list[tuple[str, str]]
) -> tuple[bool, list[int]]:
    """Sort shedders before placers, and each from the newest to the oldest."""
    return ".place." in function.__module__, [-part for part in release_order(keys[0][1])]


def span(
    function: Callable[..., Any], functions: Mapping[Callable[..., Any], list[tuple[str, str]]]
) -> str:
    """Say from which release on a function of a page decides, and until which one."""
    mine = sorted((since for _, since in functions[function]), key=release_order)
    later = [
        since
        for other, keys in functions.items()
        for _, since in keys
        if other.__module__ == function.__module__
        and release_order(since) > release_order(mine[-1])
    ]
    until = f", until {min(later, key=release_order)}" if later else ""
    return f"from {mine[0]} on{until}"


def strategy(page: str) -> str:
    """Return the page of a strategy, made from its docstring."""
    functions = strategies()[page]
    pulsar_class = next(iter(functions.values()))[0][0]
    parts = [f"# {pulsar_class}\n"]
    for function in functions:
        text = sections(inspect.getdoc(function) or "")
        where = f"{function.__module__}.{function.__name__}"
        parts.append(f"\n{code(where)}, {span(function, functions)}.\n\n{text['']}\n")
        parts.extend(
            f"\n## {heading}\n\n{text[section]}\n"
            for section, heading in _SHOWN.items()
            if section in text
        )
    return "".join(parts)


def strategy_index() -> str:
    """Return the list of strategies."""
    rows = (
        (
            f"[{keys[0][0]}]({page}.md)",
            "shedder" if ".shed." in function.__module__ else "placer",
            span(function, functions),
            first_line(function),
        )
        for page, functions in strategies().items()
        for function, keys in functions.items()
    )
    return table(("strategy", "is a", "releases", "does"), rows)


def sections(docstring: str) -> dict[str, str]:
    """Cut a docstring into its sections, as Markdown.

    Returns:
        Heading → text; what stands before the first heading is under the empty one.
        Quirks become a list: a line that follows a full stop begins the next one.
    """
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in docstring.splitlines():
        match = _SECTION.fullmatch(line)
        if match:
            heading = match.group(1)
            found[heading] = []
        else:
            found[heading].append(line.strip())
    quirks: list[str] = []
    for line in filter(None, found.pop("Quirks", [])):
        if quirks and not quirks[-1].endswith("."):
            quirks[-1] += f" {line}"
        else:
            quirks.append(f"- {line}")
    text = {name: "\n".join(lines).strip() for name, lines in found.items()}
    return {**text, "Quirks": "\n".join(quirks)} if quirks else text


# ------------------------------------------------------------ findings


def findings() -> str:
    """Return the list of findings with what each looks for."""
    return table(
        ("finding", "what it finds"),
        ((f"[{name}]({name}.md)", first_line(function)) for name, function in FINDINGS.items()),
    )
