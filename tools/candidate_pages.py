"""The pages of what stands around the strategies: filters before placement, and bookkeeping.

Made from docstrings and from the registries, as the pages of strategies are.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from tests import plain_leader
from tools.catalogue import code, first_line, table
from tools.strategy_pages import linked, sections
from trimtab.pulsar.candidates import CHAINS, Chain
from trimtab.pulsar.leader import report_gate
from trimtab.pulsar.releases import release_order

_Named = dict[Callable[..., Any], str]


def chains() -> str:
    """Return which filters each load manager applies in which release, in order."""
    rows: list[tuple[str, ...]] = []
    for (manager, since), chain in CHAINS.items():
        named = (
            ", ".join(name for name, _ in chain.filters),
            ", ".join(name for name, _ in chain.before_unload) or "nothing",
        )
        # A release may apply other functions by the same names; those are told one by one.
        if not rows or (rows[-1][0], *rows[-1][2:]) != (manager, *named):
            rows.append((manager, f"from {since} on", *named))
    return table(("load manager", "releases", "filters, in order", "asked before an unload"), rows)


def filters() -> str:
    """Return every filter, in the order of application, with its quirks and its source."""
    named = _named()
    return "".join(
        _part(f"{name} {_kind(function)}".strip(), function) for function, name in named.items()
    )


def bookkeeping() -> str:
    """Return every function of the leader's bookkeeping that names its source."""
    parts = []
    for module in (report_gate, *_modules(plain_leader)):
        if named := list(_public(module)):
            parts.append(f"\n## {first_line(module).rstrip('.')}\n")
            parts.extend(_part("", function) for function in named)
    return "".join(parts)


def _named() -> _Named:
    """Name every filter, second chance and check; newest first, each under Pulsar's name."""
    named: _Named = {}
    newest = sorted(CHAINS.items(), key=lambda entry: release_order(entry[0][1]), reverse=True)
    for _, chain in newest:
        for name, function in _of(chain):
            named.setdefault(function, name)
    return dict(sorted(named.items(), key=lambda item: (item[0].__module__, item[0].__name__)))


def _of(chain: Chain) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield from chain.before_unload
    yield from chain.filters
    yield "a second chance", chain.second_chance


def _kind(function: Callable[..., Any]) -> str:
    """Return in which releases of which load managers a function is in use."""
    uses: dict[str, list[str]] = {}
    for (manager, since), chain in CHAINS.items():
        if any(function is other for _, other in _of(chain)):
            uses.setdefault(manager, []).append(since)
    parts = [f"{_short(manager)}{_spans(manager, since)}" for manager, since in uses.items()]
    return f"({'; '.join(parts)})"


def _short(manager: str) -> str:
    return "modular" if manager.startswith("Modular") else "extensible"


def _spans(manager: str, mine: list[str]) -> str:
    """Name the releases from which on, and until which one, of entries of a load manager."""
    every = sorted((since for name, since in CHAINS if name == manager), key=release_order)
    spans: list[str] = []
    for i, since in enumerate(every):
        if since not in mine or (i and every[i - 1] in mine):
            continue
        end = next((other for other in every[i:] if other not in mine), "")
        spans.append(f" from {since} on" + (f" until {end}" if end else ""))
    return ", and".join(spans)


def _part(heading: str, function: Callable[..., Any]) -> str:
    """Return what a function does, its quirks and its source."""
    text = sections(inspect.getdoc(function) or "")
    where = code(f"{function.__module__}.{function.__qualname__}")
    lines = [f"\n### {heading}\n" if heading else f"\n### {where}\n"]
    lines.append(f"\n{where}\n" if heading else "")
    lines.append(f"\n{text['']}\n")
    lines.extend(f"\n{text[name]}\n" for name in ("Quirks",) if name in text)
    if "Source" in text:
        lines.append(f"\nSource: {text['Source']}\n")
    return linked("".join(lines))


def _modules(package: ModuleType) -> list[ModuleType]:
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def _public(module: ModuleType) -> Iterator[Callable[..., Any]]:
    """Yield a module's own public functions, classes and methods that say where they are from."""
    for member in vars(module).values():
        if getattr(member, "__module__", "") == module.__name__:
            methods = vars(member).values() if inspect.isclass(member) else ()
            yield from filter(_has_source, (member, *methods))


def _has_source(member: object) -> bool:
    is_public = not getattr(member, "__name__", "_").startswith("_")
    return is_public and callable(member) and "\nSource:\n" in (inspect.getdoc(member) or "")
