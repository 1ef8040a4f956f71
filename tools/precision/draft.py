"""A recording that has been written, taken up again to plant faults in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from tools.precision.truth import Planted
from tools.precision.witness import Witness
from trimtab.lab.simulate.world import Run
from trimtab.trials.record.files import iso, printed

Row = dict[str, Any]
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{3}\+0000 ", re.MULTILINE)


@dataclass(slots=True)
class Draft:
    """The files of a recording, as texts and rows that may still change."""

    root: Path
    run: Run
    witness: Witness
    #: Epoch ms at which the simulation begins, and s that it lasts.
    start_ms: int
    random: np.random.Generator
    planted: list[Planted] = field(default_factory=list)
    #: Folder → (epoch ms, text behind the time), in order.
    logs: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    #: Name of a file of JSON Lines → its rows, if anything asked for them.
    _rows: dict[str, list[Row]] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Read the logs."""
        for path in sorted(self.root.glob("logs/*/pulsar-broker.log")):
            self.logs[path.parent.name] = _lines(path.read_text(encoding="utf-8"))

    @property
    def brokers(self) -> tuple[str, ...]:
        """Name the brokers."""
        return self.witness.brokers

    def folder(self, broker: int) -> str:
        """Return the folder of a broker's log."""
        host = self.brokers[broker].rpartition(":")[0]
        return host if host in self.logs else self.brokers[broker]

    def say(self, broker: int, time_ms: int, said: str) -> None:
        """Have a broker log a line more."""
        self.logs[self.folder(broker)].append((time_ms, said))

    def rewrite(self, broker: int, change: Callable[[int, str], str | None]) -> None:
        """Change the lines of a broker's log; those that become None go."""
        folder = self.folder(broker)
        new = ((time_ms, change(time_ms, said)) for time_ms, said in self.logs[folder])
        self.logs[folder] = [(time_ms, said) for time_ms, said in new if said is not None]

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a file, to be changed."""
        if name not in self._rows:
            text = (self.root / name).read_text(encoding="utf-8")
            self._rows[name] = [json.loads(line) for line in text.splitlines()]
        self._changed.add(name)
        return self._rows[name]

    def plant(self, planted: Planted) -> None:
        """Note what was planted."""
        self.planted.append(planted)

    def leave_open(self, codes: Iterable[str]) -> None:
        """Let causes be found or not: what is planted hides what tells of them."""
        known = frozenset(codes)
        self.planted = [
            replace(each, is_marginal=True) if each.code in known else each for each in self.planted
        ]
        self.planted += [Planted(code, is_marginal=True) for code in sorted(known)]

    def ms(self, time_s: float) -> int:
        """Turn s of the simulation into epoch ms."""
        return self.start_ms + round(time_s * 1000.0)

    def leader(self, time_ms: int) -> int:
        """Return who leads at a time."""
        led = [broker for since, broker in self.witness.elections if since <= time_ms]
        return led[-1] if led else self.witness.elections[0][1]

    def write(self) -> None:
        """Write everything back, and the truth beside it."""
        for folder, lines in self.logs.items():
            lines.sort(key=itemgetter(0))
            times = np.array([time_ms for time_ms, _ in lines], np.int64)
            text = printed(times, [line for _, line in lines])
            (self.root / "logs" / folder / "pulsar-broker.log").write_text(text, encoding="utf-8")
        for name in sorted(self._changed):
            rows = sorted(self._rows[name], key=itemgetter("time"))
            (self.root / name).write_text(_json_lines(rows), encoding="utf-8")
        with (self.root / "lab" / "truth.jsonl").open("a", encoding="utf-8") as file:
            file.write(_json_lines(row.row() for row in self.planted))


def _lines(text: str) -> list[tuple[int, str]]:
    """Split a log at its times; what stands below a line belongs to it."""
    starts = [match.start() for match in _TIME.finditer(text)]
    found = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        stamp, _, said = text[start:end].rstrip("\n").partition(" ")
        found.append((epoch_ms(stamp), said))
    return found


def epoch_ms(stamp: str) -> int:
    """Read a time as the logs have it.

    >>> epoch_ms("1970-01-01T00:00:01,250+0000")
    1250
    """
    moment = datetime.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return round(moment.timestamp()) * 1000 + int(stamp[20:23])


def when(time_ms: int) -> str:
    """Print a time as recorders do."""
    return iso(time_ms)


def _json_lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
