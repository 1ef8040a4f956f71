"""What stands in front of a message: time, thread, level and logger, in any of their orders.

Nothing here knows a message; nothing here remembers the line before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, NamedTuple

from trimtab.files.errors import TrimtabError
from trimtab.ingest.outcome import Origin


class LogLine(NamedTuple):
    """A log line taken apart, its time still as printed."""

    #: `2026-11-21`; None where the layout prints no date.
    day: str | None
    #: `06:37:17`
    clock: str
    #: Digits of the second's fraction, `331`; may be empty.
    fraction: str
    #: `Z`, `+0000`, `+08:00`; empty where the layout prints none.
    zone: str
    thread: str | None
    level: str | None
    #: Logger as printed, see `simple_class_name`; empty where the layout prints none.
    logger: str
    message: str
    #: Further fields of a JSON line, as a JSON object; empty for other layouts.
    attributes: str = ""


class UnreadableTimeError(TrimtabError, ValueError):
    """A line's time cannot be placed; the message says what was found and expected."""


#: The distribution's layout and its near relatives, by far the most lines:
#: `2026-11-21T06:37:17,331+0000 [main] INFO  org.apache.pulsar.broker.PulsarService - Closed`.
STANDARD = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[.,](\d{1,9})(Z|[+-]\d\d:?\d\d)? "
    r"\[([^\]]*)\] ([A-Z]+) +(\S+) +-(?: +|$)(.*)",
    re.ASCII | re.DOTALL,
)

#: What other programs put in front of a whole log line, each with the line it is known from.
_WRAPPER = (
    r"(?:"
    r"\s*\d{1,9}[:\s]\s*"  # a viewer's or grep's line number: ` 5170 18:57:48.642 [main] …`
    r"|.{0,300}?STDOUT: "  # `… DOCKER.exec(container:tail -f …): STDOUT: 2021-10-14T…`
    r"|[\w./-]{1,80} +\| +"  # docker compose: `broker1  | 2026-11-21T…`
    r"|\S{20,40} (?:stdout|stderr) F "  # Kubernetes' files: `2026-…Z stdout F 2026-…`
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}Z "  # `kubectl logs --timestamps`
    r"|\s+"
    r")?"
)

#: A time as log4j2's DEFAULT, ISO8601, ABSOLUTE and DATE formats print it.
_TIME = re.compile(
    _WRAPPER
    + r"\[?(?:(?P<day>\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]{2} \d{4})[T ])?"
    + r"(?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
    + r" ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?\b\]?(?P<rest>.*)",
    re.ASCII | re.DOTALL,
)

_LEVELS = "TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL"
_LEVEL = re.compile(rf"\b(?:{_LEVELS})\b")

#: One piece of a prefix behind the time, in whatever order the pattern has them.
_PIECE = re.compile(
    r"\s*(?:- +)?(?:"
    rf"\[?(?P<level>{_LEVELS})\b\]?:?"
    r"|\[(?P<thread>[^\]]*)\]"
    r"|(?P<logger>[A-Za-z_$][\w$]*(?:[.#][\w$]+)*(?: ?\([^()]*\))?(?:[:@]\d+)?)"
    r"(?=\s+-(?:\s|$)|:\s|\s+\[)"
    r")",
    re.ASCII,
)
#: A logger in brackets of its own behind the thread's: `[main] [o.a.p.b.PulsarService] - Closed`.
_LOGGER_IN_BRACKETS = re.compile(
    r"\s*\[(?P<logger>(?:[a-z_]\w*\.)+[A-Z][\w$]*(?:[:@]\d+)?)\](?=\s)", re.ASCII
)
_SEPARATOR = re.compile(r"\s*[-:|](?:\s+|$)")

#: The 2017 releases print `[thread:Class@415]`, later ones `[thread:full.package.Class@962]`.
_THREAD_AND_CLASS = re.compile(r"(.*):([A-Za-z_$][\w.$#]*)(?:@|:|\(:?)\d+\)?", re.ASCII)

#: What is left of a line that ends inside its prefix: nothing, half a thread, half a logger.
_CUT_OFF = re.compile(r"(?:\[[^\]]*|[\w.$]*\.[\w.$]*)?", re.ASCII)

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: Names of a JSON layout's fields: log4j2's JsonLayout, ECS, Logstash, and plain ones.
_JSON_TIME = ("@timestamp", "timestamp", "time", "instant", "timeMillis")
_JSON_FIELDS = {
    "thread": ("thread", "process.thread.name", "thread_name", "threadName"),
    "level": ("level", "log.level"),
    "logger": ("logger", "loggerName", "log.logger", "logger_name"),
    "message": ("message", "msg"),
}


def log_line(text: str) -> LogLine | None:
    """Return the parts of a line that begins with a time, in any layout; None if it does not.

    The layouts known from the field: with and without date and zone, `T` or a blank, comma
    or point; thread, level and logger in any order and in brackets or not; a viewer's line
    number, a container's or Kubernetes' prefix in front; colours; CSV with doubled quotes;
    a JSON object a line.
    """
    match = STANDARD.match(text)
    if match is not None:
        return standard_line(match)
    if text.startswith("{"):
        return _json_line(text)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if text.startswith('"'):
        text = text[1:].removesuffix('"').replace('""', '"')
    match = STANDARD.match(text)
    if match is not None:
        return standard_line(match)
    match = _TIME.match(text)
    return None if match is None else _peeled(match)


def inner_line(text: str) -> str:
    r"""Return the line that a collector has packed into JSON; the text itself if none has.

    Docker's files and those of fluentd hold it as `log`, beside where it came from.

    >>> inner_line('{"log":"Closed\\n","stream":"stdout","time":"2026-11-21T06:37:17Z"}')
    'Closed'
    """
    if not text.startswith("{") or '"log":' not in text:
        return text
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    line = fields.get("log")
    is_packed = isinstance(line, str) and not fields.keys() & set(_JSON_FIELDS["message"])
    return line.rstrip("\r\n") if is_packed else text


def standard_line(match: re.Match[str]) -> LogLine:
    """Return the parts of a line in the distribution's layout."""
    day, clock, fraction, zone, thread, level, logger, message = match.groups()
    return LogLine(
        day, clock, fraction, zone or "", _thread(thread)[0], level, logger, message.rstrip()
    )


def _thread(text: str) -> tuple[str, str]:
    """Return thread and class of `thread:Class@415`; the class is empty if there is none."""
    match = _THREAD_AND_CLASS.fullmatch(text) if ":" in text else None
    return (match[1], match[2]) if match is not None else (text, "")


def _peeled(match: re.Match[str]) -> LogLine | None:
    """Return a line's parts, with thread, level and logger in whatever order behind the time.

    Peeling ends at the first separator behind a level and one of the other two, so the
    brackets that begin many messages stay with the message.  Nothing is peeled where no
    level is in sight.
    """
    rest = match["rest"]
    pieces: dict[str, str] = {}
    separated = False
    while _LEVEL.search(match["rest"][:300]):
        separator = _SEPARATOR.match(rest)
        if separator is not None and "level" in pieces and len(pieces) > 1:
            rest = rest[separator.end() :]
            separated = True
            break
        piece = _piece(rest, pieces)
        if piece is None:
            break
        pieces[str(piece.lastgroup)] = piece[str(piece.lastgroup)]
        rest = rest[piece.end() :]
    message = rest.strip()
    if not separated and _CUT_OFF.fullmatch(message):
        return None
    thread, caller = _thread(pieces.get("thread", ""))
    if caller:
        # Where a layout prints the logger as well, that is the one which speaks.
        pieces = {"logger": caller} | pieces | {"thread": thread}
    return _timed(match, pieces | {"message": message})


def _piece(rest: str, pieces: Mapping[str, str]) -> re.Match[str] | None:
    """Return the next piece of a prefix; None where what stands there is none, or a second one."""
    piece = _PIECE.match(rest)
    if piece is not None and piece.lastgroup == "thread" and "thread" in pieces:
        piece = _LOGGER_IN_BRACKETS.match(rest)
    return None if piece is None or piece.lastgroup in pieces else piece


def _timed(match: re.Match[str], parts: Mapping[str, str], attributes: str = "") -> LogLine:
    """Return a line of what was matched of its time and of the parts behind it."""
    return LogLine(
        day=_iso_day(match["day"]),
        clock=match["clock"],
        fraction=match["fraction"] or "",
        zone=match["zone"] or "",
        thread=parts.get("thread"),
        level=parts.get("level"),
        logger=parts.get("logger", ""),
        message=parts.get("message", ""),
        attributes=attributes,
    )


def _iso_day(day: str | None) -> str | None:
    """Return log4j2's `02 Nov 2026` as `2026-11-02`."""
    if day is None or "-" in day:
        return day
    number, month, year = day.split(" ")
    # A month that does not exist becomes 0, which `utc` then rejects like any such day.
    place = _MONTHS.index(month) + 1 if month in _MONTHS else 0
    return f"{year}-{place:02d}-{int(number):02d}"


def _json_line(text: str) -> LogLine | None:
    """Return the parts of a JSON layout's line; what is no part of a prefix becomes attributes."""
    try:
        fields = json.loads(text)
        stamp = next(fields.pop(name) for name in _JSON_TIME if name in fields)
        match = _TIME.match(_json_time(stamp))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, StopIteration):
        return None
    if match is None or not isinstance(fields, dict):
        return None
    parts = {
        part: str(fields.pop(name))
        for part, names in _JSON_FIELDS.items()
        if (name := next(filter(fields.__contains__, names), None))
    }
    return _timed(match, parts, json.dumps(fields) if fields else "")


def _json_time(stamp: Any) -> str:
    """Return a JSON line's time, which may be a text, milliseconds, or seconds and nanoseconds."""
    if isinstance(stamp, str):
        return stamp
    if isinstance(stamp, dict):
        moment = datetime.fromtimestamp(stamp["epochSecond"], UTC)
        moment += timedelta(microseconds=stamp.get("nanoOfSecond", 0) // 1000)
    else:
        moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=stamp)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def utc(line: LogLine, origin: Origin) -> datetime:
    """Return a line's time in UTC.

    A time without zone is in the recording's zone; one without date on the recording's
    day, also past midnight, for a line does not know the lines before it.

    Raises:
        UnreadableTimeError: there is no such time, or its day is not known.
    """
    day = line.day or (origin.day.isoformat() if origin.day is not None else None)
    if day is None:
        raise UnreadableTimeError(
            f"time {line.clock} without a date; expected a date in the line, or the key `from` "
            "in recording.toml to say the day"
        )
    try:
        second = _second(f"{day}T{line.clock}", line.zone, origin.zone)
    except (ValueError, OverflowError) as error:
        raise UnreadableTimeError(
            f"time {day} {line.clock}{line.zone} does not exist ({error}); expected e.g. "
            "2026-11-21T06:37:17,331+0000"
        ) from None
    return second.replace(microsecond=int(line.fraction.ljust(6, "0")[:6]))


def thread_name(text: str) -> str:
    """Return the thread of what stands in the brackets of a line in the distribution's layout.

    >>> thread_name("pulsar-1-1:ThresholdShedder@415")
    'pulsar-1-1'
    """
    return _thread(text)[0]


@lru_cache(maxsize=4096)
def _second(text: str, zone: str, default: tzinfo) -> datetime:
    """Return a whole second; neighbouring lines share it."""
    return datetime.fromisoformat(text).replace(tzinfo=_zone(zone) or default).astimezone(UTC)


def _zone(text: str) -> tzinfo | None:
    """Return the zone of `Z`, `+08`, `+0800` or `+08:00`; None for nothing."""
    if text in ("Z", "UTC", "GMT"):
        return UTC
    if not text:
        return None
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


@lru_cache(maxsize=4096)
def simple_class_name(logger: str) -> str:
    """Return a logger's class: of one full, abbreviated, with method, file or line, or inner.

    >>> simple_class_name("o.a.p.b.l.impl.ThresholdShedder")
    'ThresholdShedder'
    >>> simple_class_name("org.apache.pulsar.broker.LoadManager.create(LoadManager.java:59)")
    'LoadManager'
    """
    path = re.sub(r" ?\(.*|[:@]\d+$", "", logger, flags=re.DOTALL)
    parts = path.replace("#", ".").split(".")
    # A method's name stands behind the class's and begins with a small letter.
    classes = [part for part in parts if part[:1].isupper()]
    return (classes[-1] if classes else parts[-1]).partition("$")[0]
