"""Odd lines of broker logs as text files, and any text whatsoever."""

from __future__ import annotations

from datetime import UTC, date, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.layouts import UnreadableTimeError, log_line, utc
from trimtab.ingest.messages import MESSAGES
from trimtab.ingest.outcome import Continuation, Origin, Other, Outcome, Rejected, Rows
from trimtab.ingest.splits import lines_of

TESTDATA = Path(__file__).parent / "testdata" / "ingest"


@pytest.mark.parametrize("name", ["layouts", "broker_log", "messages"])
def test_log_text(name: str, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    path = TESTDATA / f"{name}.txt"
    file_regression.check(
        run(path, Log()), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / path.name
    )


class Log:
    """A broker's log: `prefixes` takes lines apart, `outcomes` says what becomes of them."""

    def prefixes(self, lines: tuple[str, ...], *, zone: str = "0", day: str = "") -> str:
        return "\n".join(self._prefix(line, _origin(zone, day)) for line in lines)

    def _prefix(self, text: str, origin: Origin) -> str:
        line = log_line(text)
        if line is None:
            return "no prefix"
        try:
            time = utc(line, origin).isoformat(timespec="milliseconds")
        except UnreadableTimeError as error:
            time = str(error)
        parts = (time, line.thread, line.level, line.logger, line.message, line.attributes)
        return " | ".join(part or "-" for part in parts[: 6 if line.attributes else 5])

    def outcomes(self, lines: tuple[str, ...], *, zone: str = "0", day: str = "") -> str:
        return "\n".join(self._outcome(line, _origin(zone, day)) for line in lines)

    def _outcome(self, text: str, origin: Origin) -> str:
        outcome = broker_log(text.replace("\\t", "\t"), origin)
        if isinstance(outcome, Rejected):
            return f"rejected: {outcome.reason}"
        if not isinstance(outcome, Rows):
            return "continuation" if isinstance(outcome, Continuation) else "other"
        ((table, row),) = outcome.rows
        if table == "settings":
            return (
                f"setting {row['key']} = {row['value']!r}, {row['origin']} of {row['log_broker']}"
            )
        shown = {
            name: row[name]
            for name in ("strategy", "broker", "bundle", "target", "count", "brokers")
            if row[name] is not None
        }
        shown |= row["numbers"] or {}
        shown |= {f"scores.{name}": value for name, value in (row["scores"] or {}).items()}
        return " ".join([row["kind"], *(f"{name}={value}" for name, value in shown.items())])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_log_in_utf_16_is_told_from_noise(encoding: str) -> None:
    line = "2026-11-21T06:37:17,331+0000 [main] INFO  a.B - \u00fcber\r\n"
    lines = lines_of((line * 3).encode(encoding))
    reasons = [broker_log(text, _origin("0", "")) for text in lines if len(text) > 9]

    assert len(reasons) == 3
    for told in reasons:
        assert isinstance(told, Rejected)
        assert told.reason.startswith("the text is UTF-16, as PowerShell writes it; expected UTF-8")


def test_bytes_that_are_no_utf_8_and_holes_cost_no_more_than_their_line() -> None:
    line = "2026-11-21T06:37:17,331+0000 [main] INFO  a.B - \u00fcber".encode("latin-1")
    hole = b"\0" * 40

    (read, torn) = lines_of(line + b"\n" + hole + line + b"\n")

    assert isinstance(broker_log(read, _origin("0", "")), Other)
    refused = broker_log(torn, _origin("0", ""))
    assert isinstance(refused, Rejected)
    assert "no time at the start of the line" in refused.reason


def _origin(zone: str, day: str) -> Origin:
    offset = timezone(timedelta(hours=int(zone))) if zone != "0" else UTC
    return Origin(
        "logs/broker1/pulsar-broker.log",
        "broker1",
        offset,
        date.fromisoformat(day) if day else None,
    )


# ------------------------------------------------------------------ any text at all

OUTCOMES = Rows | Other | Continuation | Rejected
#: Parts of real lines, so that the search does not stay outside the parser.
PARTS = st.sampled_from(
    [
        *(message.example for message in MESSAGES),
        *(message.template for message in MESSAGES),
        "2026-11-21T06:37:17,331+0000 ",
        "06:37:17.331 ",
        "[main] INFO  ",
        "o.a.p.b.l.impl.ThresholdShedder - ",
        '{"time":1e400,"message":"x"}',
        '{"instant":{"epochSecond":1,"nanoOfSecond":2},"message":"Closed"}',
        "0001-01-01 00:00:00,000+2359 [a] INFO PulsarService - Closed",
        "\tat a.b(C.java:1)",
        "9" * 5000,
    ]
)
LINES = st.one_of(
    st.text(),
    st.lists(st.one_of(PARTS, st.text(max_size=20)), max_size=5).map("".join),
    st.tuples(PARTS, st.integers(0, 400), st.text(max_size=5)).map(
        lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] + 1 :]
    ),
)


# A line may take as long as a busy machine needs.
@settings(deadline=None)
@given(line=LINES, day=st.one_of(st.none(), st.dates()))
@example(line="[" * 100_000, day=None)
@example(line=MESSAGES[0].example + "x" * 100_000, day=None)
@example(line='{"time":' + "[" * 100_000, day=None)
@example(line="\ud800", day=date(2026, 11, 21))
def test_any_text_has_an_outcome(line: str, day: date | None) -> None:
    origin = Origin("logs/b/x.log", "b", timezone(timedelta(hours=-14)), day)

    outcome: Outcome = broker_log(line, origin)

    assert isinstance(outcome, OUTCOMES)
    if isinstance(outcome, Rejected):
        assert outcome.reason
    if isinstance(outcome, Rows):
        ((_, columns),) = outcome.rows
        assert columns["time"].utcoffset() == timedelta(0)
        assert columns["kind"] in {message.kind for message in MESSAGES}
        assert columns["count"] is None or columns["count"] < 2**63
        for column in ("numbers", "scores"):
            values = columns[column]
            assert values is None or {type(value) for value in values.values()} <= {float}
