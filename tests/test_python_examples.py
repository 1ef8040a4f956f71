"""Every example of the docs runs, prints what the page says, and uses the public surface alone."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import trimtab
from python_examples import ROOT, examples, imported_of_us, ran, sources

README_LINES_MAX = 10
#: Pages whose examples are one program each.
PROGRAMS = ("README.md", "docs/laboratory.md", "docs/python.md")
#: Pages whose examples another test runs, on tables of its own.
ELSEWHERE = ("docs/spark.md", "docs/tables.md")


def test_examples_use_nothing_of_us_but_the_public_surface() -> None:
    used = {(where, name) for where, source in sources() for name in imported_of_us(source)}
    public = {f"trimtab.{name}" for name in trimtab.__all__}

    assert {"trimtab.explain", "trimtab.read"} <= {name for _, name in used}
    assert sorted((where, name) for where, name in used if name not in public) == []


def test_every_page_with_examples_is_run() -> None:
    there = {where.rpartition(" ")[0] for where, _ in sources() if ".md " in where}

    assert there == {*PROGRAMS, *ELSEWHERE}


def test_the_script_of_the_readme_is_short() -> None:
    (script,) = examples(ROOT / "README.md")

    assert 3 < len(script.source.splitlines()) <= README_LINES_MAX


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", PROGRAMS)
def test_examples_print_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    for name in ("recordings", "docs"):
        os.symlink(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)

    printed = ran(examples(ROOT / page))

    if pytestconfig.getoption("regen_all"):
        rewrite(ROOT / page, printed)
    said = [each.printed for each in examples(ROOT / page)]
    assert len(said) > 0
    assert [text for text in said if text is not None]
    for number, (expected, found) in enumerate(zip(said, printed, strict=True), start=1):
        assert (expected or "") == found, f"example {number}"


def rewrite(page: Path, printed: list[str]) -> None:
    """Put what examples print behind those that say what they print."""
    texts = iter(printed)

    def with_output(found: re.Match[str]) -> str:
        output = next(texts)
        return found[0] if found[2] is None else f"{found[1]}{output}```\n"

    pattern = re.compile(r"(?ms)(^```python\n.*?^```\n(?:\n```text\n)?)((?<=```text\n).*?^```\n)?")
    text = page.read_text(encoding="utf-8")
    page.write_text(pattern.sub(with_output, text), encoding="utf-8")
