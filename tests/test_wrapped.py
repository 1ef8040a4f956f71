"""Logs as collectors hand them out give the rows that the brokers' own logs give.

The files are made by `tests.wrapped_logs`, of the logs of real clusters.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from tests.log_text import damaged
from tests.wrapped_logs import OF_ONE, SHAPES, Logs, collected
from trimtab.cli import main
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.layouts import log_line
from trimtab.ingest.messages import MESSAGES
from trimtab.ingest.outcome import Origin, Other, Rows
from trimtab.ingest.recording import Recording, open_recording
from trimtab.ingest.split_result import CLASSES, SplitAccount, TableRows
from trimtab.ingest.splits import Split, cut, lines_of
from trimtab.ingest.worker import parse_split
from trimtab.ingest.wrapped import shapes
from trimtab.ingest.wrapped.kinds import look_at
from trimtab.ingest.wrapped.lines_by_broker import SOURCE, unwrapped

ROOT = Path(__file__).parent.parent
RECORDINGS = ("threshold", "avg", "uniform")
#: The broker whose log a file is that does not say it.
LEADER = "broker1"
#: Lines of each broker that most tests make do with.
FEW = 300
EVERY = {**SHAPES, **OF_ONE}
#: Shapes in which each line of the file is a log line, and says when it was collected.
TIMED_LINES = tuple(
    name
    for name, write in SHAPES.items()
    if write({"b": ["x"] * 3}).count(b"\n") == 3 and "CSV" not in name and "OTLP" not in name
)

Events = Mapping[str, list[dict[str, Any]]]


@cache
def logs(recording: str) -> Logs:
    """Give the lines of each broker's log."""
    by_broker: dict[str, list[str]] = {}
    for path in sorted((ROOT / "recordings" / recording).glob("logs/*/*")):
        content = path.read_bytes()
        text = gzip.decompress(content) if path.suffix == ".gz" else content
        by_broker.setdefault(path.parent.name, []).extend(lines_of(text))
    return by_broker


@lru_cache(maxsize=1)
def few_logs() -> Logs:
    """Give lines of each broker, the rounds and a stack trace among them."""
    few = {}
    for broker, lines in logs("threshold").items():
        first = next((i for i, line in enumerate(lines) if "ThresholdShedder" in line), 0)
        traces = [i for i, line in enumerate(lines) if line.startswith("\tat ")]
        begin = max(traces[0] - 3, 0) if traces else 0
        parts = (lines[:60], lines[begin : begin + 60], lines[first : first + FEW])
        few[broker] = [line for part in parts for line in part]
    return few


def of(shape: str, of_all: Logs) -> Logs:
    """Give the logs that a file of a shape can hold."""
    return of_all if shape in SHAPES else {LEADER: of_all[LEADER]}


def parsed(content: bytes, source: str, path: Path) -> tuple[Events, SplitAccount, list[str]]:
    """Parse a file: the messages of each broker, its accounting, and why lines were rejected."""
    path.write_bytes(content)
    [split] = cut(path, Origin("logs.json", LEADER, UTC, None), source, size=1 << 30)
    events, account, reasons = parsed_split(split)
    assert account.bytes == len(content)
    return events, account, reasons


def parsed_split(split: Split) -> tuple[Events, SplitAccount, list[str]]:
    """Parse a split: the messages of each broker, its accounting, and why lines were rejected."""
    *parts, account = parse_split(split)
    assert isinstance(account, SplitAccount)
    events: dict[str, list[dict[str, Any]]] = {}
    reasons: list[str] = []
    last = 0
    for part in parts:
        assert isinstance(part, TableRows)
        for row in part.rows.to_pylist():
            if part.table == "rejects":
                reasons.append(row["reason"])
            if part.table == "log_events":
                assert row["line"] >= last
                last = row["line"]
                where = ("file", "line", "log_broker")
                mine = {name: value for name, value in row.items() if name not in where}
                events.setdefault(row["log_broker"], []).append(mine)
    assert account.lines == sum(getattr(account, name) for name in CLASSES)
    return events, account, reasons


def raw_events(of_all: Logs, path: Path) -> Events:
    """Give the messages of the brokers' own logs."""
    events = {}
    for broker, lines in of_all.items():
        content = "".join(f"{line}\n" for line in lines).encode()
        events[broker] = next(iter(parsed(content, "log", path)[0].values()))
    return events


@pytest.fixture(scope="module")
def few_events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    events = raw_events(few_logs(), tmp_path_factory.mktemp("raw") / "log")
    assert sum(map(len, events.values())) > 100
    return events


@pytest.mark.slow
@pytest.mark.parametrize("shape", EVERY)
def test_every_shape_gives_what_the_raw_logs_give(
    shape: str, few_events: Events, tmp_path: Path
) -> None:
    held = of(shape, few_logs())
    content = EVERY[shape](held)
    events, account, reasons = parsed(content, SOURCE, tmp_path / "file")
    assert events == of(shape, few_events)
    assert not reasons
    assert account.nameless == 0
    assert account.other + account.rows + account.continuation >= sum(map(len, held.values()))
    # And it is known for what it is.
    look = look_at(tmp_path / "file")
    assert look.is_pulsar
    assert look.is_wrapped == (shape != "raw")


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_every_shape_of_whole_nights(recording: str, tmp_path: Path, is_exhaustive: bool) -> None:
    """A third of the shapes each night, and with `--exhaustive` all of them."""
    raw = raw_events(logs(recording), tmp_path / "log")
    mine = list(EVERY) if is_exhaustive else list(EVERY)[RECORDINGS.index(recording) :: 3]
    for shape in mine:
        content = EVERY[shape](of(shape, logs(recording)))
        orders = [content]
        if shape in TIMED_LINES:
            lines = content.splitlines(keepends=True)
            orders.append(b"".join(reversed(lines)))
        for ordered in orders:
            events, account, reasons = parsed(ordered, SOURCE, tmp_path / "file")
            assert events == of(shape, raw), shape
            assert (reasons, account.nameless) == ([], 0), shape


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_whole_nights_in_mixed_shapes(recording: str, tmp_path: Path) -> None:
    """The brokers interleaved line by line, each line in any shape, with the newest first."""
    of_all = logs(recording)
    content = b"".join(reversed(mixed(of_all)))
    events, account, reasons = parsed(content, SOURCE, tmp_path / "file")
    assert events == raw_events(of_all, tmp_path / "log")
    assert (reasons, account.nameless) == ([], 0)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["raw", "kubectl --timestamps", *TIMED_LINES])
def test_the_newest_line_may_stand_first(shape: str, few_events: Events, tmp_path: Path) -> None:
    lines = EVERY[shape](of(shape, few_logs())).splitlines(keepends=True)
    events, _, reasons = parsed(b"".join(reversed(lines)), SOURCE, tmp_path / "file")
    assert events == of(shape, few_events)
    assert not reasons
    assert look_at(tmp_path / "file").is_wrapped


def mixed(of_all: Logs) -> list[bytes]:
    """Give the lines of all brokers, each in any of the shapes that say to the second when."""
    random = Random("mixed")
    timed = [name for name in TIMED_LINES if "short" not in name and name != "syslog"]
    files = {name: SHAPES[name](of_all).splitlines(keepends=True) for name in timed}
    return [files[random.choice(timed)][i] for i in range(len(collected(of_all)))]


@pytest.mark.slow
def test_shapes_may_be_mixed_in_one_file(few_events: Events, tmp_path: Path) -> None:
    content = b"".join(mixed(few_logs()))
    events, _, reasons = parsed(content, SOURCE, tmp_path / "file")
    assert events == few_events
    assert not reasons


def test_brokers_may_stand_one_after_the_other(few_events: Events, tmp_path: Path) -> None:
    """As `kubectl logs --selector` prints them, and exports of several shards."""
    for shape in ("kubectl --prefix", "elasticdump"):
        alone = [SHAPES[shape]({broker: lines}) for broker, lines in few_logs().items()]
        events, _, reasons = parsed(b"".join(alone), SOURCE, tmp_path / "file")
        assert events == few_events
        assert not reasons


def test_an_export_in_no_order_is_put_in_order(few_events: Events, tmp_path: Path) -> None:
    lines = SHAPES["logcli -o jsonl"](few_logs()).splitlines(keepends=True)
    Random("shuffled").shuffle(lines)
    assert parsed(b"".join(lines), SOURCE, tmp_path / "file")[0] == few_events


@pytest.mark.parametrize("shape", ["logcli -o jsonl", "kubectl --prefix", "Filebeat"])
def test_line_by_line_the_same_is_said(shape: str, few_events: Events, tmp_path: Path) -> None:
    """As of a log that is followed, or that is wrapped only further on."""
    events, _, _ = parsed(SHAPES[shape](few_logs()), "log", tmp_path / "file")
    assert events == few_events


@pytest.mark.parametrize(
    ("shape", "line"),
    [
        ("Loki", '{"labels":{"pod":"b0"},"line":"%s","timestamp":"2026-11-21T00:00:01.5Z"}'),
        ("kubectl", "[pod/b0/broker] 2026-11-21T00:00:01.500000000Z %s"),
        ("CloudWatch", '{"logStreamName":"b0","timestamp":1795219201500,"message":"%s"}'),
        ("journald", '{"_HOSTNAME":"b0","__REALTIME_TIMESTAMP":"1795219201500000","MESSAGE":"%s"}'),
    ],
)
def test_a_line_without_a_day_is_of_the_day_on_which_it_was_collected(
    shape: str, line: str, tmp_path: Path
) -> None:
    """A second before midnight as well as behind it."""
    rest = "[main] INFO  o.a.p.broker.PulsarService - This broker was elected leader"
    for clock, day in (("23:59:59.331", 20), ("00:00:00.331", 21)):
        content = (line % f"{clock} {rest}").encode() + b"\n"
        events, _, reasons = parsed(content, SOURCE, tmp_path / "file")
        assert [event["time"].day for event in events.get("b0", [])] == [day], (shape, reasons)


@pytest.mark.parametrize("shape", shapes.SHAPES, ids=lambda shape: shape.name)
def test_the_example_of_a_shape_is_of_it(shape: shapes.Shape, tmp_path: Path) -> None:
    held = unwrapped(lines_of(shape.example.strip("\n").encode()))
    [log] = [log for log in held.brokers if any(log.lines)]
    line = log_line("".join(log.lines))
    assert line is not None
    assert (line.logger, line.message) == ("org.apache.pulsar.broker.PulsarService", "Closed")
    if shape.name not in ("Kubernetes node, CRI", "a time in front", "docker, JSON"):
        assert log.broker.endswith("broker-0")


# ------------------------------------------------------------------------ structured lines


def structured_examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the constant messages with attributes, as a broker of Pulsar 5 prints them in ECS."""
    for message in MESSAGES:
        if message.attributes:
            head, text = message.example.split(" - ", 1)
            time, rest = head.split(" ", 1)
            thread, level, logger = rest[1:].replace("]", "").split()
            values = {}
            begins = [text.find(f"{name}=") for name in message.attributes]
            for name, begin in zip(message.attributes, begins, strict=True):
                values[name] = text[begin + len(name) + 1 :].split(" ")[0].strip('",')
            constant = text[: min(begins)]
            yield (
                message.kind,
                {
                    "@timestamp": time.replace(",", ".").replace("+0000", "Z"),
                    "log.level": level,
                    "process.thread.name": thread,
                    "log.logger": logger,
                    "message": constant.rstrip(" ,:"),
                    **values,
                },
            )


def _nested(record: Mapping[str, Any]) -> dict[str, Any]:
    """Give a record as Elasticsearch has it: names with dots are objects."""
    nested: dict[str, Any] = {}
    for name, value in record.items():
        *heads, last = name.split(".")
        inner = nested
        for head in heads:
            inner = inner.setdefault(head, {})
        inner[last] = value
    return nested


def _logfmt(record: Mapping[str, Any]) -> str:
    short = {"log.level": "level", "log.logger": "logger", "@timestamp": "ts", "message": "msg",
             "process.thread.name": "thread"}  # fmt: skip
    return " ".join(f"{short.get(name, name)}={json.dumps(it)}" for name, it in record.items())


STRUCTURED: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "in Loki": lambda it: json.dumps(
        {"labels": {"pod": "b0"}, "line": json.dumps(it), "timestamp": "2026-11-21T06:37:17Z"}
    ),
    "by kubectl --prefix": lambda it: f"[pod/b0/broker] {json.dumps(it)}",
    "decoded by Filebeat": lambda it: json.dumps(
        _nested(it) | {"kubernetes": {"pod": {"name": "b0"}}}
    ),
    "elasticdump": lambda it: json.dumps(
        {"_source": _nested(it) | {"kubernetes": {"pod": {"name": "b0"}}}}
    ),
    "jsonPayload": lambda it: json.dumps(
        {
            "jsonPayload": dict(it),
            "timestamp": it["@timestamp"],
            "resource": {"labels": {"pod_name": "b0"}},
        }
    ),
    "logfmt": lambda it: _logfmt({**it, "pod": "b0"}),
}


@pytest.mark.parametrize("shape", STRUCTURED)
def test_a_constant_message_keeps_its_attributes(shape: str) -> None:
    examples = list(structured_examples())
    assert len(examples) > 15
    origin = Origin("x", "b0", UTC, None)
    for kind, record in examples:
        alone = broker_log(json.dumps(record), origin)
        assert isinstance(alone, Rows), (kind, record)
        [log] = unwrapped([STRUCTURED[shape](record)]).brokers
        assert log.broker == "b0"
        inside = broker_log("".join(log.lines), origin)
        assert isinstance(inside, Rows), (kind, log.lines)
        (_, one), (_, other) = alone.rows[0], inside.rows[0]
        assert {**one, "text": ""} == {**other, "text": ""}


# ------------------------------------------------------------------------------- damage


@pytest.mark.slow
def test_damage_costs_what_is_damaged(tmp_path: Path, is_exhaustive: bool) -> None:
    """10,000 damages: every line is one of four things, and none loses its logger silently."""
    random = Random("wrapped damage")
    files = {name: EVERY[name](of(name, few_logs())) for name in EVERY}
    damages = 0
    kept = rejected = 0
    while damages < (100_000 if is_exhaustive else 10_000):
        for name, whole in files.items():
            lines = whole.split(b"\n")
            begin = random.randrange(max(len(lines) - 40, 1))
            some = lines[begin : begin + 40] if "CSV" not in name else lines[:1] + lines[-40:]
            if len(some) < 10:
                # One document on one line: what is damaged are places in it.
                some = [whole[: 1 << 15]]
            broken = b"\n".join(damaged(line, random) for line in some)
            damages += len(some)
            if not broken or broken.startswith(b"\x1f\x8b"):
                continue
            _, account, reasons = parsed(broken, SOURCE, tmp_path / "file")
            assert not [reason for reason in reasons if "the parser failed" in reason]
            assert account.nameless == nameless(broken)
            kept += account.rows + account.other
            rejected += account.rejected
    assert kept > rejected > 0


#: What may have printed a line that is not needed, or nothing at all.
LOGGER = re.compile(r"[A-Za-z$][\w$]*[.#][\w$.]*\w|[A-Z]\w+|^\W*$|^(?:#|//)")


def nameless(content: bytes) -> int:
    """Count the lines without a logger, one by one."""
    lines = [line for log in unwrapped(lines_of(content)).brokers for line in log.lines]
    count = 0
    for line in lines_of("".join(f"{line}\n" for line in lines).encode("utf-8", "replace")):
        outcome = broker_log(line, Origin("x", LEADER, UTC, None))
        if isinstance(outcome, Other):
            count += not outcome.has_logger
            assert not outcome.has_logger or LOGGER.search(line), line
    return count


# ----------------------------------------------------------------- files of a recording


def opened(path: Path) -> Recording:
    with open_recording(path) as recording:
        return recording


@pytest.mark.parametrize("name", ["brokers.json", "logs/brokers.csv", "logs/b0/000000.gz"])
def test_an_export_in_a_folder_is_a_log_whatever_its_name(name: str, tmp_path: Path) -> None:
    content = SHAPES["Kibana, CSV" if name.endswith("csv") else "Loki's API"](few_logs())
    path = tmp_path / "night" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    files = opened(tmp_path / "night").files
    assert [file.name for file in files[SOURCE]] == [name]


def test_the_same_log_by_another_name_counts_once(tmp_path: Path) -> None:
    (tmp_path / "logs/b0").mkdir(parents=True)
    whole = "".join(f"{line}\n" for line in logs("threshold")[LEADER]).encode()
    other = "".join(f"{line}\n" for line in logs("threshold")["broker2"]).encode()
    (tmp_path / "logs/b0/broker.log").write_bytes(whole)
    (tmp_path / "logs/b0/copy.log").write_bytes(whole)
    (tmp_path / "logs/b0/earlier.log.gz").write_bytes(gzip.compress(whole[:5000]))
    (tmp_path / "logs/b0/other.log").write_bytes(other)
    recording = opened(tmp_path)
    assert [file.name for file in recording.files["log"]] == [
        "logs/b0/broker.log",
        "logs/b0/other.log",
    ]
    reasons = {file.name: file.reason for file in recording.unused}
    assert reasons == {
        name: "the same log by another name: its lines count once, as those of logs/b0/broker.log"
        for name in ("logs/b0/copy.log", "logs/b0/earlier.log.gz")
    }


KAFKA = "[2026-11-21 06:37:17,331] INFO [KafkaServer id=0] started (kafka.server.KafkaServer)\n"
NGINX = '10.0.0.1 - - [21/Nov/2026:06:37:17 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8"\n'
FOREIGN = {
    "Kafka's log": KAFKA * 3,
    "the access log of nginx or Apache": NGINX * 3,
    "nginx's error log": "2026/11/21 06:37:17 [error] 31#31: *1 open() failed\n",
    "syslog": "Nov 21 06:37:17 node-1 sshd[12]: Accepted publickey\n" * 2,
    "a PNG picture": "\x89PNG\r\n\x1a\n\0\0",
    "a Loki export without `line`": '{"labels":{"pod":"b0"},"timestamp":"2026-11-21T06:37:17Z"}\n',
    "metrics of Prometheus, which belong": "# HELP up x\n# TYPE up gauge\nup 1\n",
    "a web page": "<!DOCTYPE html>\n<html>\n",
    "YAML of Kubernetes": "apiVersion: v1\nkind: Pod\n",
    "JSON without a log line in it": '{"a": 1}\n',
    "a file that is not text": "\0\1\2\3" * 9,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_of_another_program_is_called_by_its_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_bytes(FOREIGN[kind].encode("latin-1"))
    result = CliRunner().invoke(main, ["explain", str(path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    [line] = result.output.strip().splitlines()
    assert f"none of its lines is Pulsar's: it looks like {kind}" in line


def test_an_empty_file_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.touch()
    result = CliRunner().invoke(main, ["explain", str(path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert f"{path}: it is empty; expected a broker's log" in result.output


def test_a_foreign_log_beside_a_brokers_is_named(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text(few_logs()[LEADER][0] + "\n", encoding="utf-8")
    (tmp_path / "kafka.log").write_text(KAFKA, encoding="utf-8")
    recording = opened(tmp_path)
    assert [file.name for file in recording.files["log"]] == ["broker.log"]
    assert [(file.name, file.reason) for file in recording.unused] == [
        ("kafka.log", "none of its lines is Pulsar's: it looks like Kafka's log")
    ]


# ------------------------------------------------------------------------------ findings


def findings(recording: Path, output: Path, *options: str) -> Any:
    """Explain a recording: all that is found, but for where it stands."""
    arguments = ["explain", str(recording), "-o", str(output), *options]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return _without_places(json.loads((output / "findings.json").read_text(encoding="utf-8")))


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        where = {"file", "line", "accounting", "recording"}
        # What is to be changed has its evidence as `FILE:LINE`.
        where |= {"evidence"} if isinstance(value.get("evidence"), str) else set()
        return {name: _without_places(it) for name, it in value.items() if name not in where}
    return [_without_places(it) for it in value] if isinstance(value, list) else value


@pytest.mark.usefixtures("spark")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("recording", "shape"),
    [("threshold", "Loki's API"), ("avg", "kubectl --prefix"), ("uniform", "Kibana, CSV")],
)
def test_the_findings_are_those_of_the_raw_logs(recording: str, shape: str, tmp_path: Path) -> None:
    night = tmp_path / recording
    shutil.copytree(ROOT / "recordings" / recording, night, copy_function=os.link)
    shutil.rmtree(night / "logs")
    lines = SHAPES[shape](logs(recording)).splitlines(keepends=True)
    if shape == "kubectl --prefix":
        # Two files, each with lines of all brokers, and the newest first.
        half = len(lines) // 2
        (night / "brokers-1.txt").write_bytes(b"".join(reversed(lines[:half])))
        (night / "brokers-2.txt").write_bytes(b"".join(reversed(lines[half:])))
    else:
        (night / "brokers.json").write_bytes(b"".join(lines))
    exported = findings(night, tmp_path / "exported")
    assert exported == findings(ROOT / "recordings" / recording, tmp_path / "raw")
    assert exported["findings"]
