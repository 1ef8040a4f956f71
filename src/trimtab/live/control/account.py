"""What became of each move of a plan, as its journal tells it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from trimtab.live.control import entries
from trimtab.live.control.plan import Plan

#: Nothing was done, or what was done did not move it.
OPEN = "open"
#: Asked for, and not seen anywhere since.
UNDER_WAY = "under way"
#: Seen at its destination.
VERIFIED = "verified"
#: Nothing was to be done.
SKIPPED = "skipped"
#: Seen at another broker than it was meant for.
ASTRAY = "astray"


@dataclass(frozen=True, slots=True)
class MoveAccount:
    """What became of one move."""

    bundle: str
    source: str
    destination: str
    state: str = OPEN
    #: Unloads that were asked for.
    unloads: int = 0
    #: When it was asked for last and when it was seen to have arrived, s since 1970.
    asked_s: float | None = None
    verified_s: float | None = None
    #: Where it is, as far as that was seen.
    owner: str | None = None
    source_percent: float | None = None
    destination_percent: float | None = None
    #: Who owned it when the run ended: empty for nobody, None if that could not be read.
    last_owner: str | None = None
    #: What was not as it should be, or why nothing was done; for a person.
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What became of a plan."""

    plan: str
    moves: tuple[MoveAccount, ...]
    #: Runs that were begun.
    runs: int
    #: Why the last run ended before the plan did; empty if it is done, None if it never said.
    ended: str | None

    @property
    def is_done(self) -> bool:
        """Return whether every move was made or needed none."""
        return self.ended == ""


def in_the_end(done: Account, owners: Mapping[str, str | None]) -> Account:
    """Return an account with who owned each bundle when the run ended, as far as that was read."""
    moves = tuple(
        replace(move, last_owner=owners[move.bundle] or "") if move.bundle in owners else move
        for move in done.moves
    )
    return replace(done, moves=moves)


def open_matters(done: Account) -> tuple[str, ...]:
    """Return what somebody should look at after a run, a few words each; empty if nothing is left.

    A bundle is a matter that was moved and is not where it should be, or nowhere.
    """
    matters = []
    for move in done.moves:
        owner = move.last_owner
        if move.state in {OPEN, SKIPPED} and not move.unloads:
            continue
        if owner == "" or (owner is None and move.state == UNDER_WAY):
            matters.append(
                f"{move.bundle} has no owner that is known: look up one of its topics "
                "(pulsar-admin topics lookup), which gives it one"
            )
        elif owner is not None and owner != move.destination:
            matters.append(
                f"{move.bundle} is at {owner}, not at {move.destination}: it is served there; "
                "plan again if it should still move"
            )
    return tuple(matters)


def account(plan: Plan, journal: Iterable[entries.Entry]) -> Account:
    """Return what became of a plan from its journal alone."""
    moves = [MoveAccount(each.bundle, each.source, each.destination) for each in plan.moves]
    runs, ended = 0, None
    for entry in journal:
        match entry:
            case entries.Begun():
                runs, ended = runs + 1, None
            case entries.Stopped(why=why):
                ended = why
            case entries.Done():
                ended = ""
            case _:
                moves[entry.move] = _after(moves[entry.move], entry)
    return Account(plan.digest, tuple(moves), runs, ended)


def _after(move: MoveAccount, entry: entries.OfMove) -> MoveAccount:
    match entry:
        case entries.Asked():
            count = move.unloads + 1
            return replace(move, state=UNDER_WAY, unloads=count, asked_s=entry.time_s, owner=None)
        case entries.Answered(status=status, text=text):
            # What was refused did nothing, so it is as if it had not been asked for.
            if status == entries.REFUSED:
                return replace(move, state=OPEN, unloads=move.unloads - 1, remark=text)
            return replace(move, remark="" if status == entries.ACCEPTED else text)
        case entries.LookedUp():
            return move
        case entries.Verified():
            there = move.destination
            return replace(move, state=VERIFIED, verified_s=entry.time_s, owner=there, remark="")
        case entries.Astray():
            return replace(move, state=ASTRAY, owner=entry.owner)
        case entries.Skipped():
            return replace(move, state=SKIPPED, remark=entry.why)
        case entries.Effect():
            return replace(
                move,
                source_percent=entry.source_percent,
                destination_percent=entry.destination_percent,
                remark=entry.surprise,
            )
    assert_never(entry)
