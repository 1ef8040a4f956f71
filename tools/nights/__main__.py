"""Explain nights of the second generator, and print how well it went.

python -m tools.nights --seeds 1-3 [--family NAME]... [--results FILE] [--keep FOLDER]
python -m tools.nights --table FILE     print the table of results that were kept
python -m tools.nights --page FILE      put it into docs/precision.md
python -m tools.nights --write FOLDER --seeds 1-1 --family NAME     write recordings alone
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.nights.explained import one
from tools.nights.families import FAMILIES, played
from tools.nights.folder import write_night
from tools.nights.judge import Result, read, table

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "precision.md"
_BEGIN, _END = "<!-- nights -->", "<!-- nights end -->"


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.nights", description=__doc__)
    parser.add_argument("--seeds", default="1-1", help="FIRST-LAST")
    parser.add_argument("--family", action="append", choices=list(FAMILIES))
    parser.add_argument("--results", type=Path, help="JSONL, appended to")
    parser.add_argument("--keep", type=Path, help="leave recordings and reports there")
    parser.add_argument("--table", type=Path, help="print the table of kept results")
    parser.add_argument("--page", type=Path, help="put that table into docs/precision.md")
    parser.add_argument("--write", type=Path, help="write recordings there, explain nothing")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Do what is asked."""
    options = _arguments(arguments)
    if options.page:
        _rewrite(options.page)
        return 0
    if options.table:
        print(table(read(options.table)), end="")
        return 0
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    rows: list[dict[str, Any]] = []
    for family in options.family or FAMILIES:
        for seed in seeds:
            if options.write:
                night = played(family, seed)
                write_night(night, options.write / f"{family}-{seed}")
                continue
            result = one(family, seed, options.keep)
            _print(result)
            rows.append(json.loads(json.dumps(asdict(result))))
            if options.results:
                with options.results.open("a", encoding="utf-8") as kept:
                    kept.write(result.line() + "\n")
    if rows:
        print(table(rows), end="")
    return 0


def _rewrite(results: Path) -> None:
    """Put the table of results between its marks in the page."""
    text = _PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    rows = read(results)
    seeds = [row["seed"] for row in rows]
    head = f"{len(rows)} recordings, seeds {min(seeds)} to {max(seeds)}."
    body = f"{_BEGIN}\n\n{head}\n\n{table(rows)}\n{_END}"
    _PAGE.write_text(before + body + after, encoding="utf-8")


def _print(result: Result) -> None:
    planted = result.verdicts.get(result.code) if result.code else None
    there = "" if result.code is None else f" there {planted.planted if planted else 0}"
    print(f"{result.family} {result.seed}{there} | {result.headline}")
    for note in result.notes:
        print(f"    {note}")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
