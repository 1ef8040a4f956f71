"""Admin APIs of brokers that answer what real ones answered, or fail as a test asks them to.

The answers in tests/testdata/gather/answers are of Pulsar 4.0.8; long ones are cut, and the
broker's address is put in for that of the broker that gave them.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ANSWERS = Path(__file__).parent / "testdata" / "gather" / "answers"
#: Where the answers come from.
RECORDED_AT = "10.213.0.11:8080"
RECORDED_OWNER = "10.213.0.12:8080"

LIST = "/admin/v2/brokers"
LEADER = "/admin/v2/brokers/leaderBroker"
RUNTIME = "/admin/v2/brokers/configuration/runtime"
VERSION = "/admin/v2/brokers/version"
REPORT = "/admin/v2/broker-stats/load-report"
METRICS = "/metrics/"

#: Answers one request.
Answer = Callable[["Request"], None]


@dataclass
class Broker:
    """One admin API: what it answers by path, and what it was asked."""

    server: ThreadingHTTPServer
    scheme: str
    answers: dict[str, Answer]
    #: Paths, and the headers that came with each.
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    @property
    def address(self) -> str:
        return f"{self.scheme}://{self.id}"

    def owned(self, broker: str) -> str:
        return f"/admin/v2/brokers/h1/{broker}/ownedNamespaces"

    def vanish(self) -> None:
        """Stop answering, as a process that was killed."""
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Request(BaseHTTPRequestHandler):
    """One request to a broker of a test."""

    protocol_version = "HTTP/1.1"

    def __init__(self, broker: list[Broker], *given: object) -> None:
        self.broker = broker
        super().__init__(*given)  # type: ignore[arg-type]  # as the server hands them on

    def setup(self) -> None:
        super().setup()
        self.broker[0].connections.append(self.connection)

    def do_GET(self) -> None:
        (broker,) = self.broker
        broker.asked.append((self.path, dict(self.headers)))
        answer = broker.answers.get(self.path.partition("?")[0])
        (answer or said(404, b"<html>Not Found</html>"))(self)

    def log_message(self, *given: object) -> None:
        """Say nothing: the test tells what was asked."""


def said(status: int, body: bytes, location: str | None = None) -> Answer:
    """Answer with a status and a body."""

    def answer(request: Request) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        if location is not None:
            request.send_header("Location", location)
        request.end_headers()
        request.wfile.write(body)

    return answer


def recorded(name: str, status: int = 200, **replaced: str) -> Answer:
    """Answer with what a real broker answered."""
    text = (ANSWERS / name).read_text(encoding="utf-8")
    for old, new in {**replaced}.items():
        text = text.replace(old, new)
    return said(status, text.encode())


def silent(seconds: float) -> Answer:
    """Say nothing for so long."""
    return lambda request: time.sleep(seconds)


def broken_off(body: bytes, promised: int) -> Answer:
    """Answer with fewer bytes than were promised, and hang up."""

    def answer(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(promised))
        request.end_headers()
        request.wfile.write(body)
        request.wfile.flush()
        request.connection.shutdown(socket.SHUT_RDWR)
        request.close_connection = True

    return answer


def endless(piece: bytes, pause_s: float = 0.0) -> Answer:
    """Answer on and on, until the caller hangs up."""

    def answer(request: Request) -> None:
        request.send_response(200)
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        try:
            while True:
                request.wfile.write(piece)
                time.sleep(pause_s)
        except OSError:
            return

    return answer


def hung_up(request: Request) -> None:
    """Hang up without a word."""
    request.connection.shutdown(socket.SHUT_RDWR)
    request.close_connection = True


@contextmanager
def brokers(count: int, tls: ssl.SSLContext | None = None) -> Iterator[list[Broker]]:
    """Run a cluster's admin APIs, which answer as three real brokers did."""
    running: list[Broker] = []
    for _ in range(count):
        box: list[Broker] = []
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Request, box))
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        broker = Broker(server, "http" if tls is None else "https", {})
        box.append(broker)
        running.append(broker)
    ids = [broker.id for broker in running]
    for broker in running:
        broker.answers |= _healthy(broker, running)
        broker.answers[LIST] = said(200, json.dumps(ids).encode())
        threading.Thread(
            target=partial(broker.server.serve_forever, poll_interval=0.02), daemon=True
        ).start()
    try:
        yield running
    finally:
        for broker in running:
            broker.vanish()


def _healthy(broker: Broker, all_of_them: list[Broker]) -> dict[str, Answer]:
    answers = {
        LEADER: _text("leader.json", all_of_them[0].id),
        RUNTIME: _text("runtime.json", broker.id),
        VERSION: said(200, b"4.0.8"),
        REPORT: _text("load-report.json", broker.id),
        METRICS: _text("metrics.txt", broker.id),
    }
    for other in all_of_them:
        path = broker.owned(other.id)
        there = None if other is broker else other.address + path
        body = _body("owned-bundles.json", other.id).replace(b"lb/adm", _namespace(other))
        answers[path] = said(200, body) if there is None else said(307, b"", there)
    return answers


def _namespace(broker: Broker) -> bytes:
    """Give each broker bundles of its own."""
    return f"lb/of-{broker.id.partition(':')[2]}".encode()


def _text(name: str, broker: str) -> Answer:
    return said(200, _body(name, broker))


def _body(name: str, broker: str) -> bytes:
    text = (ANSWERS / name).read_text(encoding="utf-8")
    for recorded_at in (RECORDED_AT, RECORDED_OWNER):
        text = text.replace(recorded_at, broker)
    return text.encode()
