"""How far a recording was read, as the offset that Spark keeps in a checkpoint.

It is complete: nothing else is needed to read on, or to read the same bytes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

from trimtab.files.fields import FieldError
from trimtab.ingest.accounting import meta_account
from trimtab.ingest.growing.incarnations import (
    HEAD_WINDOW,
    HEADS,
    Copy,
    Incarnation,
    Mark,
    Register,
    Stamp,
)
from trimtab.ingest.growing.plan import Loss
from trimtab.ingest.pipeline import named_rows
from trimtab.ingest.recording import Recording

#: Of what is written here; another one is refused.
_VERSION = 1

#: What JSON has for an object.
Document: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Begun:
    """What recording.toml said when the first line was read: replayed, a line gives the same."""

    name: str
    cluster: str
    time_zone: str
    day: date | None
    meta: Mapping[str, str]
    #: What became of the lines of recording.toml itself, as rows of `files`.
    accounts: Sequence[Mapping[str, Any]]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table `recording`."""
        return named_rows(self.name, self.meta)


@dataclass(frozen=True, slots=True)
class Positions:
    """How far each file of a recording was read."""

    #: None before anything was there.
    begun: Begun | None = None
    register: Register = field(default_factory=Register)
    #: Number of an incarnation → why its unread bytes were given up.
    losses: Mapping[int, str] = field(default_factory=dict)

    def after(self, register: Register, losses: tuple[Loss, ...]) -> Positions:
        """Return the positions with what is known now, and further losses."""
        reasons = {**self.losses, **{loss.number: loss.reason for loss in losses}}
        kept = {number: it for number, it in reasons.items() if number in register.incarnations}
        return replace(self, register=register, losses=kept)


def begun_of(recording: Recording) -> Begun:
    """Return what a recording's lines go by."""
    return Begun(
        recording.name,
        recording.cluster,
        recording.meta.get("time_zone", "UTC"),
        recording.day,
        recording.meta,
        [account.row for account in meta_account(recording)],
    )


def offset_of(positions: Positions, root: Path) -> Document:
    """Return positions as an offset; `positions_of` is its inverse."""
    begun, register = positions.begun, positions.register
    if begun is None:
        return {}
    return {
        "version": _VERSION,
        "path": str(root),
        "recording": {
            "name": begun.name,
            "cluster": begun.cluster,
            "time_zone": begun.time_zone,
            "day": begun.day and begun.day.isoformat(),
            "meta": dict(begun.meta),
            "accounts": list(begun.accounts),
        },
        "files": {
            str(number): _file(each, positions.losses.get(number))
            for number, each in register.incarnations.items()
        },
        "copies": [[it.of, *_stamp(it.stamp), it.is_sure] for it in register.copies],
        "lines": dict(register.lines),
        "next": register.next_number,
    }


def positions_of(offset: Document, root: Path) -> Positions:
    """Return the positions that an offset is.

    Raises:
        FieldError: it is of another recording, or of another trimtab.
    """
    if not offset:
        return Positions()
    if offset.get("version") != _VERSION:
        version = repr(offset.get("version"))
        raise FieldError("the checkpoint's offset", f"version {version}", f"version {_VERSION}")
    if offset["path"] != str(root):
        raise FieldError("path", str(root), f"{offset['path']}, as the checkpoint has it")
    recording = offset["recording"]
    day = recording["day"]
    files = offset["files"]
    return Positions(
        Begun(
            recording["name"],
            recording["cluster"],
            recording["time_zone"],
            day and date.fromisoformat(day),
            recording["meta"],
            recording["accounts"],
        ),
        Register(
            {int(number): _incarnation(int(number), each) for number, each in files.items()},
            tuple(Copy(of, Stamp(*stamp), sure) for of, *stamp, sure in offset["copies"]),
            offset["lines"],
            offset["next"],
        ),
        {int(number): each["lost"] for number, each in files.items() if "lost" in each},
    )


def _file(it: Incarnation, lost: str | None) -> Document:
    document: Document = {
        "name": it.name,
        "source": it.source,
        "log_broker": it.log_broker,
        "family": it.family,
        "place": it.place,
        "stamp": _stamp(it.stamp),
        "offset": it.offset,
        "seen": it.seen,
        # Where each of them stands follows from its number.
        "heads": [mark.digest for mark in it.heads],
    }
    if it.tail is not None:
        document["tail"] = [it.tail.start, it.tail.stop, it.tail.digest]
    if it.gone_at_s is not None:
        document["gone_at_s"] = it.gone_at_s
    if lost is not None:
        document["lost"] = lost
    return document


def _incarnation(number: int, each: Document) -> Incarnation:
    digests = zip(HEADS, each["heads"], strict=False)
    return Incarnation(
        number,
        each["name"],
        each["source"],
        each["log_broker"],
        each["family"],
        each["place"],
        Stamp(*each["stamp"]),
        each["offset"],
        each["seen"],
        tuple(Mark(max(0, stop - HEAD_WINDOW), stop, digest) for stop, digest in digests),
        Mark(*each["tail"]) if "tail" in each else None,
        each.get("gone_at_s"),
        "lost" in each,
    )


def _stamp(stamp: Stamp) -> list[Any]:
    return [stamp.inode, stamp.disk_size, stamp.mtime_ns]
