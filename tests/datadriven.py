"""Tests that are text: a command, its input, a rule, and what comes out.

    # Why this is expected.
    command argument=value
    input
    ----
    output

A blank line ends the output; output that has blank lines stands between doubled rules.
`run` gives back the text that the file should have, so that pytest-regressions can compare
it, show the difference, and rewrite the file under `--regen-all`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

RULE = "----"


@dataclass(frozen=True, slots=True)
class Case:
    """One command of a file."""

    #: The line as written, and its number from 1.
    text: str
    number: int
    command: str
    arguments: Mapping[str, str]
    #: Input lines.
    lines: tuple[str, ...]


def run(path: Path, bench: object) -> str:
    """Run every command of a file against the bench's method of that name.

    A method takes the command's arguments by name, as text, and the input as `lines` if it
    has any; it returns the output.

    Raises:
        ValueError: a command without a rule, unknown, or with input that it does not take.
        TypeError: an argument that the command does not take, or one that it misses.
    """
    texts: list[str] = []
    for part in _parts(path):
        if isinstance(part, str):
            texts.append(part)
            continue
        try:
            output = _call(part, bench)
        except Exception as error:
            error.add_note(f"{path}:{part.number}: {part.text}")
            raise
        texts += [part.text, *part.lines, *_framed(output)]
    return "\n".join(texts) + "\n"


def _parts(path: Path) -> Iterator[str | Case]:
    """Yield comments and blank lines as they are, and cases without their old output."""
    lines = path.read_text(encoding="utf-8").splitlines()
    i = 0
    while i < len(lines):
        if not lines[i] or lines[i].startswith("#"):
            yield lines[i]
            i += 1
            continue
        rule = next((j for j in range(i, len(lines)) if lines[j] in ("", RULE)), len(lines))
        if rule == len(lines) or lines[rule] != RULE:
            raise ValueError(f"{path}:{i + 1}: {lines[i]!r} has no rule {RULE!r} after its input")
        command, *words = lines[i].split()
        arguments = dict(_argument(path, i + 1, word) for word in words)
        yield Case(lines[i], i + 1, command, arguments, tuple(lines[i + 1 : rule]))
        i = _after_output(lines, rule + 1)


def _argument(path: Path, number: int, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ValueError(f"{path}:{number}: found {word!r}, expected argument=value")
    return name, value


def _after_output(lines: list[str], start: int) -> int:
    """Find where the output that begins at `start` ends."""
    if lines[start : start + 1] == [RULE]:
        ends = (j for j in range(start + 1, len(lines)) if lines[j : j + 2] == [RULE, RULE])
        return next(ends, len(lines) - 2) + 2
    return next((j for j in range(start, len(lines)) if not lines[j]), len(lines))


def _call(case: Case, bench: object) -> str:
    method: Callable[..., str] | None = getattr(bench, case.command, None)
    if method is None or case.command.startswith("_") or not callable(method):
        raise ValueError(f"{type(bench).__name__} has no command {case.command!r}")
    if "lines" in inspect.signature(method).parameters:
        return method(case.lines, **case.arguments)
    if case.lines:
        raise ValueError(f"{case.command!r} takes no input, found {case.lines[0]!r}")
    return method(**case.arguments)


def _framed(output: str) -> list[str]:
    lines = output.splitlines()
    if "" in lines or lines[:1] == [RULE]:
        return [RULE, RULE, *lines, RULE, RULE]
    return [RULE, *lines]
