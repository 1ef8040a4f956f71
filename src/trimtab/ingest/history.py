"""What a folder of tables knows of the recordings that are in it: accounting.json."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from trimtab.files.partitions import escaped, part_files
from trimtab.files.version import __version__
from trimtab.ingest.accounting import Accounting
from trimtab.ingest.folder import MARKER
from trimtab.ingest.parts import Place
from trimtab.ingest.pieces import EarlierPiece, Group, Piece
from trimtab.ingest.recording import Recording
from trimtab.ingest.split_result import CLASSES, PARSED, SplitAccount
from trimtab.ingest.splits import Split, pack
from trimtab.ingest.wrapped.lines_by_broker import SOURCE as WRAPPED
from trimtab.spark.program import digest

#: What is known of a split.
_KEPT = (
    *("end", "digest", "bytes", "is_damaged", "lines", *CLASSES, "table_rows"),
    *("nameless", "nameless_lines"),
)
#: What makes a split the same one in another run.
_Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier run has written of a recording; nothing, unless it read as this one does."""

    known: Mapping[_Key, EarlierPiece] = field(default_factory=dict)
    #: Number of a part → its splits.
    parts: Mapping[int, Sequence[_Key]] = field(default_factory=dict)

    def without(self, source: str) -> Earlier:
        """Return it without what was read as `source`."""
        return replace(self, known={k: v for k, v in self.known.items() if k[0] != source})

    def part(self, group: Sequence[Split]) -> int | None:
        """Return the part that holds exactly these splits, so far as they go by name."""
        keys = [_key(split) for split in group]
        if not all(key in self.known for key in keys):
            return None
        return next((number for number, those in self.parts.items() if those == keys), None)


def read_as(recording: Recording) -> str:
    """Return a digest of all that decides what a line means but the line itself."""
    days = [(file.name, file.day) for file in recording.files.get("log", ()) if file.day]
    root = recording.meta.get("store_root", "")
    shared = [(file.name, file.shared) for file in recording.files.get(WRAPPED, ()) if file.shared]
    circumstances = (recording.zone, recording.day, root, *days, *shared)
    whole = "\n".join([digest(), pa.__version__, *map(str, circumstances)])
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def entries(tables: Path) -> list[dict[str, Any]]:
    """Return what a folder says of its recordings; nothing if it says nothing that we know."""
    try:
        document = json.loads((tables / MARKER).read_text(encoding="utf-8"))
        return [entry for entry in document["recordings"] if entry["cluster"] and entry["pieces"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def write_entries(folder: Path, recordings: Iterable[Mapping[str, Any]]) -> None:
    """Write down what a folder holds, which also marks it as ours."""
    ordered = sorted(recordings, key=lambda entry: (entry["cluster"], entry["recording"]))
    document = {"trimtab": __version__, "recordings": ordered}
    # Python's own indenting takes ten times as long, and there is a piece for each file.
    text = msgspec.json.format(json.dumps(document, ensure_ascii=False), indent=1)
    (folder / MARKER).write_text(text + "\n", encoding="utf-8")


def entry(
    accounting: Accounting,
    groups: Sequence[Group],
    accounts: Sequence[SplitAccount],
    how: str,
) -> dict[str, Any]:
    """Return what is known of a recording once its tables are written."""
    return {
        "cluster": accounting.cluster,
        "recording": accounting.recording,
        "totals": accounting.totals,
        "tables": accounting.tables,
        "unused": [asdict(file) for file in accounting.unused],
        "read_as": how,
        "pieces": [
            _piece_entry(number, piece.split, accounts[piece.number])
            for number, group in enumerate(groups)
            for piece in group.pieces
        ],
    }


def _piece_entry(part: int, split: Split, account: SplitAccount) -> dict[str, Any]:
    source, file, start = _key(split)
    return {
        "source": source,
        "file": file,
        "start": start,
        "part": part,
        **{name: getattr(account, name) for name in _KEPT},
        "table_rows": dict(sorted(account.table_rows.items())),
    }


def earlier(tables: Path, place: Place, how: str) -> Earlier:
    """Return what an earlier run has written of a recording and what can be relied on.

    Args:
        tables: folder as it is.
        place: names the recording.
        how: from `read_as`; what was read in another way counts for nothing.
    """
    mine = (place.cluster, place.recording, how)
    for recording in entries(tables):
        if (recording["cluster"], recording["recording"], recording.get("read_as")) == mine:
            return _earlier(recording["pieces"], _own_parts(tables, place))
    return Earlier()


def _earlier(
    pieces: Sequence[Mapping[str, Any]], files: Mapping[int, list[tuple[str, Path]]]
) -> Earlier:
    pieces_by_key = {}
    parts: dict[int, list[_Key]] = {}
    before = 0
    for piece in pieces:
        key = (piece["source"], piece["file"], piece["start"])
        before = before if piece["start"] else 0
        parts.setdefault(piece["part"], []).append(key)
        if piece["digest"] and not piece["is_damaged"]:
            account = SplitAccount(**{name: piece[name] for name in _KEPT})
            pieces_by_key[key] = EarlierPiece(account, before, files.get(piece["part"], []))
        before += piece["lines"]
    return Earlier(pieces_by_key, parts)


def _own_parts(tables: Path, place: Place) -> dict[int, list[tuple[str, Path]]]:
    """Return the files of a recording's rows by the number of their part."""
    files: dict[int, list[tuple[str, Path]]] = {}
    for table in PARSED:
        for path in part_files(tables, table, place.cluster):
            number = own_part(path, place)
            if number is not None:
                files.setdefault(number, []).append((table, path))
    return files


def own_part(path: Path, place: Place) -> int | None:
    """Return the number of a recording's part by its file's name; None if it is not its."""
    head = re.escape(f"part-{escaped(place.recording)}-")
    match = re.fullmatch(rf"{head}(\d{{5,}})\.parquet", path.name)
    return int(match[1]) if match else None


def plan(splits: Sequence[Split], earlier_run: Earlier) -> list[Group]:
    """Return splits packed into the groups of parts, each with what is known of it."""
    numbers = itertools.count()
    groups = []
    for task in pack(splits):
        pieces = tuple(Piece(next(numbers), it, earlier_run.known.get(_key(it))) for it in task)
        groups.append(Group(pieces, earlier_run.part(task)))
    return groups


def _key(split: Split) -> _Key:
    return split.source, split.origin.file, split.start
