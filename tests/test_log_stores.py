"""Logs straight from the store that keeps them: every line, once, or one line that says why not."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests import log_stores
from tests.log_stores import Held, LogStore, Reply, served
from tests.test_wrapped import few_logs, findings, logs, parsed, raw_events
from tests.wrapped_logs import collected
from trimtab.cli import main
from trimtab.ingest.log_span import log_span
from trimtab.ingest.recording import open_recording
from trimtab.ingest.wrapped.lines_by_broker import SOURCE
from trimtab.live.gather import GatherError
from trimtab.live.gather.remote_logs import log_store_of, with_logs
from trimtab.live.gather.stores import victorialogs

ROOT = Path(__file__).parent.parent
KINDS: Mapping[str, log_stores.Answer] = {
    "loki": log_stores.loki,
    "elasticsearch": log_stores.elasticsearch,
    "opensearch": log_stores.elasticsearch,
    "victorialogs": log_stores.victorialogs,
}
SELECTORS = {"loki": '{app="pulsar"}'}
NIGHT = ("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits, and nothing of the machine's environment says who asks."""
    monkeypatch.setattr("trimtab.live.gather.stores.store._WAITS_S", (0.0, 0.0))
    for name in [it for it in os.environ if it.startswith(tuple(k.upper() for k in KINDS))]:
        monkeypatch.delenv(name)


def held(of_all: Mapping[str, Any]) -> list[Held]:
    return [Held(it.time_ns, it.broker, it.text) for it in collected(of_all)]


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(kind: str) -> Iterator[LogStore]:
    with served(KINDS[kind], held(few_logs())) as running:
        yield running


def span() -> tuple[str, str]:
    times = [it.time_ns for it in held(few_logs())]
    first, last = (
        datetime.fromtimestamp(it / 10**9, UTC) for it in (min(times), max(times) + 10**9)
    )
    return first.isoformat(), last.isoformat()


def fetched(kind: str, store: LogStore, output: Path, **more: Any) -> list[str]:
    """Ask a store for all it has, and give the lines of the files that are kept."""
    begin, end = span()
    asked = log_store_of(
        {kind: store.address},
        more.get("selector", SELECTORS.get(kind, "app:pulsar")),
        more.get("index"),
        more.get("begin", begin),
        more.get("end", end),
    )
    with with_logs(None, asked, output) as recording:
        return [line for file in recording.files[SOURCE] for line in lines(file.path)]


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_every_line_comes_once_and_says_what_the_raw_logs_say(
    kind: str, store: LogStore, tmp_path: Path
) -> None:
    raw = raw_events(few_logs(), tmp_path / "raw")
    kept = fetched(kind, store, tmp_path / "out")
    assert len(kept) == len(store.lines)
    content = "".join(f"{line}\n" for line in kept).encode()
    events, account, reasons = parsed(content, SOURCE, tmp_path / "file")
    assert (events, reasons, account.lines) == (raw, [], len(store.lines))
    # And the folder that is kept is a recording, which nobody but the owner may read.
    folder = tmp_path / "out/fetched"
    with open_recording(folder) as again:
        assert len(again.files[SOURCE]) == 1
    assert folder.stat().st_mode & 0o077 == 0
    assert sorted(it.name for it in (tmp_path / "out").iterdir()) == ["fetched"]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [7, 100, 999])
def test_pages_meet_without_a_gap_or_a_line_twice(
    kind: str, limit: int, store: LogStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a moment has many lines, the same one among them."""
    store.limit = limit
    monkeypatch.setattr(victorialogs, "PAGE", limit)
    first = store.lines[0].time_ns
    for i in range(0, len(store.lines) - 5, 5):
        for j in range(5):
            store.lines[i + j] = store.lines[i + j]._replace(time_ns=first + i * 10**6)
    kept = fetched(kind, store, tmp_path)
    assert len(kept) == len(store.lines)
    # VictoriaLogs is asked for whole minutes, of which a few have all there is.
    assert len(store.asked) >= (2 if kind == "victorialogs" else len(store.lines) / limit / 2)


def test_a_moment_with_more_lines_than_loki_gives_is_no_end(tmp_path: Path) -> None:
    many = [Held(10**18 + 5, f"b{i}", f"line {i}") for i in range(20)]
    with served(log_stores.loki, many) as store:
        store.limit = 10
        with pytest.raises(GatherError, match="has 10 or more lines of one moment"):
            fetched("loki", store, tmp_path, begin="2001-09-09T00:00:00Z")
    assert not (tmp_path / "fetched").exists()


@pytest.mark.slow
def test_loki_is_asked_for_a_shorter_time_where_it_refuses_a_long_one(tmp_path: Path) -> None:
    with served(log_stores.loki, held(few_logs())) as store:
        store.span_ns = 3 * 60 * 10**9
        kept = fetched("loki", store, tmp_path, begin=NIGHT[0], end=NIGHT[1])
        assert len(kept) == len(store.lines)


def test_a_busy_store_is_asked_again_and_not_for_ever(
    kind: str, store: LogStore, tmp_path: Path
) -> None:
    busy = Reply(503, b"too busy")
    store.faults = [Reply(429, b""), busy]
    assert len(fetched(kind, store, tmp_path)) == len(store.lines)
    store.faults = [busy] * 3
    with pytest.raises(GatherError) as raised:
        fetched(kind, store, tmp_path)
    assert str(raised.value) == (
        f"--{kind}: {store.address}: 503 Service Unavailable: too busy, asked 3 times"
    )
    # What was kept of the earlier one is there still.
    assert (tmp_path / "fetched").is_dir()


def test_an_answer_that_breaks_off_is_none(kind: str, store: LogStore, tmp_path: Path) -> None:
    store.breaks_after = 150
    with pytest.raises(GatherError, match="the answer breaks off after"):
        fetched(kind, store, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_fewer_lines_than_were_counted_are_no_answer(tmp_path: Path) -> None:
    with served(log_stores.victorialogs, held(few_logs())) as store:
        count = log_stores.victorialogs

        def short(*given: Any) -> Reply:
            reply = count(*given)
            rows = reply.body.splitlines(keepends=True)
            return reply if given[2].endswith("hits") else Reply(200, b"".join(rows[:-1]))

    with (
        served(short, held(few_logs())) as store,
        pytest.raises(GatherError, match=r"found \d+ lines from .* expected the \d+ that it has"),
    ):
        fetched("victorialogs", store, tmp_path)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("_shards", {"total": 3, "failed": 1}, "a part of an answer: 1 of its shards failed"),
        ("timed_out", True, "a part of an answer: it ran out of time"),
    ],
)
def test_a_part_of_an_answer_is_none(
    field: str, value: object, expected: str, tmp_path: Path
) -> None:
    def partly(*given: Any) -> Reply:
        reply = log_stores.elasticsearch(*given)
        return Reply(200, json.dumps(json.loads(reply.body) | {field: value}).encode())

    with (
        served(partly, held(few_logs())) as store,
        pytest.raises(GatherError, match=expected),
    ):
        fetched("elasticsearch", store, tmp_path)


# ------------------------------------------------------------------------------- who asks


def said(kind: str, store: LogStore, output: Path, *options: str, **env: str) -> str:
    """Run the command, which must end with 2 and one line."""
    begin, end = span()
    done = CliRunner().invoke(
        main,
        [
            *("explain", f"--{kind}", store.address, "-o", str(output)),
            *("--selector", SELECTORS.get(kind, "app:pulsar"), "--from", begin, "--to", end),
            *options,
        ],
        env=env,
    )
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1
    return done.stderr.removeprefix("trimtab: ").rstrip("\n")


def test_who_asks_stands_in_variables_or_files_and_is_not_written_down(
    kind: str, store: LogStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = kind.upper()
    store.basic("ada", "s3cret-word")
    monkeypatch.setenv(f"{prefix}_USERNAME", "ada")
    (tmp_path / "password").write_text("s3cret-word\n")
    monkeypatch.setenv(f"{prefix}_PASSWORD_FILE", str(tmp_path / "password"))
    fetched(kind, store, tmp_path / "out")
    monkeypatch.delenv(f"{prefix}_USERNAME")
    monkeypatch.delenv(f"{prefix}_PASSWORD_FILE")
    store.authorization = "Bearer t0ken-word"
    monkeypatch.setenv(f"{prefix}_BEARER_TOKEN", "t0ken-word")
    fetched(kind, store, tmp_path / "out")
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            text = gzip.decompress(content) if path.suffix == ".gz" else content
            assert b"s3cret-word" not in text
            assert b"t0ken-word" not in text


def test_who_is_not_known_is_told_how_to_say_it(kind: str, store: LogStore, tmp_path: Path) -> None:
    prefix = kind.upper()
    store.authorization = "Bearer right"
    unknown = said(kind, store, tmp_path)
    assert f"401 Unauthorized: nobody said who asks: set {prefix}_USERNAME" in unknown
    wrong = said(kind, store, tmp_path, **{f"{prefix}_BEARER_TOKEN": "wr0ng-token"})
    assert f"401 Unauthorized: what {prefix}_BEARER_TOKEN says is not accepted" in wrong
    # The store echoes it, and yet it stands nowhere.
    assert "wr0ng-token" not in wrong


def test_tenants_are_told_in_the_headers_that_stores_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(log_stores.loki, held(few_logs())) as store:
        store.tenant = "team-a"
        with pytest.raises(GatherError, match=r"\(no org id\)"):
            fetched("loki", store, tmp_path)
        monkeypatch.setenv("LOKI_ORG_ID", "team-a")
        assert fetched("loki", store, tmp_path)
    with served(log_stores.victorialogs, held(few_logs())) as store:
        monkeypatch.setenv("VICTORIALOGS_ACCOUNT_ID", "12")
        fetched("victorialogs", store, tmp_path)
        assert {it.get("AccountID") for it in store.headers} == {"12"}
    with served(log_stores.elasticsearch, held(few_logs())) as store:
        store.authorization = "ApiKey abc=="
        monkeypatch.setenv("ELASTICSEARCH_API_KEY", "abc==")
        fetched("elasticsearch", store, tmp_path)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"USERNAME": "a"}, "LOKI_USERNAME: found it without LOKI_PASSWORD, expected both"),
        ({"PASSWORD": "a"}, "LOKI_PASSWORD: found it without LOKI_USERNAME, expected both"),
        (
            {"USERNAME": "a", "PASSWORD": "b", "BEARER_TOKEN": "c"},
            "LOKI_BEARER_TOKEN and LOKI_USERNAME: found both, expected one of them",
        ),
        ({"BEARER_TOKEN_FILE": "/absent"}, "LOKI_BEARER_TOKEN_FILE: found /absent, expected a"),
        ({"BEARER_TOKEN": "a\nb"}, "LOKI_BEARER_TOKEN: found something else, expected one line"),
        ({"CA_CERT_PATH": "/absent"}, "LOKI_CA_CERT_PATH: found /absent, expected a file of"),
    ],
)
def test_a_variable_that_cannot_be_followed_is_named(
    variables: Mapping[str, str], expected: str, tmp_path: Path
) -> None:
    with served(log_stores.loki, []) as store:
        env = {f"LOKI_{name}": value for name, value in variables.items()}
        assert said("loki", store, tmp_path, **env).startswith(expected)
        assert store.asked == []


def test_nobody_is_told_elsewhere_who_asks(kind: str, store: LogStore, tmp_path: Path) -> None:
    """A proxy that sends to a page for signing in is no store, and gets no token."""
    with served(log_stores.loki, []) as other:
        store.faults = [Reply(302, f"{other.address}/sign-in".encode())] * 9
        words = said(kind, store, tmp_path, **{f"{kind.upper()}_BEARER_TOKEN": "t"})
        assert other.asked == []
    assert "more than 0 redirects" in words or "sends elsewhere" in words


# --------------------------------------------------------------------------- what goes wrong


def test_a_store_that_is_not_there_is_named(kind: str, tmp_path: Path) -> None:
    with served(KINDS[kind], []) as store:
        pass
    words = said(kind, store, tmp_path)
    assert words == f"--{kind}: {store.address}: connection refused"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "selector", "expected"),
    [
        ("loki", "app=pulsar", "found 'app=pulsar', and the store says: parse error at line 1"),
        ("loki", 'rate({a="b"}[1m])', "which Loki answers with a matrix; expected one of lines"),
        ("elasticsearch", "app:(", "found 'app:(', and the store says: Failed to parse query"),
        ("victorialogs", "app:(", "found 'app:(', and the store says: cannot parse query"),
    ],
)
def test_a_wrong_selector_is_named_with_what_the_store_says(
    kind: str, selector: str, expected: str, tmp_path: Path
) -> None:
    with served(KINDS[kind], held(few_logs())) as store:
        words = said(kind, store, tmp_path, "--selector", selector)
    assert words.startswith("--selector: found ")
    assert expected in words


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("absent", "--index: found 'absent', and the store says: no such index [absent]"),
        ("nothing-*", "--index: found 'nothing-*', which no index of Elasticsearch matches"),
    ],
)
def test_an_index_that_is_not_there_is_named(index: str, expected: str, tmp_path: Path) -> None:
    with served(log_stores.elasticsearch, held(few_logs())) as store:
        assert said("elasticsearch", store, tmp_path, "--index", index) == expected


def test_a_store_without_a_line_for_the_selector_says_so(
    kind: str, store: LogStore, tmp_path: Path
) -> None:
    selector = '{app="other"}' if kind == "loki" else "app:other"
    words = said(kind, store, tmp_path, "--selector", selector)
    assert f"--{kind}: {store.address} has no line from 2026-" in words
    assert words.endswith(f" for {selector}")


def test_somebody_else_at_the_address_is_no_store(
    kind: str, store: LogStore, tmp_path: Path
) -> None:
    page = b"<html><title>Grafana</title><body>Welcome</body></html>"
    store.faults = [Reply(200, page)] * 9
    assert "'Grafana'; expected" in said(kind, store, tmp_path)
    store.faults = [Reply(404, b"404 page not found\x1b[2J")] * 9
    words = said(kind, store, tmp_path)
    assert "404 Not Found: 404 page not found\\x1b[2J; expected the address of" in words


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--loki", "http://a", "--victorialogs", "http://b"), "found together, expected one"),
        (("--loki", "http://a"), "--selector: found nothing, expected which lines Loki has"),
        (("--loki", "http://a", "--selector", "x"), "--from: found nothing, and neither"),
        (("--loki", "http://u:p@a", "--selector", "x", "--from", NIGHT[0], "--to", NIGHT[1]),
         "found a name or password in front of a"),
        (("--loki", "http://a", "--selector", "x", "--index", "y"), "--index: found with --loki"),
        (("here", "--selector", "x"), "--selector: found without a store"),
        (("here", "--from", NIGHT[0]), "--from and --to: found nobody who is asked"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_named(
    options: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(main, ["explain", *options, "-o", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


# ----------------------------------------------------------------------- beside a recording


def test_the_time_is_that_of_the_recordings_logs(
    kind: str, store: LogStore, tmp_path: Path
) -> None:
    broker, mine = next(iter(few_logs().items()))
    (tmp_path / "night/logs" / broker).mkdir(parents=True)
    text = "".join(f"{line}\n" for line in mine)
    (tmp_path / "night/logs" / broker / "broker.log").write_text(text, encoding="utf-8")
    asked = log_store_of({kind: store.address}, SELECTORS.get(kind, "app:pulsar"), None, None, None)
    with with_logs(tmp_path / "night", asked, tmp_path / "out") as recording:
        assert [file.name for file in recording.files["log"]] == [f"logs/{broker}/broker.log"]
        [file] = recording.files[SOURCE]
        assert file.name == f"fetched/logs/{kind}/0001.jsonl.gz"
        there = lines(file.path)
    first, last = (it.time_ns for it in (store.lines[0], store.lines[-1]))
    assert 0 < len(there) <= len(store.lines)
    assert first < last


@pytest.mark.parametrize("form", ["plain", "packed", "undated", "wrapped"])
def test_the_span_of_logs_is_that_of_their_lines(form: str, tmp_path: Path) -> None:
    def line(clock: str) -> str:
        day = "" if form == "undated" else "2026-11-21T"
        zone = "" if form == "undated" else "+0000"
        text = f"{day}{clock},331{zone} [main] INFO  o.a.p.broker.PulsarService - x"
        return json.dumps({"line": text, "labels": {"pod": "b"}, "timestamp": "1"}) if (
            form == "wrapped"
        ) else text  # fmt: skip

    rows = [line("06:00:00"), *[line("06:30:00")] * 9_000, line("07:00:00"), "\tat a.B.c(D.java:1)"]
    content = "".join(f"{row}\n" for row in rows).encode()
    name = "broker.log.gz" if form == "packed" else "broker.log"
    (tmp_path / name).write_bytes(gzip.compress(content) if form == "packed" else content)
    if form == "undated":
        (tmp_path / "recording.toml").write_text('from = "2026-11-21T05:00:00"\n')
    with open_recording(tmp_path) as recording:
        span = log_span(recording)
    assert span is not None
    assert [it.isoformat(timespec="milliseconds") for it in span] == [
        "2026-11-21T06:00:00.331+00:00",
        "2026-11-21T07:00:00.332+00:00",
    ]


def test_logs_that_say_no_day_have_no_span(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text("06:00:00.331 [main] INFO  o.a.p.broker.X - x\n")
    with open_recording(tmp_path) as recording:
        assert log_span(recording) is None


# ------------------------------------------------------------------------------- end to end


@pytest.mark.spark
@pytest.mark.slow
def test_the_findings_are_those_of_the_raw_logs(kind: str, tmp_path: Path) -> None:
    if kind == "opensearch":
        pytest.skip("the same calls as of Elasticsearch")
    night = tmp_path / "threshold"
    shutil.copytree(ROOT / "recordings/threshold", night, copy_function=os.link)
    shutil.rmtree(night / "logs")
    with served(KINDS[kind], held(logs("threshold"))) as store:
        selector = SELECTORS.get(kind, "app:pulsar")
        asked = (f"--{kind}", store.address, "--selector", selector)
        of_store = findings(night, tmp_path / "asked", *asked, "--from", NIGHT[0], "--to", NIGHT[1])
    assert of_store == findings(ROOT / "recordings/threshold", tmp_path / "raw")
    assert of_store["findings"]
