"""Write the measured table of docs/plans.md: plans for the peaks to come, over ten simulated weeks.

Each week is another cluster, whose bundles have days of their own: offices in three parts of the
world, evenings, batches at some hour.  Two weeks are recorded, and in the third it is planned,
every three hours and at most four moves at a time: by what brokers use now, and by the peaks of
the next 24 hours.  Both know the same costs, which are off by what each bundle costs by itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tools.catalogue import table
from trimtab.lab.planning import Restraints, Wish, planned, unrestrained
from trimtab.lab.planning.columns import Column, Doubts
from trimtab.lab.planning.hours import History, by_hours
from trimtab.pulsar.model import Floats, Ints

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "plans.md"
#: Percent above which a broker's minutes count.
BAR = 70.0
_BROKERS, _BUNDLES = 12, 240
_STEP_MIN = 10
_HOUR, _DAY = 60 // _STEP_MIN, 24 * 60 // _STEP_MIN
_WEEK = 7 * _DAY
_RECORDED = 2 * _WEEK
# Steps between two plans, and moves of each at most.
_EVERY, _MOVES = 3 * _HOUR, 4
# Mean usage of a broker over the weeks, percent, and what it uses at rest.
_MEAN, _REST = 38.0, 4.0
# Deviations: of a bundle's own cost; of an hour, of a day; by which bundles grow in a day.
_OWN, _NOISE, _BY_DAY, _GROWTH = 0.25, 0.15, 0.10, 0.01
WAYS = ("no moves", "plans of the moment", "plans for the next 24 hours")


@dataclass(frozen=True, slots=True)
class World:
    """Three weeks of a cluster."""

    #: (n_bundles, n_steps) what bundles cost, and what is known of that.
    cost: Floats
    known: Floats
    #: (n_brokers,) points for a unit.
    speed: Floats
    owner: Ints


@dataclass(frozen=True, slots=True)
class Week:
    """What came of a week: broker-minutes over the bar, moves, and the highest usage."""

    over_min: float
    moves: int
    peak: float


def world(seed: int) -> World:
    """Return three weeks of a cluster whose bundles are spread by their number."""
    random = np.random.default_rng([seed, 2])
    steps = np.arange(_RECORDED + _WEEK)
    hour, day = steps / _HOUR % 24, steps // _DAY
    cost = np.stack([_bundle(random, hour, day) for _ in range(_BUNDLES)])
    noise = _NOISE * random.standard_normal((_BUNDLES, steps.size // _HOUR)).repeat(_HOUR, axis=1)
    days = _BY_DAY * random.standard_normal((_BUNDLES, int(day[-1]) + 1))[:, day]
    growth = np.cumsum(_GROWTH * random.standard_normal((_BUNDLES, int(day[-1]) + 1)), axis=1)
    known = random.lognormal(0.0, 0.9, (_BUNDLES, 1)) * cost * np.exp(noise + days + growth[:, day])
    own = np.exp(_OWN * random.standard_normal((_BUNDLES, 1)))
    speed = random.choice((1.0, 1.4), _BROKERS, p=(0.7, 0.3))
    owner = random.permutation(np.arange(_BUNDLES) % _BROKERS)
    true = own * known
    scale = (_MEAN - _REST) / float((speed[owner][:, None] * true).sum(axis=0).mean() / _BROKERS)
    return World(scale * true, scale * known, speed, owner)


def _bundle(random: np.random.Generator, hour: Floats, day: Ints) -> Floats:
    """Return the shape of one bundle's weeks, with a mean of about 1."""
    kind = random.choice(4, p=(0.5, 0.15, 0.15, 0.2))
    is_weekend = day % 7 >= 5
    if kind == 0:  # an office, in one of three parts of the world
        begin, weekend = random.choice((1.0, 8.0, 15.0)), 0.25
        shape = 0.2 + 2.2 * (np.mod(hour - begin, 24.0) < 9.0)
    elif kind == 1:  # evenings at home
        begin, weekend = 18.0, 1.3
        shape = 0.4 + 1.2 * (1 + np.cos((hour - begin - 2.0) / 24.0 * 2 * np.pi))
    elif kind == 2:  # a batch at some hour
        begin, weekend = random.integers(0, 24), 1.0
        shape = 0.3 + 6.0 * (np.mod(hour - begin, 24.0) < 2.0)
    else:
        weekend, shape = 1.0, np.ones(hour.size)
    return np.asarray(shape * np.where(is_weekend, weekend, 1.0), np.float64)


def walked(week: World, way: str) -> Week:
    """Return what came of the third week if it is planned in a way."""
    owner, over, moves, peak = week.owner.copy(), 0.0, 0, 0.0
    for step in range(_RECORDED, _RECORDED + _WEEK):
        if way != WAYS[0] and (step - _RECORDED) % _EVERY == 0:
            owner, count = _moved(week, owner, step, way)
            moves += count
        usage = _usage(week, owner, step)
        over += _STEP_MIN * float((usage > BAR).sum())
        peak = max(peak, float(usage.max()))
    return Week(over, moves, peak)


def _usage(week: World, owner: Ints, step: int) -> Floats:
    carried = np.bincount(owner, week.cost[:, step], _BROKERS)
    return np.minimum(_REST + week.speed * carried, 100.0)


def _moved(week: World, owner: Ints, step: int, way: str) -> tuple[Ints, int]:
    """Return the owners after a plan, and its number of moves."""
    now = week.known[:, step - 1]
    column = Column(
        name="CPU",
        usage=_usage(week, owner, step - 1),
        deviation=np.full(_BROKERS, 1.5),
        spread=np.zeros(_BROKERS),
        speed=week.speed,
        cost=now,
        doubts=_DOUBTS,
    )
    columns: tuple[Column, ...] = (column,)
    if way == WAYS[2]:
        begin = step - step % _HOUR
        hourly = week.known[:, :begin].reshape(_BUNDLES, -1, _HOUR).mean(axis=2)
        columns = by_hours(columns, owner, now, History(hourly, begin // _HOUR).ahead(24))
    plan = planned(columns, owner, _FREE, Wish(_MOVES))
    owner = owner.copy()
    owner[plan.moves.bundle] = plan.moves.to
    return owner, plan.moves.bundle.size


_DOUBTS = Doubts(
    following=np.ones((_BUNDLES, 1)),
    covariance=np.array([[0.05**2]]),
    speed=np.full(_BROKERS, 0.05),
    own=np.full(_BUNDLES, _OWN),
)
_FREE: Restraints = unrestrained(_BROKERS, _BUNDLES)


def weeks(seeds: Sequence[int]) -> dict[str, list[Week]]:
    """Return what came of each week in each way."""
    outcomes: dict[str, list[Week]] = {way: [] for way in WAYS}
    for seed in seeds:
        drawn = world(seed)
        for way in WAYS:
            outcomes[way].append(walked(drawn, way))
            print(seed, way, outcomes[way][-1], file=sys.stderr, flush=True)
    return outcomes


def measured(outcomes: dict[str, list[Week]]) -> str:
    """Return the table of what came of all weeks."""
    heads = (
        "",
        f"broker-minutes over {BAR:.0f} % a week",
        "moves a week",
        "highest usage, mean, %",
    )
    return "\n" + table(heads, _rows(outcomes)) + f"\n\n{_difference(outcomes)}\n"


def _rows(outcomes: dict[str, list[Week]]) -> Iterator[tuple[str, ...]]:
    for way, rows in outcomes.items():
        over, moves = ([getattr(row, key) for row in rows] for key in ("over_min", "moves"))
        peak = float(np.mean([row.peak for row in rows]))
        yield way, _mean(over), _mean(moves), f"{peak:.0f}"


def _difference(outcomes: dict[str, list[Week]]) -> str:
    """Return a sentence on the two ways of planning, week by week."""
    moment, ahead = (outcomes[way] for way in WAYS[1:])
    over = [b.over_min - a.over_min for a, b in zip(moment, ahead, strict=True)]
    moves = [b.moves - a.moves for a, b in zip(moment, ahead, strict=True)]
    fewer = sum(each < 0 for each in over)
    return (
        f"Week by week, plans for the next 24 hours against plans of the moment: {_mean(over)} "
        f"broker-minutes, {_mean(moves)} moves; fewer broker-minutes in {fewer} of {len(over)} "
        "weeks.\nIn brackets, by bootstrap: where the mean of ten weeks lies in 95 of 100 cases."
    )


def _mean(values: Sequence[float]) -> str:
    """Return the mean with its interval."""
    drawn = np.random.default_rng(0).choice(np.array(values, np.float64), (4000, len(values)))
    low, high = np.quantile(drawn.mean(axis=1), (0.025, 0.975))
    return f"{np.mean(values):.0f} ({low:.0f} to {high:.0f})"


def main(arguments: list[str]) -> int:
    """Write the table; with `--seeds 100 109` of other weeks than those of the page."""
    first, last = (int(each) for each in arguments[1:3]) if arguments else (9200, 9209)
    text = measured(weeks(range(first, last + 1)))
    print(text)
    if not arguments:
        part = re.compile(r"(?<=<!-- weeks -->\n)(?:.*\n)*?(?=<!-- end -->)")
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(part.sub(lambda _: text, page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
