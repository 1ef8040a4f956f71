"""Explains a night through the public door, and judges it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
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


def _document(night: Night, folder: Path) -> dict[str, Any]:
    """Return what was found, by an earlier run if that explained the same recording."""
    kept = folder / "explained" / "findings.json"
    before = _digest(folder / "recording") if kept.exists() else None
    write_night(night, folder / "recording")
    if before == _digest(folder / "recording"):
        return dict(json.loads(kept.read_text("utf-8")))
    trimtab.explain(folder / "recording", output=folder / "explained")
    return dict(json.loads(kept.read_text("utf-8")))


def _digest(folder: Path) -> str:
    digest = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _judged(night: Night, folder: Path) -> Result:
    document = _document(night, folder)
    moments = {it["id"]: _ms(it["time"]) for it in document["unloads"]}
    moments |= {it["round"]: _ms(it["end"]) for it in document["round_list"]}
    findings = [_finding(it, night, moments) for it in document["findings"]]
    by_code, notes = verdicts(night.truths, findings, night.from_ms)
    headline = " ".join(filter(None, (document["headline"][name] for name in ("text", "sting"))))
    said = re.search(r"(\d+|one|no|a) bundles? (?:was|were) moved", headline, re.IGNORECASE)
    code = FAMILIES[night.family].code
    return Result(
        family=night.family,
        seed=night.seed,
        code=code,
        verdicts=by_code,
        headline=headline,
        gravest=document["headline"]["code"],
        is_named=code is not None and named(code, headline),
        moves=sum(len(done(it)) for it in rounds_of(night)),
        moves_said=_count(said[1]) if said else None,
        notes=notes,
    )


def _count(word: str) -> int:
    return {"one": 1, "a": 1, "no": 0}[word.lower()] if not word.isdigit() else int(word)


def _finding(row: dict[str, Any], night: Night, moments: Mapping[str | int, int]) -> Finding:
    """Return a finding, with the time of all moves and rounds that it names."""
    # What was so when the recording began is timed by a report from before it.
    begin = max(_ms(row["time"]), night.from_ms)
    rounds = row["numbers"].get("rounds", [])
    inside = [*row["unloads"], *(rounds if isinstance(rounds, list) else [])]
    end = max([begin, _ms(row["until"]), *(moments[it] for it in inside if it in moments)])
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
