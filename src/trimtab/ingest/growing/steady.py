"""The next plan out of the files that hold still; the others wait for the next look.

A log that is rotated or truncated just now takes its family out of a plan, and nothing else:
otherwise a recording of many logs, looked at slowly, would never be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from trimtab.ingest.growing.incarnations import FollowedFile, MovedError, Register
from trimtab.ingest.growing.plan import Copied, Limits, Plan, planned
from trimtab.ingest.growing.recognize import recognized


@dataclass(frozen=True, slots=True)
class Planned:
    """What is read next, with what was found when its bytes were taken."""

    plan: Plan
    copied: Mapping[int, Copied]
    #: What is known since the look; its offsets are as before.
    register: Register
    #: Some files moved and wait.
    is_partial: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to do."""
        return not self.plan.ranges and not self.plan.losses


def next_plan(
    register: Register,
    disk: Sequence[FollowedFile],
    limits: Limits,
    now_s: float,
    take: Callable[[Plan], Mapping[int, Copied]],
) -> Planned:
    """Return what is to be read next, and take its bytes; what an earlier take copied is void.

    Properties:
        What is known of a family that moved meanwhile stays as it was, to its last byte.
        It ends: each family is left out once at most.
    """
    families = {it.stamp.inode: it.family for it in disk}
    moving: set[str] = set()
    while True:
        still, waiting, files = _still(register, disk, moving)
        try:
            look = recognized(still, files, now_s)
            plan = planned(look, limits, now_s)
            copied = take(plan) if plan.ranges or plan.losses else {}
        except MovedError as moved:
            moving.add(families[moved.inode])
            continue
        return Planned(plan, copied, _together(look.register, waiting), bool(moving))


def _still(
    register: Register, disk: Sequence[FollowedFile], moving: Set[str]
) -> tuple[Register, Register, Sequence[FollowedFile]]:
    """Return what holds still, what moves, and the still files; a renamed one moves too."""
    waiting = {n: each for n, each in register.incarnations.items() if each.family in moving}
    inodes = {each.stamp.inode for each in waiting.values()}
    files = [it for it in disk if it.family not in moving and it.stamp.inode not in inodes]
    still = {n: each for n, each in register.incarnations.items() if n not in waiting}
    copies = (
        tuple(copy for copy in register.copies if copy.of not in waiting),
        tuple(copy for copy in register.copies if copy.of in waiting),
    )
    return (
        replace(register, incarnations=still, copies=copies[0]),
        replace(register, incarnations=waiting, copies=copies[1]),
        files,
    )


def _together(still: Register, waiting: Register) -> Register:
    incarnations = {**still.incarnations, **waiting.incarnations}
    return replace(
        still,
        incarnations=dict(sorted(incarnations.items())),
        copies=(*still.copies, *waiting.copies),
    )
