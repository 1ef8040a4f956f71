"""Broker logs: a line becomes a row of `log_events`, other, a continuation or a reject."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import lru_cache
from typing import Any

from trimtab.ingest.confs import conf_line
from trimtab.ingest.layouts import (
    STANDARD,
    LogLine,
    UnreadableTimeError,
    inner_line,
    log_line,
    simple_class_name,
    standard_line,
    utc,
)
from trimtab.ingest.messages import MESSAGES, Message
from trimtab.ingest.messages.template import stumble
from trimtab.ingest.outcome import (
    CONTINUATION,
    NAMELESS,
    OTHER,
    Origin,
    Outcome,
    Rejected,
    Rows,
)
from trimtab.ingest.wrapped.pieces import Piece, Unwrapping
from trimtab.pulsar.confs import without_script

_NO_TIME = Rejected(
    "no time at the start of the line; expected e.g. 2026-11-21T06:37:17,331+0000 [thread] "
    "LEVEL logger - message"
)
_CUT = Rejected(
    "the line ends before its message; expected e.g. 2026-11-21T06:37:17,331+0000 [thread] "
    "LEVEL logger - message"
)

_UTF_16 = Rejected(
    "the text is UTF-16, as PowerShell writes it; expected UTF-8: convert it, for example with "
    "iconv -f UTF-16 -t UTF-8"
)

_CUT_IN_PARTS = Rejected(
    "the line goes on in the next one; expected lines that are whole, or a file in which every "
    "line is wrapped alike"
)

#: A byte of zero behind every character, or in front of it.
_WIDE = re.compile(r"[^\0]{0,3}(?:(?:[^\0]\0){8}|(?:\0[^\0]){8})")

#: Lines that belong to the one before, each with what it is.
_CONTINUATION = re.compile(
    r"\s*$"  # between the parts of a throwable's text, or at the end of one
    r"|\s+\S"  # frames (a tab or eight blanks, `at`), locks, a wrapped or indented text
    r"|(?:Caused by|Suppressed|Wrapped by|Message|Stacktrace):"
    r"|\.\.\. \d+ (?:more|common frames omitted)"
    r"|at [\w.$/<>]+\([^()]*\)"  # a frame that has lost its indent
    r'|Exception in thread "'
    r"|(?:[a-z_]\w*\.)+[A-Z][\w$]*(?::\s|:?$)"  # `java.lang.IllegalStateException: …`
    r"|[A-Z][\w$]*(?:Exception|Error)(?::\s|:?$)"
    r"|Full thread dump |\"[^\"]*\" #?\d+ |\"[^\"]*\" .*\bprio=\d"  # a dump of the threads
    r"|\S+=ServiceUnitStateData\["  # SplitScheduler's list of owners, a bundle a line
    r"|### OwnershipEntrySet end ###"
)

#: Lines without a time that no message stands in, each with who prints it.
_NO_LOG_LINE = re.compile(
    r"(?:\[[\w.:,+ /-]+\]){2,}"  # the JVM: `[0.005s][info][gc] Using G1`
    r"|OpenJDK |Java HotSpot|Picked up \w+_OPTIONS|WARNING: "
    r"|SLF4J: |log4j:|Listening for transport "
    r"|(?:\[[^\]]+\.conf\] )?(?:Updating|Applying|Adding) config:? "  # the image's start script
    r"|//|:\s*$|#+ "  # what people put between the lines they paste
)

#: Characters of a line that is worth remembering.
_REPEATED_LENGTH = 200

_BEGINS_WITH_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:", re.ASCII)


def broker_log(text: str, origin: Origin) -> Outcome:
    """Return what becomes of one line of a broker's log.

    A line of a class that prints nothing we know leaves at once, with its time unread.
    """
    match = STANDARD.match(text)
    if match is None:
        return _unusual(text.lstrip("\ufeff"), origin)
    messages = messages_of(match[7])
    if not messages:
        return OTHER
    message = match[8]
    for candidate in messages:
        if candidate.needle in message:
            return _event(standard_line(match), messages, origin)
    return OTHER


def _unusual(text: str, origin: Origin) -> Outcome:
    """Return what becomes of a line that is not in the distribution's layout."""
    if text.startswith("\tat "):
        return CONTINUATION
    if _WIDE.match(text):
        return _UTF_16
    if (inner := inner_line(text)) != text:
        return broker_log(inner, origin)
    parts = _repeated if len(text) <= _REPEATED_LENGTH else _parts
    line, pieces = parts(text, origin.zone)
    return _unwrapped(pieces, origin) if pieces else _as_it_stands(text, line, origin)


def _unwrapped(pieces: Sequence[Piece], origin: Origin) -> Outcome:
    """Return what becomes of a line in which others are packed."""
    outcomes: list[Outcome] = []
    for piece in pieces:
        if piece.goes_on:
            return _CUT_IN_PARTS
        of_broker = replace(origin, log_broker=piece.broker or origin.log_broker)
        for text in piece.text.split("\n"):
            standard = STANDARD.match(text)
            outcomes.append(
                broker_log(text, of_broker)
                if standard is not None
                else _as_it_stands(text, log_line(text), of_broker)
            )
    rows = tuple(row for outcome in outcomes if isinstance(outcome, Rows) for row in outcome.rows)
    rejected = (outcome for outcome in outcomes if isinstance(outcome, Rejected))
    return Rows(rows) if rows else next(rejected, outcomes[0])


def _as_it_stands(text: str, line: LogLine | None, origin: Origin) -> Outcome:
    """Return what becomes of a line that nothing has wrapped, and of its parts if it has them."""
    if line is not None:
        return _event(line, messages_of(line.logger), origin)
    if _BEGINS_WITH_DATE.match(text):
        return _CUT
    if _CONTINUATION.match(text):
        return CONTINUATION
    if (setting := without_script(text)) != text:
        return conf_line(setting, origin)
    return OTHER if _NO_LOG_LINE.match(text) else _NO_TIME


def _parts(text: str, zone: tzinfo) -> tuple[LogLine | None, Sequence[Piece]]:
    """Return the parts of a line, and what is packed in it if it has no logger of its own."""
    line = log_line(text)
    if line is not None and line.logger:
        return line, ()
    pieces = Unwrapping(zone).pieces(text) or ()
    return line, pieces if pieces and pieces[0].text != text else ()


#: Short lines are remembered: those around a stack trace come again and again.
_repeated = lru_cache(maxsize=1024)(_parts)


@lru_cache(maxsize=4096)
def messages_of(logger: str) -> tuple[Message, ...]:
    """Return the messages that a logger may print: all of them where it is not printed."""
    if not logger:
        return MESSAGES
    return messages_of_class(simple_class_name(logger))


@lru_cache(maxsize=4096)
def messages_of_class(name: str) -> tuple[Message, ...]:
    """Return the messages that a class may print, in the order in which they are tried."""
    return tuple(message for message in MESSAGES if name in message.loggers)


def _event(line: LogLine, messages: tuple[Message, ...], origin: Origin) -> Outcome:
    """Return the row of a line's message; one that is ours in all but its values is rejected."""
    rejected = None
    for message in messages:
        if message.needle not in line.message:
            continue
        text = line.message
        if message.attributes and line.attributes:
            text = f"{text} {line.attributes}"
        try:
            columns = message.read(text)
        except ValueError as error:
            rejected = rejected or (message, text, str(error))
            continue
        if columns is not None:
            return _row(line, message.kind, text, columns, origin)
        if message.is_telling and (line.logger or text.startswith(message.needle)):
            rejected = rejected or (message, text, "")
    if rejected is not None:
        return _rejected(*rejected)
    return OTHER if line.logger else NAMELESS


def _rejected(message: Message, text: str, error: str) -> Rejected:
    """Return what is wrong with a message that is ours; looking for the place takes long."""
    error = error or f"found {stumble(message.template, text)!r}"
    return Rejected(f"{message.kind}: {error}; expected `{message.template}`")


def _row(line: LogLine, kind: str, text: str, columns: dict[str, Any], origin: Origin) -> Outcome:
    """Return the row of a message."""
    try:
        time = utc(line, origin)
    except UnreadableTimeError as error:
        return Rejected(f"{kind}: {error}")
    row = {
        "time": time,
        "log_broker": origin.log_broker,
        "thread": line.thread,
        "level": line.level,
        "logger": simple_class_name(line.logger) or None,
        "kind": kind,
        **columns,
        "text": text,
    }
    return Rows(rows=(("log_events", row),))
