"""docs/precision.md, of what a held-out run found."""

from __future__ import annotations

from collections.abc import Sequence

from tools.catalogue import code, table
from tools.precision.families import CLEAN
from tools.precision.judging import Counts, Result, counts, wilson
from trimtab.diagnose.findings import FINDINGS

PRECISION_MIN, RECALL_MIN, CLEAN_MAX = 0.95, 0.90, 0.1
_BEGIN, _END = "<!-- measured -->", "<!-- end -->"


def rewritten(text: str, results: Sequence[Result]) -> str:
    """Put into the page what a run found.

    Raises:
        ValueError: the page has no place for it.
    """
    head, begin, rest = text.partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"docs/precision.md: expected {_BEGIN} and {_END}")
    return "\n".join([f"{head}{begin}", "", *_measured(results), f"{end}{tail}"])


def _measured(results: Sequence[Result]) -> list[str]:
    seeds = sorted(each.seed for each in results)
    found = counts(results)
    nights = [each for each in results if each.is_clean]
    wrong = sum(it.wrong for night in nights for it in night.verdicts.values())
    short = [name for name in FINDINGS if not _passes(found.get(name, Counts()))]
    rows = [_row(name, found.get(name, Counts())) for name in FINDINGS]
    heads = (
        "cause",
        "there in",
        "recall",
        "95 %",
        "found in",
        "precision",
        "95 %",
        "places",
        "wrong",
    )
    return [
        f"{len(results)} recordings, seeds {seeds[0]} to {seeds[-1]}.",
        "",
        table(heads, rows),
        "",
        f"Of {len(FINDINGS)} causes {len(FINDINGS) - len(short)} have a precision of "
        f"{PRECISION_MIN:.2f} and a recall of {RECALL_MIN:.2f} or more"
        + (f"; short of it: {', '.join(map(code, short))}." if short else "."),
        "",
        f"Healthy nights: {len(nights)}, with {wrong} wrong finding(s) in all, of which "
        f"{sum(night.grave for night in nights)} of medium severity or worse; "
        f"at most {CLEAN_MAX * len(nights):.0f} were allowed.",
        "",
        table(("healthy nights", "recordings", "wrong findings", "right ones"), _clean(nights)),
    ]


def _passes(it: Counts) -> bool:
    return (
        it.planted > 0
        and it.recalled >= RECALL_MIN * it.planted
        and it.precise >= PRECISION_MIN * it.found
    )


def _row(name: str, it: Counts) -> tuple[str, ...]:
    return (
        f"[{name}](findings/{name}.md)",
        str(it.planted),
        *_share(it.recalled, it.planted),
        str(it.found),
        *_share(it.precise, it.found),
        f"{it.places - it.missed} of {it.places}",
        f"{it.wrong} of {it.right + it.wrong}",
    )


def _share(hits: int, of: int) -> tuple[str, str]:
    if not of:
        return "–", "–"
    low, high = wilson(hits, of)
    return f"{hits / of:.3f}", f"{low:.2f} to {high:.2f}"


def _clean(nights: Sequence[Result]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for family, (shedder, placer) in CLEAN.items():
        mine = [night for night in nights if night.family == family]
        verdicts = [it for night in mine for it in night.verdicts.values()]
        name = shedder if shedder == placer else f"{shedder} + {placer}"
        wrong, right = (sum(getattr(it, what) for it in verdicts) for what in ("wrong", "right"))
        rows.append((name, str(len(mine)), str(wrong), str(right)))
    return rows
