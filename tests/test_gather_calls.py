"""A call ends in an answer or in a reason that says what to do, and always ends."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests import fake_admin as fake
from tests.datadriven import run
from trimtab.live.gather.access import Access, read_access
from trimtab.live.gather.calls import CallError, Calls, Limits

TESTDATA = Path(__file__).parent / "testdata" / "gather"
PATH = "/admin/v2/brokers"
#: Short enough for a test, long enough for a busy machine to answer an honest call.
QUICK = Limits(connect_s=5.0, read_s=1.0, whole_s=2.0, bytes_max=100_000)


@pytest.fixture
def pair() -> Iterator[list[fake.Broker]]:
    with fake.brokers(2) as running:
        yield running


@pytest.fixture
def calls() -> Calls:
    return Calls(read_access(None), QUICK)


class Bench:
    """Calls a broker that answers as the case says, and shows what came of it."""

    def __init__(self, pair: list[fake.Broker]) -> None:
        self.first, self.second = pair
        self.calls = Calls(read_access(None), QUICK)

    def refused(self, status: str, answer: str | None = None) -> str:
        body = (fake.ANSWERS / answer).read_bytes() if answer else b""
        return self._got(fake.said(int(status), body))

    def broken_off(self, body: str, promised: str) -> str:
        return self._got(fake.broken_off(body.encode(), int(promised)))

    def whole(self, body: str) -> str:
        return self._got(fake.said(200, body.encode()))

    def hung_up(self) -> str:
        return self._got(fake.hung_up)

    def silent(self) -> str:
        return self._got(fake.silent(1.5))

    def dripping(self) -> str:
        return self._got(fake.endless(b"x", 0.1))

    def endless(self) -> str:
        return self._got(fake.endless(b"x" * 10_000))

    def nobody_there(self) -> str:
        with fake.brokers(1) as (broker,):
            address = broker.address
        return self._said(lambda: self.calls.json(address + PATH)).replace(address, "ADDRESS")

    def redirected(self, to: str) -> str:
        there = {"owner": self.second.address + PATH, "itself": self.first.address + PATH}
        location = None if to == "nowhere" else there.get(to, to)
        return self._got(fake.said(307, b"", location))

    def _got(self, answer: fake.Answer) -> str:
        self.first.answers[PATH] = answer
        shown = self._said(lambda: self.calls.json(self.first.address + PATH))
        for broker, name in ((self.first, "ADDRESS"), (self.second, "OWNER")):
            shown = shown.replace(broker.address, name).replace(broker.id, f"{name}-ID")
        return shown

    def _said(self, call: Callable[[], object]) -> str:
        try:
            return f"answer {call()}"
        except CallError as error:
            return f"{error.status}: {error}"


def test_calls(pair: list[fake.Broker], file_regression: FileRegressionFixture) -> None:
    path = TESTDATA / "calls.txt"
    file_regression.check(run(path, Bench(pair)), fullpath=path, encoding="utf-8")


def test_who_asks_is_told_to_the_owner_too(pair: list[fake.Broker]) -> None:
    first, second = pair
    first.answers[PATH] = fake.said(307, b"", second.address + PATH)
    access = replace(read_access(None), header=lambda: {"Authorization": "Bearer a.b.c"})

    Calls(access, QUICK).get(first.address + PATH)

    ((_, headers),) = second.asked
    assert headers["Authorization"] == "Bearer a.b.c"


def test_nobody_is_told_who_asks_in_the_clear_after_https() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TESTDATA / "tls" / "broker.pem")
    with fake.brokers(1, context) as (secured,), fake.brokers(1) as (plain,):
        secured.answers[PATH] = fake.said(307, b"", plain.address + PATH)
        trusting = ssl.create_default_context(cafile=str(TESTDATA / "tls" / "ca.pem"))
        access = Access(lambda: {"Authorization": "Bearer a.b.c"}, trusting)

        with pytest.raises(CallError, match=r"from https to http://.*: not followed"):
            Calls(access, QUICK).get(secured.address + PATH)

        assert plain.asked == []


def test_a_connection_is_good_for_the_next_call_after_an_answer_too_long(
    pair: list[fake.Broker], calls: Calls
) -> None:
    first, _ = pair
    first.answers[PATH] = fake.said(200, b"x" * 200_000)
    with pytest.raises(CallError, match="the answer has more than 100000 bytes"):
        calls.get(first.address + PATH)

    first.answers[PATH] = fake.said(200, b"[1]")
    assert calls.json(first.address + PATH) == [1]
