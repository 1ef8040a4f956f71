"""Commands print names of others as text: no terminal acts on them, no line is broken by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from report_nights import HOSTILE
from trimtab.cli import main
from trimtab.files.visible import visible

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "strategies" / "examples" / "threshold_shedder.jsonl"

#: Those that a file and a command line can hold.
WRITABLE = [each for each in HOSTILE if each != "\ud800"]


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(main, list(arguments), input=given, catch_exceptions=False)


def is_text(result: Result) -> bool:
    return all(each.isprintable() or each in "\n\t" for each in result.stdout + result.stderr)


def with_name(value: Any, old: str, new: str) -> Any:
    """Give a JSON value in which a name is another one, in keys as well."""
    if isinstance(value, dict):
        return {with_name(key, old, new): with_name(each, old, new) for key, each in value.items()}
    if isinstance(value, list):
        return [with_name(each, old, new) for each in value]
    return new if value == old else value


@pytest.mark.parametrize("name", WRITABLE)
def test_a_case_history_names_brokers_and_bundles_as_text(name: str) -> None:
    sequence = json.loads(EXAMPLES.read_text(encoding="utf-8").splitlines()[0])
    broker = next(iter(sequence["rounds"][0]["brokers"]))
    bundle = sequence["rounds"][0]["brokers"][broker]["bundles"][0]
    for old in (broker, bundle):
        result = run("decide", "--explain", given=json.dumps(with_name(sequence, old, name)) + "\n")
        assert is_text(result)
        assert visible(name[:20]) in result.stdout + result.stderr


@pytest.mark.parametrize("name", [each for each in WRITABLE if len(each) < 200])
@pytest.mark.parametrize("command", ["explain", "ingest", "lint", "rerun", "blame", "simulate"])
def test_a_path_that_is_not_there_is_named_as_text(command: str, name: str) -> None:
    more = {
        "ingest": ["-o", "nowhere"],
        "lint": ["--release", "4.0.8"],
        "blame": ["--bundle", name],
        "simulate": ["--strategy", "none"],
    }
    result = run(command, *more.get(command, []), name.replace("/", "-"))
    assert result.exit_code == 2
    assert is_text(result)
