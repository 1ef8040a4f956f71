"""The page of a watch: what it shows, who may see it, and what an answer does."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.asking_watch import AskingWatch, asking_watch
from tests.fake_pulsar import FakePulsar, fake_pulsar
from tests.watched_nights import recorded_night, seen
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Plan, PlannedMove
from trimtab.live.gather.access import GatherError
from trimtab.live.watch.desk import Answer, Desk
from trimtab.live.watch.page.course import Course
from trimtab.live.watch.page.moves import OwnerChange, judged
from trimtab.live.watch.page.server import Page, document, is_own_name, opened
from trimtab.live.watch.page.state import Shown

LATER_S = 30.0


def wait_until(what: str, holds: Callable[[], bool]) -> None:
    last = time.monotonic() + LATER_S
    while not holds():
        assert time.monotonic() < last, what
        time.sleep(0.02)


def plan(made_s: float | None = None, **limits: float) -> Plan:
    move = PlannedMove("t/n/0x00000000_0x10000000", "b1:8080", "b2:8080", "to see")
    return Plan("c", time.time() if made_s is None else made_s, (move,), Limits(**limits))


class Asking(threading.Thread):
    """Somebody who waits for an answer."""

    def __init__(self, desk: Desk, asked: Plan) -> None:
        super().__init__()
        self.is_over, self.answer = threading.Event(), None
        self._desk, self._plan = desk, asked
        self.start()
        wait_until("a plan", lambda: desk.progress is not None and desk.progress.is_waiting)

    def run(self) -> None:
        self.answer = self._desk.asked(self._plan, 1, self.is_over)


# ---------------------------------------------------------------------------- desk


@pytest.mark.parametrize("is_approved", [True, False])
def test_the_first_answer_counts_and_only_of_the_plan_that_waits(is_approved: bool) -> None:
    desk, asked = Desk(), plan()
    asking = Asking(desk, asked)
    other = replace(asked, cluster="d").digest

    assert not desk.take_answer(other, is_approved=True)
    assert desk.take_answer(asked.digest, is_approved=is_approved)
    assert not desk.take_answer(asked.digest, is_approved=not is_approved)
    asking.join()
    assert asking.answer is (Answer.APPROVED if is_approved else Answer.REFUSED)


def test_a_plan_that_nobody_answers_is_withdrawn_when_it_is_too_old() -> None:
    desk = Desk()
    asking = Asking(desk, plan(plan_age_max_s=0.3))
    asking.join(LATER_S)
    assert asking.answer is Answer.LATE
    assert not desk.take_answer(plan().digest, is_approved=True)


def test_a_plan_is_withdrawn_when_the_watch_ends() -> None:
    desk = Desk()
    asking = Asking(desk, plan())
    asking.is_over.set()
    asking.join(LATER_S)
    assert asking.answer is Answer.WITHDRAWN


def test_how_the_last_plans_ended_stays_the_newest_first_and_never_many() -> None:
    desk = Desk()
    for number in range(1, 100):
        each = plan(made_s=float(number))
        desk.lay(each, number)
        desk.end(each.digest, "somebody has asked for an end")
    last, past = desk.plans

    assert last is not None
    assert last.number == 99
    assert [each.number for each in past] == list(range(98, 88, -1))
    assert {each.ended for each in past} == {"somebody has asked for an end"}


# -------------------------------------------------------------------------- server


@pytest.fixture
def page() -> Iterator[Page]:
    with opened("0", Desk(), is_asking=True) as running:
        yield running


def asked(
    page: Page,
    path: str = "",
    method: str = "GET",
    body: object = None,
    headers: Mapping[str, str | None] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Ask the page as its own script would, but for some headers; None leaves one out."""
    there = urlsplit(page.address)
    own: dict[str, str | None] = {"Host": there.netloc}
    if method == "POST":
        own |= {"Origin": f"http://{there.netloc}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(there.hostname or "", there.port, timeout=LATER_S)
    try:
        connection.putrequest(method, there.path + path, skip_host=True)
        content = b"" if body is None else json.dumps(body).encode()
        for name, value in (own | dict(headers or {})).items():
            if value is not None:
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content)
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


def test_the_page_is_one_file_that_may_do_nothing_but_ask_where_it_came_from(page: Page) -> None:
    status, headers, content = asked(page)

    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for rule in ("connect-src 'self'", "frame-ancestors 'none'", "form-action 'none'"):
        assert rule in policy
    assert "unsafe" not in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert not [name for name in headers if name.startswith("Access-Control")]
    assert b"http" not in content.replace(b"http-equiv", b"")
    assert document()[0] == content


def test_without_the_token_there_is_nothing(page: Page) -> None:
    there = urlsplit(page.address)
    assert len(there.path) > 30
    other = "x" if there.path[-2] != "x" else "y"
    for path in ("/", "/state", "/answer", f"{there.path[:-2]}{other}/"):
        bare = replace_path(page, path)
        assert asked(bare)[0] == 404
        assert asked(bare, method="POST", body={})[0] == 404


def replace_path(page: Page, path: str) -> Page:
    other = Page(page.desk)
    there = urlsplit(page.address)
    other.address = f"http://{there.netloc}{path}"
    return other


def test_where_nothing_can_be_approved_this_machine_needs_no_token() -> None:
    with opened("127.0.0.1:0", Desk(), is_asking=False) as running:
        assert urlsplit(running.address).path == "/"
        assert json.loads(asked(running, "state")[2]) == {
            "view": None,
            "plan": None,
            "past": [],
        }
    with opened("0.0.0.0:0", Desk(), is_asking=False) as running:
        assert len(urlsplit(running.address).path) > 30


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        # A name that its owner has pointed here.
        ({"Host": "evil.example:80"}, 421),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": None}, 421),
        # Another site's page: its origin, what a form sends, what it hides.
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": None}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": None}, 415),
    ],
)
def test_another_sites_page_cannot_answer(
    page: Page, headers: Mapping[str, str | None], status: int
) -> None:
    asking = Asking(page.desk, plan())
    digest = page.desk.progress.plan.digest if page.desk.progress else ""
    body = {"plan": digest, "approve": True}

    assert asked(page, "answer", "POST", body, headers)[0] == status
    assert asking.is_alive()
    # Nobody is let in from elsewhere either, whatever is asked for before.
    assert asked(page, "answer", "OPTIONS")[0] in {404, 501}
    assert asked(page, "answer", "POST", body)[0] == 200
    asking.join(LATER_S)
    assert asking.answer is Answer.APPROVED


@pytest.mark.parametrize(
    "body",
    [None, [], {"plan": 1, "approve": True}, {"plan": "x"}, {"plan": "x", "approve": "yes"}, "x"],
)
def test_what_is_no_answer_is_refused(page: Page, body: object) -> None:
    assert asked(page, "answer", "POST", body)[0] == 400


def test_an_answer_to_another_plan_does_not_count(page: Page) -> None:
    assert asked(page, "answer", "POST", {"plan": plan().digest, "approve": True})[0] == 409
    assert asked(page, "answer", "POST", {"plan": "x" * 2000, "approve": True})[0] == 400


@pytest.mark.parametrize("path", ["approve", "plans/000001.json", "../state", "state/x", "move"])
def test_the_page_can_do_nothing_else(page: Page, path: str) -> None:
    for method in ("GET", "POST"):
        assert asked(page, path, method, {})[0] == 404
    for method in ("PUT", "DELETE", "PATCH"):
        assert asked(page, "state", method)[0] == 501


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("127.0.0.1:80", True), ("[::1]:80", True), ("localhost:9", True), ("10.0.0.1", True),
        ("page.shop", True), ("localhost.evil.example", False), ("", False), ("127.1", False),
    ],
)  # fmt: skip
def test_names_that_others_may_have_pointed_here(name: str, is_own: bool) -> None:
    assert is_own_name(name, "page.shop") is is_own


@pytest.mark.parametrize("given", ["", "host", "host:", "70000", "host:http"])
def test_what_is_no_address_is_said(given: str) -> None:
    with pytest.raises(GatherError, match=r"--page: found .*, expected PORT"):
        opened(given, Desk(), is_asking=False).__enter__()


def test_who_says_nothing_keeps_nobody_out(page: Page) -> None:
    there = urlsplit(page.address)
    silent = [http.client.HTTPConnection(there.hostname or "", there.port) for _ in range(20)]
    for each in silent:
        each.connect()
    assert asked(page, "state")[0] == 200
    for each in silent:
        each.close()


# --------------------------------------------------------------------------- state


def test_a_night_is_shown() -> None:
    view, now = seen("uniform"), recorded_night("uniform").ended
    shown = Shown()
    shown.hear(view, now)
    state: dict[str, Any] = shown.look(view, now)

    assert state["head"]["rounds"] == 14
    assert len(state["brokers"]) == 4
    name, usage, low, high, *_ = state["brokers"][0]
    assert name.startswith("10.213.0.1")
    assert low <= usage <= high
    assert state["band"]["bar"] is None
    assert state["beside"]["verdicts"]["equal"] == 9
    assert state["moves"]["rows"]
    assert state["lines"][-1] == "07:10:33Z 10.213.0.11:8080 leads"
    assert json.loads(json.dumps(state, allow_nan=False)) == state


def change(verdict_at_s: float, source: tuple[float, float], target: tuple[float, float]) -> str:
    time_ = datetime(2026, 11, 21, 7, tzinfo=UTC)
    moved = OwnerChange(time_, "t/n/0x0_0x1", "b1", "b2", "not known")
    start = time_.timestamp()
    reports = {
        name: [(start - 10, before), (start + 100, after)]
        for name, (before, after) in {"b1": source, "b2": target}.items()
    }
    last_s = start + verdict_at_s
    known = {name: [it for it in each if it[0] <= last_s] for name, each in reports.items()}
    return judged(moved, known, time_ + timedelta(seconds=verdict_at_s)).verdict


def test_a_move_is_judged_by_what_both_brokers_reported() -> None:
    assert change(20, (60, 50), (20, 30)) == ""
    assert change(101, (60, 50), (20, 30)) == "closer: 60 / 20 % → 50 / 30 %"
    assert change(101, (60, 20), (20, 70)) == "further apart: 60 / 20 % → 20 / 70 %"
    assert change(101, (20, 10), (60, 70)) == "to the busier broker: 20 / 60 % → 10 / 70 %"
    assert change(101, (60, 60), (20, 20)) == "no difference to be seen: 60 / 20 % → 60 / 20 %"
    assert change(99, (60, 60), (20, 20)) == ""


def test_what_is_never_measured_is_not_decidable() -> None:
    time_ = datetime(2026, 11, 21, 7, tzinfo=UTC)
    moved = OwnerChange(time_, "t/n/0x0_0x1", "b1", "b2", "not known")
    reports: dict[str, list[tuple[float, float]]] = {"b1": [], "b2": []}
    assert judged(moved, reports, time_ + timedelta(minutes=9)) == moved
    assert "not decidable" in judged(moved, reports, time_ + timedelta(minutes=11)).verdict


def test_a_course_never_grows() -> None:
    course = Course()
    for step in range(20_000):
        course.take(5.0 * step, {"b1": step % 100, "b2": 50.0})
    assert len(course.points) <= 480
    assert course.points[0][0] == 0.0
    assert course.points[-1][0] >= 99_000
    assert course.recent("b1") == (0.0, 99.0)
    course.take(100_000.0, {"b2": 50.0})
    assert all(map(math.isnan, course.recent("b1")))


# --------------------------------------------------------------------- whole watch


@pytest.fixture
def cluster() -> Iterator[FakePulsar]:
    with fake_pulsar(3, 12, 12) as running:
        yield running


def state(watching: AskingWatch) -> dict[str, Any]:
    return dict(json.loads(watching.page.state))


def waiting_plan(watching: AskingWatch) -> dict[str, Any]:
    wait_until("a plan that waits", lambda: (state(watching)["plan"] or {}).get("waits", False))
    return dict(state(watching)["plan"])


def test_nothing_is_moved_before_it_is_approved_and_then_just_that(
    cluster: FakePulsar, tmp_path: Path
) -> None:
    with asking_watch(cluster, tmp_path) as watching:
        told_ = waiting_plan(watching)
        (move,) = told_["moves"]
        assert move["source"] == cluster.brokers[0].id
        assert "ThresholdShedder: score of the source" in move["reason"]
        plans = watching.recording / "watch" / "plans"
        frozen = {path: path.read_bytes() for path in plans.glob("*.json")}
        time.sleep(1.0)
        assert cluster.unloads == {}
        answer = {"plan": told_["digest"], "approve": True}
        assert asked(watching.page, "answer", "POST", answer)[0] == 200
        wait_until("the next plan", lambda: state(watching)["plan"]["digest"] != told_["digest"])

        assert cluster.unloads == {move["bundle"]: 1}
        assert cluster.owners[move["bundle"]] == move["target"]
        assert {path: path.read_bytes() for path in frozen} == frozen
    said = (watching.recording / "watch" / "rounds.jsonl").read_text()
    assert '"said": "asking"' in said
    assert '"said": "acted"' in said
    assert sum(cluster.unloads.values()) == 1


def test_what_is_refused_is_not_moved_and_not_asked_for_again_at_once(
    cluster: FakePulsar, tmp_path: Path
) -> None:
    with asking_watch(cluster, tmp_path) as watching:
        first = waiting_plan(watching)
        assert watching.desk.take_answer(first["digest"], is_approved=False)
        wait_until("the next plan", lambda: state(watching)["plan"]["digest"] != first["digest"])
        second = waiting_plan(watching)
        refused = {move["bundle"] for move in first["moves"]}
        assert not refused & {move["bundle"] for move in second["moves"]}
    assert cluster.unloads == {}
    assert "refused on the page" in (watching.recording / "watch" / "rounds.jsonl").read_text()


def test_a_cluster_that_has_changed_meanwhile_is_left_alone(
    cluster: FakePulsar, tmp_path: Path
) -> None:
    with asking_watch(cluster, tmp_path) as watching:
        told_ = waiting_plan(watching)
        (move,) = told_["moves"]
        (elsewhere,) = {each.id for each in cluster.brokers} - {move["source"], move["target"]}
        cluster.owners[move["bundle"]] = elsewhere
        assert watching.desk.take_answer(told_["digest"], is_approved=True)
        wait_until("an end", lambda: state(watching)["plan"]["ended"] is not None)
        ended = state(watching)["plan"]["ended"]

    assert ended.startswith(f"{move['bundle']} is at {elsewhere}, not at {move['source']}: ")
    assert cluster.unloads == {}
