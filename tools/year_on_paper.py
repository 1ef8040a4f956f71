"""The generated part of docs/scale.md: what a thousand clusters for a year would take, on paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent.parent / "docs"

CLUSTERS, BROKERS, NIGHTS = 1_000, 100, 365
#: Dollars, of no offer in particular: a core for an hour, and a GB kept for a month.
CORE_HOUR, GB_MONTH = 0.05, 0.02
_COSTS = re.compile(r"that is ([\d.]+) s a GB of recording to ingest, and ([\d.]+) s a thousand")
_NIGHT = re.compile(
    r"\AA night of 24 h of 1,000 brokers .*?: logs ([\d,]+) MiB, store ([\d,]+) MiB"
)
_UNPACKED = re.compile(r"Unpacked it has ([\d.]+) GB")
_EACH = re.compile(r"a night took ([\d.]+) s of a processor")
_MIB = 2**20
_HOUR_S = 3600.0
_NIGHT_H = 24


class Measured(NamedTuple):
    """A night of 1,000 brokers, as docs/performance.md has it."""

    gb: float
    gb_unpacked: float
    s_a_gb: float
    s_a_thousand_broker_hours: float


class Year(NamedTuple):
    """What a year takes: GB as they lie, and processor hours."""

    gb: float
    ingest_h: float
    diagnosis_h: float
    rest_h: float

    @property
    def hours(self) -> float:
        """Return the processor hours of all of it."""
        return self.ingest_h + self.diagnosis_h + self.rest_h


def measured(performance: str, heading: str) -> Measured:
    """Return what a section of docs/performance.md says of its night."""
    section = performance.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].strip()
    size, costs = _NIGHT.search(section), _COSTS.search(section)
    if size is None or costs is None:
        raise ValueError(f"docs/performance.md, {heading}: found no size or no costs of the night")
    gb = sum(float(mib.replace(",", "")) for mib in size.groups()) * _MIB / 1e9
    unpacked = _UNPACKED.search(section)
    return Measured(gb, float(unpacked[1]) if unpacked else gb, float(costs[1]), float(costs[2]))


def year(night: Measured, rest_s: float) -> Year:
    """Return what the nights of a year take, with so many seconds a night beside the work."""
    nights = CLUSTERS * NIGHTS
    thousands = BROKERS / 1_000
    return Year(
        gb=nights * thousands * night.gb,
        ingest_h=nights * thousands * night.gb_unpacked * night.s_a_gb / _HOUR_S,
        diagnosis_h=nights * thousands * _NIGHT_H * night.s_a_thousand_broker_hours / _HOUR_S,
        rest_h=nights * rest_s / _HOUR_S,
    )


def table() -> str:
    """Return the table of a year, of quiet brokers and of talkative ones."""
    performance = (DOCS / "performance.md").read_text(encoding="utf-8")
    rest = _EACH.search((DOCS / "trends.md").read_text(encoding="utf-8"))
    if rest is None:
        raise ValueError("docs/trends.md: found no processor seconds of a night")
    years = [
        year(measured(performance, heading), float(rest[1]))
        for heading in ("Night", "Talkative night")
    ]
    rows = [
        ("recordings in a year, TB", [f"{each.gb / 1e3:,.0f}" for each in years]),
        ("ingest, processor hours", [f"{each.ingest_h:,.0f}" for each in years]),
        ("diagnosis, processor hours", [f"{each.diagnosis_h:,.0f}" for each in years]),
        ("everything else of a night, processor hours", [f"{each.rest_h:,.0f}" for each in years]),
        ("a day's nights on 16 cores, minutes", [_minutes(each) for each in years]),
        ("processors for a year, $", [f"{each.hours * CORE_HOUR:,.0f}" for each in years]),
        (
            "to keep a year's recordings a month, $",
            [f"{each.gb * GB_MONTH:,.0f}" for each in years],
        ),
    ]
    lines = ["| | quiet | talkative |", "| --- | ---: | ---: |"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)])


def _minutes(each: Year) -> str:
    return f"{each.hours / NIGHTS / 16 * 60:,.0f}"
