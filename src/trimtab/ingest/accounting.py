"""What became of every line: split by split, file by file, and whether it adds up."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from trimtab.files.errors import TrimtabError
from trimtab.ingest.recording import Recording, UnusedFile
from trimtab.ingest.split_result import CLASSES, PARSED, SplitAccount
from trimtab.ingest.splits import Split

_COUNTS = attrgetter("lines", *CLASSES)
#: From this share of a log's lines on, those without a logger are spoken of.
_NAMELESS_SHARE = 0.01


class IngestError(TrimtabError):
    """Tables cannot be written, or what was written is not what was read."""


@dataclass(frozen=True, slots=True)
class FileAccount:
    """What became of the lines of one file."""

    file: str
    source: str
    lines: int
    rows: int
    other: int
    continuation: int
    rejected: int

    @property
    def row(self) -> dict[str, Any]:
        """Return its row of the table `files`."""
        # A tenth of what `asdict` takes, which copies values that are none to copy.
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Nameless:
    """Lines of a log without a logger: what they say counts for nothing."""

    file: str
    count: int
    lines: int
    #: The first of them.
    examples: Sequence[str]

    @property
    def is_share(self) -> bool:
        """Return whether they are so many that the file was hardly meant to be so."""
        return self.count >= _NAMELESS_SHARE * self.lines

    @property
    def sentence(self) -> str:
        """Return what is said of them."""
        shown = " and ".join(f"“{text}”" for text in self.examples)
        return (
            f"{self.file}: {self.count:,} of {self.lines:,} lines do not say who printed them, "
            f"so they count for nothing: {shown}"
        )


@dataclass(frozen=True, slots=True)
class Accounting:
    """What became of every line of a recording, and of every file."""

    recording: str
    cluster: str
    files: tuple[FileAccount, ...]
    #: Table → rows in it.
    tables: dict[str, int]
    #: The first rows of the table `rejects`.
    rejects: tuple[dict[str, Any], ...]
    unused: tuple[UnusedFile, ...]
    #: Bytes that an earlier run had read, and this one did not parse again.
    bytes_known: int = 0
    #: Files that cannot be read to their end.
    damaged: tuple[str, ...] = ()
    #: Logs some lines of which do not say who printed them.
    nameless: tuple[Nameless, ...] = ()
    #: Sentences on lines that stand in two logs.
    overlaps: tuple[str, ...] = ()

    @property
    def faults(self) -> list[str]:
        """Return a sentence for each file that could not be read, or not to its end."""
        reasons = {row["file"]: row["reason"] for row in reversed(self.rejects)}
        faults = []
        for file in self.files:
            many = f"{file.lines:,} lines" if file.lines != 1 else "1 line"
            if file.rejected and not file.rows + file.other:
                why = f": {reasons[file.file]}" if file.file in reasons else ""
                faults.append(f"{file.file}: none of {many} could be read{why}")
            elif file.file in self.damaged:
                faults.append(f"{file.file}: breaks off after {many}; what followed is not known")
        return [*faults, *(it.sentence for it in self.nameless if it.is_share), *self.overlaps]

    @property
    def totals(self) -> dict[str, int]:
        """Return the number of files, and of lines in all and of each class."""
        sums = {name: sum(getattr(it, name) for it in self.files) for name in ("lines", *CLASSES)}
        return {"files": len(self.files)} | sums


def offsets(splits: Sequence[Split], accounts: Sequence[SplitAccount]) -> dict[int, int]:
    """Return the lines before each split that is not the first of its file."""
    lines_before = {}
    before = 0
    for number, (split, account) in enumerate(zip(splits, accounts, strict=True)):
        if split.start:
            lines_before[number] = before
        before = account.lines + (before if split.start else 0)
    return lines_before


def meta_account(recording: Recording) -> list[FileAccount]:
    """Return the account of recording.toml, which is read when the recording is opened."""
    accounts = []
    for file in recording.files.get("recording", ()):
        lines = [line.strip() for line in file.path.read_text("utf-8-sig").splitlines()]
        rows = sum(1 for line in lines if line and not line.startswith("#"))
        account = FileAccount(file.name, "recording", len(lines), rows, len(lines) - rows, 0, 0)
        accounts.append(account)
    return accounts


def file_accounts(splits: Sequence[Split], accounts: Sequence[SplitAccount]) -> list[FileAccount]:
    """Return the accounts of files, each the sum of its splits."""
    of_splits = zip(splits, accounts, strict=True)
    return [
        FileAccount(
            file, source, *map(sum, zip(*(_COUNTS(account) for _, account in group), strict=True))
        )
        for (source, file), group in itertools.groupby(
            of_splits, key=lambda it: (it[0].source, it[0].origin.file)
        )
    ]


def nameless_of(splits: Sequence[Split], accounts: Sequence[SplitAccount]) -> list[Nameless]:
    """Return the logs that have lines without a logger."""
    logs: dict[str, Nameless] = {}
    for split, account in zip(splits, accounts, strict=True):
        file = split.origin.file
        before = logs.get(file, Nameless(file, 0, 0, ()))
        examples = [*before.examples, *account.nameless_lines][:2]
        count, lines = before.count + account.nameless, before.lines + account.lines
        logs[file] = Nameless(file, count, lines, examples)
    return [log for log in logs.values() if log.count]


def check_lines(files: Iterable[FileAccount]) -> None:
    """Stop if the classes of a file's lines do not add up to its lines.

    Raises:
        IngestError: it says which file, what was found and what was expected.
    """
    for file in files:
        classes = file.rows + file.other + file.continuation + file.rejected
        if file.lines != classes:
            raise IngestError(f"{file.file}: {file.lines} lines, but {classes} accounted for")


def check_rows(
    accounts: Sequence[SplitAccount], task_rows: Mapping[str, int], on_disk: Mapping[str, int]
) -> None:
    """Stop if a row was lost or came twice between a parser and the disk.

    Args:
        accounts: of all splits.
        task_rows: table → rows that the workers have written.
        on_disk: table → rows that are there, those that were there before included.

    Raises:
        IngestError: it says which table, what was found and what was expected.
    """
    for table in PARSED:
        parsed = sum(account.table_rows.get(table, 0) for account in accounts)
        linked = sum(account.table_rows.get(table, 0) for account in accounts if account.is_linked)
        expected = task_rows.get(table, 0) + linked
        if not parsed == expected == on_disk[table]:
            raise IngestError(
                f"table {table}: {parsed} rows parsed, {expected} written, {on_disk[table]} on disk"
            )


def check_bytes(splits: Sequence[Split], accounts: Sequence[SplitAccount]) -> None:
    """Stop if a file changed while it was read, or not each of its bytes was read once.

    A log may grow meanwhile: what is behind the end that it had is for the next run.

    Raises:
        IngestError: it says which file, what was found and what was expected.
    """
    for path, group in itertools.groupby(
        zip(splits, accounts, strict=True), key=lambda it: it[0].path
    ):
        pieces = list(group)
        file, size = pieces[0][0].origin.file, pieces[-1][0].end
        try:
            now = path.stat().st_size
        except OSError as fault:
            raise IngestError(
                f"{file}: it vanished while it was read ({fault.strerror}); "
                "ingest again once nothing is moved or removed in the recording"
            ) from None
        if now < size:
            raise IngestError(
                f"{file}: it shrank from {size} to {now} bytes while it was read; "
                "ingest again once nothing is cut in the recording"
            )
        if any(split.is_gzip or account.is_damaged for split, account in pieces):
            # How many bytes there would be is not known.
            continue
        n_bytes = sum(account.bytes for _, account in pieces)
        # A log that is still written to may have grown by the rest of its last line.
        if n_bytes < size or n_bytes != size == now:
            raise IngestError(f"{file}: {size} bytes, but {n_bytes} read")
