"""Follows a recording that lives, and kills whoever follows, again and again.

`python follow_kills.py FOLDER KILLS SEED` prints how it went; tests do the same for less long.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from trimtab.live.follow import Batches
from trimtab.live.follow.broker_totals import Fact, Running, folded
from trimtab.live.follow.facts import facts_of
from trimtab.live.follow.pipeline import leader_followed
from trimtab.live.follow.state import read_state

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
#: Batches that a follower stores before it is killed: enough for every part of it to have run.
_BATCHES = 2
#: A machine that is shared may take minutes to start Java.
_PATIENCE_S = 600.0
_VICTIMS = ("driver", "java", "worker")


@dataclass
class Run:
    """A recording, its tables, and everybody who was started for them."""

    folder: Path
    seed: int
    dice: random.Random = field(init=False)
    started: set[int] = field(default_factory=set)
    killed: Counter[str] = field(default_factory=Counter)
    #: Whoever follows now, or did last.
    follower: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.recording.mkdir(parents=True)

    @property
    def recording(self) -> Path:
        return self.folder / "recording"

    @property
    def tables(self) -> Path:
        return self.folder / "tables"

    def kill_often(self, kills: int) -> dict[str, int]:
        """Let a writer write while followers come and go.

        Returns:
            What was written.
        """
        writer = subprocess.Popen(
            [sys.executable, str(HERE / "follow_writer.py"), str(self.recording), str(self.seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        victims = [_VICTIMS[i % len(_VICTIMS)] for i in range(kills)]
        self.dice.shuffle(victims)
        try:
            for victim in victims:
                begin_s = time.monotonic()
                self._follow_and_kill(victim)
                with (self.folder / "kills.log").open("a") as log:
                    log.write(f"{victim} killed, {time.monotonic() - begin_s:.1f} s\n")
        finally:
            self._end()
            written = json.loads(writer.communicate()[0])
        return dict(written)

    def finish(self) -> str:
        """Read the rest, and return what the command says."""
        done = subprocess.run(
            self._command("--until-idle", "--rest", "0"),
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def outlived(self) -> list[int]:
        """Return the processes that are still there, given some seconds to end."""
        until_s = time.monotonic() + 30
        while time.monotonic() < until_s:
            left = [pid for pid in self.started if _is_running(pid)]
            if not left:
                return []
            time.sleep(0.2)
        return left

    def _follow_and_kill(self, victim: str) -> None:
        # Whoever was left without a worker may end before its next turn comes.
        while not self._is_killed(victim):
            pass

    def _is_killed(self, victim: str) -> bool:
        follower, batches = self.follower, 1
        if follower is None or follower.poll() is not None:
            follower, batches = self._follow(), _BATCHES
        self._await_batches(self._batches() + batches, follower)
        time.sleep(self.dice.uniform(0, 1.2))
        family = dict(_descendants(follower.pid))
        self.started |= {follower.pid, *family}
        is_killed = self._kill(victim, follower, family)
        self.killed[victim] += is_killed
        if is_killed and victim != "worker":
            # A driver whose Java is gone ends by itself; without a worker it goes on with
            # another, or says why not.
            follower.wait(_PATIENCE_S)
        return is_killed

    def _follow(self) -> subprocess.Popen[bytes]:
        with (self.folder / "follower.log").open("ab") as log:
            self.follower = subprocess.Popen(
                self._command("--every", "0.3", "--rest", "0.5"),
                env=self._environment(),
                stdout=log,
                stderr=log,
            )
        return self.follower

    def _end(self) -> None:
        if self.follower is not None:
            self.started |= {pid for pid, _ in _descendants(self.follower.pid)}
            self.follower.kill()
            self.follower.wait()

    def _await_batches(self, n: int, follower: subprocess.Popen[bytes]) -> None:
        until_s = time.monotonic() + _PATIENCE_S
        while self._batches() < n and follower.poll() is None:
            assert time.monotonic() < until_s, "no batch was stored in ten minutes"
            time.sleep(0.05)

    def _kill(self, victim: str, follower: subprocess.Popen[bytes], family: dict[int, str]) -> int:
        if follower.poll() is not None:
            return False
        of_kind = {
            "driver": [follower.pid],
            # By its whole name: what Java starts a process with lies in a folder of that name.
            "java": [pid for pid, command in family.items() if Path(command).name == "java"],
            "worker": [pid for pid, command in family.items() if "python" in command],
        }[victim]
        if of_kind:
            _signal(self.dice.choice(of_kind))
        return bool(of_kind)

    def _batches(self) -> int:
        return len(list((self.tables / ".follow/checkpoint/commits").glob("[0-9]*")))

    def _command(self, *options: str) -> list[str]:
        command = [sys.executable, "-m", "trimtab", "ingest", str(self.recording)]
        return [*command, "-o", str(self.tables), "--follow", *options]

    def _environment(self) -> dict[str, str]:
        cache = self.folder / "cache"
        return {**os.environ, "PYTHONPATH": str(SOURCE), "XDG_CACHE_HOME": str(cache)}


def differences(tables: Path, written: dict[str, int]) -> list[str]:
    """Say where the tables are not what was written, each line once."""
    found = []
    totals = json.loads((tables / "accounting.json").read_text())["totals"]
    if totals["lines"] != written["lines"] or totals["rejected"]:
        found.append(f"{totals} of {written}")
    unloads = _rows(tables, "log_events")
    bundles = Counter(row["bundle"] for row in unloads)
    expected = Counter(f"t/n/0x{i:08x}_0xffffffff" for i in range(written["unloads"]))
    if bundles != expected:
        found.append(f"lost {list(expected - bundles)[:5]}, twice {list(bundles - expected)[:5]}")
    events = Counter(row["event"] for row in _rows(tables, "actions"))
    if events != Counter(f"e{i}" for i in range(written["actions"])):
        found.append(f"{len(events)} actions of {written['actions']}")
    samples = Counter(row["value"] for row in _rows(tables, "metrics"))
    if samples != Counter(float(i) for i in range(written["samples"])):
        found.append(f"{len(samples)} samples of {written['samples']}")
    found += _state_differences(tables, written)
    places = Counter((row["file"], row["line"]) for row in unloads)
    found += [f"two rows say {place}" for place, count in places.items() if count > 1][:5]
    return found


def _state_differences(tables: Path, written: dict[str, int]) -> list[str]:
    """Say where the running state is not what all rows at once give, to the last bit."""
    found = []
    batches = Batches(tables)
    running, leader = read_state(batches), leader_followed(batches)
    lines = sum(it["lines"] for it in batches.totals.files.values() if it["source"] == "log")
    if lines != (counted := sum(it.lines for it in running.values())):
        found.append(f"{counted} lines counted of {lines}")
    if written["unloads"] != (counted := sum(it.unloads for it in running.values())):
        found.append(f"{counted} unloads counted of {written['unloads']}")
    rows = ds.dataset(tables / "load_reports", format="parquet").to_table()
    facts: dict[str, list[Fact]] = {}
    for it in facts_of("load_reports", rows, leader.weights):
        facts.setdefault(it["broker"], []).append(Fact(it["kind"], it["time_us"], it["value"]))
    if written["reports"] != sum(map(len, facts.values())):
        found.append(f"{len(rows)} reports of {written['reports']}")
    for broker, those in facts.items():
        expected = folded(Running(), those, leader.rhythm)
        if running.get(broker) != expected:
            found.append(f"{broker}: {running.get(broker)}, expected {expected}")
    return found


def _rows(tables: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ds.dataset(tables / name, format="parquet").to_table().to_pylist()
    return rows


def _descendants(pid: int) -> Iterator[tuple[int, str]]:
    """Give the processes that a process started, and those that they did, with their commands."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    lines = [line.split(None, 2) for line in listed.splitlines()]
    children = {pid}
    # A child may be listed before its parent.
    for _ in range(5):
        children |= {int(line[0]) for line in lines if int(line[1]) in children}
    for line in lines:
        if int(line[0]) in children - {pid}:
            yield int(line[0]), line[2].split()[0] if len(line) > 2 else ""


def _signal(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _is_running(pid: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")


def main() -> None:
    """Kill as often as asked and say how it went."""
    run = Run(Path(sys.argv[1]), int(sys.argv[3]))
    begin_s = time.monotonic()
    written = run.kill_often(int(sys.argv[2]))
    said = run.finish().strip()
    lines = (
        f"written: {written}",
        f"killed: {dict(run.killed)}",
        f"said: {said}",
        f"differences: {differences(run.tables, written)}",
        f"outlived: {run.outlived()}",
        f"seconds: {time.monotonic() - begin_s:.0f}",
    )
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
