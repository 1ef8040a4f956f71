"""Whatever happens to a log, and whenever its follower dies, each line is read once."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from tests.follow_disk import Folder
from trimtab.live.follow.ledger import register_of

#: What happens, and how much of it.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 6)),
        st.tuples(st.just("tear"), st.integers(1, 50)),
        st.tuples(st.sampled_from(["rename", "copytruncate", "pack", "look", "die"]), st.just(0)),
        st.tuples(st.just("wait"), st.integers(1, 30)),
        st.tuples(st.just("limit"), st.integers(1, 400)),
    ),
    max_size=40,
)


class Log:
    """A log that is written to and rotated, and whoever follows it."""

    def __init__(self) -> None:
        self.folder = Folder()
        self.folder.new(name="a.log")
        self.written: list[str] = []
        self.read: list[str] = []
        self.rest = ""
        self.rotated = 0
        #: What a follower that dies finds when it begins again.
        self.kept = self.folder.register

    def do(self, what: str, much: int) -> None:
        getattr(self, what)(much)

    def write(self, n: int) -> None:
        lines = [
            f"06:00:{i:09} a line of this log"
            for i in range(len(self.written), len(self.written) + n)
        ]
        self.written += lines
        self._append(self.rest + "".join(f"{line}\n" for line in lines))
        self.rest = ""

    def tear(self, cut: int) -> None:
        """Write a line of which the end comes later."""
        self.write(1)
        file = self.folder.files["a.log"]
        cut = min(cut, len(self.written[-1]))
        self.rest = file.held[-cut:].decode()
        file.held = file.held[:-cut]

    def rename(self, _: int) -> None:
        self._end()
        self._shift()
        self.folder.rename(name="a.log", to="a.log.1")
        self.folder.new(name="a.log")

    def copytruncate(self, _: int) -> None:
        self._end()
        self._shift()
        self.folder.copy(name="a.log", to="a.log.1")
        self.folder.truncate(name="a.log")

    def pack(self, _: int) -> None:
        name = f"a.log.{self.rotated}"
        if name in self.folder.files:
            self.folder.pack(name=name, to=f"{name}.gz")
            self.folder.remove(name=name)

    def wait(self, s: int) -> None:
        self.folder.wait(s=str(s))

    def limit(self, size: int) -> None:
        self.folder.limit(bytes=str(size))

    def look(self, _: int) -> None:
        """Read one batch; what is known then is on the disk."""
        before = self.folder.register
        for line in self.folder.batch().splitlines():
            self.read.append(line.partition(": ")[2].removesuffix("$"))
            assert "LOST" not in line
        self.folder.wait(s="1")
        if self.folder.register.lines != before.lines:
            self.kept = register_of(json.loads(json.dumps(asdict(self.folder.register))))

    def die(self, _: int) -> None:
        """Forget what was not written down."""
        self.folder.register = self.kept

    def finish(self) -> None:
        self._end()
        self.wait(100)
        for _ in range(3 * len(self.written) + 5):
            self.look(0)

    def _append(self, text: str) -> None:
        file = self.folder.files["a.log"]
        file.held += text.encode()
        file.mtime_s = self.folder.now_s

    def _end(self) -> None:
        if self.rest:
            self._append(self.rest)
            self.rest = ""

    def _shift(self) -> None:
        for number in range(self.rotated, 0, -1):
            for suffix in ("", ".gz"):
                if f"a.log.{number}{suffix}" in self.folder.files:
                    self.folder.rename(
                        name=f"a.log.{number}{suffix}", to=f"a.log.{number + 1}{suffix}"
                    )
        self.rotated += 1


@given(steps=STEPS)
def test_each_line_is_read_once(steps: list[tuple[str, int]]) -> None:
    log = Log()
    for what, much in steps:
        log.do(what, much)
    log.finish()

    assert Counter(log.written) == Counter(log.read)


@given(steps=STEPS)
def test_lines_are_numbered_through(steps: list[tuple[str, int]]) -> None:
    log = Log()
    for what, much in steps:
        log.do(what, much)
    log.finish()

    assert len(log.written) == sum(log.folder.register.lines.values())
