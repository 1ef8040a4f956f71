"""A recording's files as text: what a follower makes of whatever happens to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from trimtab.ingest.growing.disk import DOCUMENTS, digest
from trimtab.ingest.growing.incarnations import FollowedFile, MovedError, Register, Stamp
from trimtab.ingest.growing.items import copied_range, items_of
from trimtab.ingest.growing.plan import Copied, Limits, Plan, advanced
from trimtab.ingest.growing.steady import next_plan
from trimtab.ingest.recording import log_stem

#: Stands at the end of a line in a fixture; a line without it is torn.
END = "$"


@dataclass(frozen=True)
class TextContent:
    """Bytes that are not on a disk."""

    held: bytes
    fault: str | None = None
    #: It is gone by the time at which it is read.
    moved: MovedError | None = None

    @property
    def size(self) -> int:
        return len(self.held)

    def digest(self, start: int, stop: int) -> str:
        return digest(self.chunks(start, stop))

    def chunks(self, start: int, stop: int) -> Iterator[bytes]:
        if self.moved:
            raise self.moved
        yield self.held[start:stop]

    def line_end(self, start: int, stop: int) -> int | None:
        before = self.held.rfind(b"\n", start, stop)
        end = before if before >= 0 else self.held.find(b"\n", stop)
        return end + 1 if end >= 0 else None


@dataclass
class File:
    """A file of the fixture."""

    inode: int
    held: bytes
    mtime_s: int
    is_packed: bool = False
    fault: str | None = None
    is_moving: bool = False


@dataclass
class Folder:
    """A folder whose files change, and a follower that looks at it when it is told to."""

    now_s: int = 0
    next_inode: int = 1
    files: dict[str, File] = field(default_factory=dict)
    register: Register = field(default_factory=Register)
    limits: Limits = field(default_factory=lambda: Limits(1 << 20, 10.0))

    def new(self, lines: tuple[str, ...] = (), *, name: str) -> str:
        """Make a file."""
        self._put(name, _bytes(lines))
        return ""

    def add(self, lines: tuple[str, ...], *, name: str) -> str:
        """Append to a file."""
        file = self.files[name]
        file.held += _bytes(lines)
        file.mtime_s = self.now_s
        return ""

    def rename(self, *, name: str, to: str) -> str:
        self.files[to] = self.files.pop(name)
        return ""

    def copy(self, *, name: str, to: str, bytes: str = "") -> str:
        """Copy a file, or its first bytes."""
        held = self.files[name].held
        self._put(to, held[: int(bytes)] if bytes else held)
        return ""

    def pack(self, *, name: str, to: str, bytes: str = "") -> str:
        """Write a packed copy of a file; of one that is damaged only some bytes come out."""
        held = self.files[name].held
        self._put(to, held[: int(bytes)] if bytes else held)
        self.files[to].is_packed = True
        self.files[to].fault = "the gzip data is cut off" if bytes else None
        return ""

    def truncate(self, *, name: str) -> str:
        self.files[name].held = b""
        self.files[name].mtime_s = self.now_s
        return ""

    def remove(self, *, name: str) -> str:
        del self.files[name]
        return ""

    def reuse(self, lines: tuple[str, ...], *, name: str, of: str) -> str:
        """Remove a file and make another that gets its inode."""
        inode = self.files.pop(of).inode
        self.files[name] = File(inode, _bytes(lines), self.now_s)
        return ""

    def move(self, *, name: str, until: str = "") -> str:
        """Have a file moved whenever it is read; with `until` it holds still again."""
        self.files[name].is_moving = not until
        return ""

    def limit(self, *, bytes: str) -> str:
        """Let a batch have so many bytes."""
        self.limits = Limits(int(bytes), self.limits.rest_s)
        return ""

    def wait(self, *, s: str) -> str:
        self.now_s += int(s)
        return ""

    def look(self) -> str:
        """Read until there is nothing left; a rule stands between batches."""
        batches = [*iter(self.batch, "")]
        return "\n--\n".join(batches) if batches else "nothing"

    def standing(self) -> str:
        """Say what is known."""
        return "\n".join(
            f"{it.number} {it.name}: {it.offset} of {it.seen} bytes, "
            + (f"in {it.place}" if it.gone_at_s is None else "gone")
            for it in self.register.incarnations.values()
        )

    def _put(self, name: str, held: bytes) -> None:
        self.files[name] = File(self.next_inode, held, self.now_s)
        self.next_inode += 1

    def batch(self) -> str:
        taken: dict[int, bytes] = {}

        def take(plan: Plan) -> dict[int, Copied]:
            taken.clear()
            copied = {}
            for it in plan.ranges:
                pieces: list[bytes] = []
                copied[it.number] = copied_range(it, pieces.append)
                taken[it.number] = b"".join(pieces)
            return copied

        found = next_plan(self.register, self._disk(), self.limits, self.now_s, take)
        plan, copied = found.plan, found.copied
        items = items_of(plan, copied, found.register)
        self.register = advanced(found.register, plan, copied)
        texts = [*taken.values(), *(None for _ in plan.losses)]
        return "\n".join(
            line
            for item, text in zip(items, texts, strict=True)
            for line in _shown(item.name, item.before, text, item.lost)
        )

    def _disk(self) -> list[FollowedFile]:
        youngest: dict[str, int] = {}
        for name, file in self.files.items():
            family = _family(name)
            if not file.is_packed:
                youngest[family] = max(youngest.get(family, 0), file.mtime_s)
        return [
            FollowedFile(
                name=name,
                source=_source(name),
                log_broker="",
                family=_family(name),
                stamp=Stamp(str(file.inode), len(file.held), file.mtime_s),
                is_at_rest=self.now_s - file.mtime_s >= self.limits.rest_s,
                is_final=file.is_packed or file.mtime_s < youngest.get(_family(name), 0),
                is_document=_source(name) in DOCUMENTS,
                content=TextContent(
                    file.held,
                    file.fault,
                    MovedError(name, str(file.inode)) if file.is_moving else None,
                ),
            )
            for name, file in sorted(self.files.items())
        ]


def _bytes(lines: tuple[str, ...]) -> bytes:
    return "".join(
        line.removesuffix(END) + "\n" if line.endswith(END) else line for line in lines
    ).encode()


def _source(name: str) -> str:
    if name.endswith(".conf"):
        return "conf"
    return "log" if ".log" in name else "actions"


def _family(name: str) -> str:
    plain = name.removesuffix(".gz")
    return log_stem(plain) if _source(name) == "log" else plain


def _shown(name: str, before: int, text: bytes | None, lost: str | None) -> Iterator[str]:
    if text is None:
        yield f"{name} {before + 1}: LOST {lost}"
        return
    for number, line in enumerate(text.decode().splitlines(keepends=True), before + 1):
        yield f"{name} {number}: {line[:-1] + END if line.endswith(chr(10)) else line}"
