"""A recording, or none → the recording with what stores and a Prometheus have of its time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trimtab.files.parameters import path_of, text_of
from trimtab.ingest.recording import Recording
from trimtab.live.gather.access import GatherError
from trimtab.live.gather.remote_logs import KINDS, log_store_of, with_logs
from trimtab.live.gather.remote_metrics import remote_of, with_metrics
from trimtab.live.gather.span import text_of_time


@contextmanager
def with_others(
    path: object,
    output: Path | None,
    others: Sequence[object],
    times: Sequence[object],
) -> Iterator[Recording]:
    """Give a block the recording at a path with what others have of its time.

    Args:
        path: of the recording; None for what a store has alone.
        output: folder of the output; None for the one that bears the recording's name.
        others: addresses of a Prometheus and of each kind of store, then selector and index.
        times: from when on, and until when.

    Raises:
        GatherError: nobody is asked for a time that was given, or as `with_logs` and
            `with_metrics`.
        RecordingError: the recording cannot be read.
        FieldError: something is of a wrong kind.
    """
    prometheus, *urls, selector, index = others
    output = None if output is None else path_of("output", output)
    begin, end = map(text_of_time, ("begin", "end"), times)
    remote = remote_of(text_of("prometheus", prometheus), begin, end)
    store = log_store_of(dict(zip(KINDS, urls, strict=True)), selector, index, begin, end)
    if (begin or end) and store is None and remote is None:
        raise GatherError(
            "--from and --to: found nobody who is asked, expected --prometheus or a store, such "
            "as --loki"
        )
    there = None if path is None and store is not None else path_of("path", path)
    with with_logs(there, store, output) as logged, with_metrics(logged, remote) as recording:
        yield recording
