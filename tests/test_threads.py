"""Users' threads: what is provable in each, held against what trimtab says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import SparkContext

from tools.threads.__main__ import assessments
from tools.threads.cases import CASES, Claim, Contradiction, Thread, threads
from tools.threads.judging import Share, Verdict, share, verdict
from tools.threads.page import PAGE, rewritten
from tools.threads.replies import Reply, Statement
from trimtab.diagnose.findings import FINDINGS
from trimtab.explanation.lint import RULES

NUMBERS = [each.number for each in threads()]


@pytest.mark.spark
def test_the_page_says_what_trimtab_says_of_each_thread(
    spark: SparkContext, tmp_path: Path
) -> None:
    results = assessments(threads(), tmp_path)

    contradicted = [
        each.thread.number
        for each in results
        if Verdict.CONTRADICTED in {verdict(each.thread, it) for it in (each.first, each.last)}
    ]
    assert contradicted == []
    text = PAGE.read_text(encoding="utf-8")
    assert rewritten(text, results) == text, "run `make threads`, and read the difference"


@pytest.mark.parametrize("number", NUMBERS)
def test_every_truth_has_a_reason_and_names_what_there_is(number: int) -> None:
    [thread] = [each for each in threads() if each.number == number]

    assert thread.folder.parent == CASES / str(number)
    assert any(thread.folder.rglob("*.*")), "nothing is kept of what was posted"
    assert thread.undecidable
    assert thread.provable or thread.contradiction
    for claim in thread.provable:
        assert claim.codes or claim.place, claim.what
        assert set(claim.codes) <= (set(FINDINGS) if claim.door == "explain" else set(RULES))
    for each in thread.contradiction:
        assert each.codes or each.headline, each.what
        assert set(each.codes) <= (set(FINDINGS) if each.door == "explain" else set(RULES))


def test_there_are_twenty_threads_and_more() -> None:
    assert len(NUMBERS) >= 20
    assert len(set(NUMBERS)) == len(NUMBERS)


# -------------------------------------------------------------------- judging

CLAIM = Claim(
    what="two bundles are not split",
    because="the leader says so",
    door="explain",
    codes=("split-refused",),
    place=("0x0", "0x8"),
    remedy=("MaximumBundles",),
)


def refusal(bundle: str, advice: str = "Raise MaximumBundles.") -> Statement:
    return Statement("explain", "split-refused", "low", f"{bundle} is over a limit", advice)


def thread(*claims: Claim) -> Thread:
    return Thread(
        number=1,
        title="",
        release="",
        question="",
        material="",
        undecidable=(),
        provable=claims,
        contradiction=(
            Contradiction("that it moved", codes=("ping-pong",), headline="[1-9] moved"),
        ),
    )


def test_a_place_may_be_spread_over_several_findings() -> None:
    assert share(CLAIM, Reply("", (refusal("0x0"), refusal("0x8")), ())) is Share.WHOLE
    assert share(CLAIM, Reply("", (refusal("0x0"),), ())) is Share.NONE


def test_another_remedy_or_severity_is_a_part() -> None:
    reply = Reply("", (refusal("0x0", "Wait."), refusal("0x8", "Wait.")), ())
    grave = Claim(what="", because="", door="explain", codes=CLAIM.codes, severity="high")

    assert share(CLAIM, reply) is Share.PART
    assert share(grave, reply) is Share.PART


def test_a_statement_at_another_door_is_none() -> None:
    settings = Claim(what="", because="", door="lint", place=("0x0",))

    assert share(settings, Reply("", (refusal("0x0"),), ())) is Share.NONE


def test_verdicts() -> None:
    whole = Reply("Nothing moved.", (refusal("0x0"), refusal("0x8")), ())
    other = Claim(what="", because="", door="explain", codes=("two-leaders",))
    ping_pong = Statement("explain", "ping-pong", "low", "", "")

    assert verdict(thread(CLAIM), whole) is Verdict.SOLVED
    assert verdict(thread(CLAIM, other), whole) is Verdict.HALF
    assert verdict(thread(other), whole) is Verdict.NOT
    assert verdict(thread(), whole) is Verdict.NOTHING
    assert verdict(thread(CLAIM), Reply("", (*whole.statements, ping_pong), ())) is (
        Verdict.CONTRADICTED
    )
    assert verdict(thread(CLAIM), Reply("3 moved", whole.statements, ())) is Verdict.CONTRADICTED
