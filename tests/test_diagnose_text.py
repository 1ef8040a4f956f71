"""Findings from a few log lines, as text files; `--regen-all` rewrites them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from trimtab.diagnose.arithmetic import checked_against_print
from trimtab.diagnose.findings import FINDINGS, found
from trimtab.diagnose.night import BrokerState, Event, Night, Usage
from trimtab.diagnose.rounds import rounds
from trimtab.diagnose.terms import terms, ticks
from trimtab.diagnose.verdicts import verdicts
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.outcome import Origin, Rows

TESTDATA = Path(__file__).parent / "testdata" / "diagnose"


def files() -> list[Path]:
    paths = sorted(TESTDATA.glob("*.txt"))
    assert paths, f"no files in {TESTDATA}"
    return paths


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_diagnose(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, Diagnose()),
        encoding="utf-8",
        fullpath=path,
        obtained_filename=tmp_path / path.name,
    )


class Diagnose:
    """A night: `settings`, `log`, `usage`, `brokers`, then `find`, `verdicts`, `ticks`."""

    def __init__(self) -> None:
        self.night = Night((), (), 0.10, 0.10, 1800.0, 60.0)
        self.events: list[Event] = []

    def settings(self, **values: str) -> str:
        """Change what the night goes by."""
        self.night = replace(self.night, **{name: float(text) for name, text in values.items()})
        return ", ".join(f"{name} {getattr(self.night, name):g}" for name in values)

    def log(self, lines: tuple[str, ...], *, broker: str = "b1") -> str:
        """Read lines of a broker's log; `| ` in front of a line is only there to indent."""
        origin = Origin(f"logs/{broker}.log", broker, ZoneInfo("UTC"), None)
        for i, line in enumerate(lines, 1):
            outcome = broker_log(line, origin)
            assert isinstance(outcome, Rows), f"{outcome}: {line}"
            for _, row in outcome.rows:
                known = {name: value for name, value in row.items() if value is not None}
                known["brokers"] = tuple(known.get("brokers", ()))
                self.events.append(Event(**known | {"file": origin.file, "line": i}))
        logged = [
            checked_against_print(each) for each in rounds(self.events, self.night.interval_s)
        ]
        self.night = replace(self.night, rounds=tuple(logged))
        moves = sum(len(each.moves) for each in logged)
        return f"{len(logged)} rounds, {moves} unloads"

    def usage(self, lines: tuple[str, ...], *, day: str) -> str:
        """Set what brokers report: time, then broker=usage, or broker=gone."""
        usages = []
        for line in lines:
            clock, *reports = line.split()
            at = datetime.combine(datetime.fromisoformat(day), time.fromisoformat(clock), UTC)
            for report in reports:
                broker, _, value = report.partition("=")
                usages.append(Usage(at, broker, None if value == "gone" else float(value)))
        self.night = replace(self.night, usages=tuple(usages))
        return f"{len(usages)} reports"

    def brokers(self, lines: tuple[str, ...], *, round: str) -> str:
        """Set what is known of the brokers in a round: broker usage smoothed."""
        states = {}
        for line in lines:
            broker, usage, smoothed = line.split()
            states[broker] = BrokerState(usage=float(usage), smoothed=float(smoothed))
        changed = [
            replace(each, brokers=states) if each.number == int(round) else each
            for each in self.night.rounds
        ]
        self.night = replace(self.night, rounds=tuple(changed))
        return f"{len(states)} brokers"

    def find(self, *, code: str) -> str:
        """Run one family."""
        told = []
        for finding in FINDINGS[code](self.night):
            evidence = ", ".join(f"{event.line}" for event in finding.evidence)
            told += [
                f"round {finding.round}, {finding.severity}: {finding.title}",
                f"  {finding.text}",
                f"  better: {finding.better}",
                f"  advice: {finding.advice}",
                f"  lines {evidence}",
            ]
        return "\n".join(told) or "nothing found"

    def verdicts(self) -> str:
        """Name every move's verdict."""
        given = verdicts(self.night, found(self.night))
        moves = [move for each in self.night.rounds for move in each.moves]
        return "\n".join(
            f"{move.id} {move.source} → {move.target}: {given[move.id].code}"
            + (", useless" if given[move.id].is_useless else "")
            for move in moves
        )

    def recomputed(self) -> str:
        """Say of every round whether its printed numbers follow from each other."""
        return "\n".join(
            f"round {each.number}: {each.recomputed.equal} {each.recomputed.why}"
            for each in self.night.rounds
        )

    def ticks(self, *, end: str) -> str:
        """Say when the shedder must have been asked, silent rounds included."""
        tenures = terms(self.night.rounds, self.events, datetime.fromisoformat(end))
        return "\n".join(
            f"term {tenure.number} {tenure.log_broker}: {at:%H:%M:%S}"
            + (f" round {number}" if number else " silent")
            for tenure in tenures
            for at, number in ticks(tenure, self.night.interval_s)
        )
