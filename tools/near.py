"""Run the tests that a file can break: `make near FILE=src/trimtab/pulsar/scores.py`.

What a test imports, and what that imports, can break it; so can a command that it starts,
a module that it names in a text for another process, and a file whose folder it names.
A package's `__init__.py` is run by whoever imports from the package; otherwise that a module
breaks its neighbours by not being importable is left to the tests of the package itself.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
#: Where each of our packages lies.
PACKAGES = {"trimtab": "src", "tools": "", "bench": "", "oracle": "testbed", "cluster": "testbed"}
MODULE = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)*")
COMMANDS = "trimtab.cli"
#: A package that imports its modules by the names in a table.
RULES = "trimtab.diagnose.findings"
#: Files of tests that need a real cluster.
WITH_PULSAR = "test_pulsar_"
#: How far a file is from tests that do not import it.
FAR = 1000
#: What any test may depend on, and no import shows.
EVERYTHING = {"pyproject.toml", "tests/conftest.py", "requirements"}


@dataclass(frozen=True)
class Source:
    """A Python file under tests/."""

    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        """The file, read."""
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of its tree."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def words(self) -> frozenset[str]:
        """The texts in it."""
        return frozenset(
            node.value
            for node in self.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """The parts of the paths in it, if texts are paths."""
        return frozenset(part for word in self.words for part in word.split("/"))

    @cached_property
    def arguments(self) -> frozenset[str]:
        """The names of all arguments, fixtures among them."""
        return frozenset(node.arg for node in self.nodes if isinstance(node, ast.arg))

    @property
    def starts_trimtab(self) -> bool:
        """Whether it has the word in a list, as the command of a process."""
        lists = (node for node in self.nodes if isinstance(node, ast.List | ast.Tuple | ast.Call))
        return any(
            isinstance(item, ast.Constant) and item.value == "trimtab"
            for node in lists
            for item in (node.args if isinstance(node, ast.Call) else node.elts)
        )


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that a piece of code imports, modules and what is taken from them."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


class Imports:
    """The import graph of our packages and of the tests."""

    def __init__(self) -> None:
        """Read the packages, cached, and every file of tests/."""
        sys.path[:0] = [str(ROOT / place) for place in dict.fromkeys(PACKAGES.values())]
        self.graph = grimp.build_graph(*PACKAGES, cache_dir=str(ROOT / ".import_linter_cache"))
        self.sources = {named(path): Source(path) for path in sorted(TESTS.rglob("*.py"))}
        self.commands = {
            child.rpartition(".")[2].replace("_", "-"): child
            for child in self.graph.find_children(COMMANDS)
        }
        for command in self.commands.values():
            # A test runs the commands that it names.
            self.graph.remove_import(importer=COMMANDS, imported=command)
        for rule in self.graph.find_children(RULES):
            self.graph.add_import(importer=RULES, imported=rule)
        for name in self.sources:
            self.graph.add_module(f"tests.{name}")
        self.modules = frozenset(self.graph.modules)
        for name, source in self.sources.items():
            for each in self._dependencies(source):
                self.graph.add_import(importer=f"tests.{name}", imported=each)

    @cached_property
    def test_files(self) -> tuple[Path, ...]:
        """Every file with tests that need no Pulsar, modules with examples among them."""
        names = (name for name in self.sources if name.startswith("test_"))
        tests = [self.sources[name].path for name in names if not name.startswith(WITH_PULSAR)]
        examples = (path for path in sorted((ROOT / "src").rglob("*.py")) if has_examples(path))
        return (*tests, *examples)

    def near(self, path: Path) -> tuple[Path, ...]:
        """Return the files with tests that a file can break, all where that is not known."""
        within = path.relative_to(ROOT)
        if EVERYTHING & {str(within), within.parts[0]}:
            return self.test_files
        broken = {f"tests.{name}" for name in self._readers(within)}
        if (module := self._module(within)) is not None:
            broken |= {module}
            if path.name == "__init__.py" or path.suffix != ".py":
                broken |= self.graph.find_descendants(module)
        elif not broken:
            return self.test_files
        for each in tuple(broken):
            broken |= self.graph.find_downstream_modules(each)
        return tuple(
            test for test in self.test_files if self._module(test.relative_to(ROOT)) in broken
        )

    def distance(self, test: Path, path: Path) -> int:
        """Return how many modules stand between a file with tests and one that can break it."""
        importer, imported = (self._module(each.relative_to(ROOT)) for each in (test, path))
        if importer is None or imported is None:
            return FAR
        chain = self.graph.find_shortest_chain(importer=importer, imported=imported)
        return FAR if chain is None else len(chain)

    def _module(self, within: Path) -> str | None:
        """Return the module that a file is, or the package that it belongs to."""
        start = 1 if within.parts[0] in PACKAGES.values() else 0
        return self._longest(".".join(within.with_suffix("").parts[start:]))

    def _readers(self, within: Path) -> Iterator[str]:
        """Yield the tests that name a file, or a folder that it lies in."""
        own = within.parts[-1:] if within.suffix == ".py" else (*within.parts, within.stem)
        names = {*own, within.parts[0]} - {"tests", "testdata"}
        for name, source in self.sources.items():
            if names & source.names:
                yield name

    def _dependencies(self, source: Source) -> Iterator[str]:
        """Yield the modules that a file of tests imports, starts or names."""
        names = {*imported(source.nodes), *self._fixtures(source)}
        for word in source.words:
            names |= set(MODULE.findall(word)) - PACKAGES.keys()
        if source.starts_trimtab:
            names.add("trimtab.__main__")
        for name in names:
            # A helper may be imported from tests, or by its own name.
            found = self._longest(f"tests.{name.removeprefix('tests.')}") or self._longest(name)
            if found is None:
                continue
            yield found
            if found in (COMMANDS, "trimtab.__main__"):
                yield from self._named_commands(source)

    def _longest(self, name: str) -> str | None:
        """Return the module of a name, which may be that of something within it."""
        while name and name not in self.modules:
            name = name.rpartition(".")[0]
        return name or None

    def _fixtures(self, source: Source) -> Iterator[str]:
        """Yield what is imported by the shared fixtures that a file of tests asks for."""
        for node in self.sources["conftest"].tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in source.arguments:
                yield from imported(ast.walk(node))

    def _named_commands(self, source: Source) -> Iterator[str]:
        """Yield the commands that the texts of a file of tests begin with, all if none does."""
        firsts = {word.split()[0] for word in source.words if word.split()}
        found = [module for command, module in self.commands.items() if command in firsts]
        yield from found or self.commands.values()


def named(path: Path) -> str:
    """Return the name of a file under tests/ as a module of it."""
    return ".".join(path.relative_to(TESTS).with_suffix("").parts)


def has_examples(path: Path) -> bool:
    """Return whether a module has examples that are tests."""
    return ">>> " in path.read_text(encoding="utf-8")


def main(names: list[str]) -> int:
    """Run the tests that the named files can break, and return pytest's status."""
    paths = [Path(name).resolve() for name in names]
    missing = [name for name, path in zip(names, paths, strict=True) if not path.is_file()]
    if missing or not paths:
        print(f"near: found {missing or 'no file'}, expected FILE=src/trimtab/pulsar/scores.py")
        return 2
    imports = Imports()
    files = sorted({test for path in paths for test in imports.near(path)})
    print(f"near: {len(files)} of {len(imports.test_files)} files with tests", flush=True)
    if not files:
        return 0
    spread = ["-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"]
    return int(pytest.main(["-q", "-m", "not pulsar", *spread, *map(str, files)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
