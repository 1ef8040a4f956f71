"""A story as the lines of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from trimtab.files.visible import visible
from trimtab.report.journeys import Journey, Step

#: Characters of a log line that are shown; `--json` has more.
_LOG_MAX = 300

#: Columns that the words of a step may take.
_WIDTH = 96


def lines(story: Journey, where: str) -> Iterator[str]:
    """Return a story as lines for a terminal."""
    yield f"{story.kind} {story.name}"
    if where:
        yield where
    yield story.summary
    width = max((len(step.when) for step in story.steps), default=0)
    shown: set[str] = set()
    for step in story.steps:
        yield ""
        yield from _step(step, width, shown)


def _step(step: Step, width: int, shown: set[str]) -> Iterator[str]:
    """Yield the lines of one step; of a log line that stands above already, its place alone."""
    indent = " " * (width + 4)
    of_round = "" if step.round is None else f"round {step.round}: "
    head = f"{step.when:<{width}}  {step.sign or '·'} "
    yield from textwrap.wrap(
        f"{of_round}{visible(step.text)}",
        _WIDTH,
        initial_indent=head,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    if step.label:
        yield f"{indent}{step.label}{_again(step)}"
    if step.line is not None:
        yield f"{indent}{visible(step.line.place)}"
        if step.line.text and step.line.place not in shown:
            yield f"{indent}  {visible(step.line.message, _LOG_MAX)}"
        shown.add(step.line.place)


def _again(step: Step) -> str:
    return "" if step.move is None else f"; recomputed: {step.move.recomputed.words}"
