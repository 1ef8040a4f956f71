"""The reference of the public surface: its functions and types, from their own docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

import trimtab
from tools.catalogue import code, table

#: In the order of the page: what a recording says, then settings, then what is rehearsed.
_FUNCTIONS = ("explain", "read", "lint", "decide", "simulate", "compare")
_ENTRY = re.compile(r"(?m)^ {4}(\w+): ((?:.+\n?)(?: {8}.+\n?)*)")
_META = "#:"


def functions() -> str:
    """Return a section for each public function: how it is called, and what its parameters are."""
    return "\n".join(_function(getattr(trimtab, name)) for name in _FUNCTIONS)


def types() -> str:
    """Return a section for each type of a result, with its fields."""
    names = [name for name in trimtab.__all__ if isinstance(getattr(trimtab, name), type)]
    return "\n".join(
        _type(name, getattr(trimtab, name)) for name in names if name != "TrimtabError"
    )


def _function(function: Callable[..., object]) -> str:
    docstring = inspect.getdoc(function) or ""
    _, _, behind = docstring.partition("Args:\n")
    arguments, _, _ = behind.partition("\nRaises:")
    defaults = {
        name: "" if each.default is each.empty else code(repr(each.default))
        for name, each in inspect.signature(function).parameters.items()
    }
    rows = [
        (code(name), defaults[name], " ".join(meaning.split()))
        for name, meaning in _ENTRY.findall(arguments)
    ]
    assert [name for name, *_ in rows] == [code(name) for name in defaults], function
    kind = str(inspect.signature(function).return_annotation)
    first = docstring.partition("\n")[0]
    return f"### {function.__name__}\n\n{first}\nIt gives {_linked(kind)}.\n\n" + table(
        ("parameter", "default", "meaning"), rows
    )


def _type(name: str, kind: type) -> str:
    docstring = inspect.getdoc(kind) or ""
    rows = [(code(field), annotation, meaning) for field, annotation, meaning in _members(kind)]
    return f"### {name}\n\n{docstring}\n\n" + table(("attribute", "type", "meaning"), rows)


def _members(kind: type) -> Iterator[tuple[str, str, str]]:
    """List a type's fields with the comments above them, then its properties and methods."""
    lines = textwrap.dedent(inspect.getsource(kind)).splitlines()
    (tree,) = ast.parse("\n".join(lines)).body
    assert isinstance(tree, ast.ClassDef)
    for member in tree.body:
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            if not member.target.id.startswith("_"):
                annotation = code(ast.unparse(member.annotation))
                yield member.target.id, annotation, _comment(lines, member.lineno)
        elif isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            said = (ast.get_docstring(member) or "").partition("\n")[0]
            call = "" if member.decorator_list else "()"
            annotation = code(ast.unparse(member.returns)) if member.returns else ""
            yield f"{member.name}{call}", annotation, said


def _comment(lines: list[str], number: int) -> str:
    """Return the comment that ends above a line, counted from 1."""
    said: list[str] = []
    for line in reversed(lines[: number - 1]):
        if not line.strip().startswith(_META):
            break
        said.insert(0, line.strip().removeprefix(_META).strip())
    return " ".join(said)


def _linked(kind: str) -> str:
    """Return a type as code, with a link to its section."""
    (name,) = re.findall(r"[A-Z]\w+", kind)
    return f"[`{kind}`](#{name.lower()})"
