"""docs/threads.md, of what trimtab says to each thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.catalogue import code, table
from tools.threads.cases import ROOT, Claim, Thread
from tools.threads.judging import Share, Verdict, contradictions, on_claim, share, verdict
from tools.threads.replies import Reply

PAGE = ROOT / "docs" / "threads.md"
_BEGIN, _END = "<!-- measured -->", "<!-- end -->"
_TRACKER = "https://github.com/apache/pulsar/issues"
_MARKS = {Share.WHOLE: "said", Share.PART: "said in part", Share.NONE: "not said"}


@dataclass(frozen=True, slots=True)
class Assessment:
    """A thread with the replies to it."""

    thread: Thread
    #: To the material as it was posted.
    first: Reply
    #: To the material with the answers; the first one where there was nothing to ask.
    last: Reply


def rewritten(text: str, assessments: Sequence[Assessment]) -> str:
    """Return the page with the replies in their place.

    Raises:
        ValueError: the page has no place for them.
    """
    head, begin, rest = text.partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name}: expected {_BEGIN} and {_END}")
    return "\n".join([f"{head}{begin}", "", *_measured(assessments), f"{end}{tail}"])


def _measured(assessments: Sequence[Assessment]) -> Iterator[str]:
    yield from _counts(assessments)
    heads = ("thread", "provable", "trimtab says", "as posted", "with the answer")
    yield table(heads, map(_row, assessments))
    if needs := [line for each in assessments for line in _needs(each)]:
        yield "## What the others would need"
        yield ""
        yield from needs
        yield ""
    yield "## Thread by thread"
    yield ""
    for each in assessments:
        yield from _chapter(each)


def _counts(assessments: Sequence[Assessment]) -> Iterator[str]:
    posted = Counter(verdict(each.thread, each.first) for each in assessments)
    last = Counter(verdict(each.thread, each.last) for each in assessments)
    provable = sum(1 for each in assessments if each.thread.provable)
    unread = sum(1 for each in assessments if not each.first.headline)
    yield (
        f"{provable} of {len(assessments)} threads have something provable in them; "
        f"{unread} have not a line that was read as posted."
    )
    yield ""
    rows = [(it.value, str(posted[it]), str(last[it])) for it in Verdict]
    yield table(("verdict", "as posted", "with the answer"), rows)


def _row(assessment: Assessment) -> tuple[str, ...]:
    thread = assessment.thread
    return (
        f"[{thread.number}](#{thread.number})",
        ", ".join(dict.fromkeys(map(_name, thread.provable))) or "–",
        ", ".join(map(code, _codes(assessment))) or "–",
        verdict(thread, assessment.first).value,
        verdict(thread, assessment.last).value if thread.answers else "",
    )


def _name(claim: Claim) -> str:
    """Return the code of a claim, or the place of one for which there is no code yet."""
    return code(claim.codes[0] if claim.codes else claim.place[0])


def _codes(assessment: Assessment) -> list[str]:
    """Return the codes that are said of a night, and those of settings that a claim is about."""
    reply = assessment.last
    statements = [each for each in reply.statements if each.door == "explain"]
    for claim in assessment.thread.provable:
        statements += [each for each in on_claim(claim, reply) if each.door == "lint"]
    return list(dict.fromkeys(each.code for each in statements))


def _needs(assessment: Assessment) -> Iterator[str]:
    for claim in assessment.thread.provable:
        if share(claim, assessment.last) is not Share.WHOLE:
            needs = claim.needs or "not known yet"
            yield f"- [{assessment.thread.number}](#{assessment.thread.number}): {needs}."


def _chapter(assessment: Assessment) -> Iterator[str]:
    thread, first, last = assessment.thread, assessment.first, assessment.last
    release = f", release {thread.release}" if thread.release else ""
    yield f"### {thread.number}"
    yield ""
    yield f"[{thread.title}]({_TRACKER}/{thread.number}){release}."
    yield thread.question
    yield f"Kept: {thread.material}."
    yield ""
    for claim in thread.provable:
        yield f"- *Provable*, {_MARKS[share(claim, last)]}: {claim.what} ({claim.because})."
    yield from (f"- *Not decidable*: {each}." for each in thread.undecidable)
    yield from (f"- *Not to be said*: {each.what}." for each in thread.contradiction)
    yield from (f"- **Said all the same**: {each}." for each in contradictions(thread, last))
    yield ""
    yield from _answer("As posted", first)
    if thread.answers:
        answers = ", ".join(f"{key} = {value}" for key, value in thread.answers.items())
        yield from _answer(f"With {code(answers)}", last)


def _answer(when: str, reply: Reply) -> Iterator[str]:
    yield f"{when}: {reply.headline or 'nothing is explained.'}"
    yield from (f"Not read: {code(each)}." for each in reply.refusals)
    yield ""
