"""Write the measured tables of docs/predictions.md: recordings, real moves and the laboratory.

The recordings are those that ship; in the laboratory bundles are moved at random, and what was
predicted is held against the truth, on seeds that the name of a commit draws.

python -m tools.predictions COMMIT
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tools.catalogue import table
from tools.judge.seeds import drawn
from tools.real_moves import RealMove, real_moves
from tools.recorded_moves import recorded_moves
from trimtab.ingest.recording import open_recording
from trimtab.lab.costs.arithmetic import half_width
from trimtab.spark.session import opened_spark
from trimtab.trials.backtest.command import documents, read_evidence
from trimtab.trials.backtest.laboratory import Outcome, Trial, outcomes

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "predictions.md"
#: What `python -m cluster.moves` recorded.
RECORDED = ROOT / "tests" / "testdata" / "costs" / "recorded"
RECORDINGS = ("uniform", "threshold", "avg")
#: Runs of real moves, and how idle their host was.
RUNS = {"idle": "87 % busy", "saturated": "100 % busy"}
#: Ways to look at the laboratory.
WAYS = {
    "reports as they are": {},
    "and other processes measured": {"is_measured": True},
    "reports gated at 10 %": {"is_ungated": False},
    "brokers of exponent 0.7": {"exponent": 0.7},
    "brokers of exponent 0.85": {"exponent": 0.85},
}
_SCENARIOS = ("S08", "S15")
_GATED = "reports gated at 10 %"
#: Rows that are of several ways together.
_TOGETHER = {
    "not gated, exponents 0.7, 0.85 and 1": tuple(way for way in WAYS if way != _GATED),
    _GATED: (_GATED,),
}
# Minutes for which nothing moves where a day is watched first, and in which bundles move then.
_DAY_MIN, _MOVING_MIN = 24 * 60, 120
# Seeds of the laboratory.
_SEEDS = 6


_HEADS = (
    "brokers",
    "level off, %",
    "change off, median %: model, share",
    "predicted / true change",
    "change held by 50, 80, 90 %",
    "level held by 50, 80, 90 %",
)


def part(name: str) -> re.Pattern[str]:
    """Return what a part of the page is found by."""
    return re.compile(rf"(?<=<!-- {name} -->\n)(?:.*\n)*?(?=<!-- end -->)")


def of_real_moves() -> str:
    """Return the table of the real moves."""
    heads = (
        "host",
        "moves",
        "what the source lost and the target gained, milli-cores",
        "predicted",
        "by the share of traffic",
    )
    return "\n" + table(heads, map(_real_row, RUNS)) + "\n"


def _real_row(run: str) -> tuple[str, ...]:
    ends = list(real_moves(run))
    ways = [mean_relief(ends, name) for name in ("measured", "predicted", "by_share")]
    return (
        RUNS[run],
        str(sum(not end.is_source for end in ends)),
        *(f"{1000 * way:.1f}" for way in ways),
    )


def mean_relief(ends: Sequence[RealMove], name: str) -> float:
    """Return what sources lost and targets gained on average, cores."""
    return float(np.mean([(-1 if end.is_source else 1) * getattr(end, name) for end in ends]))


def of_recorded_moves() -> str:
    """Return the tables of the moves that were recorded to be predicted, half by half."""
    parts = []
    for held_out in (False, True):
        counted, scores = recorded_moves(RECORDED, held_out=held_out)
        half = "Held out" if held_out else "Looked at"
        parts.append(f"\n{half}: {counted}.\n\n{scores}\n")
    return "".join(parts)


def of_recordings() -> str:
    """Return the table of the recordings that ship."""
    read = []
    with opened_spark(cores=2, master=None) as spark:
        for name in RECORDINGS:
            with open_recording(ROOT / "recordings" / name) as opened:
                read.append((name, *read_evidence(spark, opened)))
    heads = (
        "recording",
        "brokers scored after 5 minutes",
        "level off, points: model, share, no change",
        "change off, points: model, share, no change",
        "held by intervals of 50, 80 and 90 %",
    )
    return "\n" + table(heads, _recorded_rows(documents(read))) + "\n"


def _recorded_rows(document: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in (*document["recordings"], document["all"]):
        row = next((s for s in each["scores"] if s["of"] == "moves" and s["minutes"] == 5), None)
        if row is None:
            yield (each["recording"], "0", "–", "–", "–")
            continue
        ways = [row[key] for key in ("model", "share_of_traffic", "nothing_changes")]
        coverage = row["model"]["level_coverage"].values()
        yield (
            each["recording"],
            str(row["brokers"]),
            ", ".join(f"{way['level_error_points']:.1f}" for way in ways),
            ", ".join(f"{way['change_error_points']:.1f}" for way in ways),
            ", ".join(f"{100 * share:.0f}" for share in coverage),
        )


def of_laboratory(seeds: Sequence[int], **times: int) -> str:
    """Return the table of the laboratory, with moves at other times than a trial's if asked."""
    rows = {
        (scenario, words): [Trial(scenario, seed, **options, **times) for seed in seeds]  # type: ignore[arg-type]  # by name
        for scenario in _SCENARIOS
        for words, options in WAYS.items()
    }
    trials = [trial for those in rows.values() for trial in those]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        made = iter(list(pool.map(_made, trials)))
    by_row = {heads: [each for _ in those for each in next(made)] for heads, those in rows.items()}
    for words, ways in _TOGETHER.items():
        mine = [each for (_, way), those in by_row.items() if way in ways for each in those]
        by_row[" and ".join(_SCENARIOS), words] = mine
    cells = [(*heads, *scored(those)) for heads, those in by_row.items()]
    return "\n" + table(("scenario", "looked at as", *_HEADS), cells) + "\n"


def _made(trial: Trial) -> list[Outcome]:
    return list(outcomes(trial))


def scored(rows: Sequence[Outcome]) -> tuple[str, ...]:
    """Return how good predictions of random moves were, as cells of the table."""
    change = np.array([row.true_after - row.true_before for row in rows])
    ours = np.array([row.after - row.before for row in rows])
    share = np.array([row.by_share for row in rows])
    level = np.array([row.after - row.true_after for row in rows])
    true = np.array([row.true_after for row in rows])
    real = np.abs(change) > 1.0
    errors = [
        float(np.median(100 * np.abs(way - change)[real] / np.abs(change)[real]))
        for way in (ours, share)
    ]
    held = (
        (
            ours - change,
            np.array([row.change_deviation for row in rows]),
        ),
        (level, np.array([row.deviation for row in rows])),
    )
    return (
        str(len(rows)),
        f"{float(np.mean(100 * np.abs(level) / np.maximum(true, 5.0))):.1f}",
        ", ".join(f"{error:.0f}" for error in errors),
        f"{float(np.abs(ours[real]).sum() / (np.sign(ours) * change)[real].sum()):.2f}",
        *(_held(*each) for each in held),
    )


def _held(missed: np.ndarray[Any, Any], deviation: np.ndarray[Any, Any]) -> str:
    shares = [
        float((np.abs(missed) <= half_width(share) * deviation).mean()) for share in (0.5, 0.8, 0.9)
    ]
    return ", ".join(f"{100 * share:.0f}" for share in shares)


def of_seeds(commit: str) -> str:
    """Return the sentence on the seeds, which a commit draws."""
    seeds = ", ".join(map(str, drawn(commit, _SEEDS)))
    return f"The seeds are {seeds}: the name of commit `{commit}`, which froze this, drew them.\n"


def main(arguments: list[str]) -> int:
    """Write the page, part by part, with the seeds that the name of a commit draws."""
    (commit,) = arguments
    seeds = drawn(commit, _SEEDS)
    after_a_day = {"begin_min": _DAY_MIN, "minutes": _DAY_MIN + _MOVING_MIN}
    for name, measured in (
        ("seeds", partial(of_seeds, commit)),
        ("real moves", of_real_moves),
        ("recorded moves", of_recorded_moves),
        ("laboratory", partial(of_laboratory, seeds)),
        ("after a day", partial(of_laboratory, seeds, **after_a_day)),
        ("recordings", of_recordings),
    ):
        if not part(name).search(PAGE.read_text(encoding="utf-8")):
            continue
        written = measured()
        print(written, flush=True)
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(part(name).sub(lambda _, new=written: new, text), encoding="utf-8")  # type: ignore[misc]  # bound now
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
