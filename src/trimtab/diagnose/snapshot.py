"""The cluster as it stands where no round is recorded, and what the strategy would do now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.course import Basis, Course
from trimtab.diagnose.deployment import Deployment
from trimtab.diagnose.replay.leading import Leading, reads_long
from trimtab.diagnose.replay.tenures import Tenure
from trimtab.diagnose.reports import of_origin
from trimtab.diagnose.wording import iso_time, many, percent
from trimtab.pulsar.model import Reason
from trimtab.pulsar.releases import release_line
from trimtab.pulsar.shed import shedder

#: Sources of reports, the leader's own first.
_ORIGINS = ("store", "rest")
#: Why a broker that passed the bar sheds nothing, in words.
_WHY = {
    Reason.NO_BUNDLES: "{brokers}: no bundle of it fits what is to go",
    Reason.SOLE_BUNDLE: "{brokers}: its only bundle carries all of it",
    Reason.LOW_THROUGHPUT: "{brokers}: what is to go is below the floor",
    Reason.COOL_DOWN: "{brokers}: it was relieved a moment ago",
    Reason.HIT_COUNT: "{brokers}: more rounds in a row are asked for, and this is the first",
    Reason.OUTDATED_DATA: "{brokers}: its report is too old",
}
#: A broker below this share of the average stands idle beside the others.
_IDLE_SHARE = 0.1
#: Limits of a resource that differ by more than this are those of other machines.
_OTHER_STRENGTH = 1.1


@dataclass(frozen=True, slots=True)
class Standing:
    """What is to be decided: one round, at the end of the recording."""

    tenure: Tenure
    origin: str


def standing(basis: Basis, led: Course) -> Standing | None:
    """Return what to decide where reports of two brokers are known and no round is; else None."""
    ran = basis.ran
    if led.rounds() or shedder(ran.shedder, ran.release) is None:
        return None
    for origin in _ORIGINS:
        reports = of_origin(basis.reports, origin)
        known = reports.filter(pc.is_valid(reports["cpu_usage"]))
        if len(pc.unique(known["broker"])) > 1:
            return Standing(
                Tenure(_leading(ran), [(led.end, None)], [], None, led.end, origin=origin), origin
            )
    return None


def _leading(ran: Deployment) -> Leading:
    """Return a leader that is elected at the moment that is looked at."""
    return Leading(
        term=0,
        leader="",
        leader_id=None,
        release=ran.release,
        shedder=ran.shedder,
        placer=ran.placer,
        conf=dict(ran.conf),
        manager=ran.manager,
        weights=ran.threshold_shedder.weights,
        doubt=None,
    )


def snapshot(of: Standing, replayed: Mapping[str, pa.Table], basis: Basis) -> dict[str, Any] | None:
    """Return the cluster as it stands and what the strategy would do, as findings.json has it.

    Args:
        of: from `standing`.
        replayed: the tables of its replay.
        basis: what was read.
    """
    rows = replayed["replayed_rounds"].to_pylist()
    if not rows:
        return None
    row, ran = rows[-1], basis.ran
    brokers = [_broker(state, row["brokers"]) for state in row["brokers"]]
    document = {
        "time": row["time"],
        "origin": of.origin,
        "strategy": ran.shedder,
        "average": row["average"],
        "bar": row["average"] + ran.threshold_shedder.threshold if row["is_smoothed"] else None,
        "brokers": brokers,
        "unlike": _unlike(basis.reports, of.origin),
        "unloads": row["unloads"],
        "assumptions": _assumptions(of, ran),
    }
    return document | {"text": _text(document, ran)}


def with_snapshot(headline: Mapping[str, str], shown: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the snapshot, and the headline with what it says behind it."""
    if shown is None:
        return {"snapshot": None}
    sting = f"{headline['sting']} {shown['text']}".strip()
    plain = {**shown, "time": iso_time(shown["time"])}
    return {"snapshot": plain, "headline": {**headline, "sting": sting}}


def _broker(state: Mapping[str, Any], states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a broker as it stands: `over` the bar, `idle`, or `within`."""
    average = sum(each["usage"] for each in states) / len(states)
    is_over = state["reason"] not in (Reason.BALANCED, Reason.UNDERLOADED, Reason.UNKNOWN)
    is_idle = state["usage"] < _IDLE_SHARE * average
    word = "over" if is_over else "idle" if is_idle else "within"
    names = ("broker", "usage", "score", "throughput", "rate", "bundles", "reason")
    return {name: state[name] for name in names} | {"state": word}


def _unlike(reports: pa.Table, origin: str) -> list[str]:
    """Return the resources of which brokers have limits that differ, so that they are unlike."""
    mine = of_origin(reports, origin).sort_by("time")
    last = {broker: i for i, broker in enumerate(mine["broker"].to_pylist())}
    latest = mine.take(pa.array(sorted(last.values()), pa.int64()))
    unlike = []
    for name in ("cpu", "bandwidth_out", "direct_memory"):
        if f"{name}_limit" not in latest.schema.names:
            continue
        limits = [each for each in latest[f"{name}_limit"].to_pylist() if each]
        if limits and max(limits) > _OTHER_STRENGTH * min(limits):
            unlike.append(name)
    return unlike


def _assumptions(of: Standing, ran: Deployment) -> list[str]:
    """Return what is taken for what the recording does not hold."""
    assumptions = ["a leader elected at that moment: it remembers no round"]
    if not ran.conf:
        assumptions.append(f"the settings are the defaults of {ran.release}")
    if of.origin == "rest":
        assumptions.append("brokers were asked over REST: the leader's reports may be older")
    if reads_long(of.tenure.leading):
        assumptions.append(
            "averages over a long time are those of store/bundles.jsonl, and of the reports where "
            "it has none"
        )
    return assumptions


def _text(document: Mapping[str, Any], ran: Deployment) -> str:
    """Return in a few sentences how the cluster stands and what would be done."""
    time: datetime = document["time"]
    brokers = sorted(document["brokers"], key=lambda each: -each["usage"])
    first, last = brokers[0], brokers[-1]
    sentences = [
        f"As it stands at {time:%H:%M:%S}: {first['broker']} has most load with "
        f"{percent(first['usage'])}, {last['broker']} least with {percent(last['usage'])}."
    ]
    idle = [each["broker"] for each in brokers if each["state"] == "idle"]
    if idle:
        sentences.append(f"Idle: {_few(idle)}.")
    if document["unlike"]:
        sentences.append(f"Brokers differ in strength ({', '.join(document['unlike'])}).")
    return " ".join([*sentences, _decision(document, brokers, ran)])


def _decision(
    document: Mapping[str, Any], brokers: Sequence[Mapping[str, Any]], ran: Deployment
) -> str:
    """Return what a round would do now, or why nothing."""
    who = f"{ran.shedder} of {release_line(ran.release)}"
    if unloads := document["unloads"]:
        sources = _few(list(dict.fromkeys(each["source"] for each in unloads)))
        return f"{who} would now unload {many(len(unloads), 'bundle')} of {sources}."
    over = [each for each in brokers if each["state"] == "over"]
    if not over:
        bar = document["bar"]
        limit = "" if bar is None else f" of {percent(bar)}"
        return f"{who} would move nothing: no broker passes its bar{limit}."
    by_reason: dict[str, list[str]] = {}
    for each in over:
        by_reason.setdefault(each["reason"], []).append(each["broker"])
    why = "; ".join(
        _WHY.get(Reason(reason), "{brokers}: nothing of it may go").format(brokers=_few(names))
        for reason, names in by_reason.items()
    )
    return f"{who} would move nothing: {why}."


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
