"""Hurt a real cluster of one release while bundles are moved, and write what came of it.

    python -m tools.fault_table 4.0.8              # or: make pulsar-faults RELEASE=4.0.8
    python -m tools.fault_table 4.0.8 -k drained   # some of them, by the words of pytest

The faults are tests/test_pulsar_faults.py and tests/test_pulsar_moves.py; docs/faults.md has of
each release what came of each fault when it was tried last.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from tools.catalogue import table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "faults.md"
_BEGIN, _END = "<!-- tried -->", "<!-- end -->"
_TESTS = ("tests/test_pulsar_faults.py", "tests/test_pulsar_moves.py")
#: By what JUnit's XML has inside a case.
_OUTCOMES = {"failure": "**failed**", "error": "**could not be tried**", "skipped": "left out"}


def outcomes(release: str, chosen: Sequence[str]) -> dict[str, str]:
    """Return what came of each fault that was chosen on brokers of a release."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "faults.xml"
        words = ("-m", "pulsar", "--exhaustive", f"--junitxml={report}")
        environment = os.environ | {"PULSAR_RELEASE": release}
        subprocess.run(
            [sys.executable, "-m", "pytest", *words, *chosen, *_TESTS],
            cwd=ROOT,
            env=environment,
            check=False,
        )
        return outcomes_in(report)


def outcomes_in(report: Path) -> dict[str, str]:
    """Return what came of each test in a report of JUnit's kind, by the words of its name."""
    return dict(_cases(report))


def _cases(report: Path) -> Iterator[tuple[str, str]]:
    for case in ET.parse(report).iter("testcase"):
        name, _, parameter = case.get("name", "").partition("[")
        words = name.removeprefix("test_").replace("_", " ")
        fault = f"{words} ({parameter.rstrip(']')})" if parameter else words
        inside = next((_OUTCOMES[each.tag] for each in case if each.tag in _OUTCOMES), "held")
        yield fault, inside


def columns(page: str) -> dict[str, dict[str, str]]:
    """Return the outcomes that a page has, by release and fault."""
    rows = [re.split(r" *\| *", line.strip("| ")) for line in _between(page).splitlines()]
    rows = [row for row in rows if len(row) > 1 and not set(row[0]) <= {"-", " "}]
    if not rows:
        return {}
    releases = rows[0][1:]
    return {
        release: {row[0]: row[number] for row in rows[1:]}
        for number, release in enumerate(releases, start=1)
    }


def _between(page: str) -> str:
    return page.partition(_BEGIN)[2].partition(_END)[0]


def rewritten(page: str, of_release: Mapping[str, Mapping[str, str]]) -> str:
    """Return a page with the outcomes of some releases in their place, newest release first."""
    every = columns(page)
    for release, each in of_release.items():
        every[release] = {**every.get(release, {}), **each}
    releases = sorted(every, reverse=True)
    faults = list(dict.fromkeys(fault for each in every.values() for fault in each))
    rows = [
        [fault, *(every[release].get(fault, "not tried") for release in releases)]
        for fault in faults
    ]
    head, _, rest = page.partition(_BEGIN)
    text = table(("fault", *releases), rows)
    return f"{head}{_BEGIN}\n\n{text}\n\n{_END}{rest.partition(_END)[2]}"


def main(words: Sequence[str]) -> int:
    """Try the faults on one release; what else is said goes to pytest."""
    release, *chosen = words
    tried = outcomes(release, chosen)
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), {release: tried}), "utf-8")
    print(f"{release}: {sum(each == 'held' for each in tried.values())} of {len(tried)} held")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
