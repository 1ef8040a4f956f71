"""A recording without metrics and a Prometheus → the recording with what that has kept."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from trimtab.ingest.recording import RecordedFile, Recording, UnusedFile
from trimtab.live.gather import GatherError, read_access
from trimtab.live.gather.calls import CallError, Calls
from trimtab.live.gather.folder import Folder
from trimtab.live.gather.pipeline import web_address
from trimtab.live.gather.prometheus import export
from trimtab.live.gather.span import span_of

_OPTION = "--prometheus"
_METRICS = ("metrics", "metrics-export")


@dataclass(frozen=True, slots=True)
class Remote:
    """A Prometheus, and of which time it is asked."""

    url: str
    #: In ISO 8601; None for what recording.toml or the logs say.
    begin: str | None = None
    end: str | None = None


def remote_of(url: str | None, begin: str | None, end: str | None) -> Remote | None:
    """Return whom to ask for which time; None for nobody."""
    return None if url is None else Remote(url, begin, end)


@contextmanager
def with_metrics(recording: Recording, remote: Remote | None) -> Iterator[Recording]:
    """Give a block a recording with the metrics of its time.

    A recording that has metrics of its own stays as it is, and the Prometheus is not asked.
    What it answers lies in a temporary folder that is removed when the block ends.

    Raises:
        GatherError: the time is not known, or the Prometheus cannot be reached or refuses.
    """
    if remote is None:
        yield recording
        return
    if any(source in recording.files for source in _METRICS):
        reason = "not asked: the recording has metrics of its own"
        yield replace(recording, unused=(*recording.unused, UnusedFile(_OPTION, reason)))
        return
    address = web_address(_OPTION, remote.url)
    begin, end = span_of(recording, remote.begin, remote.end)
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        files = tuple(_exported(address, begin, end, Path(folder)))
        if any(_has_series(file) for file in files):
            yield replace(recording, files=recording.files | {"metrics-export": files})
            return
    reason = f"{address} has no metrics of brokers from {begin.isoformat()} to {end.isoformat()}"
    yield replace(recording, unused=(*recording.unused, UnusedFile(_OPTION, reason)))


def _has_series(file: RecordedFile) -> bool:
    answer = json.loads(gzip.decompress(file.path.read_bytes()))
    data = answer.get("data")
    return isinstance(data, dict) and bool(data.get("result"))


def _exported(address: str, begin: datetime, end: datetime, folder: Path) -> Iterator[RecordedFile]:
    try:
        export(Calls(read_access(None)), address, begin, end, Folder(folder))
    except CallError as error:
        raise GatherError(f"{_OPTION}: {error}") from None
    for path in sorted(folder.rglob("*.json.gz")):
        yield RecordedFile(path.relative_to(folder).as_posix(), path, "")
