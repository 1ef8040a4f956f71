"""Serves the page, and takes the one thing that it can do: an answer to the plan that waits.

Another site's page can neither read nor answer: names that are not ours are refused, against
names that are made to point here; an answer has to come from a page of this very address, as
JSON, which no other site's may send without being allowed to, and nobody is.  Where others than
this machine can reach the page, or a plan can be approved, its address has a token.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, TypeAlias

from trimtab.live.apply.clock import Clock
from trimtab.live.gather.access import GatherError
from trimtab.live.watch.desk import Desk
from trimtab.live.watch.page.state import Shown, plan_state
from trimtab.live.watch.tally import View

_LOOPBACK = "127.0.0.1"
#: Between two pictures of a cluster, s.
_EVERY_S = 1.0
_BODY_MAX = 1024
#: Whoever says nothing for so long is hung up on, s.
_SILENCE_S = 10.0
_AT_A_TIME = 64
#: What a server is handed of a connection.
_Socket: TypeAlias = socket.socket | tuple[bytes, socket.socket]
#: What every answer says to a browser: nothing of this may be kept, framed or guessed at.
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Page:
    """Has what is to be seen, whenever somebody looks."""

    def __init__(self, desk: Desk) -> None:
        """Begin without anything."""
        self.desk = desk
        #: Where it is served; empty if it is not.
        self.address = ""
        self._clock = Clock()
        self._shown = Shown()
        self._content = b"null"
        self._next = 0.0

    def followed(self, steps: Iterable[View]) -> Iterator[View]:
        """Return the steps, and show what they show."""
        for view in steps:
            if self.address:
                self.take(view)
            yield view

    def take(self, view: View) -> None:
        """Take what is to be seen; it is worked out once a second at most."""
        now = self._clock.now
        self._shown.hear(view, now)
        if time.monotonic() < self._next and not view.actions:
            return
        self._content = _json(self._shown.look(view, now))
        self._next = time.monotonic() + _EVERY_S

    @property
    def state(self) -> bytes:
        """Return what there is to see now, as JSON."""
        progress, past = self.desk.plans
        now_s = self._clock.time_s
        plan, ended = plan_state(progress, now_s), [plan_state(each, now_s) for each in past]
        return b'{"view":%b,"plan":%b,"past":%b}' % (self._content, _json(plan), _json(ended))


def _json(told: object) -> bytes:
    text = json.dumps(told, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


@contextmanager
def opened(address: str | None, desk: Desk, *, is_asking: bool) -> Iterator[Page]:
    """Serve the page at [HOST:]PORT, on the loopback interface unless told otherwise.

    Raises:
        GatherError: it is no such address, or it is taken.
    """
    page = Page(desk)
    if address is None:
        yield page
        return
    host, _, port = address.rpartition(":")
    host = host.strip("[]") or _LOOPBACK
    if not port.isdecimal() or int(port) >= 1 << 16:
        raise GatherError(f"--page: found {address!r}, expected PORT or HOST:PORT")
    token = secrets.token_urlsafe(24) if is_asking or not is_loopback(host) else ""
    try:
        server = _Server(host, int(port), partial(_Request, page, f"/{token}/" if token else "/"))
    except OSError as error:
        raise GatherError(f"--page: {address}: {error.strerror}") from None
    shown_host = f"[{host}]" if ":" in host else host
    page.address = f"http://{shown_host}:{server.server_address[1]}/{token}{'/' * bool(token)}"
    thread = threading.Thread(target=partial(server.serve_forever, 0.1), name="page", daemon=True)
    thread.start()
    try:
        yield page
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_own_name(header: str, host: str) -> bool:
    """Return whether the Host of a request is no name that somebody else may have pointed here.

    An address in numbers is none, nor are the names of this machine.
    """
    name = header.rpartition(":")[0] if header.rpartition(":")[2].isdecimal() else header
    name = name.strip("[]").lower()
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in {"localhost", host.lower(), socket.gethostname().lower()}
    return True


class _Server(ThreadingHTTPServer):
    """Takes so many at a time, and keeps nobody waiting at its end."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, request: Any) -> None:  # noqa: ANN401  # any callable
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.host = host
        self._free = threading.Semaphore(_AT_A_TIME)
        super().__init__((host, port), request)

    def process_request(self, request: _Socket, client_address: object) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: _Socket, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: whoever hangs up does no harm."""


class _Request(BaseHTTPRequestHandler):
    """One request of a browser."""

    timeout = _SILENCE_S
    server_version, sys_version = "trimtab", ""
    server: _Server

    def __init__(self, page: Page, prefix: str, *body: Any) -> None:  # noqa: ANN401  # the server's
        self._page, self._prefix = page, prefix
        super().__init__(*body)

    def log_message(self, *body: object) -> None:
        """Say nothing: the address has the token."""

    def do_GET(self) -> None:
        """Answer with the page, or with what there is to see."""
        match self._requested_path():
            case None:
                return
            case "":
                text, policy = document()
                self._say(HTTPStatus.OK, text, "text/html; charset=utf-8", {_POLICY: policy})
            case "state":
                self._say(HTTPStatus.OK, self._page.state, "application/json")
            case _:
                self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Take an answer to the plan that waits."""
        match self._requested_path():
            case None:
                return
            case "answer":
                self._answer()
            case _:
                self._refuse(HTTPStatus.NOT_FOUND)

    def _answer(self) -> None:
        own = f"http://{self.headers.get('Host', '')}"
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        if self.headers.get("Origin") != own or site != "same-origin":
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            return
        body = self._body()
        plan, is_approved = body.get("plan"), body.get("approve")
        if not isinstance(plan, str) or not isinstance(is_approved, bool):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        counts = self._page.desk.take_answer(plan, is_approved=is_approved)
        status = HTTPStatus.OK if counts else HTTPStatus.CONFLICT
        self._say(status, json.dumps({"counts": counts}).encode(), "application/json")

    def _body(self) -> Mapping[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _BODY_MAX:
            return {}
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _requested_path(self) -> str | None:
        """Return what is asked for; None if it was refused: not by our name, or without token."""
        if not is_own_name(self.headers.get("Host", ""), self.server.host):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            return None
        path = self.path.partition("?")[0]
        start = path[: len(self._prefix)].encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(start, self._prefix.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return path[len(self._prefix) :]

    def _refuse(self, status: HTTPStatus) -> None:
        self._say(status, f"{status.value} {status.phrase}\n".encode(), "text/plain")

    def _say(
        self, status: HTTPStatus, content: bytes, kind: str, more: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        policy = {_POLICY: "default-src 'none'; frame-ancestors 'none'"}
        told = {"Content-Type": kind, "Content-Length": str(len(content))}
        for name, value in (told | _HEADERS | policy | dict(more or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


_POLICY = "Content-Security-Policy"


@cache
def document() -> tuple[bytes, str]:
    """Return the page, which is one file, and the policy that lets it do nothing else."""
    style, script, text = (_shipped(f"page.{kind}") for kind in ("css", "js", "html"))
    text = text.replace("/* page.css */", style).replace("/* page.js */", script)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    )
    return text.encode(), policy


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _shipped(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
