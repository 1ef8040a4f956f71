"""Explains a night through the public door, and judges it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trimtab
from tools.nights.families import FAMILIES, played
from tools.nights.folder import write_night
from tools.nights.judge import Finding, Result, named, verdicts
from tools.nights.night import Night
from tools.nights.of_rounds import done, rounds_of


def one(family: str, seed: int, keep: Path | None = None) -> Result:
    """Return what came of one night.

    Args:
        family: of nights.
        seed: of the night.
        keep: folder in which the recording and its report are left; None keeps nothing.
    """
    night = played(family, seed)
    if keep is not None:
        return _judged(night, keep / f"{family}-{seed}")
    with TemporaryDirectory(prefix="night-") as folder:
        return _judged(night, Path(folder) / f"{family}-{seed}")


def _judged(night: Night, folder: Path) -> Result:
    write_night(night, folder / "recording")
    explained = trimtab.explain(folder / "recording", output=folder / "explained")
    moments = {it["id"]: _ms(it["time"]) for it in explained.document["unloads"]}
    moments |= {it["round"]: _ms(it["end"]) for it in explained.document["round_list"]}
    findings = [_finding(it, night, moments) for it in explained.document["findings"]]
    by_code, notes = verdicts(night.truths, findings, night.from_ms)
    headline = str(explained.headline)
    said = re.search(r"(\d+|one|no|a) bundles? (?:was|were) moved", headline, re.IGNORECASE)
    code = FAMILIES[night.family].code
    return Result(
        family=night.family,
        seed=night.seed,
        code=code,
        verdicts=by_code,
        headline=headline,
        gravest=explained.gravest.code if explained.gravest else None,
        is_named=code is not None and named(code, headline),
        moves=sum(len(done(it)) for it in rounds_of(night)),
        moves_said=_count(said[1]) if said else None,
        notes=notes,
    )


def _count(word: str) -> int:
    return {"one": 1, "a": 1, "no": 0}[word.lower()] if not word.isdigit() else int(word)


def _finding(row: dict[str, Any], night: Night, moments: Mapping[str | int, int]) -> Finding:
    """Return a finding, with the time of all moves and rounds that it names."""
    begin = _ms(row["time"])
    rounds = row["numbers"].get("rounds", [])
    inside = [*row["unloads"], *(rounds if isinstance(rounds, list) else [])]
    end = max([begin, *(moments[it] for it in inside if it in moments)])
    names = {broker.name: broker.id for broker in night.cluster.brokers.values()}
    return Finding(
        code=row["code"],
        severity=row["severity"],
        brokers=frozenset(names.get(b, b) for b in row["brokers"]),
        bundles=frozenset(row["bundles"]),
        begin_ms=begin,
        end_ms=end,
        title=row["title"],
    )


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
