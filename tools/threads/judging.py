"""What trimtab says of a thread, held against what is provable in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, StrEnum

from tools.threads.cases import Claim, Contradiction, Thread
from tools.threads.replies import Reply, Statement


class Verdict(StrEnum):
    """How far a reply answers a thread."""

    SOLVED = "solved"
    HALF = "half"
    NOT = "not"
    CONTRADICTED = "contradicted"
    NOTHING = "nothing provable"


class Share(Enum):
    """How much of a claim is said."""

    WHOLE = "whole"
    #: The cause and the place, but another remedy or another severity.
    PART = "part"
    NONE = "none"


def verdict(thread: Thread, reply: Reply) -> Verdict:
    """Return how far a reply answers a thread: whatever contradicts outweighs the rest."""
    if contradictions(thread, reply):
        return Verdict.CONTRADICTED
    shares = {share(claim, reply) for claim in thread.provable}
    if not shares:
        return Verdict.NOTHING
    if shares == {Share.WHOLE}:
        return Verdict.SOLVED
    return Verdict.NOT if shares == {Share.NONE} else Verdict.HALF


def share(claim: Claim, reply: Reply) -> Share:
    """Return how much of a claim a reply says.

    Words of the place may be spread over several findings of one code, a bundle each.
    """
    statements = on_claim(claim, reply)
    text = "\n".join(each.text for each in statements)
    if not statements or not all(word in text for word in claim.place):
        return Share.NONE
    advice = "\n".join(each.advice for each in statements)
    is_remedy = not claim.remedy or any(word in advice for word in claim.remedy)
    is_grave = not claim.severity or claim.severity in {each.severity for each in statements}
    return Share.WHOLE if is_remedy and is_grave else Share.PART


def on_claim(claim: Claim, reply: Reply) -> list[Statement]:
    """Return what a reply says on a claim: by its codes, or else by any word of its place."""
    own = [each for each in reply.statements if each.door == claim.door]
    if claim.codes:
        return [each for each in own if each.code in claim.codes]
    return [each for each in own if any(word in each.text for word in claim.place)]


def contradictions(thread: Thread, reply: Reply) -> list[str]:
    """Return what a reply says against the material: codes, and the headline."""
    return [word for each in thread.contradiction for word in _against(each, reply)]


def _against(contradiction: Contradiction, reply: Reply) -> Iterator[str]:
    for statement in reply.statements:
        if statement.door == contradiction.door and statement.code in contradiction.codes:
            yield statement.code
    if contradiction.headline and re.search(contradiction.headline, reply.headline):
        yield reply.headline
