"""The changes that are tried: a comparison one further, a number one more, the other operator."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

OTHERS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    # Of arrays these are `and` and `or`.
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {
    "all": "any",
    "any": "all",
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
}


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    path: Path
    #: The function of the file that is changed, and its first line, decorators included.
    function: str
    line: int
    #: What changes, as in `age > bound -> age >= bound`.
    change: str
    #: Which of several changes that read the same.
    number: int
    #: The function's code with the change.
    code: CodeType

    @property
    def name(self) -> str:
        """The name under which it can be listed as equivalent."""
        which = f" #{self.number}" if self.number > 1 else ""
        return f"{self.path.relative_to(ROOT)} {self.function}: {self.change}{which}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every change of a file's functions and methods, in the order of the file."""
    text = path.read_text(encoding="utf-8")
    counts: Counter[tuple[str, str]] = Counter()
    for i in range(len(_spots(ast.parse(text)))):
        tree = ast.parse(text)  # one each, as a change is made in place
        spot = _spots(tree)[i]
        before = ast.unparse(spot.node)
        _change(spot)
        change = f"{before} -> {ast.unparse(spot.node)}"
        counts[spot.function, change] += 1
        code = function_code(compile(tree, str(path), "exec"), spot.function)
        number = counts[spot.function, change]
        yield Mutant(path, spot.function, code.co_firstlineno, change, number, code)


def function_code(code: CodeType, name: str) -> CodeType:
    """Return the code of a function, or of a method, of a compiled file."""
    for part in name.split("."):
        (code,) = [
            each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == part
        ]
    return code


@dataclass(frozen=True)
class _Spot:
    """What can be changed: a node of a function, and which of its operators."""

    function: str
    node: ast.AST
    operator: int


def _spots(tree: ast.Module) -> list[_Spot]:
    return [
        _Spot(name, node, i)
        for name, function in _functions(tree)
        for line in function.body
        for node in _changeable(line)
        for i in range(len(node.ops) if isinstance(node, ast.Compare) else 1)
    ]


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        names = Counter(each.name for each in members if isinstance(each, ast.FunctionDef))
        for function in members:
            # Two of one name, as a property and its setter, could not be told apart.
            if isinstance(function, ast.FunctionDef) and names[function.name] == 1:
                yield f"{prefix}{function.name}", function


def _changeable(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes within one that can be changed, itself first."""
    parts: list[ast.AST]
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Assert() | ast.arguments():
            return  # written for a reader, or for the type checker
        case ast.keyword(arg="strict"):
            return  # that two lists have one length changes nothing where they have
        case ast.AnnAssign(value=value):
            parts = [value] if value else []
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, _]):
            parts = [value]
        case _:
            parts = list(ast.iter_child_nodes(node))
            if _is_changeable(node):
                yield node
    for part in parts:
        yield from _changeable(part)


def _is_changeable(node: ast.AST) -> bool:
    match node:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not() | ast.Invert()):
            return True
        case ast.BinOp() | ast.AugAssign():
            return type(node.op) in OTHERS
        case ast.Constant(value=bool() | int() | float()):
            return True
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
            return name in NAMES
    return False


def _change(spot: _Spot) -> None:
    """Make the change, in place."""
    match spot.node:
        case ast.Compare(ops=operators):
            operators[spot.operator] = _other(operators[spot.operator])
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign() as node:
            node.op = _other(node.op)
        case ast.UnaryOp(op=operator) as node:
            # Twice is not at all, but for the kind of the value.
            node.operand = ast.copy_location(ast.UnaryOp(operator, node.operand), node)
        case ast.Constant(value=value) as node:
            node.value = not value if isinstance(value, bool) else value + 1  # type: ignore[operator]  # a number
        case ast.Name() as node:
            node.id = NAMES[node.id]
        case ast.Attribute() as node:
            node.attr = NAMES[node.attr]


def _other(operator: ast.AST) -> Any:  # noqa: ANN401  # ast has a kind for each field
    return OTHERS[type(operator)]()
