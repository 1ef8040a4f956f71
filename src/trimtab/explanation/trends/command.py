"""The folder of explained nights → one page over clusters and weeks, its JSON and its tables."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from trimtab.explanation.fleet.command import all_rows
from trimtab.explanation.fleet.work import PAGE
from trimtab.explanation.trends.document import trends_document
from trimtab.explanation.trends.lines import lines
from trimtab.files.errors import TrimtabError
from trimtab.files.tables import FLEET
from trimtab.files.version import __version__
from trimtab.files.whole_files import write_whole
from trimtab.report.trends import render_trends


class TrendsError(TrimtabError):
    """There are no nights to compare."""


@dataclass(frozen=True, slots=True)
class Trends:
    """What was written."""

    page: Path
    json: Path
    document: Mapping[str, Any]

    def lines(self) -> Iterable[str]:
        """Return the most of it for a terminal."""
        return lines(self.document)


def trends(explained: Path, output: Path) -> Trends:
    """Return what changed over clusters and weeks, which is written into a folder.

    Raises:
        TrendsError: the folder has no nights that `trimtab explain` wrote of several.
        OSError: it cannot be written.
    """
    rows = all_rows(explained)
    if not rows:
        raise TrendsError(
            f"{explained}: found no nights in it, expected what `trimtab explain` writes of "
            "several recordings: CLUSTER/NIGHT/night.json"
        )
    document = {
        "trimtab": __version__,
        "command": shlex.join(["trimtab", "trends", str(explained), "-o", str(output)]),
        **trends_document(_whole(rows)),
    }
    output.mkdir(parents=True, exist_ok=True)
    for name, table_rows in _tables(document).items():
        _write(output / f"{name.removeprefix('trend_')}.parquet", FLEET[name], table_rows)
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    way = Path(os.path.relpath(explained, output)).as_posix()
    # From the page to a night's, wherever both are moved together.
    page = render_trends(document, lambda folder: f"{quote(way)}/{quote(folder)}/{PAGE}")
    return Trends(
        page=write_whole(output / "trends.html", page),
        json=write_whole(output / "trends.json", text + "\n"),
        document=document,
    )


def _whole(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with every column, as one that failed has few of them."""
    return [{name: row.get(name) for name in FLEET["nights"].names} for row in rows]


def _tables(document: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {
        "trend_weeks": document["clusters_by_week"],
        "trend_causes": document["causes"],
        "trend_changes": list(_changes(document)),
    }


def _changes(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each change, cluster and measure; of all clusters first."""
    for change in document["changes"]:
        everywhere = {"cluster": None, "begin": None, "since": None, "effects": change["effects"]}
        for each in (everywhere, *change["clusters"]):
            times = {name: _time(each[name]) for name in ("begin", "since")}
            for effect in each["effects"]:
                counts = {"nights_before": effect["n_before"], "nights_after": effect["n_after"]}
                why_not = effect["why_not"] or None
                named = {"change": change["what"], "cluster": each["cluster"], **times}
                yield {**effect, **named, **counts, "why_not": why_not}


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _write(path: Path, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> None:
    whole = [{name: row[name] for name in schema.names} for row in rows]
    packed = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(whole, schema), packed, compression="zstd")
    write_whole(path, packed.getvalue().to_pybytes())
