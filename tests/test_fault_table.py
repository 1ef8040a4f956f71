"""The table of faults keeps what was tried before, and says of each fault what came of it."""

from __future__ import annotations

from pathlib import Path

from tools.fault_table import PAGE, columns, outcomes_in, rewritten

REPORT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.a" name="test_trimtab_is_killed[begun]" time="1"/>
<testcase classname="tests.a" name="test_the_leader_is_drained"><failure message="m"/></testcase>
<testcase classname="tests.a" name="test_no_cluster" time="1"><error message="m"/></testcase>
<testcase classname="tests.a" name="test_left_out" time="1"><skipped message="m"/></testcase>
</testsuite></testsuites>
"""


def test_each_case_has_its_outcome(tmp_path: Path) -> None:
    report = tmp_path / "faults.xml"
    report.write_text(REPORT)

    assert outcomes_in(report) == {
        "trimtab is killed (begun)": "held",
        "the leader is drained": "**failed**",
        "no cluster": "**could not be tried**",
        "left out": "left out",
    }


def test_what_is_tried_again_replaces_what_came_of_it_before() -> None:
    page = "Head.\n\n<!-- tried -->\n<!-- end -->\n\nTail.\n"
    first = rewritten(page, {"4.0.8": {"a": "held", "b": "**failed**"}})
    second = rewritten(first, {"3.0.7": {"a": "held", "c": "held"}})
    third = rewritten(second, {"4.0.8": {"b": "held"}})

    assert columns(first) == {"4.0.8": {"a": "held", "b": "**failed**"}}
    assert columns(third) == {
        "4.0.8": {"a": "held", "b": "held", "c": "not tried"},
        "3.0.7": {"a": "held", "b": "not tried", "c": "held"},
    }
    assert third.startswith("Head.\n")
    assert third.endswith("Tail.\n")


def test_the_page_has_what_was_tried() -> None:
    tried = columns(PAGE.read_text(encoding="utf-8"))

    assert "4.0.8" in tried
    assert all(len(faults) > 20 for faults in tried.values())
