"""What may be planned, and what is refused in one line: text files of plans and what comes out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

import datadriven
from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.world import Event, Kind
from trimtab.trials.rehearse.language import Planned, plan_file, rack, statement
from trimtab.trials.rehearse.resolve import Names, resolved

FILES = sorted((Path(__file__).parent / "testdata" / "rehearse").glob("*.txt"))
#: 2026-11-20T20:00Z.
_EIGHT_S = 1795204800.0
NAMES = Names(
    brokers=tuple(f"b{i}:8080" for i in range(1, 5)),
    bundles=(
        "shop/orders/0x00000000_0x80000000",
        "shop/orders/0x80000000_0xffffffff",
        "shop/carts/0x00000000_0xffffffff",
        "ads/clicks/0x00000000_0xffffffff",
        "ads/views/0x00000000_0x40000000",
        "ads/views/0x00000000_0x20000000",
        "ads/views/0x20000000_0x40000000",
    ),
    from_s=_EIGHT_S,
    duration_s=3600.0,
    events=(
        Event(1200.0, Kind.JOIN, (3,)),
        Event(2400.0, Kind.KILL, (1,)),
        Event(2520.0, Kind.JOIN, (1,)),
    ),
    is_up=(True, True, True, False),
    racks={},
)
RAN = Balancer("ThresholdShedder", "LeastLongTermMessageRate", "4.0.8")


class Bench:
    """Reads plans."""

    def plan(self, lines: tuple[str, ...], racks: str = "") -> str:
        named = dict(rack(text) for text in racks.split(";")) if racks else {}
        try:
            planned = Planned(tuple(statement(Field(line)) for line in lines), named)
            return _text(resolved(planned, _with(named), RAN))
        except TrimtabError as error:
            return f"error: {error}"

    def file(self, lines: tuple[str, ...]) -> str:
        try:
            planned = plan_file("\n".join(lines), "friday.toml")
        except TrimtabError as error:
            return f"error: {error}"
        return "\n".join(
            [
                *(each.text for each in planned.statements),
                *(f"rack {name}: {', '.join(brokers)}" for name, brokers in planned.racks.items()),
                *(f"{name} at most {limit:g}" for name, limit in planned.bar.items()),
            ]
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plans(path: Path, file_regression: FileRegressionFixture) -> None:
    text = datadriven.run(path, Bench())
    assert all(len(line) < 300 for line in text.splitlines())
    file_regression.check(text, fullpath=path)


def _with(racks: dict[str, tuple[str, ...]]) -> Names:
    return Names(**{name: getattr(NAMES, name) for name in Names.__slots__} | {"racks": racks})


def _text(plan: Rehearsal) -> str:
    by = plan.balancer
    names = (*NAMES.brokers, *plan.added)
    lines = [f"from {plan.from_s:g} s: {by.shedder} + {by.placer}, {by.release}"]
    lines += [f"{key}={value}" for key, value in by.conf.items()]
    for event in plan.events:
        of = NAMES.bundles if event.kind is Kind.SPLIT else names
        lines.append(f"{event.time_s:g} s  {event.kind} {' '.join(of[i] for i in event.subjects)}")
    for each in plan.scalings:
        bundles = " ".join(NAMES.bundles[i] for i in each.bundles)
        lines.append(f"{each.from_s:g} to {each.to_s:g} s  x{each.factor:g} {bundles}")
    return "\n".join(lines)


def test_what_is_too_short_is_refused_before_anything_else() -> None:
    short = replace(NAMES, duration_s=100.0)
    planned = Planned((statement(Field("lose b1")),), {})
    told = "the recording: found 100 s, expected 180 s at least: 60 s until the leader knows"
    with pytest.raises(FieldError, match=told):
        resolved(planned, short, RAN)
    long_enough = replace(NAMES, duration_s=180.0)
    assert resolved(planned, long_enough, RAN).from_s == 60.0
