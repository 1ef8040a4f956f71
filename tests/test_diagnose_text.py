"""Findings from a few log lines, as text files; `--regen-all` rewrites them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from trimtab.diagnose.advice import changes, headline
from trimtab.diagnose.arithmetic import checked_against_print
from trimtab.diagnose.channel import channel_of, presence
from trimtab.diagnose.decisions import decisions
from trimtab.diagnose.elections import with_elections
from trimtab.diagnose.findings import FINDINGS, all_findings
from trimtab.diagnose.gravity import Cause, by_gravity
from trimtab.diagnose.log_lines import acquisitions
from trimtab.diagnose.night import BrokerState, Event, Heavy, Night, Transition
from trimtab.diagnose.other_events import is_other
from trimtab.diagnose.places import by_place
from trimtab.diagnose.replay.lookups import owners, releases
from trimtab.diagnose.reports import broker_reports, bundle_reports, of_reports
from trimtab.diagnose.rounds import rounds
from trimtab.diagnose.terms import terms, ticks
from trimtab.diagnose.usages import Usage, usages_of
from trimtab.diagnose.verdicts import DOUBTFUL, USELESS, verdicts
from trimtab.explanation.lint import RULES
from trimtab.files.tables import DIAGNOSED, INGESTED
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.outcome import Origin, Rows
from trimtab.pulsar.model import RESOURCES
from trimtab.pulsar.settings.channel import channel_settings

_IN_STORE = "ServiceUnitStateMetadataStoreTableViewImpl"
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


def test_every_code_and_every_verdict_is_in_the_schema() -> None:
    text = (Path(__file__).parent.parent / "docs" / "findings.schema.json").read_text("utf-8")
    lists = json.loads(text)["properties"]
    codes, given = (
        lists[name]["items"]["properties"][key]["enum"]
        for name, key in (("findings", "code"), ("unloads", "verdict"))
    )
    assert codes == list(FINDINGS), "the schema lists other findings: run `make docs`"
    assert set(given) == {"sound", *USELESS, *DOUBTFUL, "sole-candidate", "not-decidable"}


def test_rules_of_lint_that_pages_name_exist() -> None:
    rules = set(RULES)
    pages = sorted((Path(__file__).parent.parent / "docs" / "findings").glob("*.md"))
    named = [n for page in pages for n in re.findall(r"lint\.md#([\w-]+)", page.read_text("utf-8"))]
    assert len(named) > 10
    assert set(named) <= rules


class Diagnose:
    """A night: `settings`, `log`, `usage`, `brokers`, then `find`, `verdicts`, `ticks`."""

    def __init__(self) -> None:
        self.another()

    def another(self) -> str:
        """Begin another night, of which nothing is known."""
        self.night = Night((), usages_of(()), 0.10, 0.10, 1800.0, 60.0)
        self.events: list[Event] = []
        self.presence: dict[str, list[tuple[datetime, bool]]] = {}
        self.stored: list[dict[str, Any]] = []
        return "nothing is known"

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
        watched = [event for event in self.events if is_other(event)]
        watched.sort(key=lambda event: (event.time, event.file, event.line))
        names = {**self.night.names, broker: f"{broker}:8080"}
        taken = [event for event in self.events if event.kind == "ownership-acquired"]
        self.night = replace(
            self.night,
            rounds=tuple(logged),
            events=tuple(with_elections(watched, self.stored, names)),
            names=names,
            acquired=acquisitions(taken, names),
        )
        moves = sum(len(each.moves) for each in logged)
        return f"{len(logged)} rounds, {moves} unloads"

    def alive(self, lines: tuple[str, ...], *, day: str) -> str:
        """Set which brokers came and went, as the store says: time, broker, alive or gone."""
        rows = [line.split() for line in lines]
        for clock, broker, what in rows:
            self.presence.setdefault(broker, []).append((at(day, clock), what == "alive"))
        return f"{len(rows)} entries"

    def channel(self, lines: tuple[str, ...], *, day: str, end: str, origin: str = "topic") -> str:
        """Set records of bundles: time, bundle, state, owner, source, version, `forced`.

        Of nobody stands `-`, and `gone` for a state removes what is known.  Then the channel is
        put together, with the lines of the logs, and its changes of states are printed.
        """
        rows = [_state(day, line, i, origin) for i, line in enumerate(lines, 1)]
        conf = self.night.conf | (
            {"loadManagerServiceUnitStateTableViewClassName": _IN_STORE}
            if origin == "store"
            else {}
        )
        settings = channel_settings(conf, self.night.release)
        told = sorted(self.events, key=lambda it: (it.time, it.file, it.line))
        alive = self.presence or presence(INGESTED["load_reports"].empty_table(), told)
        read = channel_of((rows, told, ()), alive, settings, self.night.names, at(day, end))
        self.night = replace(self.night, channel=read)
        return "\n".join(map(_changed_state, read.transitions)) or "no change"

    def runs(self, **values: str) -> str:
        """Set the release, the strategies, or settings by their keys."""
        known = {name: values[name] for name in ("release", "shedder", "placer") if name in values}
        conf = {key: value for key, value in values.items() if key not in known}
        self.night = replace(self.night, **known, conf={**self.night.conf, **conf})
        return f"{self.night.shedder} of {self.night.release}, {len(self.night.conf)} settings"

    def leaders(self, lines: tuple[str, ...], *, day: str, end: str) -> str:
        """Set who led, as the store says: time and broker, or nobody; and the night's end."""
        told = [line.split() for line in lines]
        known = tuple((at(day, clock), None if who == "nobody" else who) for clock, who in told)
        node = {"version": 0, "file": "store/leader.jsonl"}
        self.stored = [
            {"line": i, "time": time, "written": time, "broker": broker} | node
            for i, (time, broker) in enumerate(known, 1)
        ]
        watched = [event for event in self.events if is_other(event)]
        events = tuple(with_elections(watched, self.stored, self.night.names))
        self.night = replace(self.night, leaders=known, end=at(day, end), events=events)
        return f"{len(known)} entries"

    def begins(self, *, day: str, at: str) -> str:
        """Set when the recording begins."""
        self.night = replace(self.night, begin=datetime.fromisoformat(f"{day}T{at}+00:00"))
        return f"{self.night.begin}"

    def owners(self, lines: tuple[str, ...], *, day: str) -> str:
        """Set who owned what: time, bundle, broker or nobody."""
        rows = [
            {"time": at(day, clock), "bundle": bundle, "broker": who if who != "nobody" else None}
            for clock, bundle, who in (line.split() for line in lines)
        ]
        found = owners(rows)
        self.night = replace(self.night, owners=found, released=releases(rows))
        return f"{len(found)} bundles"

    def drawn(self, *, round: str) -> str:
        """Let the draws of a round be found equal when they are done again."""
        changed = []
        for each in self.night.rounds:
            moves = tuple(
                replace(m, draw=m.draw and replace(m.draw, equal=True)) for m in each.moves
            )
            changed.append(replace(each, moves=moves) if each.number == int(round) else each)
        self.night = replace(self.night, rounds=tuple(changed))
        return f"round {round}: equal"

    def reports(self, lines: tuple[str, ...], *, day: str) -> str:
        """Set load reports: time, broker, resource=usage/limit, rate=, throughput=, …"""
        rows = [_report(day, line) for line in lines]
        self.night = replace(
            self.night, reports=broker_reports(pa.Table.from_pylist(rows, _REPORTED))
        )
        return f"{len(rows)} reports"

    def answers(self, lines: tuple[str, ...], *, day: str) -> str:
        """Set what brokers said over REST, as `reports` has it."""
        rows = [_report(day, line) for line in lines]
        said = broker_reports(pa.Table.from_pylist(rows, _REPORTED))
        mine = {broker: of_reports(reports) for broker, reports in said.items()}
        self.night = replace(self.night, answers=mine)
        return f"{len(rows)} answers"

    def bundles(self, lines: tuple[str, ...], *, day: str) -> str:
        """Set what was reported of bundles: time, broker, bundle, messages/s, bytes/s."""
        rows = []
        for clock, broker, bundle, rate, throughput in (line.split() for line in lines):
            rows.append(
                {"time": at(day, clock), "broker": broker, "bundle": bundle, "topics": 1}
                | {"rate_in": float(rate), "rate_out": 0.0}
                | {"throughput_in": float(throughput), "throughput_out": 0.0}
            )
        told = pa.Table.from_pylist(rows, INGESTED["bundle_reports"])
        self.night = replace(self.night, bundles=bundle_reports(told))
        return f"{len(rows)} reports"

    def heaviest(self, lines: tuple[str, ...]) -> str:
        """Set the bundles with the most traffic: bundle, broker, bytes/s, topics."""
        told = [line.split() for line in lines]
        found = tuple(Heavy(b, owner, float(mean), int(topics)) for b, owner, mean, topics in told)
        self.night = replace(self.night, heaviest=found)
        return f"{len(found)} bundles"

    def decided(self, lines: tuple[str, ...], *, day: str) -> str:
        """Set rounds decided again: time, round or 0, average, broker=usage/score/MB/s/reason.

        A broker's lightest bundle that was too large stands behind: /bundle/MB/s/MB/s to move.
        """
        table = pa.Table.from_pylist(
            [_decided(day, line) for line in lines], schema=DIAGNOSED["replayed_rounds"]
        )
        self.night = replace(self.night, decisions=decisions(table))
        return f"{table.num_rows} rounds"

    def usage(self, lines: tuple[str, ...], *, day: str) -> str:
        """Set what brokers report: time, then broker=usage, or broker=gone."""
        usages = []
        for line in lines:
            clock, *reports = line.split()
            for report in reports:
                broker, _, value = report.partition("=")
                known = None if value == "gone" else float(value)
                usages.append(Usage(at(day, clock), broker, known))
        self.night = replace(self.night, usages=usages_of(usages))
        return f"{len(usages)} reports"

    def brokers(self, lines: tuple[str, ...], *, round: str) -> str:
        """Set what is known of the brokers in a round: broker usage smoothed [bundles]."""
        states = {}
        for line in lines:
            broker, usage, smoothed, *bundles = line.split()
            states[broker] = BrokerState(
                usage=float(usage),
                smoothed=float(smoothed),
                bundles=int(bundles[0]) if bundles else None,
            )
        average = sum(state.smoothed or 0.0 for state in states.values()) / len(states)
        known: dict[str, Any] = {
            "brokers": states,
            "average": average,
            "threshold": self.night.threshold,
        }
        changed = [
            replace(each, **known) if each.number == int(round) else each
            for each in self.night.rounds
        ]
        self.night = replace(self.night, rounds=tuple(changed))
        return f"{len(states)} brokers"

    def find(self, *, code: str) -> str:
        """Run one family."""
        told = []
        for finding in FINDINGS[code].rule(self.night):
            evidence = ", ".join(f"{event.line}" for event in finding.evidence)
            told += [
                f"round {finding.round}, {finding.severity}: {finding.text('title')}",
                f"  {finding.text('text')}",
                f"  better: {finding.text('better')}",
                f"  advice: {finding.text('advice')}",
                f"  lines {evidence}",
            ]
        return "\n".join(told) or "nothing found"

    def places(self, *, code: str) -> str:
        """Return the findings of one kind as they are shown: one a place, with its rounds."""
        found = [it for it in FINDINGS[code].rule(self.night)]
        return "\n".join(
            f"{it.severity}, round {it.round}: {it.text('title')}\n  {it.text('text')}"
            + "".join(f"\n  - {part.severity}, round {part.round}" for part in it.parts)
            for it, _ in by_place(self.night, found)
        )

    def verdicts(self) -> str:
        """Name every move's verdict."""
        given = verdicts(self.night, all_findings(self.night))
        moves = [move for each in self.night.rounds for move in each.moves]
        return "\n".join(
            f"{move.id} {move.source} → {move.target}: {given[move.id].code}"
            + (", useless" if given[move.id].is_useless else "")
            for move in moves
        )

    def changes(self) -> str:
        """Propose what to change."""
        return "\n".join(
            f"{change.title}\n  {change.why}\n  {change.effect}"
            for change in changes(self.night, all_findings(self.night), {}, self._causes())
        )

    def headline(self) -> str:
        """Return the sentences that stand first."""
        given = verdicts(self.night, all_findings(self.night))
        return "\n".join(headline(self.night, given, self._causes()))

    def _causes(self) -> list[Cause]:
        findings = all_findings(self.night)
        places = [finding for finding, _ in by_place(self.night, findings)]
        return by_gravity(places, verdicts(self.night, findings))

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


def at(day: str, clock: str) -> datetime:
    return datetime.combine(datetime.fromisoformat(day), time.fromisoformat(clock), UTC)


#: Columns of `load_reports`, as a diagnosis reads them.
_REPORTED = pa.schema([*INGESTED["load_reports"], ("bundle_count", pa.int32())])


def _state(day: str, line: str, number: int, origin: str) -> dict[str, Any]:
    clock, bundle, state, *rest = line.split()
    target, source, version = rest[:3] if rest else ("-", "-", "0")
    file = "store/service-unit-state.jsonl" if origin == "topic" else "store/zookeeper/log.1"
    row = {"time": at(day, clock), "bundle": bundle, "file": file, "line": number}
    row |= {"origin": origin, "version": None, "is_gone": state == "gone", "state": state}
    row |= {
        "target": None if target == "-" else target,
        "source": None if source == "-" else source,
    }
    row |= {"is_forced": "forced" in rest, "stamped": row["time"], "state_version": int(version)}
    return row


def _changed_state(it: Transition) -> str:
    stands = "to the end" if it.is_last else f"{it.lasted_s:g} s"
    brokers = f"owner {it.target or '-'}, source {it.source or '-'}"
    by = f", by {it.ordered_by}" if it.ordered_by else ""
    return (
        f"{it.time:%H:%M:%S} {it.bundle} {it.before or '?'} → {it.state}: {it.step or 'odd'}{by}, "
        f"{brokers}, {it.verdict}, {stands}"
    )


def _report(day: str, line: str) -> dict[str, Any]:
    """Read `10:00:00 b1 cpu=50/100 rate=10 throughput=1e6 bundles=4 started=… manager=…`."""
    clock, broker, *words = line.split()
    told = dict(word.split("=") for word in words)
    row: dict[str, Any] = {"time": at(day, clock), "broker": broker}
    row |= {"is_gone": False, "rate_out": 0.0, "throughput_out": 0.0}
    for resource in RESOURCES:
        usage, _, limit = told.pop(resource, "0/100").partition("/")
        row |= {f"{resource}_usage": float(usage), f"{resource}_limit": float(limit)}
    row |= {f"{name}_in": float(told.pop(name, "0")) for name in ("rate", "throughput")}
    row["bundle_count"] = int(told.pop("bundles", "1"))
    row["started"] = at(day, told.pop("started")) if "started" in told else None
    row["version"] = int(told.pop("version")) if "version" in told else None
    row["load_manager"] = told.pop("manager", None)
    assert not told, f"{sorted(told)}: {line}"
    return row


def _decided(day: str, line: str) -> dict[str, Any]:
    clock, number, average, *states = line.split()
    brokers, too_large = [], []
    for state in states:
        broker, _, told = state.partition("=")
        usage, score, throughput, reason, *unfit = told.split("/", 4)
        known = {"usage": float(usage), "score": float(score), "reason": reason}
        brokers.append({"broker": broker, "throughput": float(throughput) * 1e6, **known})
        for bundle, carried, offload in (text.rsplit("/", 2) for text in unfit):
            numbers = {"carried": float(carried) * 1e6, "offload": float(offload) * 1e6}
            too_large.append({"source": broker, "bundle": bundle, "is_rate": False, **numbers})
    row: dict[str, Any] = {"term": 1, "time": at(day, clock), "round": int(number) or None}
    row |= {"too_large": too_large}
    return row | {"average": float(average), "is_smoothed": True, "brokers": brokers}
