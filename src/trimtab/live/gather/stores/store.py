"""One question to a store, put again while it is busy → its answer, or in one line why none."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from trimtab.files.visible import visible
from trimtab.live.gather.access import GatherError
from trimtab.live.gather.calls import CallError, Calls, Limits
from trimtab.live.gather.stores.access import StoreAccess

#: A store may think for a while before the first byte, and a page is a few megabytes.  It is asked
#: at one address, and who asks is told to no other.
LIMITS = Limits(connect_s=5.0, read_s=60.0, whole_s=300.0, redirects_max=0)
#: Whoever says these may answer a little later.
_BUSY = {429, 502, 503, 504}
#: Before each time that a question is put again.
_WAITS_S = (0.5, 1.0, 2.0, 4.0)
_SHOWN_MAX = 200
_REFUSED_MIN = 400


class RefusalError(GatherError):
    """A store has read a question and refuses it; `text` is what it says."""

    def __init__(self, message: str, status: int, text: str) -> None:
        """Keep the status and the store's own words."""
        super().__init__(message)
        self.status, self.text = status, text


def iso_text(time_ns: int) -> str:
    """Return a time as every store takes it.

    >>> iso_text(1_795_219_201_500_000_001)
    '2026-11-21T00:00:01.500000001Z'
    """
    second, nanosecond = divmod(time_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{nanosecond:09d}Z"


def wrong_selector(refusal: RefusalError, selector: str) -> GatherError:
    """Return the error that names the selector where that is what a store refuses."""
    if refusal.status in (400, 422) and refusal.text:
        return GatherError(f"--selector: found {selector!r}, and the store says: {refusal.text}")
    return refusal


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which lines a store is asked for."""

    #: In the store's own language.
    selector: str
    #: From when on and until before when, in nanoseconds since 1970.
    begin_ns: int
    end_ns: int
    #: Pattern of indexes, where the store has such.
    index: str = ""


@dataclass(slots=True)
class Store:
    """A store that can be asked, and how often it was."""

    #: As people call it.
    name: str
    #: By which it was named.
    option: str
    #: Without a slash at its end.
    address: str
    #: Of the variables that say who asks.
    prefix: str
    access: StoreAccess
    #: In seconds; a test need not wait.
    wait: Callable[[float], object] = time.sleep
    limits: Limits = LIMITS
    n_calls: int = 0
    _calls: Calls = field(init=False)

    def __post_init__(self) -> None:
        """Prepare, without calling anybody."""
        self._calls = Calls(self.access.access, self.limits)

    def get(self, path: str, query: Mapping[str, object]) -> bytes:
        """Return what is answered to a query.

        Raises:
            RefusalError: the store refuses it.
            GatherError: there is no answer, or the store does not know who asks.
        """
        return self.asked("GET", f"{path}?{urlencode(query)}")

    def asked(self, method: str, path: str, body: object = None) -> bytes:
        """Return what is answered to a call with a body in JSON; otherwise as `get`."""
        sent = None if body is None else json.dumps(body).encode()
        reason = ""
        for wait_s in (*_WAITS_S, None):
            self.n_calls += 1
            try:
                status, answer = self._calls.any_status(method, self.address + path, sent)
            except CallError as error:
                reason = error.reason
                if not error.reason.startswith(_PASSING):
                    break
            else:
                if status < HTTPStatus.MULTIPLE_CHOICES:
                    return answer.body
                reason = self._refusal(status, self._words(answer.body))
            if wait_s is not None:
                self.wait(wait_s)
        else:
            reason += f", asked {len(_WAITS_S) + 1} times"
        raise GatherError(f"{self.option}: {self.address}: {reason}")

    def json(self, content: bytes) -> Any:  # noqa: ANN401  # whatever a store answers
        """Return the object of an answer.

        Raises:
            GatherError: it is none, such as the page of something else.
        """
        try:
            value = json.loads(content)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise GatherError(
                f"{self.option}: {self.address}: found no answer of {self.name}'s, but "
                f"{self._words(content) or 'nothing'!r}; expected {self.name}'s own address"
            )
        return value

    def fault(self, what: str) -> GatherError:
        """Return the error that says what is wrong with what the store answers."""
        return GatherError(f"{self.option}: {self.address}: {what}")

    def _refusal(self, status: int, words: str) -> str:
        """Return why a call that may be made again was not answered.

        Raises:
            RefusalError: it may not.
        """
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "unknown status"
        reason = f"{status} {phrase}" + (f": {words}" if words else "")
        if status in _BUSY:
            return reason
        if status == HTTPStatus.UNAUTHORIZED:
            given = " and ".join(self.access.variables)
            reason = f"401 Unauthorized: {self._who(given)}" + (f" ({words})" if words else "")
        elif status == HTTPStatus.NOT_FOUND and not words.startswith(("no such index", "{")):
            reason += f"; expected the address of {self.name} itself"
        elif status < _REFUSED_MIN:
            reason += "; it sends elsewhere, where nobody is told who asks"
        raise RefusalError(f"{self.option}: {self.address}: {reason}", status, words)

    def _who(self, given: str) -> str:
        return (
            f"what {given} says is not accepted"
            if given
            else f"nobody said who asks: set {self.prefix}_USERNAME and {self.prefix}_PASSWORD, or "
            f"{self.prefix}_BEARER_TOKEN"
        )

    def _words(self, body: bytes) -> str:
        """Return what a store says, in one line in which nothing is secret."""
        text = _reason(body) or body[: 8 * _SHOWN_MAX].decode("utf-8", "replace")
        if text.lstrip().startswith("<"):
            text = " ".join(re.findall(r"<title>(.*?)</title>", text, re.DOTALL | re.IGNORECASE))
        text = visible(" ".join(text.split()))
        for secret in self.access.secrets:
            text = text.replace(secret, "…")
        return text[:_SHOWN_MAX]


#: How reasons begin that may be gone a little later.
_PASSING = ("no answer in time", "the connection broke", "the answer breaks off", "not over after")


def _reason(body: bytes) -> str:
    """Return the reason in a body of JSON; empty where there is none."""
    try:
        answer = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(answer, dict):
        return ""
    error = answer.get("error", answer.get("message"))
    if isinstance(error, dict):
        causes = error.get("root_cause")
        first = causes[0] if isinstance(causes, list) and causes else error
        cause = first.get("reason") if isinstance(first, dict) else None
        error = cause or error.get("reason")
    return error if isinstance(error, str) else ""
