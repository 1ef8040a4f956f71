"""Whatever can be typed, set, read or found has its place in the docs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """List every page written in Markdown, but the release notes' scraps."""
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def headings(page: str) -> set[str]:
    """Return the headings of the second level on a page."""
    return set(re.findall(r"(?m)^## (.+)$", (DOCS / page).read_text(encoding="utf-8")))


def test_every_command_has_help_with_an_example_and_a_place_in_the_docs() -> None:
    from tools.catalogue import commands

    found = {context.command_path: context.command for context in commands()}

    assert set(found) == headings("cli.md")
    assert len(found) > 1
    for path, command in found.items():
        assert command.help, f"{path} has no help"
        assert f"{path} " in command.help, f"{path}'s help shows no example of it"


def test_every_command_that_stands_in_the_readme_can_be_typed_as_it_stands() -> None:
    import shlex

    import click

    from trimtab.cli import main

    lines = re.findall(
        r"`trimtab ([^`…\n]+)`|(?m:^trimtab (.+)$)", (ROOT / "README.md").read_text()
    )
    # A command's name alone is a name.
    typed = [words for one, other in lines if len(words := shlex.split(one or other)) > 1]

    assert len(typed) > 5
    for name, *words in typed:
        command = main.commands[name]
        # What a command makes of `-h` stays with it, so that all contexts must be as the program's.
        context = click.Context(command, **main.context_settings)
        given, _, _ = command.make_parser(context).parse_args(args=words)
        needed = [each.name for each in command.params if each.required]
        assert [each for each in needed if not given.get(each)] == [], (name, words)


def test_every_option_has_help() -> None:
    import click

    from tools.catalogue import commands

    options = [
        (context.command_path, option)
        for context in commands()
        for option in context.command.get_params(context)
        if isinstance(option, click.Option)
    ]

    assert options
    assert [(path, option.name) for path, option in options if not option.help] == []


def test_every_table_is_documented_with_all_its_columns() -> None:
    from tools.catalogue import all_tables

    text = (DOCS / "tables.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"(?ms)^## (\w+)\n(.*?)(?=^## |\Z)", text))

    assert set(sections) == set(all_tables())
    assert sections
    for name, schema in all_tables().items():
        assert [column for column in schema.names if f"| `{column}` |" not in sections[name]] == []


def test_every_table_and_column_says_what_it_means() -> None:
    from tools.catalogue import all_tables, said

    assert all_tables()
    for name, schema in all_tables().items():
        assert said(schema, "meaning").endswith("."), name
        assert [field.name for field in schema if not said(field, "meaning")] == []


def test_every_setting_is_documented() -> None:
    from trimtab.pulsar.keys import KEYS

    text = (DOCS / "settings.md").read_text(encoding="utf-8")

    assert KEYS
    assert [key for key in KEYS if f"| `{key}` |" not in text] == []


def test_every_rule_is_in_the_table_and_has_its_section() -> None:
    from trimtab.explanation.lint import RULES

    text = (DOCS / "lint.md").read_text(encoding="utf-8")

    assert RULES
    assert set(RULES) == set(re.findall(r"(?m)^### (\S+)$", text))
    assert [code for code in RULES if f"| [{code}](#{code}) |" not in text] == []


def test_every_log_message_is_documented() -> None:
    from trimtab.ingest.messages import MESSAGES

    assert MESSAGES
    assert {message.kind for message in MESSAGES} == headings("log-messages.md")


def test_every_strategy_has_a_page_and_a_line_in_the_list() -> None:
    from tools.strategy_pages import strategies

    listed = (DOCS / "strategies" / "index.md").read_text(encoding="utf-8")

    assert strategies()
    for name in strategies():
        assert (DOCS / "strategies" / f"{name}.md").is_file()
        assert f"({name}.md)" in listed


def test_every_strategy_that_was_recorded_has_examples_and_its_defects_on_its_page() -> None:
    from tools.strategy_pages import EXAMPLES, strategies

    texts = {
        name: (DOCS / "strategies" / f"{name}.md").read_text(encoding="utf-8")
        for name in strategies()
    }
    recorded = {name for name, text in texts.items() if "(../agreement.md)" in text}
    examples = {path.stem for path in EXAMPLES.iterdir()}

    assert recorded
    assert recorded <= examples <= set(texts)
    for name in recorded:
        headings = re.findall(r"(?m)^## (.+)$", texts[name])
        assert {"Settings", "Worked examples", "Known defects"} <= set(headings), name


def test_every_decision_has_its_four_parts_and_is_listed() -> None:
    decisions = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")

    assert decisions
    for i, page in enumerate(decisions, start=1):
        assert page.name.startswith(f"{i:04}-")
        assert f"({page.name})" in index
        text = page.read_text(encoding="utf-8")
        parts = ["Context", "Decision", "Consequences", "What would make us revisit this"]
        assert re.findall(r"(?m)^## (.+)$", text) == parts


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    targets = [link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8"))]
    inside = [target for target in targets if target and "://" not in target]

    assert [target for target in inside if not (page.parent / target).exists()] == []


def test_the_main_pages_have_links() -> None:
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/index.md"):
        assert LINK.search((ROOT / name).read_text(encoding="utf-8")), name


def test_targets_that_the_text_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?m)^([a-z-]+):.*## ", makefile))
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    named = set(re.findall(r"`make ([a-z-]+)`", text))

    assert {"demo", "test", "ci"} <= named
    assert named <= targets


@pytest.mark.slow
def test_generated_pages_are_what_the_code_says_now() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.pages", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
