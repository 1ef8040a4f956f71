"""Proxies in front of brokers that pass on what they are asked, or fail as a test asks them to."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: Told the method, the path and "before" or "after" it is passed on; a status is answered in
#: place of what the broker answers, a time in s is waited, "drop" hangs up.
Fault = Callable[[str, str, str], int | float | str | None]


@dataclass
class Proxies:
    """A proxy for each broker."""

    #: Broker id → where its proxy is.
    addresses: dict[str, str] = field(default_factory=dict)
    fault: Fault = lambda method, path, moment: None


class ProxyRequest(BaseHTTPRequestHandler):
    """One request on its way."""

    protocol_version = "HTTP/1.1"

    def __init__(self, proxies: Proxies, broker: str, *given: object) -> None:
        self.proxies, self.broker = proxies, broker
        super().__init__(*given)  # type: ignore[arg-type]  # as the server hands them on

    def log_message(self, *given: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._pass_on("GET")

    def do_PUT(self) -> None:
        self._pass_on("PUT")

    def _pass_on(self, method: str) -> None:
        if self._fails(method, "before"):
            return
        there = http.client.HTTPConnection(self.broker, timeout=60)
        try:
            there.request(method, self.path, headers={"Host": self.broker})
            answer = there.getresponse()
            body = answer.read()
        except OSError:
            self._say(502, b"")
            return
        finally:
            there.close()
        if not self._fails(method, "after"):
            self._say(answer.status, body, answer.getheader("Location"))

    def _fails(self, method: str, moment: str) -> bool:
        fault = self.proxies.fault(method, self.path, moment)
        if fault is None:
            return False
        if fault == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif isinstance(fault, float):
            time.sleep(fault)
            return False
        else:
            self._say(int(fault), b"<html>an error page</html>")
        return True

    def _say(self, status: int, body: bytes, location: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if location is not None:
            for broker, address in self.proxies.addresses.items():
                location = location.replace(f"http://{broker}", address)
            self.send_header("Location", location)
        # Whoever asked may have given up.
        with suppress(OSError):
            self.end_headers()
            self.wfile.write(body)


@contextmanager
def unruly_proxies(brokers: list[str]) -> Iterator[Proxies]:
    """Run them."""
    proxies = Proxies()
    servers = []
    for broker in brokers:
        answering = partial(ProxyRequest, proxies, broker)
        server = ThreadingHTTPServer(("127.0.0.1", 0), answering)
        server.daemon_threads = True
        servers.append(server)
        proxies.addresses[broker] = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield proxies
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
