"""A recorded leader and simulated ones → where they agree, in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes.spread import spread
from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.evidence import Round
from trimtab.lab.reconstruct.usage import Explained
from trimtab.pulsar.model import Floats
from trimtab.trials.rerun.simulated_leader import FreeRun, RoundPair, carried


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is compared: s from the beginning, and the shedding interval, s."""

    from_s: float
    to_s: float
    interval_s: float

    def holds(self, time_s: Any) -> Any:  # noqa: ANN401  # a float, or an array of some
        """Return whether a time lies in it."""
        return (self.from_s <= time_s) & (time_s < self.to_s)


def compared(
    rebuilt: Rebuilt,
    rounds: Sequence[Round],
    pairs: Sequence[RoundPair],
    free: Sequence[FreeRun],
    stretch: Stretch,
) -> dict[str, Any]:
    """Return the leaders side by side: `fit`, `held` and `free`; what is not known is None."""
    real = [each for each in rounds if stretch.holds(each.time_s - rebuilt.grid.from_s)]
    return {
        "from": _iso(rebuilt.grid.from_s + stretch.from_s),
        "to": _iso(rebuilt.grid.from_s + stretch.to_s),
        "tick_s": rebuilt.grid.tick_s,
        "untold": list(rebuilt.untold),
        "fit": {
            "cpu": explained_document(rebuilt.used.cpu),
            "network": explained_document(rebuilt.used.network)
            | {"overhead": rebuilt.used.costs.overhead},
        },
        "held": _round_by_round(rebuilt, [p for p in pairs if stretch.holds(p.time_s)]),
        "free": _free(rebuilt, real, free, stretch),
    }


def _iso(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="milliseconds")


def explained_document(how_well: Explained) -> dict[str, Any]:
    """Return how well usage is explained, as plain values."""
    return {
        "windows": how_well.n_windows,
        "error_points": finite(how_well.error_points),
        "r_squared": finite(how_well.r_squared),
    }


def finite(value: float) -> float | None:
    """Return a number as a document has it: None where it is not known."""
    return None if math.isnan(value) else value


def _round_by_round(rebuilt: Rebuilt, pairs: Sequence[RoundPair]) -> dict[str, Any]:
    """Return how the simulated leader would have decided where the real one decided."""
    counts = ("real", "simulated", "same", "placed")
    rows = [asdict(each) for each in pairs]
    return {
        "rounds": [{"time": _iso(rebuilt.grid.from_s + row.pop("time_s")), **row} for row in rows],
        "same_trigger": sum(each.is_same_trigger for each in pairs),
        "sure": sum(each.is_sure for each in pairs),
        "same_trigger_sure": sum(each.is_same_trigger for each in pairs if each.is_sure),
        **{f"unloads_{name}": sum(row[name] for row in rows) for name in counts},
    }


def _free(
    rebuilt: Rebuilt, real: Sequence[Round], free: Sequence[FreeRun], stretch: Stretch
) -> dict[str, Any]:
    """Return what simulated leaders did that were left to themselves."""
    moved = [np.where(stretch.holds(each.round_s), each.moved, 0) for each in free]
    unloads = [int(each.sum()) for each in moved]
    triggers = [int((each > 0).sum()) for each in moved]
    return {
        "seeds": len(free),
        "triggers": {"real": sum(bool(each.unloads) for each in real)} | _quantiles(triggers),
        "unloads": {"real": sum(len(each.unloads) for each in real)} | _quantiles(unloads),
        "by_seed": [
            {"seed": each.seed, "triggers": triggers[i], "unloads": unloads[i]}
            for i, each in enumerate(free)
        ],
        "rounds": _by_round(rebuilt, real, free, stretch),
        "spread": _spreads(rebuilt, free, stretch),
    }


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    low, median, high = np.quantile(values, (0.1, 0.5, 0.9)).tolist()
    return {"median": median, "p10": low, "p90": high}


def _by_round(
    rebuilt: Rebuilt, real: Sequence[Round], free: Sequence[FreeRun], stretch: Stretch
) -> list[dict[str, Any]]:
    """Return for each round of the real leader what simulated ones did at about that time."""
    times = np.array([each.time_s - rebuilt.grid.from_s for each in real])
    near = [_near(times, each, stretch) for each in free]
    return [
        _round(rebuilt.grid.from_s + float(times[k]), each, [of.get(k, []) for of in near])
        for k, each in enumerate(real)
    ]


#: s by which a round is later than the real one, and the bundles that it unloads.
_Later: TypeAlias = tuple[float, frozenset[int]]


def _near(times: Floats, free: FreeRun, stretch: Stretch) -> dict[int, list[_Later]]:
    """Return the rounds that unload something by the real one that is nearest.

    They are in order of time; of a round that is an interval away from all, nothing is.
    """
    near: dict[int, list[_Later]] = {}
    for time_s, bundles in zip(free.round_s.tolist(), free.bundles, strict=True):
        if bundles and stretch.holds(time_s) and times.size:
            k = int(np.argmin(np.abs(times - time_s)))
            if abs(times[k] - time_s) < stretch.interval_s:
                near.setdefault(k, []).append((time_s - float(times[k]), bundles))
    return near


def _round(time_s: float, real: Round, simulated: Sequence[list[_Later]]) -> dict[str, Any]:
    named = {bundle for bundle, _ in real.unloads}
    bundles = [[of for _, of in rounds] for rounds in simulated]
    later = [rounds[0][0] for rounds in simulated if rounds]
    return {
        "time": _iso(time_s),
        "real": len(real.unloads),
        "triggered_share": len(later) / len(simulated),
        "later_s": _quantiles(later) if later else None,
        "same": _quantiles([len(named & frozenset().union(*of)) for of in bundles]),
        **_quantiles([sum(map(len, of)) for of in bundles]),
    }


def real_usage(rebuilt: Rebuilt) -> NDArray[np.float32]:
    """Return percent of the busiest resource in brokers' reports, (n_ticks, n_brokers)."""
    by_resource = rebuilt.used.usage
    busiest = np.where(np.isnan(by_resource), -np.inf, by_resource).max(axis=0)
    return np.where(np.isinf(busiest), np.nan, busiest).astype(np.float32)


def real_rate(rebuilt: Rebuilt, free: Sequence[FreeRun]) -> Floats:
    """Messages/s by who really owned what, (n_ticks, n_brokers); NaN while a broker is down."""
    rate = carried(rebuilt, rebuilt.owner)
    rate[np.isnan(free[0].rate)] = np.nan
    return rate


def _spreads(
    rebuilt: Rebuilt, free: Sequence[FreeRun], stretch: Stretch
) -> dict[str, dict[str, Any] | None]:
    """Return the spread over brokers beside the real one, over time, seed by seed."""
    tick_s = rebuilt.grid.tick_s
    part = slice(math.ceil(stretch.from_s / tick_s), int(stretch.to_s // tick_s))
    spreads: dict[str, dict[str, Any] | None] = {}
    for name, real, simulated in (
        ("rate", real_rate(rebuilt, free), [each.rate for each in free]),
        ("usage", real_usage(rebuilt), [each.usage for each in free]),
    ):
        pairs = [_pair(real[part], each[part]) for each in simulated]
        spreads[name] = _beside([pair for pair in pairs if pair.shape[1]])
    return spreads


def _pair(real: Floats | NDArray[np.float32], simulated: Floats | NDArray[np.float32]) -> Floats:
    """Return both spreads where both are known, (2, n_ticks)."""
    # Where a broker has told nothing yet, it is left out of both.
    unknown = np.isnan(real) | np.isnan(simulated)
    both = [np.where(unknown, np.nan, each).astype(np.float32) for each in (real, simulated)]
    spreads = np.stack([spread(each) for each in both]).astype(np.float64)
    return spreads[:, ~np.isnan(spreads).any(axis=0)]


def _beside(pairs: Sequence[Floats]) -> dict[str, Any] | None:
    """Return the means and the correlation of spreads; None if not one is known."""
    if not pairs:
        return None
    means = np.array([pair.mean(axis=1) for pair in pairs])
    # A spread that never changes goes with no other.
    changing = [pair for pair in pairs if pair.shape[1] > 1 and np.ptp(pair, axis=1).all()]
    correlations = [float(np.corrcoef(*pair)[0, 1]) for pair in changing]
    return {
        # What is known of the real one is the same whatever the seed, but for brokers that
        # are down in one of them.
        "real": float(np.median(means[:, 0])),
        **_quantiles(means[:, 1].tolist()),
        "correlation": _quantiles(correlations) if correlations else None,
    }
