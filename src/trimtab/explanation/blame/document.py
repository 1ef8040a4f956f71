"""A story as JSON."""

from __future__ import annotations

from typing import Any

from trimtab.report.journeys import Journey, Step
from trimtab.report.moves import Line, Move


def document(story: Journey) -> dict[str, Any]:
    """Return a story for programs: the same words, and what they were made of."""
    return {
        "kind": story.kind,
        "name": story.name,
        "summary": story.summary,
        "moves": story.moves,
        "useless": story.useless,
        "steps": [_step(step) for step in story.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    fields = {"time": step.time, "round": step.round, "text": step.text}
    if step.move is not None:
        return {**fields, "move": _move(step.move), "evidence": [*map(_line, step.move.evidence)]}
    return {**fields, "move": None, "evidence": [_line(step.line)] if step.line else []}


def _move(move: Move) -> dict[str, Any]:
    return {
        "bundle": move.bundle,
        "source": move.source.id,
        "target": move.target.id if move.target else None,
        "throughput": move.throughput,
        "verdict": move.verdict,
        "useless": move.tone == "useless",
        "recomputed": move.recomputed.equal,
        "better": (
            {"target": move.better.target.id if move.better.target else None,
             "why": move.better.why}
            if move.better else None
        ),
    }  # fmt: skip


def _line(line: Line) -> dict[str, Any]:
    return {"file": line.file, "line": line.line, "text": line.text}
