"""A page is made of a night with any cause, each planted in a simulated cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from report_nights import render
from tools.precision.families import FAMILIES, case
from tools.precision.recorded import judged

#: A seed of those that the families were written on.
SEED = 1


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_cause_of_a_night_stands_on_its_page(family: str, tmp_path: Path) -> None:
    findings = judged(case(family, SEED), tmp_path / "night").explained.document
    page = render(findings, {})

    codes = {each["code"] for each in findings["findings"]}
    assert codes
    assert {code for code in codes if f"{code}.md" not in page} == set()
