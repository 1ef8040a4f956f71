"""A recording that lives: `python follow_writer.py FOLDER SEED`, until standard input ends.

Logs grow, are torn, rotated by rename or copytruncate, and packed; other files grow and
appear.  No line is lost by what is done here.  At the end every line has its end, and a line
of JSON says what was written.
"""

from __future__ import annotations

import gzip
import json
import random
import select
import shutil
import sys
from pathlib import Path

_LOGGER = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
_FRAME = "\tat org.apache.pulsar.broker.PulsarService.start(PulsarService.java:1)"
_RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
_TICK_S = 0.1
#: Rotations of a log that come quickly; those after them are rare.
_OFTEN = 20


class Log:
    """A broker's log, and those that it was before."""

    def __init__(self, folder: Path, broker: str, dice: random.Random) -> None:
        self.path = folder / "logs" / broker / "broker.log"
        self.path.parent.mkdir(parents=True)
        self.broker = broker
        self.dice = dice
        self.file = self.path.open("ab", buffering=0)
        self.rotated = 0
        #: The rest of a line that is torn.
        self.rest = b""

    def write(self, text: bytes) -> None:
        """Write lines, the last of them perhaps in two pieces, the second one later."""
        text = self.rest + text
        cut = self.dice.randrange(len(text)) if self.dice.random() < 0.5 else len(text)
        cut = max(cut, len(self.rest))
        self.file.write(text[:cut])
        self.rest = text[cut:]

    def finish(self) -> None:
        """Write what is missing of the last line."""
        self.file.write(self.rest)
        self.rest = b""

    def rename(self) -> None:
        """Rotate by rename: a torn line gets its end under the old file's new name."""
        self._shift()
        self.path.rename(self._old(1))
        if self.dice.random() < 0.5:
            old, self.file = self.file, self.path.open("ab", buffering=0)
            old.write(self.rest)
            self.rest = b""
            old.close()
        else:
            self.finish()
            self.file = self.path.open("ab", buffering=0)

    def copytruncate(self) -> None:
        """Rotate by copying and truncating, the copy written in pieces."""
        self.finish()
        self._shift()
        with self.path.open("rb") as original, self._old(1).open("wb", buffering=0) as copy:
            while chunk := original.read(self.dice.randrange(1, 20_000)):
                copy.write(chunk)
        self.file.truncate(0)

    def pack(self) -> None:
        """Pack the oldest that is not packed, and remove it only then."""
        plain = self._old(self.rotated)
        if self.rotated and plain.exists():
            with plain.open("rb") as original, gzip.open(f"{plain}.gz", "wb") as packed:
                shutil.copyfileobj(original, packed, 4096)
            plain.unlink()

    def _old(self, number: int) -> Path:
        return self.path.with_name(f"broker.log.{number}")

    def _shift(self) -> None:
        for number in range(self.rotated, 0, -1):
            for suffix in ("", ".gz"):
                old = Path(f"{self._old(number)}{suffix}")
                if old.exists():
                    old.rename(f"{self._old(number + 1)}{suffix}")
        self.rotated += 1


class Cluster:
    """Everything that is written, and how much of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.dice = random.Random(seed)
        self.logs = [Log(folder, "b0", self.dice)]
        self.told = {"lines": 0, "unloads": 0, "actions": 0, "samples": 0, "reports": 0}
        self.time_ms = 0

    def tick(self) -> None:
        """Let a moment pass."""
        for log in self.logs:
            self._grow(log)
            draw = self.dice.random()
            # Each rotation renames all old logs, and a long run would do nothing else.
            often = 1.0 if log.rotated < _OFTEN else 0.1
            if draw < 0.03 * often:
                log.rename()
            elif draw < 0.06 * often:
                log.copytruncate()
            elif draw < 0.12:
                log.pack()
        if len(self.logs) < 4 and self.dice.random() < 0.02:
            self.logs.append(Log(self.folder, f"b{len(self.logs)}", self.dice))
        if self.dice.random() < 0.3:
            self._act()
        if self.dice.random() < 0.1:
            self._scrape()
        if self.dice.random() < 0.3:
            self._report()

    def finish(self) -> None:
        """Write the ends of all lines."""
        for log in self.logs:
            log.finish()

    def _grow(self, log: Log) -> None:
        lines = []
        for _ in range(self.dice.randrange(1, 25)):
            draw = self.dice.random()
            if draw < 0.3:
                bundle = f"t/n/0x{self.told['unloads']:08x}_0xffffffff"
                text = f"[ThresholdShedder] Unloading bundle: {bundle} from broker {log.broker}:1"
                lines.append(f"{self._prefix()} {_LOGGER} - {text}")
                self.told["unloads"] += 1
            elif draw < 0.5:
                lines.append(_FRAME)
            else:
                lines.append(f"{self._prefix()} x.Y - {'z' * self.dice.randrange(300)}")
        self.told["lines"] += len(lines)
        log.write("".join(f"{line}\n" for line in lines).encode())

    def _prefix(self) -> str:
        self.time_ms += 1
        second, ms = divmod(self.time_ms, 1000)
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02},{ms:03}"
        return f"2026-11-21T{clock}+0000 [pulsar-load-manager-1-1] INFO "

    def _act(self) -> None:
        entry = {"time": self.told["actions"], "event": f"e{self.told['actions']}"}
        with (self.folder / "actions.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self.told["actions"] += 1
        self.told["lines"] += 1

    def _report(self) -> None:
        n = self.told["reports"]
        used = {name: {"usage": 0.0, "limit": 100.0} for name in _RESOURCES}
        used["cpu"]["usage"] = 100 * self.dice.random()
        report = {
            **used,
            **dict.fromkeys(
                ("msgThroughputIn", "msgThroughputOut", "msgRateIn", "msgRateOut"), 1.5
            ),
            "numTopics": 1,
            "lastUpdate": 1795212000000 + 20_000 * n,
            "lastStats": {},
            "bundles": [],
        }
        entry = {"time": 1795212000000 + 20_000 * n, "broker": f"b{n % 3}:8080", "report": report}
        with (self.folder / "load-reports.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self.told["reports"] += 1
        self.told["lines"] += 1

    def _scrape(self) -> None:
        folder = self.folder / "metrics" / "b0"
        folder.mkdir(parents=True, exist_ok=True)
        n = self.told["samples"]
        lines = ["# HELP the same head in all of them", f"pulsar_lb_cpu_usage {n}"]
        (folder / f"{1795212000000 + n}.prom").write_text("".join(f"{it}\n" for it in lines))
        self.told["samples"] += 1
        self.told["lines"] += len(lines)


def main() -> None:
    """Write until standard input ends."""
    cluster = Cluster(Path(sys.argv[1]), int(sys.argv[2]))
    while not select.select([sys.stdin], [], [], _TICK_S)[0]:
        cluster.tick()
    cluster.finish()
    sys.stdout.write(json.dumps(cluster.told))


if __name__ == "__main__":
    main()
