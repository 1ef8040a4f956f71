"""The folder that a recording is written into: whole files at once, lines as they come.

Whatever stands in it names brokers and tenants, so nobody but the owner may read it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from trimtab.live.gather.access import GatherError

#: A line of it is a message of the topic of states, or a version of a node with a state.
STATES_FILE = "store/service-unit-state.jsonl"
#: A line of these is a message of a topic of loads, or says whether it was listened to.
LOADS_FILE = "store/broker-load-data.jsonl"
BUNDLES_FILE = "store/top-bundles-load-data.jsonl"


class Folder:
    """A recording that is being written; safe for several threads.

    Once it is closed nothing is written any more: whoever was asked just before the end may
    answer after it.
    """

    def __init__(self, path: Path, heard: Callable[[str, str], object] | None = None) -> None:
        """Make the folder; `heard` is told of each added line, in order, by the name of its file.

        Raises:
            GatherError: it cannot be made, or there is something in it already.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise GatherError(f"{path}: found files in it, expected a new or an empty folder")
            path.chmod(0o700)
        except OSError as error:
            raise GatherError(f"{path}: {error.strerror}") from None
        self.path = path
        self._lock = threading.Lock()
        self._is_closed = False
        self._open: dict[str, IO[str]] = {}
        self._heard = heard

    def line(self, name: str, **values: object) -> None:
        """Add a line to a file of JSON Lines; it is on its way to the disk when this returns."""
        text = json.dumps(values, separators=(",", ":"), ensure_ascii=False) + "\n"
        with self._lock:
            if self._is_closed:
                return
            file = self._open.get(name)
            if file is None:
                file = self._open[name] = os.fdopen(self._new(name), "w", encoding="utf-8")
            # Half a character of two halves can be spelled in JSON, and cannot be written.
            text = text.encode("utf-8", "backslashreplace").decode("utf-8")
            file.write(text)
            file.flush()
            if self._heard is not None:
                self._heard(name, text)

    def whole(self, name: str, content: bytes, *, packed: bool = False) -> None:
        """Write a file so that it is there whole or not at all, gzipped if it is to be packed."""
        content = gzip.compress(content, 6) if packed else content
        with self._lock:
            if self._is_closed:
                return
            draft = self._place(f"{name}.draft")
            with os.fdopen(_created(draft), "wb") as file:
                file.write(content)
            os.replace(draft, self._place(name))

    def create(self, name: str) -> IO[bytes]:
        """Return a new file, open to be written by whoever asks, who closes it."""
        return os.fdopen(self._new(name), "wb")

    def close(self) -> None:
        """Write nothing any more."""
        with self._lock:
            self._is_closed = True
            for file in self._open.values():
                file.close()
            self._open.clear()

    def _new(self, name: str) -> int:
        return _created(self._place(name))

    def _place(self, name: str) -> Path:
        path = self.path / name
        for folder in reversed(path.relative_to(self.path).parents[:-1]):
            (self.path / folder).mkdir(mode=0o700, exist_ok=True)
        return path


def folder_name(broker: str) -> str:
    """Return the name of a broker's folders: its id, but for what a file's name should not have."""
    return re.sub(r"[^\w.\-]", "_", broker)


def now_text() -> str:
    """Return the time, as every line of a recording has it."""
    return _text(datetime.now(UTC))


def time_text(time_ms: int) -> str:
    """Return a time of the store, ms since 1970, in the same way."""
    return _text(datetime.fromtimestamp(time_ms / 1000.0, UTC))


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _created(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
