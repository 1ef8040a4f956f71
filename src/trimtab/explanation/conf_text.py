"""The text of a broker.conf, of Helm values or of a broker's answer → what is set where."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from trimtab.explanation.lint import Conf, Written
from trimtab.files.errors import TrimtabError
from trimtab.pulsar.confs import (
    PREFIX,
    ConfError,
    conf_entry,
    dumped_entries,
    helm_entries,
    is_dump,
    runtime_entries,
)
from trimtab.pulsar.keys import KEYS

#: A conf is some 100 kB; what is larger by far is something else.
BYTES_MAX = 2 * 1024 * 1024
#: An answer has several hundred settings.
_WHOLE_MIN = 200
#: Helm values have settings of several programs.
_HELM = re.compile(r"^ *(?:configData|data):\s*(?:#.*)?$", re.MULTILINE)
#: A ConfigMap may have the file as a whole: `broker.conf: |`.
_WHOLE_FILE = re.compile(r"^( *)[\"']?broker\.conf[\"']? *: *[|>][+\-\d]*[ \t]*$", re.MULTILINE)
#: As brokers tell optional values, and lists: Optional[0.01], [a, b].
_OPTIONAL = re.compile(r"Optional\[(.*)\]", re.DOTALL)
_LIST = re.compile(r"\[(.*)\]", re.DOTALL)


class LintError(TrimtabError):
    """What was given cannot be looked at; the message says which, and what was expected."""


def read_conf(source: str, content: bytes) -> Conf:
    """Return the conf in a broker.conf, in Helm values, or in a broker's answer about its settings.

    Args:
        source: what the file is called in findings.
        content: the whole file.

    Returns:
        What is written where, of no release yet.

    Raises:
        LintError: it is too large, it is not JSON although it begins so, or not a line of it
            is a setting.
    """
    if len(content) > BYTES_MAX:
        raise LintError(f"{source}: found more than {BYTES_MAX:,} bytes, expected a broker.conf")
    text = _whole_file_in(content.decode("utf-8-sig", "replace"))
    if (whole := _document(source, text)) is not None:
        return whole
    written: dict[str, Written] = {}
    repeated: list[tuple[Written, Written]] = []
    unreadable: list[tuple[int, str]] = []
    equals: set[str] = set()
    is_yaml = False
    for number, line in _logical_lines(text):
        try:
            entry = conf_entry(line)
        except ConfError as error:
            unreadable.append((number, str(error)))
            continue
        if entry is None:
            continue
        key = entry.key.removeprefix(PREFIX)
        is_yaml = is_yaml or entry.is_yaml
        here = Written(key, entry.value, source, number)
        if key in equals and not entry.is_yaml:
            repeated.append((written[key], here))
        if not entry.is_yaml:
            equals.add(key)
        written[key] = here
    if unreadable and not written:
        raise LintError(
            f"{source}: found no setting in {number:,} lines, expected key=value, one to a line"
        )
    # Helm values hold lists, templates and whole texts as well, which are nobody's slips.
    slips = () if is_yaml else tuple(unreadable)
    return Conf(source, "", written, tuple(repeated), unreadable=slips)


def _whole_file_in(text: str) -> str:
    """Return the broker.conf that stands as one value in a ConfigMap, in its lines; or the text."""
    heading = _WHOLE_FILE.search(text)
    if heading is None:
        return text
    lines = text.split("\n")
    first = text.count("\n", 0, heading.end())
    for number, line in enumerate(lines):
        is_inside = number > first and (not line.strip() or line.startswith(f"{heading[1]} "))
        if number > first and not is_inside:
            lines[number:] = [""] * (len(lines) - number)
            break
        lines[number] = line.strip() if is_inside else ""
    return "\n".join(lines)


def _document(source: str, text: str) -> Conf | None:
    """Return the conf of a text that is one document; None if it is a setting a line."""
    if text.lstrip().startswith("{"):
        return _runtime_conf(source, text)
    if is_dump(text):
        return _conf_of(source, dumped_entries(text), is_runtime=True)
    if _HELM.search(text):
        return _conf_of(source, helm_entries(text), is_runtime=False)
    return None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text as Java cuts them, where one that ends in a backslash goes on.

    Yields:
        The number of the first line, from 1, and the line as a whole.
    """
    whole, first = "", 0
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    for number, line in enumerate(lines, start=1):
        is_comment = not whole and line.lstrip().startswith(("#", "!"))
        whole, first = (whole + line.lstrip(), first) if whole else (line, number)
        if not is_comment and (len(line) - len(line.rstrip("\\"))) % 2:
            whole = whole[:-1]
            continue
        yield first, whole
        whole = ""
    if whole:
        yield first, whole


def _runtime_conf(source: str, text: str) -> Conf:
    """Return the conf in a broker's answer about its settings."""
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LintError(f"{source}: not JSON: {error}") from None
    if not isinstance(settings, dict) or not settings:
        raise LintError(f"{source}: found an empty object, expected one of settings")
    told = _conf_of(source, runtime_entries(settings, text), is_runtime=True)
    # An answer has a key for each of the hundreds of settings; a few are somebody's excerpt.
    return replace(told, is_whole=len(told.written) >= _WHOLE_MIN)


def _conf_of(source: str, entries: Iterable[tuple[str, str, int]], *, is_runtime: bool) -> Conf:
    """Return the conf of the entries of a whole document."""
    written = {
        key: Written(key, _plain(value) if is_runtime else value, source, line)
        for key, value, line in entries
    }
    return Conf(source, "", written, is_runtime=is_runtime)


def _plain(value: str) -> str:
    """Return a value as a file has it: without what Java puts around it."""
    if value in ("Optional.empty", "null"):
        return ""
    if optional := _OPTIONAL.fullmatch(value):
        return optional[1]
    if items := _LIST.fullmatch(value):
        return ",".join(it.strip().strip('"') for it in items[1].split(","))
    return value


def merged(written: Conf | None, runtime: Conf | None, release: str) -> Conf:
    """Return a conf of what a broker says that holds, with the places where its file has it.

    Args:
        written: what its file says, if there is one.
        runtime: what it tells itself, if it was asked.
        release: of both; empty if it is not known, and then the file is all that counts.
    """
    if written is None or runtime is None:
        (conf,) = [it for it in (written, runtime) if it is not None]
        return replace(conf, release=release)
    if not release:
        return written
    file, truth = replace(written, release=release), replace(runtime, release=release)
    holds = dict(file.written)
    overruled = []
    for key in _common(truth):
        if file.value(key) != truth.value(key):
            holds[key] = truth.written[key]
            if file.is_written(key):
                overruled.append((file.written[key], truth.written[key]))
    return replace(file, written=holds, overruled=tuple(overruled))


def _common(runtime: Conf) -> Iterator[str]:
    """Return the keys that the broker names and we know, in the order of the settings page."""
    return (key for key in KEYS if key in runtime.written)
