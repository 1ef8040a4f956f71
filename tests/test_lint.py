"""Rules as text files: a conf that each fires on, the nearest one that it spares, and why."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from trimtab.explanation.conf_text import merged, read_conf
from trimtab.explanation.lint import RULES, Conf, Finding, lint, lint_upgrade
from trimtab.explanation.lint.readers import READERS
from trimtab.explanation.lint.traps import TABLES
from trimtab.pulsar.keys import KEYS

TESTDATA = Path(__file__).parent / "testdata" / "lint"
FILES = sorted(TESTDATA.glob("*.txt"))
_COMMAND = re.compile(r"(fires|spares) code=(\S+)")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rules(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, Rules()), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / path.name
    )


def test_every_subject_of_rules_has_its_fixture() -> None:
    assert set(TABLES) == {path.stem for path in FILES}


@pytest.mark.parametrize("command", ["fires", "spares"])
def test_every_rule_has_a_conf_that_it_fires_on_and_one_that_it_spares(command: str) -> None:
    asked = {
        found[2]
        for path in FILES
        for line in path.read_text(encoding="utf-8").splitlines()
        if (found := _COMMAND.match(line)) and found[1] == command
    }

    assert asked == set(RULES)
    assert len(asked) > 50


class Rules:
    """A bench; a method is a command."""

    def fires(self, lines: tuple[str, ...], code: str, release: str, before: str = "") -> str:
        """A rule finds something: what, where, how bad, why and what to write instead."""
        found = _found(code, release, before, lines)
        assert found, f"{code} finds nothing"
        return "\n".join(_told(finding) for finding in found)

    def spares(self, lines: tuple[str, ...], code: str, release: str, before: str = "") -> str:
        """The same rule finds nothing, though it is asked."""
        assert code in RULES
        found = _found(code, release, before, lines)
        assert not found, f"{code} finds {[finding.message for finding in found]}"
        return "nothing"


def _found(code: str, release: str, before: str, lines: tuple[str, ...]) -> list[Finding]:
    confs = _confs(release, lines)
    found = lint_upgrade(confs, before, release) if before else lint(confs)
    return [finding for finding in found if finding.code == code]


def _confs(release: str, lines: tuple[str, ...]) -> list[Conf]:
    """Cut the input where it says `--- name`; `told` is what the broker before tells."""
    parts: list[tuple[str, list[str]]] = [("broker1", [])]
    for line in lines:
        if line.startswith("--- "):
            parts.append((line.removeprefix("--- "), []))
        else:
            parts[-1][1].append(line)
    confs: list[Conf] = []
    for name, text in parts:
        conf = read_conf(name, "\n".join(text).encode())
        if name == "told":
            confs[-1] = merged(confs[-1], conf, release)
        else:
            confs.append(merged(conf, None, release))
    return confs


def _told(finding: Finding) -> str:
    source, line = finding.place
    place = source if line is None else f"{source}:{line}"
    also = "".join(f"\n  also {file}:{number}" for file, number in finding.also)
    return (
        f"{place} {finding.severity.value}: {finding.message}{also}"
        f"\n  why: {finding.why}\n  evidence: {', '.join(finding.evidence)}"
        f"\n  instead: {finding.instead}"
    )


# ------------------------------------------------------------- whatever is written

_RELEASES = ["2.10.4", "3.0.0", "3.0.7", "3.2.3", "3.3.5", "4.0.8", "5.0.0-M1", "5.0.1", "5.0"]
_IMPL = "org.apache.pulsar.broker.loadbalance.impl."
_VALUES = st.one_of(
    st.sampled_from(["true", "false", "yes", "NaN", "Infinity", "-Infinity", "1e308", "-0.0", "0"]),
    st.sampled_from(["2147483647", "-2147483648", "9223372036854775807", "1e-300", "99" * 9]),
    st.sampled_from([f"{_IMPL}{name}" for name in ("AvgShedder", "UniformLoadShedder", "X")]),
    st.sampled_from(
        [
            "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl",
            f"{_IMPL}LeastResourceUsageWithWeight",
            f"{_IMPL}OverloadShedder",
        ]
    ),
    st.integers(-5, 200).map(str),
    st.floats().map(repr),
    st.text(max_size=20).map(lambda text: text.replace("\n", "")),
)


@given(
    written=st.dictionaries(st.sampled_from(sorted(KEYS)), _VALUES, max_size=12),
    release=st.sampled_from(_RELEASES),
    before=st.sampled_from(_RELEASES),
)
@settings(max_examples=100, deadline=None)
def test_whatever_is_written_findings_are_text_that_can_be_shown(
    written: dict[str, str], release: str, before: str
) -> None:
    text = "".join(f"{key}={value}\n" for key, value in written.items())
    confs = [merged(read_conf("broker.conf", text.encode("utf-8", "replace")), None, release)]

    for found in (lint(confs), lint_upgrade(confs, before, release)):
        for finding in found:
            assert finding.message.isprintable()
            assert finding.instead.isprintable()
            assert len(finding.message) < 700
            assert finding.code in RULES


# ---------------------------------------------------------- who reads which key

#: Class of Pulsar's, or the beginning of its name → who reads a key if that class does.
_READERS = {
    "loadbalance.extensions.": "extensible",
    "loadbalance.impl.SimpleLoadManagerImpl": "simple",
    "loadbalance.": "modular",
    # Its tasks are those of the load managers before the extensible one.
    "PulsarService": "modular",
}
_STRATEGIES = {
    f"loadbalance.impl.{name}": name
    for name in (
        "ThresholdShedder",
        "OverloadShedder",
        "UniformLoadShedder",
        "AvgShedder",
        "LeastLongTermMessageRate",
        "LeastResourceUsageWithWeight",
    )
}


def _asks() -> dict[str, list[str]]:
    path = TESTDATA.parent.parent / "golden" / "readers-4.0.8.json"
    asks: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return asks


def _reader(name: str) -> str:
    known = (who for start, who in _READERS.items() if name.startswith(start))
    return _STRATEGIES.get(name) or next(known)


def test_who_reads_a_key_is_who_asks_for_it_in_4_0_8() -> None:
    asks = _asks()
    checked = [key for key in READERS if key in asks]

    assert len(checked) > 30
    for key in checked:
        expected = {_reader(name) for name in asks[key]}
        # SimpleLoadManagerImpl takes over where the modular one leaves off.
        assert set(READERS[key].readers) | {"simple"} == expected | {"simple"}, key
