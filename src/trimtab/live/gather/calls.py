"""One call over HTTP, which ends in an answer or in a reason, and always ends."""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

import urllib3

from trimtab.files.errors import StoppedError
from trimtab.live.gather.access import Access, GatherError

_REDIRECTS = {301, 302, 307, 308}
_SHOWN_MAX = 200
_CHUNK = 1 << 16
#: Between two looks whether an end is asked for, s.
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a call may take and how much it may bring."""

    connect_s: float = 3.0
    #: Without a single byte.
    read_s: float = 10.0
    #: From the beginning to the end, redirects included.
    whole_s: float = 30.0
    bytes_max: int = 256 << 20
    redirects_max: int = 3


class CallError(GatherError):
    """A call has brought no answer; the message says to whom and why."""

    def __init__(
        self, url: str, reason: str, status: int | None = None, *, method: str = "GET"
    ) -> None:
        """Keep what was called and what came of it."""
        super().__init__(f"{method} {url}: {reason}")
        self.reason, self.status = reason, status


class EndedError(CallError, StoppedError):
    """An end was asked for before there was an answer."""

    def __init__(self, url: str) -> None:
        """Keep what was called."""
        super().__init__(url, "ended, as asked, before there was an answer")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call has brought, and from which address after all redirects."""

    body: bytes
    url: str
    #: By name in small letters.
    headers: Mapping[str, str] = field(default_factory=dict)


class Calls:
    """Calls of one cluster, over connections that are kept; safe for several threads."""

    def __init__(
        self,
        access: Access,
        limits: Limits | None = None,
        is_over: threading.Event | None = None,
    ) -> None:
        """Prepare, without calling anybody.

        Args:
            access: who calls.
            limits: how long a call may take.
            is_over: once it is set no answer is waited for any more; what was called is left
                to itself, and nobody waits for that.  None: every answer is waited for.
        """
        self.limits, self._is_over = limits or Limits(), is_over
        self._access = access
        # A connection each for as many brokers as a cluster may have; what is not kept is
        # only slower.
        self._pool = urllib3.PoolManager(
            num_pools=1024,
            maxsize=4,
            retries=False,
            ssl_context=access.tls,
            # None leaves the check to the context; False is for urllib3, which has one of its own.
            assert_hostname=None if access.tls.check_hostname else False,
        )
        if access.tls.verify_mode is ssl.CERT_NONE:
            # It was asked for, and is warned of once, not at each call.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)

    def get(self, url: str) -> Answer:
        """Return the answer of an address, or of the broker that it redirects to.

        Quirks:
            A broker that cannot answer sends the caller on to another, whom the caller must
            tell again who asks; so the header goes along, but never from https to http.

        Raises:
            CallError: there is no answer, or one that is not 200.
            GatherError: the token can no longer be read.
        """
        status, answer = self._awaited(url)
        if status != HTTPStatus.OK:
            raise CallError(url, _refusal(status, answer.body), status)
        return answer

    def put(self, url: str) -> Answer:
        """Return the answer of whoever has something done by a PUT, as `change` does."""
        return self.change("PUT", url)

    def change(self, method: str, url: str) -> Answer:
        """Return the answer of whoever has something done, without a body, redirects followed.

        Quirks:
            Each redirect is followed by the same method.  It is called once and never
            again: what had no answer may have been done.

        Raises:
            CallError: there is no answer, or one that is no success.
            GatherError: the token can no longer be read.
        """
        status, answer = self._followed(method, url)
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            raise CallError(url, _refusal(status, answer.body), status, method=method)
        return answer

    def json(self, url: str) -> object:
        """Return what an address answers in JSON.

        Raises:
            CallError: as `get`, or the answer is not JSON, such as when it breaks off.
        """
        body = self.get(url).body
        try:
            return json.loads(body)
        except ValueError as error:
            raise CallError(url, f"the answer of {len(body)} bytes is not JSON: {error}") from None

    def any_status(self, method: str, url: str, body: bytes | None = None) -> tuple[int, Answer]:
        """Return the status of a call, whatever it is, and what came with it.

        Raises:
            CallError: there is no answer.
            GatherError: the token can no longer be read.
        """
        return self._followed(method, url, body)

    def _awaited(self, url: str) -> tuple[int, Answer]:
        """Return what `_followed` does, as long as no end is asked for."""
        if self._is_over is None:
            return self._followed("GET", url)
        if self._is_over.is_set():
            raise EndedError(url)
        answer: Future[tuple[int, Answer]] = Future()

        def call() -> None:
            try:
                answer.set_result(self._followed("GET", url))
            except BaseException as error:  # whoever waits for the answer is to have it
                answer.set_exception(error)

        # It may hang for as long as the limits let it, and the process must not wait for that.
        threading.Thread(target=call, name="call", daemon=True).start()
        while not self._is_over.is_set():
            with suppress(TimeoutError):
                return answer.result(_LOOK_S)
        raise EndedError(url)

    def _followed(self, method: str, url: str, sent: bytes | None = None) -> tuple[int, Answer]:
        """Return the last status of a call, redirects included, and what came with it."""
        last = time.monotonic() + self.limits.whole_s
        here = url
        try:
            for _ in range(self.limits.redirects_max + 1):
                status, headers, body = self._once(method, here, last, sent)
                if status not in _REDIRECTS:
                    return status, Answer(body, here, headers)
                here = _next(here, headers.get("location"))
        except _BrokenError as broken:
            raise CallError(url, str(broken), method=method) from None
        reason = f"more than {self.limits.redirects_max} redirects, to {here}"
        raise CallError(url, reason, method=method)

    def _once(
        self, method: str, here: str, last: float, sent: bytes | None
    ) -> tuple[int, dict[str, str], bytes]:
        """Return what one request brings within what is left of the time."""
        limits = self.limits
        left = last - time.monotonic()
        timeout = urllib3.Timeout(
            connect=max(0.001, min(limits.connect_s, left)),
            read=max(0.001, min(limits.read_s, left)),
        )
        try:
            answer = self._pool.request(
                method,
                here,
                body=sent,
                headers=self._access.header(),
                timeout=timeout,
                redirect=False,
                preload_content=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise _BrokenError(_fault(error)) from None
        try:
            body = bytearray()
            while chunk := answer.read1(_CHUNK):
                body += chunk
                if len(body) > limits.bytes_max:
                    raise _BrokenError(f"the answer has more than {limits.bytes_max} bytes")
                if time.monotonic() > last:
                    raise _BrokenError(f"the answer is not over after {limits.whole_s:g} s")
        except urllib3.exceptions.HTTPError as error:
            answer.close()
            raise _BrokenError(_fault(error)) from None
        except _BrokenError:
            # What is still to come would be taken for the next answer.
            answer.close()
            raise
        answer.release_conn()
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return answer.status, headers, bytes(body)


class _BrokenError(Exception):
    """A request has brought no answer; says why, not yet of which call."""


def _next(here: str, location: str | None) -> str:
    """Return the address that a redirect leads to."""
    there = urljoin(here, location or "")
    old, new = urlsplit(here), urlsplit(there)
    if not location or new.scheme not in {"http", "https"} or not new.hostname:
        raise _BrokenError(f"redirected to {location!r}, expected an address")
    if old.scheme == "https" and new.scheme == "http":
        raise _BrokenError(
            f"redirected from https to {there}: not followed, since it is not encrypted; do all "
            "brokers have a webServicePortTls?"
        )
    return there


def _refusal(status: int, body: bytes) -> str:
    """Return what a status means, with the reason that Pulsar gives in one line."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "unknown status"
    reason = _reason(body)
    if status == HTTPStatus.UNAUTHORIZED:
        # Pulsar says 401 to both: with its reason to somebody it knows, with a page to others.
        phrase = "not authorized" if reason else "not authenticated: see --client-conf"
    return f"{status} {phrase}" + (f": {reason}" if reason else "")


def _reason(body: bytes) -> str:
    try:
        answer = json.loads(body)
    except ValueError:
        return ""
    text = answer.get("reason") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        return ""
    # An unexpected error comes with a stack trace; what happened stands behind "Message:".
    if message := re.search(r"Message: (.*)", text):
        trace = re.search(r"Stacktrace:\s*(\S+)", text)
        text = f"{trace[1].rstrip(':')}: {message[1]}" if trace else message[1]
    return " ".join(text.split())[:_SHOWN_MAX]


def _fault(error: urllib3.exceptions.HTTPError) -> str:
    """Return what went wrong on the way, without the objects that urllib3 names."""
    cause = error.__cause__ or error.__context__
    match error:
        case urllib3.exceptions.NameResolutionError():
            return "no such host"
        # It counts as a time-out for urllib3, and has an operating system's reason.
        case urllib3.exceptions.NewConnectionError() if isinstance(cause, OSError):
            return (cause.strerror or str(cause)).lower()
        case urllib3.exceptions.TimeoutError():
            return "no answer in time"
        case urllib3.exceptions.SSLError():
            found = error.args[0] if error.args else cause
            if isinstance(found, ssl.SSLCertVerificationError):
                return f"its certificate is not trusted: {found.verify_message}; see --client-conf"
            reason = getattr(found, "reason", None) or found
            return f"no connection by TLS: {reason}"[:_SHOWN_MAX]
        case urllib3.exceptions.ProtocolError():
            found = error.args[-1]
            if isinstance(found, urllib3.exceptions.IncompleteRead):
                return f"the answer breaks off after {found.partial} bytes"
            return f"the connection broke: {found}"[:_SHOWN_MAX]
    return type(error).__name__
