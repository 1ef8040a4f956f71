"""A stretch of one tenure with all that happened in it, read from the tables; in the worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.dataset as ds

from trimtab.diagnose.replay.leading import reads_long
from trimtab.diagnose.replay.store_columns import stored_averages, stored_reports
from trimtab.diagnose.replay.stretches import Outline
from trimtab.diagnose.replay.tenures import Tenure
from trimtab.diagnose.replay.timeline import Script
from trimtab.diagnose.store_source import Span


def script(
    folder_and_cluster: tuple[Path, str],
    tenure: Tenure,
    drawn: Outline,
    number: int,
    logged: Sequence[Span],
) -> Script:
    """Return what `replay` needs of one stretch of a tenure.

    Args:
        folder_and_cluster: tables and whose rows of them.
        tenure: the tenure.
        drawn: its outline.
        number: which of its stretches.
        logged: when ZooKeeper's logs tell of every write.
    """
    stretch = drawn.stretches[number]
    written = ds.field("written")
    which = written <= tenure.end if stretch.end is None else written < stretch.end
    if stretch.start is not None:
        which &= written >= stretch.start
    return Script(
        leading=tenure.leading,
        outline=drawn,
        stretch=stretch,
        reports=stored_reports(
            folder_and_cluster, stretch.reports, stretch.recorded, tenure.origin
        ),
        averages=stored_averages(
            folder_and_cluster, which, logged, reads_long=reads_long(tenure.leading)
        ),
    )
