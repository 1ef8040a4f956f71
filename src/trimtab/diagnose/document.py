"""The diagnosis as findings.json and as the picture's series: plain values, stable order."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.advice import changes, headline
from trimtab.diagnose.deployment import Deployment
from trimtab.diagnose.gravity import by_gravity
from trimtab.diagnose.night import (
    BrokerState,
    Event,
    Finding,
    Move,
    Night,
    Recomputed,
    Round,
    Undecidable,
)
from trimtab.diagnose.places import by_place
from trimtab.diagnose.usages import Usages, places_by_broker
from trimtab.diagnose.verdicts import Verdict
from trimtab.diagnose.wording import iso_time
from trimtab.files.version import __version__
from trimtab.pulsar.keys import KEYS

#: In a cluster of more brokers not all are told of in each round: these many at either end.
_BROKERS_MAX = 100
_EXTREMES = 3
_RECOMPUTED = ("equal", "numbers", "why")
#: Types that JSON has, whatever the value.
_PLAIN = frozenset({str, int, bool, type(None)})


def findings_document(
    night: Night,
    findings: Sequence[Finding],
    verdict_of: Mapping[str, Verdict],
    open_questions: Sequence[Undecidable],
    ran: Deployment,
) -> dict[str, Any]:
    """Return findings.json but for the accounting, which the caller adds."""
    places = by_place(night, findings)
    causes = by_gravity([finding for finding, _ in places], verdict_of)
    text, sting = headline(night, verdict_of, causes)
    ids = {i: f"f{number}" for number, (_, same) in enumerate(places, 1) for i in same}
    brokers = dict.fromkeys(night.usages.brokers)
    brokers |= dict.fromkeys(b for logged in night.rounds for b in logged.brokers)
    brokers |= dict.fromkeys(
        broker for move in night.moves() for broker in (move.source, move.target) if broker
    )
    document = {
        "trimtab": __version__,
        "release": ran.release,
        "release_basis": ran.release_basis,
        "brokers": sorted(brokers),
        "strategies": {"shedding": ran.shedder, "placement": ran.placer},
        "settings": {key: ran.conf[key] for key in sorted(KEYS.keys() & ran.conf.keys())},
        "headline": {"text": text, "sting": sting, "code": causes[0].code if causes else None},
        "changes": [asdict(change) for change in changes(night, findings, ran.places, causes)],
        "warnings": [*ran.warnings, *early_moves(night)],
        "rounds": len(night.rounds),
        "round_list": [_round(logged) for logged in night.rounds],
        "unloads": [
            _unload(logged, i, verdict_of[logged.moves[i].id], ids)
            for logged in night.rounds
            for i in range(len(logged.moves))
        ],
        "findings": [_finding(f"f{i}", finding) for i, (finding, _) in enumerate(places, 1)],
        "unexplained": [each._asdict() for each in night.unexplained],
        "undecidable": [asdict(question) for question in open_questions],
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def early_moves(night: Night) -> list[str]:
    """Return which unloads a log tells of from before the recording, if there are such."""
    moves = list(night.moves())
    early = [move for move in moves if night.begin is not None and move.time < night.begin]
    if not early or night.begin is None:
        return []
    which = " to ".join(dict.fromkeys((early[0].id, early[-1].id)))
    return [
        f"{len(early)} of {len(moves)} unloads ({which}) were logged before the recording begins, "
        f"at {iso_time(night.begin)}: what they brought is known only as far as there are reports "
        "from before."
    ]


def is_large(usages: Usages) -> bool:
    """Return whether there are so many brokers that not each is drawn and told of."""
    return len(usages.brokers) > _BROKERS_MAX


def picture(
    night: Night, replayed: pa.Table, actions: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the series that the report draws."""
    replayed = replayed.filter(replayed["is_smoothed"])
    # A large cluster is drawn as a heatmap, of what brokers reported.
    large = is_large(night.usages)
    smoothed = _smoothed(replayed.slice(0, 0) if large else replayed) or [
        {"time": logged.time, "broker": broker, "usage": state.smoothed}
        for logged in night.rounds
        for broker, state in logged.brokers.items()
        if state.smoothed is not None and not large
    ]
    bands = list(
        zip(replayed["time"].to_pylist(), replayed["average"].to_pylist(), strict=True)
    ) or [(logged.time, logged.average) for logged in night.rounds if logged.average is not None]
    series = {
        "smoothed": smoothed,
        "band": [
            {"time": time, "low": average, "high": average + night.threshold}
            for time, average in bands
        ],
        "unloads": [
            _fields(move, "time", "source", "target", "round", "id") for move in night.moves()
        ],
        "actions": [{"time": row["time"], "text": _label(row)} for row in actions],
    }
    usages = night.usages
    reported = {
        broker: (usages.times[mine], usages.fractions[mine])
        for broker, mine in places_by_broker(usages).items()
    }
    plain: dict[str, Any] = _plain(series)
    return {"reported": reported} | plain


def _smoothed(replayed: pa.Table) -> list[dict[str, Any]]:
    """Return every broker's smoothed usage in every round that was decided again."""
    lists = replayed["brokers"].combine_chunks()
    states = pc.list_flatten(lists)
    times = replayed["time"].take(pc.list_parent_indices(lists))
    brokers, scores = (pc.struct_field(states, name).to_pylist() for name in ("broker", "score"))
    return [
        {"time": time, "broker": broker, "usage": score}
        for time, broker, score in zip(times.to_pylist(), brokers, scores, strict=True)
    ]


def _label(action: Mapping[str, Any]) -> str:
    """Return what was done, to whom, and the words that its entry has beside; a note is its words.

    >>> _label({"event": "note", "broker": None, "detail": '{"event": "note", "text": "a break"}'})
    'a break'
    >>> _label({"event": "load_start", "broker": "b:1", "detail": '{"profile": "day.json"}'})
    'load start b:1: day.json'
    """
    entry = json.loads(action["detail"] or "{}")
    known = ("time", "event", "broker", "id")
    beside = ", ".join(
        each for key, each in entry.items() if key not in known and isinstance(each, str)
    )
    if action["event"] == "note" and beside:
        return beside
    broker = f" {action['broker']}" if action["broker"] else ""
    return f"{action['event'].replace('_', ' ')}{broker}{': ' if beside else ''}{beside}"


def _shown(scores: Mapping[str, float | None], concerned: Iterable[str | None]) -> set[str]:
    """Return the brokers to show: all, or in a large cluster those concerned and the extremes."""
    if len(scores) <= _BROKERS_MAX:
        return set(scores)
    values = np.array([score or 0.0 for score in scores.values()])
    low, high = np.partition(values, (_EXTREMES - 1, -_EXTREMES))[[_EXTREMES - 1, -_EXTREMES]]
    brokers = list(scores)
    ends = [brokers[i] for i in np.flatnonzero((values <= low) | (values >= high))]
    ranked = sorted(ends, key=lambda broker: (scores[broker] or 0.0, broker))
    return {*ranked[:_EXTREMES], *ranked[-_EXTREMES:], *(scores.keys() & set(concerned))}


def _round(logged: Round) -> dict[str, Any]:
    usage = {broker: state.usage for broker, state in logged.brokers.items()}
    moved = [broker for move in logged.moves for broker in (move.source, move.target)]
    shown = _shown(usage, moved)
    return {
        "round": logged.number,
        "time": logged.time,
        "end": logged.end,
        "leader": logged.log_broker,
        "strategy": logged.strategy,
        "unloads": len(logged.moves),
        "recomputed": _fields(logged.recomputed, *_RECOMPUTED),
        "average": logged.average,
        "threshold": logged.threshold,
        "brokers": [
            {
                "broker": broker,
                **_fields(state, "usage", "smoothed", "throughput"),
                "over_bar": (
                    state.smoothed is not None
                    and logged.average is not None
                    and logged.threshold is not None
                    and state.smoothed >= logged.average + logged.threshold
                ),
            }
            for broker, state in sorted((name, logged.brokers[name]) for name in shown)
        ],
        "story": [event.text for event in logged.events],
        **({"brokers_left_out": len(usage) - len(shown)} if len(shown) < len(usage) else {}),
    }


def _unload(logged: Round, i: int, verdict: Verdict, ids: Mapping[int, str]) -> dict[str, Any]:
    move = logged.moves[i]
    # In a large cluster without most brokers' scores.
    numbers = _fewer(move.recomputed.numbers, (move.target, move.source))
    return {
        **_fields(move, "id", "time", "round", "bundle", "source", "target", "strategy"),
        "throughput": move.throughput,
        "evidence": _evidence(move.evidence),
        "recomputed": _fields(replace(move.recomputed, numbers=numbers), *_RECOMPUTED),
        "verdict": verdict.code,
        "useless": verdict.is_useless,
        "better": (
            {"target": verdict.better[0], "why": verdict.better[1]} if verdict.better else None
        ),
        "findings": list(dict.fromkeys(ids[i] for i in verdict.findings)),
    }


def _fewer(numbers: Mapping[str, Any], concerned: Sequence[str | None]) -> dict[str, Any]:
    """Return numbers without most brokers, where there are very many."""
    few = dict(numbers)
    for name in ("placer_scores", "usage"):
        by_broker = numbers.get(name)
        if isinstance(by_broker, Mapping) and len(by_broker) > _BROKERS_MAX:
            shown = _shown(by_broker, concerned)
            few[name] = {broker: value for broker, value in by_broker.items() if broker in shown}
    return few


def _finding(name: str, finding: Finding) -> dict[str, Any]:
    return {
        "id": name,
        **_fields(finding, "code", "severity", "time"),
        "until": finding.parts[-1].time if finding.parts else finding.time,
        "round": finding.round or None,
        **{name: finding.text(name) for name in ("title", "text")},
        **_fields(finding, "brokers", "bundles"),
        "unloads": list(finding.moves),
        "evidence": _evidence(finding.evidence),
        "numbers": _fewer(finding.numbers, finding.brokers),
        **{name: finding.text(name) for name in ("better", "advice")},
        "page": f"docs/findings/{finding.code}.md",
        "rounds": [_part(part) for part in finding.parts],
    }


def _part(part: Finding) -> dict[str, Any]:
    """Return one of the rounds that a finding has inside."""
    return {
        **_fields(part, "time", "severity"),
        "round": part.round or None,
        "text": part.text("text"),
        **_fields(part, "brokers", "bundles"),
        "unloads": list(part.moves),
        "numbers": _fewer(part.numbers, part.brokers),
    }


def _evidence(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [_fields(event, "file", "line", "text") for event in events]


def _fields(
    thing: BrokerState | Event | Finding | Move | Recomputed | Round, *names: str
) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def _plain(value: Any) -> Any:
    """Return a tree as JSON has it; a number that is none (NaN, infinite) is null."""
    # Leaves are most of a tree, and to ask each whether it is a mapping most of the time.
    if type(value) in _PLAIN:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return iso_time(value)
    if isinstance(value, dict | Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
