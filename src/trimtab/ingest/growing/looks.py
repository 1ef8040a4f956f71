"""Looks at a recording that grows, each with a plan of what is to be read next."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab.ingest.growing.disk import Disk, PackedContent, PlainContent
from trimtab.ingest.growing.incarnations import FollowedFile, Register
from trimtab.ingest.growing.plan import Copied, Limits, Plan
from trimtab.ingest.growing.recognize import Recognized, recognized
from trimtab.ingest.growing.steady import Planned, next_plan

#: Looks after which files that move all the time are left for the next trigger.
_TRIES = 3


@dataclass(slots=True)
class Looks:
    """The files of a recording as they are whenever somebody looks."""

    root: Path
    disk: Disk
    #: Inode → size, of what may be read; None for everything.
    bounds: dict[str, int] | None = field(default=None)

    def bound(self) -> None:
        """Remember what is there now, to read that and nothing that comes later."""
        files = self.disk.look(self.root, time.time())
        self.bounds = {it.stamp.inode: it.stamp.disk_size for it in files}

    def planned(
        self, register: Register, limits: Limits, take: Callable[[Plan], Mapping[int, Copied]]
    ) -> Planned:
        """Return what is to be read next, its bytes taken."""
        for _ in range(_TRIES):
            now_s = time.time()
            it = next_plan(register, self._files(now_s), limits, now_s, take)
            if not (it.is_empty and it.is_partial):
                break
        return it

    def recognized(self, register: Register) -> Recognized:
        """Return where each file that is known stands now, whatever else is there.

        Raises:
            MovedError: the disk changed meanwhile.
        """
        now_s = time.time()
        files = self.disk.look(self.root, now_s, register.incarnations.values())
        return recognized(register, files, now_s)

    def _files(self, now_s: float) -> list[FollowedFile]:
        """Return the files, without what has come since the bounds were taken."""
        files = self.disk.look(self.root, now_s)
        if self.bounds is None:
            return files
        bounds = self.bounds
        return [it for file in files if (it := _up_to(file, bounds.get(file.stamp.inode)))]


def _up_to(file: FollowedFile, size: int | None) -> FollowedFile | None:
    """Return a file without what was added to it; None if it would not be the same."""
    # Packed files do not grow, and may hold what was unread when they were packed.
    if isinstance(file.content, PackedContent):
        return file
    if size is None:
        return None
    if file.stamp.disk_size <= size:
        return file
    if file.is_document or not isinstance(file.content, PlainContent):
        return None
    # With another stamp, so that the rest is noticed later.
    return replace(
        file,
        stamp=replace(file.stamp, disk_size=size),
        content=replace(file.content, size=size),
        is_at_rest=False,
    )
