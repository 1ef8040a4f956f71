"""What was found, held against what is true; a recording counts once for each cause."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.precision.families import CLEAN
from tools.precision.recorded import Judged

#: Of a normal distribution, for 95 %.
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Verdict:
    """One cause in one recording."""

    #: How often it is there for certain, and how many of these no finding names.
    planted: int
    missed: int
    #: Findings that name one that is there for certain, and those that name none at all.
    right: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one recording."""

    family: str
    seed: int
    #: Code → what came of it.
    verdicts: Mapping[str, Verdict]
    #: Wrong findings of medium severity or worse.
    grave: int

    @property
    def is_clean(self) -> bool:
        """Return whether it is of a healthy night."""
        return self.family in CLEAN

    def line(self) -> str:
        """Print it as a line of the file of results."""
        verdicts = {
            code: [it.planted, it.missed, it.right, it.wrong]
            for code, it in sorted(self.verdicts.items())
        }
        row = {"family": self.family, "seed": self.seed, "grave": self.grave, "causes": verdicts}
        return json.dumps(row, separators=(",", ":"))


def result(judged: Judged) -> Result:
    """Hold a recording's findings against its truth."""
    codes = {it.code for it in judged.planted} | {it.code for it in judged.found}
    verdicts, grave = {}, 0
    for code in sorted(codes):
        known = [it for it in judged.planted if it.code == code]
        certain = [it for it in known if not it.is_marginal]
        found = [it for it in judged.found if it.code == code]
        wrong = [it for it in found if not any(each.names(it) for each in known)]
        grave += sum(it.severity != "low" for it in wrong)
        verdict = Verdict(
            planted=len(certain),
            missed=sum(not any(each.names(it) for it in found) for each in certain),
            right=sum(any(each.names(it) for each in certain) for it in found),
            wrong=len(wrong),
        )
        if verdict != Verdict(0, 0, 0, 0):
            verdicts[code] = verdict
    return Result(judged.case.code, judged.case.seed, verdicts, grave)


def read(path: Path) -> tuple[Result, ...]:
    """Read a file of results."""
    rows: Iterable[dict[str, Any]] = map(json.loads, path.read_text("utf-8").splitlines())
    return tuple(
        Result(
            row["family"],
            row["seed"],
            {code: Verdict(*numbers) for code, numbers in row["causes"].items()},
            row["grave"],
        )
        for row in rows
    )


@dataclass(slots=True)
class Counts:
    """One cause over all recordings."""

    #: Recordings that have it, and those of them in which it was found wherever it is.
    planted: int = 0
    recalled: int = 0
    #: Recordings in which it was found, and those of them in which it was never wrong.
    found: int = 0
    precise: int = 0
    #: The same by places: where it is, where it was missed; findings right and wrong.
    places: int = 0
    missed: int = 0
    right: int = 0
    wrong: int = 0


def counts(results: Iterable[Result]) -> dict[str, Counts]:
    """Count every cause over all recordings."""
    found: defaultdict[str, Counts] = defaultdict(Counts)
    for each in results:
        for code, it in each.verdicts.items():
            mine = found[code]
            mine.planted += it.planted > 0
            mine.recalled += it.planted > 0 and it.missed == 0
            mine.found += it.right + it.wrong > 0
            mine.precise += it.right > 0 and it.wrong == 0
            mine.places += it.planted
            mine.missed += it.missed
            mine.right += it.right
            mine.wrong += it.wrong
    return dict(found)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Return where a share lies with 95 % confidence, by Wilson's interval.

    >>> [round(end, 3) for end in wilson(20, 20)]
    [0.839, 1.0]
    """
    if of == 0:
        return 0.0, 1.0
    share, spread = hits / of, _Z * _Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) / of + spread / (4 * of)) * _Z / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
