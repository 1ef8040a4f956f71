"""Loki, Elasticsearch and VictoriaLogs on loopback, as far as somebody reads lines from them.

Written from their documentation: what each accepts, in which order and how many lines it gives,
and with which words it refuses.  Nothing of trimtab is used, so that neither knows the other.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit


class Held(NamedTuple):
    """A line that a store has."""

    time_ns: int
    pod: str
    text: str


class Reply(NamedTuple):
    """What a store answers."""

    status: int
    body: bytes


@dataclass
class Scroll:
    """A place in the documents that matched."""

    size: int
    total: int
    left: list[Held]


@dataclass
class LogStore:
    """One store: its lines, its limits, and what goes wrong."""

    lines: list[Held]
    #: Whoever does not send exactly this is refused.
    authorization: str | None = None
    #: Answered, one after the other, in place of what the next calls would get.
    faults: list[Reply] = field(default_factory=list)
    #: Answers are cut to so many bytes, although the length says more.
    breaks_after: int | None = None
    limit: int = 5_000
    span_ns: int = 721 * 3_600_000_000_000
    tenant: str | None = None
    #: Method, path and body of each call.
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    scrolls: dict[str, Scroll] = field(default_factory=dict)
    address: str = ""

    def basic(self, user: str, password: str) -> None:
        encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.authorization = f"Basic {encoded}"

    def within(self, begin_ns: int, end_ns: int, takes: Callable[[Held], bool]) -> list[Held]:
        held = [it for it in self.lines if begin_ns <= it.time_ns < end_ns and takes(it)]
        return sorted(held, key=lambda it: it.time_ns)


Answer = Callable[[LogStore, str, str, dict[str, str], Any], Reply]


def _text(status: int, words: str) -> Reply:
    return Reply(status, words.encode())


def _json(body: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(body).encode())


def _matcher(selector: str) -> Callable[[Held], bool]:
    """What `{app="pulsar",pod=~"b.*"}` or `app:pulsar AND pod:b0` takes; every line is Pulsar's."""
    pods = re.findall(r'pod(?:=~|=|:)"?([^"},\s]+)', selector)
    apps = re.findall(r'app(?:=~|=|:)"?([^"},\s]+)', selector)
    return lambda it: (
        all(re.fullmatch(pod, it.pod) for pod in pods) and all(app == "pulsar" for app in apps)
    )


# -------------------------------------------------------------------------------------- Loki


def loki(store: LogStore, method: str, path: str, query: dict[str, str], body: Any) -> Reply:
    if path != "/loki/api/v1/query_range":
        return _text(404, "404 page not found\n")
    if store.tenant is not None and store.headers[-1].get("X-Scope-OrgID") != store.tenant:
        return _text(401, "no org id\n")
    selector, limit = query["query"], int(query.get("limit", "100"))
    begin_ns, end_ns = int(query["start"]), int(query["end"])
    if selector.startswith("rate("):
        return _json({"status": "success", "data": {"resultType": "matrix", "result": []}})
    if not re.fullmatch(r"\{.+\}.*", selector):
        return _text(400, "parse error at line 1, col 1: syntax error: unexpected IDENTIFIER")
    if limit > store.limit:
        return _text(
            400,
            "max entries limit per query exceeded, limit > max_entries_limit_per_query "
            f"({limit} > {store.limit})",
        )
    if end_ns - begin_ns > store.span_ns:
        return _text(400, "the query time range exceeds the limit (query length: 9h, limit: 1h)")
    held = store.within(begin_ns, end_ns, _matcher(selector))
    assert query["direction"] == "forward"
    streams: dict[str, list[list[str]]] = {}
    for it in held[:limit]:
        streams.setdefault(it.pod, []).append([str(it.time_ns), it.text])
    result = [
        {"stream": {"app": "pulsar", "pod": pod}, "values": values}
        for pod, values in streams.items()
    ]
    data = {"resultType": "streams", "result": result, "stats": {"summary": {}}}
    return _json({"status": "success", "data": data})


# ----------------------------------------------------------------------------- Elasticsearch

_NO_INDEX = {
    "error": {
        "root_cause": [{"type": "index_not_found_exception", "reason": "no such index [absent]"}],
        "type": "index_not_found_exception",
        "reason": "no such index [absent]",
    },
    "status": 404,
}
_NO_SCROLL = {
    "error": {
        "root_cause": [
            {
                "type": "search_context_missing_exception",
                "reason": "No search context found for id [1]",
            }
        ]
    },
    "status": 404,
}


def _refused(kind: str, reason: str, status: int = 400) -> Reply:
    cause = {"type": kind, "reason": reason}
    return _json({"error": {"root_cause": [cause], **cause}, "status": status}, status)


def elasticsearch(
    store: LogStore, method: str, path: str, query: dict[str, str], body: Any
) -> Reply:
    if path == "/_search/scroll":
        if body["scroll_id"] not in store.scrolls:
            return _json(_NO_SCROLL, 404)
        if method == "DELETE":
            del store.scrolls[body["scroll_id"]]
            return _json({"succeeded": True, "num_freed": 1})
        return _hits(store, body["scroll_id"])
    index, _, verb = path.strip("/").partition("/")
    if verb != "_search" or method != "POST":
        return _refused("illegal_argument_exception", f"no handler found for uri [{path}]")
    if index == "absent":
        return _json(_NO_INDEX, 404)
    if body["size"] > store.limit:
        return _refused(
            "illegal_argument_exception",
            "Batch size is too large, size must be less than or equal to: "
            f"[{store.limit}] but was [{body['size']}]. Scroll batch sizes cost as much memory",
        )
    assert body["track_total_hits"] is True
    assert query == {"scroll": "2m", "allow_partial_search_results": "false"}
    span, words = body["query"]["bool"]["filter"]
    selector = words["query_string"]["query"]
    if selector.count("(") != selector.count(")"):
        return _refused("query_shard_exception", f"Failed to parse query [{selector}]")
    times = span["range"]["@timestamp"]
    begin_ns, end_ns = (_nanoseconds(times[name]) for name in ("gte", "lt"))
    held = store.within(begin_ns, end_ns, _matcher(selector))
    if index == "nothing-*":
        held = []
    store.scrolls["1"] = Scroll(body["size"], len(held), held)
    return _hits(store, "1", shards=0 if index == "nothing-*" else 3)


def _hits(store: LogStore, scroll: str, shards: int = 3) -> Reply:
    here = store.scrolls[scroll]
    page, here.left = here.left[: here.size], here.left[here.size :]
    hits = [
        {
            "_index": "filebeat-2026.11.21",
            "_id": str(id(it)),
            "_score": None,
            "_source": {
                "@timestamp": _iso(it.time_ns, 3),
                "message": it.text,
                "kubernetes": {"pod": {"name": it.pod}},
            },
            "sort": [it.time_ns // 10**6],
        }
        for it in page
    ]
    return _json(
        {
            "_scroll_id": scroll,
            "took": 3,
            "timed_out": False,
            "_shards": {"total": shards, "successful": shards, "skipped": 0, "failed": 0},
            "hits": {
                "total": {"value": here.total, "relation": "eq"},
                "hits": hits,
            },
        }
    )


# ------------------------------------------------------------------------------ VictoriaLogs


def victorialogs(
    store: LogStore, method: str, path: str, query: dict[str, str], body: Any
) -> Reply:
    selector = query.get("query", "")
    if selector.count("(") != selector.count(")"):
        return _text(400, f"cannot parse query [{selector}]: missing ')'")
    begin_ns, end_ns = (_nanoseconds(query[name]) for name in ("start", "end"))
    held = store.within(begin_ns, end_ns, _matcher(selector))
    if path == "/select/logsql/hits":
        step_ns = int(query["step"].removesuffix("s")) * 10**9
        counts: dict[int, int] = {}
        for it in held:
            begin = it.time_ns - it.time_ns % step_ns
            counts[begin] = counts.get(begin, 0) + 1
        hits = {
            "fields": {},
            "timestamps": [_iso(time_ns, 0) for time_ns in counts],
            "values": list(counts.values()),
            "total": len(held),
        }
        return _json({"hits": [hits] if held else []})
    if path != "/select/logsql/query":
        return _text(400, f"unsupported path requested: {path!r}")
    rows = [
        {
            "_time": _iso(it.time_ns, 9),
            "_stream": f'{{pod="{it.pod}"}}',
            "_msg": it.text,
            "kubernetes.pod_name": it.pod,
        }
        for it in held
    ]
    # They come in no order, those of one moment but for that.
    by_time: dict[str, list[Any]] = {}
    for row in rows:
        by_time.setdefault(row["_time"], []).append(row)
    moments = list(by_time.values())
    Random("unsorted").shuffle(moments)
    return Reply(200, "".join(f"{json.dumps(row)}\n" for rows in moments for row in rows).encode())


# ------------------------------------------------------------------------------------ serving


def _iso(time_ns: int, digits: int) -> str:
    second, fraction = divmod(time_ns, 10**9)
    head = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{head}.{fraction:09d}"[: 20 + digits] + "Z" if digits else f"{head}Z"


def _nanoseconds(text: str) -> int:
    match = re.fullmatch(r"(.{19})\.(\d{9})Z", text)
    assert match, text
    second = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    return int(second.timestamp()) * 10**9 + int(match[2])


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, store: LogStore, answer: Answer, *given: Any) -> None:
        self.store, self.answer = store, answer
        super().__init__(*given)

    def do_GET(self) -> None:
        store = self.store
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        store.asked.append((self.command, url.path, body or query))
        store.headers.append(dict(self.headers))
        if store.authorization not in (None, self.headers.get("Authorization")):
            reply = _text(401, f"no: {self.headers.get('Authorization')}")
        elif store.faults:
            reply = store.faults.pop(0)
        else:
            reply = self.answer(store, self.command, url.path, query, body)
        self.send_response(reply.status)
        if reply.status in (301, 302):
            self.send_header("Location", reply.body.decode())
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        cut = store.breaks_after
        self.wfile.write(reply.body if cut is None else reply.body[:cut])
        self.close_connection = cut is not None

    do_POST = do_DELETE = do_GET  # noqa: N815  # the server looks for these names

    def log_message(self, *given: object) -> None:
        """Say nothing."""


@contextmanager
def served(answer: Answer, lines: list[Held]) -> Iterator[LogStore]:
    """Run a store with some lines."""
    store = LogStore(lines)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Request, store, answer))
    store.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
