"""Every sentence of the commands that speak to a live cluster, out of the code that says it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src" / "trimtab"
#: Heading → files that say what stands below it.
PARTS = {
    "Before and while a bundle is moved": ("live/control/guards.py", "live/control/step.py"),
    "Whether there is room": (
        *("live/control/headroom.py", "live/apply/drain.py", "live/apply/emptying.py"),
    ),
    "Of a plan, its run and its account": (
        *("live/apply/text.py", "live/control/account.py", "live/apply/moves.py"),
        *("live/apply/files.py", "live/control/plan.py"),
    ),
    "While brokers are restarted": (
        *("live/control/rollout/step.py", "live/control/rollout/memory.py"),
        *("live/control/rollout/plan.py", "live/apply/rollout/text.py"),
        *("live/apply/rollout/run.py", "live/apply/rollout/health.py"),
        *("live/apply/rollout/pause.py", "live/apply/rollout/hook.py"),
        "live/apply/rollout/making.py",
    ),
    "The lock, the journal and what is reached": (
        *("live/apply/run.py", "live/apply/one_lock.py", "live/apply/lock.py"),
        *("live/apply/store_lock.py", "live/apply/post.py", "live/apply/journal.py"),
        *("live/control/view.py", "live/apply/admin.py"),
    ),
    "Beside a cluster, and acting on it": (
        *("live/watch/document.py", "live/watch/screen.py", "live/watch/step.py"),
        *("live/watch/actor.py", "live/watch/loop.py", "live/watch/plans.py"),
        *("live/watch/shadow.py", "live/control/throttle.py"),
        *("live/watch/desk.py", "live/watch/listener.py"),
    ),
    "On the page of a watch": (*("live/watch/page/state.py", "live/watch/page/moves.py"),),
    "While a cluster is recorded": (
        *("live/gather/pipeline.py", "live/gather/watched_store.py", "live/gather/calls.py"),
        *("live/gather/access.py", "live/gather/store_access.py"),
        *("live/gather/folder.py", "live/gather/copies.py"),
    ),
    "Of the commands themselves": (
        *(
            "cli/apply.py",
            "cli/drain.py",
            "cli/rollout.py",
            "cli/plan.py",
            "cli/watch.py",
            "cli/gather.py",
        ),
        *("cli/cluster.py", "cli/acting.py", "cli/signals.py", "cli/errors.py"),
    ),
}
#: Calls whose texts are help.
_OPTIONS = {"click.option", "output_option", "json_option"}
#: Words of a sentence; less is a key, a path or a unit.
_WORDS_MIN = 3


class Sentence(NamedTuple):
    """What is said, with its values in brackets, and where."""

    line: int
    function: str
    text: str


def messages() -> str:
    """Return the page: each sentence once, under what it is about."""
    return "".join(
        f"\n## {heading}\n\n" + "".join(f"- {_code(text)}\n" for text in _texts(files))
        for heading, files in PARTS.items()
    )


def _texts(files: tuple[str, ...]) -> list[str]:
    sentences = (each.text for file in files for each in sentences_of(SOURCE / file))
    return list(dict.fromkeys(sentences))


def sentences_of(path: Path) -> Iterator[Sentence]:
    """Yield the sentences that a file says, in its order: no docstring and no help of options."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from sorted(_sentences(tree, ""))


def _sentences(node: ast.AST, function: str) -> Iterator[Sentence]:
    if isinstance(node, ast.FunctionDef):
        function = node.name
    text = _template(node)
    if text is not None:
        if len(text.split()) >= _WORDS_MIN:
            yield Sentence(node.lineno, function, " ".join(text.split()))  # type: ignore[attr-defined]  # strings stand in lines
        return
    for child in ast.iter_child_nodes(node):
        if not _is_silent(child):
            yield from _sentences(child, function)


def _is_silent(node: ast.AST) -> bool:
    """Return whether nothing below a node is ever said: docstrings, help texts, decorators."""
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_help = isinstance(node, ast.keyword) and node.arg in {"help", "metavar"}
    is_option = isinstance(node, ast.Call) and ast.unparse(node.func) in _OPTIONS
    return is_docstring or is_help or is_option


def _template(node: ast.AST) -> str | None:
    """Return a string with its values named in brackets; None of what is no string."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            parts.append(f"<{_noun(value.value)}>")
        else:
            assert isinstance(value, ast.Constant)
            parts.append(str(value.value))
    return "".join(parts)


def _noun(value: ast.expr) -> str:
    """Return what a value is called: the last name that stands in it."""
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name | ast.Attribute)]
    if not names:
        return "…"
    first = names[0]
    name = first.attr if isinstance(first, ast.Attribute) else first.id
    return name.strip("_").replace("_", " ")


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"
