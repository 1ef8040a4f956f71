"""What the house rules ask for and no linter checks.

Each rule looks at everything it is about and says so if that is nothing, so that it
cannot hold for want of cases.
"""

from __future__ import annotations

import ast
import inspect
import re
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "trimtab"
TESTDATA = ROOT / "tests" / "testdata"
MODULES = sorted(PACKAGE.rglob("*.py"))
PYTHON = sorted([*MODULES, *ROOT.glob("tools/*.py"), *ROOT.glob("tests/**/*.py")])

FILE_LINES_MAX = 400
#: A file of tests is read a test at a time.
TEST_FILE_LINES_MAX = 600
FUNCTION_LINES_P95_MAX = 50
FUNCTION_LINES_MAX = 70

# In halves, so that this file does not break the rules that it checks.
HOST_HALVES = (("py", "pi.org"), ("python", "hosted"), ("npm", "js.org"), ("repo1.", "maven"))
HOSTS = re.compile("|".join(map(re.escape, map("".join, HOST_HALVES))), re.IGNORECASE)
MACHINE_PATHS = re.compile(r"(?<![\w.$}/-])/(?:" + "ro" + r"ot|ho" + r"me|Us" + r"ers)/[a-z]")
LATER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")
NOQA = "no" + r"qa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?"
TYPE_IGNORE = r"type:\s*ig" + r"nore(?:\[[^\]]*\])?"
SILENCED = re.compile(rf"#\s*(?:{NOQA}|{TYPE_IGNORE})(.*)")


def tracked() -> list[Path]:
    """List the files of the project: what git has, and what it would take."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def texts() -> Iterator[tuple[Path, str]]:
    """Read every file of the project that is text."""
    for path in tracked():
        try:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def looked_at(things: list[str], at_least: int) -> None:
    """Fail where a rule has had too little to look at."""
    assert len(things) >= at_least, f"the rule looked at {len(things)} things only: {things}"


def matches(pattern: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Search every text of the project.

    Returns:
        The files searched, and the lines that match.
    """
    searched, found = [], []
    for path, text in texts():
        searched.append(str(path))
        for i, line in enumerate(text.splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path}:{i}: {line.strip()[:100]}")
    return searched, found


# ------------------------------------------------- file = function = fixture


def strategies(room: str) -> list[Callable[..., object]]:
    """List the functions of a room of strategies, each once."""
    from trimtab.pulsar.place import EXTENSIBLE_PLACERS, PLACERS
    from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS, SHEDDERS

    entered: list[Callable[..., object]] = []
    if room == "shed":
        entered += [entry.shed for entry in SHEDDERS.values()]
        entered += [entry.shed for entry in EXTENSIBLE_SHEDDERS.values()]
    else:
        entered += [entry.place for entry in PLACERS.values()]
        entered += [entry.place for entry in EXTENSIBLE_PLACERS.values()]
    return list(dict.fromkeys(entered))


@pytest.mark.parametrize("room", ["shed", "place"])
def test_strategy_is_file_function_and_fixture(room: str) -> None:
    checked = []
    for function in strategies(room):
        package, _, file = function.__module__.rpartition(".")
        assert package == f"trimtab.pulsar.{room}"
        # A variant of one release line is named for its class first: avg_shedder_5_0.
        assert function.__name__.startswith(file)
        assert (TESTDATA / room / f"{file}.txt").is_file(), f"{room}/{file} has no fixture"
        docstring = inspect.getdoc(function) or ""
        for section in ("Quirks:", "Source:"):
            assert f"\n{section}\n" in docstring, f"{function.__name__} has no section {section}"
        checked.append(file)
    looked_at(checked, 1)


@pytest.mark.parametrize("room", ["shed", "place"])
def test_every_strategy_file_is_registered(room: str) -> None:
    files = {path.stem for path in (PACKAGE / "pulsar" / room).glob("[a-z]*.py")}
    registered = {function.__module__.rpartition(".")[2] for function in strategies(room)}

    assert registered == files
    looked_at(sorted(files), 1)


def finding_files() -> list[str]:
    """List the files of the findings."""
    return sorted(path.stem for path in (PACKAGE / "diagnose" / "findings").glob("[a-z]*.py"))


def test_every_finding_file_is_listed_and_has_its_rule() -> None:
    from trimtab.diagnose.findings import FINDINGS

    rules = {entry.rule.__module__.rpartition(".")[2]: entry.rule for entry in FINDINGS.values()}

    for name in finding_files():
        path = f"src/trimtab/diagnose/findings/{name}.py"
        assert name in rules, f"{path} has no row in diagnose/findings.toml"
        assert rules[name].__name__ == name, f"{path}: its rule is not {name}"
    looked_at(finding_files(), 1)


def test_every_finding_has_its_texts() -> None:
    from trimtab.diagnose.wording import rows

    missing = [
        f"findings.toml: {code} has no `{text}`, neither for all of its findings nor in a variant"
        for code, row in rows().items()
        for text in ("title", "text", "better", "advice")
        if text not in set(row).union(*(set(each) for each in row.values() if type(each) is dict))
    ]

    assert missing == []


def test_every_wording_of_a_finding_is_used_by_its_rule() -> None:
    from trimtab.diagnose.wording import rows

    variants = [
        (code, name)
        for code, row in rows().items()
        for name, texts in row.items()
        # Those of several are `places.py`'s, for any finding.
        if isinstance(texts, dict) and name not in ("partly", "cure", "several")
    ]

    for code, variant in variants:
        name = code.replace("-", "_")
        rule = (PACKAGE / "diagnose" / "findings" / f"{name}.py").read_text(encoding="utf-8")
        assert re.search(rf"""["'.]{variant}["'.]""", rule), f"{name}.py names no {variant!r}"
    looked_at([variant for _, variant in variants], 20)


def test_every_finding_has_a_place_and_says_how_several_of_it_are_told() -> None:
    from trimtab.diagnose.findings import FINDINGS
    from trimtab.diagnose.wording import rows

    places = {"broker", "pair", "bundle", "namespace", "leader", "cluster"}
    variants = {
        f"{code}.{name}"
        for code, row in rows().items()
        for name, texts in row.items()
        if isinstance(texts, dict)
    }
    for code, row in rows().items():
        assert row.get("place") in places, f"findings.toml: {code} has no place"
        reasons = set(row.get("of", ()))
        assert reasons <= set(FINDINGS) | variants, f"{code} comes of something unknown"
        assert "several" not in row or row["several"]["title"], code
    looked_at([row for row in rows().values() if "several" in row], 20)


def test_every_finding_has_its_fixture_and_page() -> None:
    for name in finding_files():
        code = name.replace("_", "-")
        fixture, page = TESTDATA / "diagnose" / f"{name}.txt", ROOT / f"docs/findings/{code}.md"
        assert fixture.is_file(), f"{code} has no fixture: write {fixture.relative_to(ROOT)}"
        cases = fixture.read_text(encoding="utf-8")
        assert f"\nfind code={code}\n" in cases, f"{fixture.name} has no `find code={code}`"
        assert page.is_file(), f"{code} has no page: write {page.relative_to(ROOT)}"
        head = page.read_text(encoding="utf-8").partition("\n")[0]
        assert head == f"# {code}", f"{page.relative_to(ROOT)} begins with {head!r}"
    looked_at(finding_files(), 1)


def test_every_fixture_and_page_belongs_to_a_finding() -> None:
    files = set(finding_files())
    pages = {path.stem for path in (ROOT / "docs" / "findings").glob("*.md")} - {"index"}
    fixtures = {
        path.stem
        for path in (TESTDATA / "diagnose").glob("*.txt")
        if "\nfind code=" in path.read_text(encoding="utf-8")
    }
    for name in sorted(fixtures | {page.replace("-", "_") for page in pages}):
        path = f"src/trimtab/diagnose/findings/{name}.py"
        assert name in files, f"{name} has a fixture or a page, and no source: write {path}"
    looked_at(sorted(pages), 1)
    looked_at(sorted(fixtures), 1)


# ------------------------------------------------------------------------ rooms


def test_the_listing_of_the_package_is_eleven_rooms_at_most() -> None:
    from tools.rooms import floors, sentence

    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    # A room that was moved away leaves a folder of compiled files.
    entries = {
        path.relative_to(PACKAGE).parts[0] for path in tracked() if path.is_relative_to(PACKAGE)
    }

    assert entries == packages | {"__init__.py", "__main__.py", "py.typed"}
    assert packages == {room for floor in floors() for room in floor} - {"__main__"}
    assert len(packages) <= 11
    assert len(list(floors())) == 6
    assert [room for room in packages if "→" not in sentence(room)] == []
    looked_at(sorted(packages), 5)


# --------------------------------------------------------- names and docstrings


def test_no_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "common", "helpers", "helper", "misc", "base", "tools"}
    names = [part for path in MODULES for part in path.relative_to(PACKAGE).with_suffix("").parts]

    assert drawers.isdisjoint(names)
    looked_at(names, 10)


def public(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """Walk a module, its public classes and functions, and the classes' public methods."""
    yield name, node
    for child in getattr(node, "body", []):
        is_named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_named and not child.name.startswith("_") and not isinstance(node, ast.FunctionDef):
            yield from public(child, f"{name}.{child.name}")


def test_public_names_have_a_docstring_that_opens_with_a_sentence() -> None:
    seen, wrong = [], []
    for path in [*MODULES, *sorted(ROOT.glob("tools/*.py"))]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, node in public(tree, str(path.relative_to(ROOT))):
            seen.append(name)
            assert isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            # A name in backquotes may open a sentence: it stands as it is written.
            if not (first.endswith((".", "?")) and (first[:1].isupper() or first[:1] == "`")):
                wrong.append(f"{name}: {first!r}")

    assert wrong == []
    looked_at(seen, 50)


# ----------------------------------------------------------------------- sizes


def test_no_file_is_too_long_to_read_in_one_go() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PYTHON
    }

    def bound(name: str) -> int:
        return TEST_FILE_LINES_MAX if name.startswith("tests/") else FILE_LINES_MAX

    assert {name: n for name, n in lengths.items() if n > bound(name)} == {}
    looked_at(list(lengths), 10)


def test_functions_are_short_and_so_is_their_tail() -> None:
    lengths = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                where = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                lengths[where] = (node.end_lineno or node.lineno) - node.lineno + 1
    looked_at(list(lengths), 50)

    assert {name: n for name, n in lengths.items() if n > FUNCTION_LINES_MAX} == {}
    assert statistics.quantiles(lengths.values(), n=20)[-1] <= FUNCTION_LINES_P95_MAX


# ------------------------------------------------------------ what may not stand


#: They mean no fault of a user's: what Pulsar throws, and what is caught nearby and tried again.
OTHER_ERRORS = {
    "BrokerFilterError",
    "ChangedError",
    "ContradictionError",
    "HeldError",
    "LostRoundError",
    "LostSelectionError",
    "MovedError",
    "NoCandidatesError",
    "UnreportedCandidateError",
}


def test_an_error_that_a_user_can_mend_is_a_trimtab_error() -> None:
    classes = [
        (node.name, {ast.unparse(base) for base in node.bases})
        for module in MODULES
        for node in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and re.fullmatch(r"[A-Z]\w*Error", node.name)
    ]
    assert OTHER_ERRORS < {name for name, _ in classes}
    mendable = {"TrimtabError"}
    while more := {name for name, bases in classes if bases & mendable} - mendable:
        mendable |= more
    assert {name for name, _ in classes} - mendable == OTHER_ERRORS


def test_every_silenced_check_gives_its_reason_on_the_line() -> None:
    silenced, bare = [], []
    for path in PYTHON:
        for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for rest in SILENCED.findall(line):
                silenced.append(line)
                if len(re.findall(r"[A-Za-z]{2,}", rest)) < 2:
                    bare.append(f"{path.relative_to(ROOT)}:{i}: {line.strip()}")

    assert bare == []
    looked_at([str(path) for path in PYTHON], 10)


def test_the_search_for_silenced_checks_finds_them() -> None:
    mark = "# no" + "qa: E501"

    assert SILENCED.findall(f"x = 1  {mark}") == [""]
    assert SILENCED.findall(f"x = 1  {mark}  # a URL has no spaces") == ["  # a URL has no spaces"]
    assert SILENCED.findall("x = 1  # type: ig" + "nore[misc]") == [""]


def test_no_package_host_is_named() -> None:
    assert HOSTS.search("https://Py" + "PI.org/simple")
    searched, found = matches(HOSTS)

    assert found == []
    assert "requirements/dev.lock" in searched
    looked_at(searched, 20)


def test_locks_hold_no_address_and_a_hash_for_everything() -> None:
    locks = sorted((ROOT / "requirements").glob("*.lock"))
    looked_at([lock.name for lock in locks], 4)

    for lock in locks:
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text, lock.name
        packages = re.split(r"(?m)^(?=[a-z0-9])", text)[1:]
        assert packages, lock.name
        assert [name for name in packages if "--hash=sha256:" not in name] == []


def test_no_path_of_anybodys_machine_is_named() -> None:
    assert MACHINE_PATHS.search("see /ro" + "ot/x")
    assert not MACHINE_PATHS.search("$HOME/ho" + "me/x")
    searched, found = matches(MACHINE_PATHS)

    assert found == []
    looked_at(searched, 20)


def test_nothing_is_left_for_later_in_a_comment() -> None:
    assert LATER.search("# TO" + "DO: later")
    searched, found = matches(LATER)

    assert found == []
    looked_at(searched, 20)


def test_properties_draw_what_they_ask_for() -> None:
    """Hypothesis fails a test of which too many draws in a row were thrown away."""
    thrown = re.compile(r"\bassume\(|\)\.filter\(|\.filter\(lambda|HealthCheck\.filter_too_much")
    files = [path for path in sorted(ROOT.glob("tests/*.py")) if "hypothesis" in path.read_text()]
    found = [path.name for path in files if thrown.search(path.read_text(encoding="utf-8"))]

    assert found == []
    looked_at([path.name for path in files], 30)
