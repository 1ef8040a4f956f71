"""What the public door says of a night, held against what is true of it."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.nights.truth import Truth

#: A finding is right if it names a broker or a bundle of a truth within three minutes of it.
_NEAR_MS = 180_000
_Z = 1.959963984540054
#: Names of families of what has no page yet begin so.
AHEAD = "ahead-"
#: A finding of these is about a move, and must name its bundle.
_OF_MOVES = frozenset(
    {
        "random-placement",
        "ping-pong",
        "even-distribution-override",
        "same-broker",
        "lost-destination",
        "empty-bundle-moved",
        "jitter-chasing",
        "vanished-bundle",
        "unload-failed",
    }
)
#: Words by which a headline says of moves that they were not in vain.
_ACQUITTAL = re.compile(r"None of the moves was found useless|\bgood\b|\blucky\b|fell well")
#: A finding of these may name the namespace alone.
_NO_PLACE = frozenset({"split-storm", "split-refused"})

#: Words of a page's title by which a headline would name its cause.
_WORDS: Mapping[str, str] = {
    "random-placement": r"by lot|at random|random|drawn",
    "over-placement": r"more than it could|several at once|hot spot|given more|was hot or became",
    "over-unloading": r"load had already gone|already gone|already below|below the bar",
    "ping-pong": r"up and down by itself|back and forth|moved back|ping-pong|came back|round trip",
    "cold-history": r"smoothed|caught up|lag|history",
    "score-disagreement": r"disagree|different clusters|scores",
    "sole-bundle": r"single bundle|only bundle|sole bundle|one bundle",
    "even-distribution-override": r"filter|even(ly)? distribut|fewest bundles|only candidate",
    "same-broker": r"took it again|same broker|back to (the|its) (same|source|old)|old broker",
    "blind-to-imbalance": r"apart|imbalance|nothing was done|moved nothing|out of balance",
    "heterogeneous-brokers": r"differ in strength|strength|weak|unequal|heterogeneous",
    "lost-destination": r"another broker than|third broker|elsewhere|went to another",
    "empty-bundle-moved": r"without (any )?traffic|empty|idle bundle|carried nothing",
    "giant-bundle": r"one bundle|giant|more than a broker|half as much|alone carr",
    "emptied-broker": r"emptied|nearly all|all of its bundles|left idle|lost all",
    "jitter-chasing": r"peak|jitter|passing",
    "no-headroom": r"all .*brokers (were|are) hot|more brokers|headroom|too few brokers",
    "cold-cpu": r"not measured itself|just started|first report|unmeasured",
    "bad-nic-limit": r"network|NIC|Mbit|Gbit|speed",
    "wrong-manager": r"load manager",
    "vanished-bundle": r"no owner|nobody own|vanished|without an owner",
    "one-pair-per-round": r"one at a time|one (broker|pair) (a|per) round|one by one",
    "wrong-extreme": r"busier|another broker than the busiest|wrong (broker|extreme)",
    "throughput-floor": r"floor|too few bytes|too little",
    "grace-starvation": r"grace|just (come|been moved|arrived)",
    "stale-report": r"same report|stale|old report",
    "chatty-reports": r"report after report|reports? (without|more often)|chatty|wrote .*reports",
    "memory-as-load": r"memory",
    "skipped-bundles": r"skipped|not moved|nowhere to go|no broker (for|available)|refused",
    "unload-failed": r"fail|error|timed out",
    "shedding-aborted": r"exception|aborted|ended by|broke off",
    "slow-round": r"took (long|half|\d+ s|up to)|slow",
    "leader-change": r"leader",
    "two-leaders": r"two (brokers )?(lead|leaders)|although another|second leader|both led",
    "no-acting-leader": r"nobody led|no leader|without a leader",
    "split-refused": r"split",
    "split-storm": r"split",
    "usage-zero": r"no usage|usage (was|of) (zero|0)|cannot be measured|reported (nothing|zero|0)",
    "zero-traffic-contradiction": r"carries nothing|without traffic|no traffic|something else",
    "repeated-split": r"split again",
    "lookup-without-broker": r"no broker",
    "frozen-record": r"stands? still|stood still|frozen|did not change",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, at a place."""

    code: str
    severity: str
    brokers: frozenset[str]
    bundles: frozenset[str]
    begin_ms: int
    end_ms: int
    title: str


@dataclass(slots=True)
class Verdict:
    """One cause in one night: places that are there, and findings."""

    planted: int = 0
    missed: int = 0
    right: int = 0
    open: int = 0
    wrong: int = 0


@dataclass(slots=True)
class Result:
    """What came of one night."""

    family: str
    seed: int
    code: str | None
    verdicts: dict[str, Verdict]
    headline: str
    #: The gravest finding's code, and whether the headline names the cause the night is made for.
    gravest: str | None
    is_named: bool
    #: Bundles that were moved, and as many as the headline says; None if it says nothing of it.
    moves: int
    moves_said: int | None
    #: What was missed and what was wrong, in words.
    notes: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return it as a line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)


def named(code: str, headline: str) -> bool:
    """Return whether a headline names a cause."""
    return re.search(_WORDS.get(code, code), headline, re.IGNORECASE) is not None


def verdicts(
    truths: Sequence[Truth], findings: Sequence[Finding], zero_ms: int
) -> tuple[dict[str, Verdict], list[str]]:
    """Return what came of each cause, and what was missed and wrong.

    Args:
        truths: of the night.
        findings: of the diagnosis.
        zero_ms: when the recording begins, for words.
    """
    by_code: defaultdict[str, Verdict] = defaultdict(Verdict)
    notes = []

    def words(it: Truth | Finding) -> str:
        begin, end = (round((t - zero_ms) / 60_000, 1) for t in (it.begin_ms, it.end_ms))
        places = ", ".join(sorted(it.brokers)[:3] + sorted(it.bundles)[:2])
        return f"{it.code} min {begin}-{end} {places}"

    for truth in truths:
        if truth.is_open:
            continue
        verdict = by_code[truth.code]
        verdict.planted += 1
        if not any(_is_about(it, truth) for it in findings):
            verdict.missed += 1
            notes.append(f"missed {words(truth)}")
    for finding in findings:
        about = [truth for truth in truths if _is_about(finding, truth)]
        verdict = by_code[finding.code]
        if not about:
            verdict.wrong += 1
            notes.append(f"wrong {words(finding)} ({finding.severity}) {finding.title}")
        elif all(truth.is_open for truth in about):
            verdict.open += 1
        else:
            verdict.right += 1
    return dict(by_code), notes


def _is_about(finding: Finding, truth: Truth) -> bool:
    if finding.code != truth.code:
        return False
    is_near = (
        finding.begin_ms <= truth.end_ms + _NEAR_MS and finding.end_ms >= truth.begin_ms - _NEAR_MS
    )
    if finding.code in _OF_MOVES and not finding.bundles & truth.bundles:
        return False
    names = finding.brokers | finding.bundles
    meant = truth.brokers | truth.bundles
    is_there = bool(names & meant) or not meant or not names
    if finding.code in _NO_PLACE and not is_there:
        spaces = {name.rpartition("/")[0] for name in truth.bundles}
        is_there = bool(names & spaces)
    return is_near and is_there


# --- over all nights


@dataclass(slots=True)
class Counts:
    """One cause over all nights; a night counts once."""

    planted: int = 0
    recalled: int = 0
    found: int = 0
    precise: int = 0
    places: int = 0
    missed: int = 0
    right: int = 0
    wrong: int = 0


def counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, Counts]:
    """Return every cause counted over the results of many nights."""
    by_code: defaultdict[str, Counts] = defaultdict(Counts)
    for row in rows:
        for code, it in row["verdicts"].items():
            mine = by_code[code]
            mine.planted += it["planted"] > 0
            mine.recalled += it["planted"] > 0 and it["missed"] == 0
            mine.found += it["right"] + it["wrong"] > 0
            mine.precise += it["right"] > 0 and it["wrong"] == 0
            mine.places += it["planted"]
            mine.missed += it["missed"]
            mine.right += it["right"]
            mine.wrong += it["wrong"]
    return {code: it for code, it in by_code.items() if it != Counts()}


def interval(hits: int, of: int) -> str:
    """Return where a share lies with 95 % confidence, by Wilson.

    >>> interval(20, 20)
    '0.84 to 1.00'
    """
    if not of:
        return "–"
    share, spread = hits / of, _Z * _Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) / of + spread / (4 * of)) * _Z / (1 + spread)
    return f"{max(0.0, middle - half):.2f} to {min(1.0, middle + half):.2f}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the results as the table and the sentences of a page."""
    judged = [row for row in rows if not row["family"].startswith(AHEAD)]
    lines = [
        "| cause | there in | recall | 95 % | found in | precision | 95 % | places | wrong |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    total = Counts()
    for code, it in sorted(counts(judged).items()):
        lines.append(_row(f"[{code}](findings/{code}.md)", it))
        for name in Counts.__dataclass_fields__:
            setattr(total, name, getattr(total, name) + getattr(it, name))
    lines += [_row("all", total), "", *_sentences(judged)]
    ahead = [row for row in rows if row["family"].startswith(AHEAD)]
    if ahead:
        lines += ["", "| planted ahead of its page | nights | found in |", "| --- | --- | --- |"]
    for family in dict.fromkeys(row["family"] for row in ahead):
        mine = [row["verdicts"].get(row["code"]) for row in ahead if row["family"] == family]
        found = sum(it is not None and it["planted"] > 0 and not it["missed"] for it in mine)
        lines.append(f"| {family.removeprefix(AHEAD)} | {len(mine)} | {found} |")
    return "\n".join(lines) + "\n"


def _sentences(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    clean = [row for row in rows if row["code"] is None]
    silent = sum(not any(it["wrong"] for it in row["verdicts"].values()) for row in clean)
    single = [row for row in rows if row["code"] and not row["family"].startswith("mixed")]
    there = [row for row in single if row["verdicts"].get(row["code"], {}).get("planted")]
    head = sum(row["is_named"] for row in there)
    gravest = sum(row["gravest"] == row["code"] for row in there)
    said = [row for row in rows if row["moves_said"] is not None]
    true = sum(row["moves_said"] == row["moves"] for row in said)
    yield f"Clean nights without a finding: {silent} of {len(clean)}."
    yield (
        f"Nights made for one cause whose headline names it: {head} of {len(there)};"
        f" whose gravest finding is it: {gravest}."
    )
    again = [
        sum(max(0, it["right"] - it["planted"]) for it in row["verdicts"].values()) for row in rows
    ]
    yield (
        f"Findings about what another finding says already: {sum(again)},"
        f" in {sum(map(bool, again))} of {len(rows)} nights."
    )
    logs = [row for row in rows if row["family"].startswith("logs-")]
    acquitted = sum(bool(_ACQUITTAL.search(row["headline"])) for row in logs)
    yield f"Nights of a log alone whose headline acquits the balancer: {acquitted} of {len(logs)}."
    yield f"Headlines that count the moves, and count them right: {true} of {len(said)}."


def _row(name: str, it: Counts) -> str:
    recall = f"{it.recalled / it.planted:.3f}" if it.planted else "–"
    precision = f"{it.precise / it.found:.3f}" if it.found else "–"
    cells = (
        name,
        it.planted,
        recall,
        interval(it.recalled, it.planted),
        it.found,
        precision,
        interval(it.precise, it.found),
        f"{it.places - it.missed} of {it.places}",
        f"{it.wrong} of {it.right + it.wrong}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def read(path: Path) -> list[dict[str, Any]]:
    """Return the results of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
