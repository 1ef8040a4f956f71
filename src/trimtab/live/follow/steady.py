"""The next plan out of the files that hold still; the others wait for the next look.

A log that is rotated or truncated just now takes its family out of a plan, and nothing else:
otherwise a recording of many logs, looked at slowly, would never be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from trimtab.live.follow.incarnations import Known, MovedError, Standing
from trimtab.live.follow.plan import Copied, Limits, Plan, planned
from trimtab.live.follow.recognize import recognized


@dataclass(frozen=True, slots=True)
class Planned:
    """What is read next, with what was found when its bytes were taken."""

    plan: Plan
    copied: Mapping[int, Copied]
    #: What is known since the look; its offsets are as before.
    known: Known
    #: Some files moved and wait.
    is_partial: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to do."""
        return not self.plan.ranges and not self.plan.losses


def next_plan(
    known: Known,
    disk: Sequence[Standing],
    limits: Limits,
    now_s: float,
    take: Callable[[Plan], Mapping[int, Copied]],
) -> Planned:
    """Return what is to be read next, and take its bytes.

    Args:
        known: what was known after the look before.
        disk: all files that are to be followed.
        limits: how much, and how long to wait.
        now_s: seconds since 1970.
        take: copies the bytes of a plan; what an earlier call copied counts no more.

    Properties:
        What is known of a family that moved meanwhile stays as it was, to its last byte.
        It ends: each family is left out once at most.
    """
    families = {it.stamp.inode: it.family for it in disk}
    moving: set[str] = set()
    while True:
        still, left, files = _still(known, disk, moving)
        try:
            found = recognized(still, files, now_s)
            plan = planned(found, limits, now_s)
            copied = take(plan) if plan.ranges or plan.losses else {}
        except MovedError as moved:
            moving.add(families[moved.inode])
            continue
        return Planned(plan, copied, _together(found.known, left), bool(moving))


def _still(
    known: Known, disk: Sequence[Standing], moving: Set[str]
) -> tuple[Known, Known, Sequence[Standing]]:
    """Part what holds still from what moves; a file that was renamed out of a family moves too."""
    left = {n: each for n, each in known.incarnations.items() if each.family in moving}
    inodes = {each.stamp.inode for each in left.values()}
    files = [it for it in disk if it.family not in moving and it.stamp.inode not in inodes]
    kept = {n: each for n, each in known.incarnations.items() if n not in left}
    copies = (
        tuple(copy for copy in known.copies if copy.of not in left),
        tuple(copy for copy in known.copies if copy.of in left),
    )
    return (
        replace(known, incarnations=kept, copies=copies[0]),
        replace(known, incarnations=left, copies=copies[1]),
        files,
    )


def _together(found: Known, left: Known) -> Known:
    incarnations = {**found.incarnations, **left.incarnations}
    return replace(
        found,
        incarnations=dict(sorted(incarnations.items())),
        copies=(*found.copies, *left.copies),
    )
