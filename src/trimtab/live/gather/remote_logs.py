"""A recording, or none, and a store of logs → the recording with what the store has of a time."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from trimtab.files.parameters import text_of
from trimtab.ingest.recording import SOURCES, RecordedFile, Recording, open_recording
from trimtab.ingest.wrapped.lines_by_broker import SOURCE as WRAPPED
from trimtab.live.gather.access import GatherError
from trimtab.live.gather.folder import Folder
from trimtab.live.gather.pipeline import web_address
from trimtab.live.gather.span import span_between, span_of
from trimtab.live.gather.stores.access import store_access
from trimtab.live.gather.stores.elasticsearch import elasticsearch
from trimtab.live.gather.stores.loki import loki
from trimtab.live.gather.stores.store import LogQuery, Store
from trimtab.live.gather.stores.victorialogs import victorialogs

#: Lines of a file, which is unwrapped as a whole by one task.
_FILE_LINES = 1_000_000
#: Folder beside the page in which what a store has answered is kept.
KEPT = "fetched"

_Pages: TypeAlias = Callable[[Store, LogQuery], Iterator[list[bytes]]]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A program that keeps logs."""

    name: str
    pages: _Pages


#: Name of its option → the program.
KINDS: Mapping[str, _Kind] = {
    "loki": _Kind("Loki", loki),
    "elasticsearch": _Kind("Elasticsearch", elasticsearch),
    "opensearch": _Kind("OpenSearch", elasticsearch),
    "victorialogs": _Kind("VictoriaLogs", victorialogs),
}


@dataclass(frozen=True, slots=True)
class LogStore:
    """A store, and what it is asked for."""

    #: One of `KINDS`.
    kind: str
    url: str
    #: In the store's own language.
    selector: str
    #: Pattern of the indexes of Elasticsearch and OpenSearch.
    index: str | None = None
    #: In ISO 8601; None for what recording.toml or the logs say.
    begin: str | None = None
    end: str | None = None


def log_store_of(
    urls: Mapping[str, object],
    selector: object,
    index: object,
    begin: str | None,
    end: str | None,
) -> LogStore | None:
    """Return the store that is asked for logs; None for none.

    Args:
        urls: address of each of `KINDS` that is named.
        selector: which lines, in the store's own language.
        index: pattern of indexes.
        begin: from when on.
        end: until when.

    Raises:
        GatherError: there are several, or what belongs to one stands without it.
        FieldError: something is no text.
    """
    named = {kind: url for kind, each in urls.items() if (url := text_of(kind, each))}
    selector, index = text_of("selector", selector), text_of("index", index)
    if not named:
        for option, given in (("--selector", selector), ("--index", index)):
            if given is not None:
                raise GatherError(
                    f"{option}: found without a store, expected --loki, --elasticsearch, "
                    "--opensearch or --victorialogs beside it"
                )
        return None
    if len(named) > 1:
        options = " and ".join(f"--{kind}" for kind in named)
        raise GatherError(f"{options}: found together, expected one of them")
    ((kind, url),) = named.items()
    if selector is None:
        raise GatherError(f"--selector: found nothing, expected which lines {KINDS[kind].name} has")
    if index is not None and KINDS[kind].pages is not elasticsearch:
        raise GatherError(f"--index: found with --{kind}, which has no indexes; expected without")
    return LogStore(kind, url, selector, index, begin, end)


@contextmanager
def with_logs(
    path: Path | None, asked: LogStore | None, output: Path | None
) -> Iterator[Recording]:
    """Give a block a recording with the logs that a store has of its time.

    What the store answers is kept in the folder of the output, as a recording of its own, once
    it is there as a whole.

    Args:
        path: of the recording; None for what the store has alone.
        asked: the store; None for the recording alone.
        output: folder of the output; None for the one that bears the recording's name.

    Raises:
        GatherError: the time is not known, or the store cannot be reached, refuses, or has
            nothing.
        RecordingError: the recording cannot be read.
    """
    if asked is None:
        assert path is not None
        with open_recording(path) as recording:
            yield recording
        return
    if path is None:
        span = span_between(asked.begin, asked.end)
        with open_recording(
            _fetched(asked, span, output or Path("explained", asked.kind))
        ) as alone:
            yield replace(alone, name=asked.kind)
        return
    with open_recording(path) as recording:
        span = span_of(recording, asked.begin, asked.end)
        folder = _fetched(asked, span, output or Path("explained", recording.name))
        files = {source: list(those) for source, those in recording.files.items()}
        for each in sorted(folder.glob("logs/*/*")):
            name = f"{KEPT}/{each.relative_to(folder).as_posix()}"
            files.setdefault(WRAPPED, []).append(RecordedFile(name, each.absolute(), asked.kind))
        yield replace(
            recording,
            files={source: tuple(files[source]) for source in SOURCES if source in files},
        )


def _fetched(asked: LogStore, span: tuple[datetime, datetime], output: Path) -> Path:
    """Return the folder that holds what a store has of a time."""
    option, kind = f"--{asked.kind}", KINDS[asked.kind]
    prefix = asked.kind.upper()
    address = web_address(option, asked.url)
    store = Store(kind.name, option, address, prefix, store_access(prefix, os.environ))
    begin_ns, end_ns = (round(it.timestamp() * 1_000_000) * 1_000 for it in span)
    query = LogQuery(asked.selector, begin_ns, end_ns, asked.index or "*")
    try:
        output.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{KEPT}-", dir=output))
    except OSError as error:
        raise GatherError(f"{output}: {error.strerror}") from None
    try:
        folder = Folder(draft)
        if not _write(folder, f"logs/{asked.kind}", kind.pages(store, query)):
            raise GatherError(
                f"{option}: {address} has no line from {span[0].isoformat()} to "
                f"{span[1].isoformat()} for {asked.selector}"
            )
        folder.whole("recording.toml", _description(asked, address, span).encode())
        shutil.rmtree(output / KEPT, ignore_errors=True)
        draft.rename(output / KEPT)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return output / KEPT


def _write(folder: Folder, name: str, pages: Iterator[list[bytes]]) -> int:
    """Return how many lines were written, into as many files as they take."""
    n_lines, files = 0, 0
    page = next(pages, None)
    while page is not None:
        files += 1
        with (
            folder.create(f"{name}/{files:04d}.jsonl.gz") as raw,
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed,
        ):
            n_here = 0
            while page is not None and n_here < _FILE_LINES:
                packed.writelines(line + b"\n" for line in page)
                n_here += len(page)
                page = next(pages, None)
        n_lines += n_here
    return n_lines


def _description(asked: LogStore, address: str, span: tuple[datetime, datetime]) -> str:
    """Return recording.toml, which says what was asked of whom."""
    note = f"{asked.selector} of {address}"
    keys = {
        "name": asked.kind,
        "note": note,
        "from": span[0].isoformat(),
        "to": span[1].isoformat(),
    }
    # JSON's text is TOML's, too.
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
