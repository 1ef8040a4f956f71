"""moto's S3 server on the loopback in a process of its own, and a proxy that fails at times."""

from __future__ import annotations

import http.client
import itertools
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BUCKET = "bucket"
#: What no output, log or message may have in it.
SECRET = "s3cr3t-0f-the-st0re"
#: Prints the port; ends with whoever started it.
_SERVER = """
import sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

application = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, application, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.port, flush=True)
sys.stdin.read()
"""
#: Headers that are for the next server alone.
_OF_HOPS = frozenset({"connection", "transfer-encoding", "expect"})
_FAULT = b"<?xml version='1.0'?><Error><Code>%s</Code><Message>now and then</Message></Error>"


def environment(url: str) -> dict[str, str]:
    """Return the variables by which a store is found and asked."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "AKIAOFTHETESTS",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def s3_server() -> Iterator[str]:
    """Start a server with a bucket; give its URL.  It is stopped when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        with closing(http.client.HTTPConnection("127.0.0.1", port)) as asked:
            asked.request("PUT", f"/{BUCKET}")
            assert asked.getresponse().status == 200
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def fill(folder: Path, place: Path) -> None:
    """Put a folder's files into a store."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            (place / path.relative_to(folder)).write_bytes(path.read_bytes())


@dataclass
class Proxy:
    """Hands on what it is asked, but for one call in so many, which fails in one of three ways."""

    url: str
    calls: list[tuple[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    """Answers one call; its server is a `_Server`."""

    protocol_version = "HTTP/1.1"
    # Otherwise each answer waits for the other side's word.
    disable_nagle_algorithm = True
    server: _Server

    def do(self) -> None:
        body = self._body()
        fault = self.server.fault(self.command, self.path)
        if fault in {"SlowDown", "InternalError"}:
            self._answer(503 if fault == "SlowDown" else 500, {}, _FAULT % fault.encode())
            return
        with closing(http.client.HTTPConnection(self.server.host)) as asked:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in _OF_HOPS}
            asked.request(self.command, self.path, body, headers)
            answer = asked.getresponse()
            content = answer.read()
        self._answer(answer.status, dict(answer.headers), content, is_cut=fault == "cut")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do  # noqa: N815  # as the server has them

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(chunks)

    def _answer(
        self, status: int, headers: dict[str, str], content: bytes, *, is_cut: bool = False
    ) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"content-length", *_OF_HOPS}:
                self.send_header(name, value)
        length = headers.get("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if is_cut else content)
        if is_cut:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    """Hands on what it is asked, and has some of it fail."""

    def __init__(self, host: str, one_in: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.host, self.one_in = host, one_in
        self.proxy = Proxy(f"http://127.0.0.1:{self.server_port}")
        self._kinds = itertools.cycle(("SlowDown", "InternalError", "cut"))
        self._due: list[str] = []
        self._lock = threading.Lock()

    def fault(self, command: str, path: str) -> str:
        """Return how a call is to fail; an empty text if it is not."""
        with self._lock:
            self.proxy.calls.append((command, path))
            if len(self.proxy.calls) % self.one_in == 0:
                self._due.append(next(self._kinds))
            # Only what is fetched can be cut.
            if not self._due or (self._due[0] == "cut" and command != "GET"):
                return ""
            self.proxy.faults.append(self._due.pop(0))
            return self.proxy.faults[-1]


@contextmanager
def faulty_proxy(url: str, one_in: int) -> Iterator[Proxy]:
    """Start a proxy in front of a server; of that many calls one fails: 5 % is one in 20."""
    server = _Server(url.removeprefix("http://"), one_in)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.proxy
    finally:
        server.shutdown()
        server.server_close()
