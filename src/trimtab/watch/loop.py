"""The loop around `step`: records a cluster, decides beside it, says and writes what comes out."""

from __future__ import annotations

import json
import os
import threading
import time
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab.diagnose.deployment import deployment
from trimtab.gather import Access, Gathered, GatherError, Wanted, gather
from trimtab.gather.copies import log_folders
from trimtab.gather.folder import folder_name
from trimtab.ingest.confs import runtime_config
from trimtab.ingest.outcome import Origin, Rows
from trimtab.watch.beside import Beside, chosen
from trimtab.watch.document import line_of
from trimtab.watch.listening import Listening
from trimtab.watch.memory import Memory, learned
from trimtab.watch.nouns import Action, Heard, Relearn, Settings
from trimtab.watch.seen import Seen
from trimtab.watch.step import decided_at_once, step
from trimtab.watch.tails import Tails
from trimtab.watch.tally import Tally

_TICK_S = 0.5
_FIRST_LOOK_S = 120.0


def watch(
    wanted: Wanted,
    access: Access,
    output: Path,
    is_over: threading.Event,
    beside: Beside,
) -> Iterator[Seen]:
    """Watch a cluster until the time is up or it is over.

    Args:
        wanted: what is recorded meanwhile.
        access: who asks.
        output: folder to record into; new or empty.
        is_over: set by whoever wants it to end early.
        beside: who decides beside Pulsar.

    Yields:
        What there is to see, about twice a second.

    Raises:
        GatherError: the cluster cannot be recorded or watched.
    """
    listening = Listening(output, sees_writes=wanted.metadata is not None)
    recording = _Recording(wanted, access, output, is_over, listening)
    tails: Tails | None = None
    try:
        recording.begin()
        settings = _settings(wanted, output, beside)
        tails = Tails(log_folders(wanted.logs))
        memory, tally = Memory(began=recording.began), Tally()
        while True:
            is_last = not recording.is_running
            rows = [*listening.rows(), *tails.rows()]
            actions, memory = step(Heard(datetime.now(UTC), rows), memory, settings)
            for action in actions:
                if isinstance(action, Relearn):
                    memory = learned(memory, settings, action, listening.again())
            if is_last and not wanted.duration_s:
                actions += decided_at_once(memory, datetime.now(UTC))
            _write(output, actions)
            tally.add(actions)
            yield Seen(settings, memory, actions, tally, len(listening.rejected))
            if is_last:
                break
            time.sleep(_TICK_S)
    finally:
        is_over.set()
        recording.end()
        if tails is not None:
            tails.close()
    recording.raise_if_failed()


class _Recording:
    """`gather`, beside."""

    def __init__(
        self,
        wanted: Wanted,
        access: Access,
        output: Path,
        is_over: threading.Event,
        listening: Listening,
    ) -> None:
        self.began = datetime.now(UTC)
        self.gathered: Gathered | None = None
        self._output, self._is_over = output, is_over
        self._fault: BaseException | None = None

        def run() -> None:
            try:
                self.gathered = gather(wanted, access, output, is_over, listening.heard)
            except BaseException as error:  # raised again where it is waited for
                self._fault = error

        self._thread = threading.Thread(target=run, name="gather", daemon=True)

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def begin(self) -> None:
        """Begin, and return when the cluster has been looked at once."""
        self._thread.start()
        while self.is_running and not (self._output / "recording.toml").exists():
            time.sleep(0.05)
        self.raise_if_failed()

    def end(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def raise_if_failed(self) -> None:
        if self._fault is not None:
            raise self._fault


def _settings(wanted: Wanted, recording: Path, beside: Beside) -> Settings:
    """Read what the cluster runs, out of what has been recorded of it."""
    told = tomllib.loads((recording / "recording.toml").read_text(encoding="utf-8"))
    meta = {key: value for key, value in told.items() if isinstance(value, str)}
    rows: list[dict[str, Any]] = []
    for path in sorted((recording / "runtime-config").glob("*.json")):
        name = f"runtime-config/{path.name}"
        outcome = runtime_config(path.read_text("utf-8"), Origin(name, path.stem, UTC, None))
        if isinstance(outcome, Rows):
            rows += [{**row, "file": name} for _, row in outcome.rows]
    ran = deployment(meta, rows, (), ((), ()))
    manager = ran.conf.get("loadManagerClassName", "")
    if "Extensible" in manager:
        raise GatherError(
            f"loadManagerClassName: found {manager}, expected the modular load manager: "
            "under the extensible one the leader's load data are in no store"
        )
    shed, place, conf = chosen(beside, ran)
    brokers = [table["id"] for table in told.get("brokers", {}).values()]
    return Settings(
        ran=ran,
        shedder=shed,
        placer=place,
        conf=conf,
        interval_s=beside.interval_s or ran.manager.shedding_interval_s,
        logs=_logs(wanted, brokers),
        sees_writes=wanted.metadata is not None,
    )


def _logs(wanted: Wanted, brokers: list[str]) -> dict[str, str]:
    """Say whose log each folder is."""
    names = {folder_name(broker): broker for broker in brokers}
    found = {}
    for source in log_folders(wanted.logs):
        if source.name not in names:
            raise GatherError(
                f"--logs: found {source.path}, named {source.name}, expected BROKER=DIR with one "
                f"of {', '.join(sorted(brokers))}"
            )
        found[source.name] = names[source.name]
    return found


def _write(recording: Path, actions: list[Action]) -> None:
    """Add what was said to `watch/rounds.jsonl`; it is on the disk for good when this returns."""
    if not actions:
        return
    path = recording / "watch" / "rounds.jsonl"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    text = "".join(
        json.dumps(line_of(action), ensure_ascii=False, allow_nan=False) + "\n"
        for action in actions
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, text.encode("utf-8", "backslashreplace"))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
