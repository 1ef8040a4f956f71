"""Lines of a file → what each sequence's class decides: `trimtab decide` from end to end."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError
from trimtab.files.visible import visible
from trimtab.pulsar.sequences import extensible
from trimtab.pulsar.sequences.decide import decide, result
from trimtab.pulsar.sequences.extensible import ExtensibleSequence
from trimtab.pulsar.sequences.sequences import any_sequence, known_release, known_strategy
from trimtab.pulsar.sequences.story import story

# Of gzip; no JSON begins with it.
_GZIP_FIRST = b"\x1f"
#: Stands for the standard input, on the command line and in errors.
STDIN = "-"


class UnreadableError(TrimtabError):
    """The file cannot be read, or not to its end; says which, and why."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every line."""

    #: Overrides each sequence's version.
    release: str | None = None
    #: Overrides each sequence's strategy.
    strategy: str | None = None
    #: Tell what happened, for a person.
    is_explained: bool = False
    #: Answer in JSON.
    is_json: bool = True

    def check(self) -> None:
        """Check what holds for all lines, before the first of them is read.

        Raises:
            FieldError: no such release, or no such strategy.
        """
        if self.release is not None:
            known_release(Field(self.release, ("--release",)))
        if self.strategy is not None:
            known_strategy(Field(self.strategy, ("--strategy",)), self.release)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one line gave."""

    text: str
    #: The text says what is wrong with the line.
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """What a strategy decides in one sequence of rounds."""

    #: The sequence's.
    id: str
    #: One a round; docs/sequences.md has the fields.
    results: tuple[Mapping[str, Any], ...]
    #: Keys of the sequence's `conf` that the release does not have.
    conf_ignored: tuple[str, ...]
    #: The case history, line by line; empty unless it was asked for.
    story: tuple[str, ...]


def decided(sequence: bytes | dict[str, object], question: Question) -> Decided:
    """Return what the class of one sequence decides.

    Raises:
        FieldError: it is no sequence, or there is no such release or strategy.
    """
    question.check()
    value = _parsed(sequence) if isinstance(sequence, bytes) else sequence
    answer, lines = _decided(value, question)
    return Decided(
        id=str(answer["id"]),
        results=tuple(answer["results"]),
        conf_ignored=tuple(answer.get("conf_ignored", ())),
        story=tuple(lines) if question.is_explained else (),
    )


def decisions(file: str, question: Question) -> Iterator[Answer]:
    """Answer line by line, each before the next is read; blank lines are passed over.

    Raises:
        UnreadableError: the file cannot be read, or not to its end.
    """
    with _opened(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield Answer(_answered(line.strip(), question))
            except FieldError as error:
                yield Answer(f"{file}:{number}: {error}", is_error=True)


def _answered(line: bytes, question: Question) -> str:
    answer, lines = _decided(_parsed(line), question)
    if not question.is_explained:
        return json.dumps(answer)
    if question.is_json:
        return json.dumps({**answer, "story": list(lines)})
    # A name with a newline in it must not begin a line of its own.
    return "\n".join([*map(visible, lines), ""])


def _decided(value: object, question: Question) -> tuple[Mapping[str, Any], Iterator[str]]:
    """Decide a sequence of either load manager: what came of it, and its story."""
    sequence = any_sequence(value, question.release, question.strategy)
    if isinstance(sequence, ExtensibleSequence):
        transfers = list(extensible.decide(sequence))
        return extensible.result(sequence, transfers), extensible.story(sequence, transfers)
    rounds = list(decide(sequence))
    return result(sequence, rounds), story(sequence, rounds)


def _parsed(line: bytes) -> object:
    """Parse a line; NaN and Infinity may stand in it as bare words."""
    try:
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        fault = f"byte 0x{line[error.start]:02x} at {error.start + 1}"
        raise FieldError("the line", fault, "text in UTF-8") from error
    except json.JSONDecodeError as error:
        fault = f"{error.doc[error.pos :][:20]!a} at {error.pos + 1}"
        raise FieldError("the line", fault, f"JSON ({error.msg})") from error
    except RecursionError as error:
        raise FieldError("the line", "too many brackets in brackets", "a sequence") from error
    except ValueError as error:
        raise FieldError("the line", "a number of too many digits", "a sequence") from error


@contextmanager
def _opened(file: str) -> Iterator[Iterator[bytes]]:
    """Open lines, packed or not."""
    try:
        with _bytes(file) as raw:
            if raw.peek(1)[:1] == _GZIP_FIRST:
                with gzip.GzipFile(fileobj=_AsItComes(raw)) as unpacked:
                    yield iter(unpacked)
            else:
                yield iter(raw)
    except (OSError, EOFError, zlib.error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableError(f"{file}: {why}") from error


@contextmanager
def _bytes(file: str) -> Iterator[io.BufferedReader]:
    if file != STDIN:
        with Path(file).open("rb") as opened:
            yield opened
    elif isinstance(sys.stdin.buffer, io.BufferedReader):
        yield sys.stdin.buffer
    else:  # whatever stands in for it may lack peek
        yield io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))


class _AsItComes(io.RawIOBase):
    """A stream that gives what it has, where reading would wait for more."""

    def __init__(self, stream: io.BufferedReader) -> None:
        """Take the stream to read from."""
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """Read up to so many bytes, and at least one unless it is at its end."""
        return self._stream.read1(size)
