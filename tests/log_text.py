"""Lines of broker logs for tests that try any bytes: real ones, made-up ones, and damage."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar

from trimtab.ingest.messages import MESSAGES

_T = TypeVar("_T")

_ROOT = Path(__file__).parent.parent
_RECORDED = (
    "recordings/avg/logs/broker1/pulsar-broker.log.gz",
    "recordings/threshold/logs/broker1/pulsar-broker.log.gz",
    "recordings/uniform/logs/broker2/pulsar-broker.log.gz",
    "tests/testdata/ingest/eleven_lines.log",
    "tests/testdata/recordings/mixed/logs/broker1/pulsar-broker.log",
)
#: Texts whose lines are layouts and messages from the field.
_FIXTURES = tuple(
    f"tests/testdata/ingest/{name}.txt" for name in ("layouts", "broker_log", "messages")
)

#: Parts of a line's beginning, of which the first of each is the distribution's.
DAYS = ("2026-11-21", "2026-02-30", "2024-02-29", "0000-01-01", "0001-01-01", "9999-12-31")
MARKS = ("T", " ", "t")
CLOCKS = ("06:37:17", "00:00:00", "24:00:00", "23:59:60", "23:59:59", "6:37:17", "06:61:00")
FRACTIONS = (",331", ".331", ",3", ",331123", "", ",33a", ";331")
ZONES = ("+0000", "-2359", "+2400", "+0099", "-0530", "+08:00", "Z", "", "+08", ",0000")
THREADS = ("main", "a - b", "", "pulsar-1-1:ThresholdShedder@415", "x] [y", "é\u2028", "a\tb")
LEVELS = ("INFO ", "INFO", "WARN ", "info ", "I N", "")
SEPARATORS = (" - ", "  - ", " -  ", " -", " - - ", "\t- ", " -\t", ": ")
ENDS = ("", "", "", " ", "\r", "\xa0", "\x85", "\x1c", "\u3000", "\t \r", " - ", "\x00")
#: What a map, a list and a count of a message may be; the first of each is usual.
VALUES = (
    "a:8080=0.25, b:8080=12.5E-7",
    "a:8080=0.25, a:8080=0.5",
    "",
    "a=1",
    "a=0.1,b=0.2",
    "a=0.1, ",
    "a=NaN, b=Infinity",
    "a=b=0.1",
    " a=0.1",
    "a=0.12345678901234567890123456789, b=00000000000000000001.5",
    "a=\u0663.\u0664",
    "é=0.1, \ufffd=0.2",
)

#: What stands between the lines of a log.
_STRAY = (
    "",
    "\tat org.apache.pulsar.A.b(A.java:1) ~[?:?]",
    "\tat\torg.apache.pulsar.A.b(A.java:1)",
    "        at org.apache.pulsar.A.b(A.java:1)",
    "Caused by: java.io.IOException: Connection reset by peer",
    "\t... 12 more",
    "java.lang.IllegalStateException: bundle is being unloaded",
    '{"timestamp": "2026-11-21T06:37:17,331Z", "message": "This broker was elected leader"}',
    "2026-11-21T06:37:17,331+0000 [main] INFO  org.apache.pulsar.broker.PulsarService",
    "2026-11-21T06:37:17,331+0000 [main] INFO  org.apache.pulsar.broker.PulsarService -",
    "2026-11-21T06:37:17,331+0000 [",
    "[0.005s][info][gc] Using G1",
    "nobody knows what this is",
    "\ufeff2026-11-21T06:37:17,331+0000 [main] INFO  a.B - c",
)


@lru_cache(maxsize=1)
def lines() -> tuple[bytes, ...]:
    """Give lines that were recorded, posted, or stand as examples of messages."""
    found = [text.encode() for text in (*(message.example for message in MESSAGES), *_STRAY)]
    for name in (*_RECORDED, *_FIXTURES):
        text = (_ROOT / name).read_bytes()
        # The first thousand of them are all that is different.
        found += (gzip.decompress(text) if name.endswith(".gz") else text).split(b"\n")[:1000]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1)
def messages() -> tuple[tuple[str, str], ...]:
    """Give the logger and the message of every example."""
    parts = [message.example.split("] ", 1)[1].split(" - ", 1) for message in MESSAGES]
    return tuple((head.split()[-1], text) for head, text in parts)


class Choose(Protocol):
    """Takes one of a few."""

    def __call__(self, things: Sequence[_T], /) -> _T:
        """Take it."""


def composed(choose: Choose) -> bytes:
    """Put a line together, each part as `choose` has it."""
    logger, text = choose(messages())
    for left, right in ("{}", "[]"):
        begin, end = text.find(left), text.rfind(right)
        if -1 < begin < end:
            text = f"{text[: begin + 1]}{choose((text[begin + 1 : end], *VALUES))}{text[end:]}"
    head = "".join(map(choose, (DAYS, MARKS, CLOCKS, FRACTIONS, ZONES)))
    source = f"[{choose(THREADS)}] {choose(LEVELS)} {logger}"
    return f"{head} {source}{choose(SEPARATORS)}{text}{choose(ENDS)}".encode()


def damaged(line: bytes, random: Random) -> bytes:
    """Change a line a little, as disks, viewers and encodings do."""
    return random.choice(_DAMAGES)(line, random)


def _flipped(line: bytes, random: Random) -> bytes:
    changed = bytearray(line)
    for _ in range(random.randrange(1, 4)):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(line: bytes, random: Random) -> bytes:
    ends = sorted(random.choices(range(len(line) + 1), k=2))
    return line[slice(*ends)] if random.random() < 0.3 else line[: ends[0]]


def _without(line: bytes, random: Random) -> bytes:
    begin, end = sorted(random.choices(range(len(line) + 1), k=2))
    return line[:begin] + line[min(end, begin + 20) :]


def _filled(line: bytes, random: Random) -> bytes:
    place = random.randrange(len(line) + 1)
    return line[:place] + random.choice(_FILLINGS) + line[place:]


def _swapped(line: bytes, random: Random) -> bytes:
    mark = random.choice((b" ", b", ", b"=", b"[", b'"', b":", b"\t"))
    fields = line.split(mark)
    one, another = (random.randrange(len(fields)) for _ in range(2))
    fields[one], fields[another] = fields[another], fields[one]
    return mark.join(fields)


def _doubled(line: bytes, random: Random) -> bytes:
    begin, end = sorted(random.choices(range(len(line) + 1), k=2))
    return line[:end] + line[begin:end] * random.randrange(1, 4) + line[end:]


def _recoded(line: bytes, random: Random) -> bytes:
    text = line.decode("utf-8", "replace")
    encoding = random.choice(("utf-16", "utf-16-le", "utf-8-sig", "cp037", "utf-7"))
    return text.encode(encoding, "replace")


def _exchanged(line: bytes, random: Random) -> bytes:
    """Put a number of another size, or none, where a number stands."""
    places = [i for i in range(len(line)) if line[i : i + 1].isdigit()]
    if not places:
        return line
    place = random.choice(places)
    return line[:place] + random.choice(_NUMBERS) + line[place + 1 :]


_FILLINGS = (b"\x00", b"\n", b"\r\n", b"\r", b"\xff", b"\xe2\x82", b"\xc3", b"\xed\xa0\x80", b" ",
             b"\t", b" - ", b"[", b"]", b"{", b"}", b"=", b", ", b'"', b"\\", b"\x1b[31m", b"%",
             "\u0663".encode(), "\u2028".encode(), "\x85".encode(),
             "\U0001f600".encode())  # fmt: skip
_NUMBERS = (b"NaN", b"Infinity", b"-", b"1e999", b"-0", b"9" * 25, b"1" * 400, b"null", b"0x1f",
            b"1_0", b"", b".", b"true", "\u0661".encode())  # fmt: skip
_DAMAGES = (_flipped, _cut, _without, _filled, _swapped, _doubled, _recoded, _exchanged)
