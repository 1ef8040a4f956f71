"""What a person sees of a watch, at a terminal and without one."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from rich.console import Console

from tests.watched_nights import recorded_night, seen
from trimtab.live.watch.screen import lines, picture, show, summary
from trimtab.live.watch.tally import BrokerStanding


def test_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    last = seen("uniform")

    assert show([last], Console(file=out, force_terminal=False, width=80)) is last
    printed = out.getvalue().splitlines()
    assert printed == lines(last)
    assert printed[0] == "07:10:33Z 10.213.0.11:8080 leads"
    assert "equal: every printed digit and every bundle agrees" in printed[2]
    assert "\x1b" not in out.getvalue()


def test_a_live_table_at_a_terminal() -> None:
    out = io.StringIO()
    last = seen("uniform")

    show([last], Console(file=out, force_terminal=True, width=120))
    assert "\x1b" in out.getvalue()
    assert "10.213.0.11:8080 *" in out.getvalue()


def test_the_table_tells_how_brokers_stand() -> None:
    last = seen("uniform")
    out = io.StringIO()
    now = recorded_night("uniform").ended + timedelta(minutes=1)
    Console(file=out, width=100).print(picture(last, now))
    rows = out.getvalue().splitlines()

    assert rows[0] == "UniformLoadShedder of 4.0.8, beside it UniformLoadShedder"
    assert rows[1].split() == ["broker", "usage", "msg/s", "MB/s", "bundles", "report"]
    assert len(rows[2:6]) == 4
    assert all(row.split()[0].startswith("10.213.0.1") for row in rows[2:6])
    assert "s ago" in rows[2]


def test_a_name_is_text_and_neither_markup_nor_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    now = recorded_night("uniform").ended
    odd = BrokerStanding("[red]b\x1b[2J", 0.5, 1.0, 2.0, 3, now)
    monkeypatch.setattr("trimtab.live.watch.screen.standings", lambda memory: (odd,))
    out = io.StringIO()
    Console(file=out, width=100).print(picture(seen("uniform"), now))

    assert out.getvalue().splitlines()[2].startswith("[red]b\\x1b[2J ")


def test_in_the_end_a_watch_says_what_it_has_come_to() -> None:
    said = summary(seen("uniform"))

    assert said[0] == "14 rounds; compared with the leader's log: 9 equal"
    assert said[1].startswith("unloads: Pulsar 88, UniformLoadShedder ")
    assert any(line.startswith("excess_spread_points a round: Pulsar ") for line in said)


def test_without_a_step_there_is_nothing_to_say() -> None:
    assert show([], Console(file=io.StringIO())) is None
