"""Nights of any size for the tests of the report, made from a formula: no chance, no clock."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from trimtab.diagnose.verdicts import VERDICT_WORDS
from trimtab.report.render import render as laid_out

START = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
VERDICTS = ("sound", "random-placement", "over-unloading", "ping-pong", "not-decidable", "sound")


def render(findings: dict[str, Any], picture: dict[str, Any]) -> str:
    """Lay out a night as `explain` does: in the words that the diagnosis has for its verdicts."""
    return laid_out(findings, picture, VERDICT_WORDS)


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def usage(broker: int, minute: float) -> float:
    """Waves that differ from broker to broker, with one broker that is hot for a while."""
    base = 0.35 + 0.2 * math.sin(broker * 1.7) + 0.12 * math.sin(minute / 40 + broker)
    return max(0.0, base + (0.35 if broker == 3 and 60 < minute < 120 else 0.0))


def night(brokers: int, rounds: int, unloads: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the findings and the picture of a night: a round a minute."""
    names = [f"broker-{i}.pulsar.svc.cluster.local:8080" for i in range(brokers)]
    moves = [_unload(i, rounds, names) for i in range(unloads)]
    told = [_round(n, names, moves) for n in range(1, rounds + 1)]
    minutes = range(0, rounds + 1, max(1, rounds // 60))
    findings = {
        "trimtab": "0.1.0",
        "recording": "made",
        "release": "4.0.8",
        "from": at(0),
        "to": at(60 * rounds),
        "brokers": names,
        "strategies": {"shedding": "ThresholdShedder", "placement": "LeastLongTermMessageRate"},
        "headline": {"text": f"{unloads} bundles were moved in {rounds} rounds.", "sting": ""},
        "rounds": rounds,
        "round_list": told,
        "unloads": moves,
        "findings": [
            {
                "id": f"f{i}",
                "code": VERDICTS[1 + i % 3],
                "severity": "high",
                "round": 1 + i,
                "title": f"Finding number {i}.",
                "text": "It was so.",
                "numbers": {"usage": 0.5},
            }
            for i in range(min(rounds, 30))
        ],
    }
    picture = {
        "reported": {
            name: (
                [round((START.timestamp() + 60 * minute) * 1e6) for minute in minutes],
                [usage(i, minute) for minute in minutes],
            )
            for i, name in enumerate(names)
        },
        "band": [{"time": each["time"], "low": 0.35, "high": 0.45} for each in told],
        "unloads": [
            {key: each[key] for key in ("id", "time", "source", "target", "round")}
            for each in moves
        ],
    }
    return findings, picture


def _unload(i: int, rounds: int, names: list[str]) -> dict[str, Any]:
    round_number = 1 + (i * 7919) % rounds
    source, target = names[(round_number * 31) % len(names)], names[(i * 17 + 5) % len(names)]
    decided, time = at(60 * round_number), at(60 * round_number + i % 7)
    text = "[pulsar-load-manager-1-1] INFO  org.apache.pulsar.broker.loadbalance.impl."
    # All moves of a round share the line of its decision, as in a real log.
    bundle = f"tenant/namespace-{i % 40}/0x{i * 4096:08x}_0x{(i + 1) * 4096:08x}"
    return {
        "id": f"u{i}",
        "time": time,
        "round": round_number,
        "bundle": bundle,
        "source": source,
        "target": target,
        "strategy": "ThresholdShedder",
        "evidence": [
            {
                "file": "logs/broker-0/pulsar.log",
                "line": 100 * round_number,
                "text": f"{decided} {text}ThresholdShedder - Attempting to shed load on {source}, "
                "which has max resource usage above avgUsage and threshold 51.22% > 36.93% + 8.0%",
            },
            {
                "file": "logs/broker-0/pulsar.log",
                "line": 100 * round_number + i % 100,
                "text": f"{time} {text}ModularLoadManagerImpl - [ThresholdShedder] Unloading "
                f"bundle: {bundle} from broker {source} to dest broker {target}",
            },
        ],
        "recomputed": {"equal": True, "numbers": {"average": 0.35 + i / 1e6}, "why": ""},
        "verdict": VERDICTS[i % len(VERDICTS)],
        "useless": i % len(VERDICTS) in (2, 3),
        "throughput": 1000.0 * (1 + (i * 37) % 5000),
        "better": None,
        "findings": [],
    }


def _round(number: int, names: list[str], moves: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "round": number,
        "time": at(60 * number),
        "leader": names[0],
        "strategy": "ThresholdShedder",
        "unloads": sum(move["round"] == number for move in moves) if len(moves) < 1000 else 1,
        "recomputed": {"equal": number % 9 != 0, "why": "" if number % 9 else "A report differs."},
        "brokers": [
            {
                "broker": name,
                "usage": usage(i, number),
                "smoothed": usage(i, number - 3),
                "over_bar": usage(i, number - 3) > 0.45,
            }
            for i, name in enumerate(names[:40])
        ],
        "average": 0.35,
        "threshold": 0.10,
        "story": [f"Round {number} was told."],
    }


#: Names that terminals act on, that turn a line around, that cannot be seen or written, that
#: are markup, a link, a formula or a template, and that fill a screen.
HOSTILE = (
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "a\nb\r\nc\td",
    "\u202eevil\u2066\u2069",
    "\u200b\ufeff\u2028\u2029",
    "\ud800",
    "<script>window.pwned = 1</script>\"'&amp;",
    '"><img src=x onerror="window.pwned = 1"><!--',
    "</script></style></title></svg><svg onload=window.pwned=1>",
    "javascript:window.pwned=1",
    "{{ 7 * 7 }}{% raw %}${window.pwned = 1}",
    "x" * 10_000,
)


def renamed_night(bundle: str, broker: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give a small night whose first bundle and first broker have other names."""
    given = night(4, 6, 5)
    old_bundle, old_broker = given[0]["unloads"][0]["bundle"], given[0]["brokers"][0]

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: renamed(each) for key, each in value.items()}
        if isinstance(value, list):
            return [renamed(each) for each in value]
        if isinstance(value, str):
            return value.replace(old_bundle, bundle).replace(old_broker, broker)
        return value

    return renamed(given[0]), renamed(given[1])


def hostile_night() -> tuple[dict[str, Any], dict[str, Any]]:
    """Give a night in which everything is called by what would break a page that let it."""
    findings, picture = night(len(HOSTILE), 12, 330)
    new = dict(zip(findings["brokers"], HOSTILE, strict=True))
    findings["brokers"] = list(new.values())
    for i, unload in enumerate(findings["unloads"]):
        unload.update(source=new[unload["source"]], target=new[unload["target"]])
        unload["bundle"] = HOSTILE[i % len(HOSTILE)] + unload["bundle"]
        unload["evidence"][-1]["text"] = HOSTILE[-1 - i % len(HOSTILE)]
    for each in findings["round_list"]:
        each["story"] = list(HOSTILE)
        for broker in each["brokers"]:
            broker["broker"] = new[broker["broker"]]
    for finding in findings["findings"]:
        finding.update(title=HOSTILE[6], text=HOSTILE[11], brokers=list(HOSTILE), advice=HOSTILE[8])
    ends = ("broker", "source", "target")
    picture["reported"] = {new[name]: told for name, told in picture["reported"].items()}
    for point in picture["unloads"]:
        point.update({key: new[point[key]] for key in ends if key in point})
    return findings, picture


def regret() -> dict[str, Any]:
    """Give the key `regret` of findings.json: a decision that could not be better, and one."""
    return {
        "why_not": "",
        "moves_used": 4,
        "moves_needed": 2,
        "moves_needed_low": 2,
        "moves_needed_high": 3,
        "decisions": [decision(1, "as-low-as-possible", 0.0), decision(2, "missed", 10.0)],
    }


def decision(number: int, verdict: str, missed: float) -> dict[str, Any]:
    return {
        "round": number, "time": "2026-11-21T06:37:22.000Z", "moves": 2, "verdict": verdict,
        "why_not": "", "before": _peak(84.0), "after": _peak(71.0),
        "possible": _peak(71.0 - missed), "missed": _peak(missed), "needed": 1,
        "needed_low": 1, "needed_high": 2,
        "frontier": [84.0, 70.0, 71.0 - missed], "bounds": [84.0, 69.0, 60.0],
    }  # fmt: skip


def _peak(percent: float) -> dict[str, float]:
    return {"percent": percent, "low": percent - 1.0, "high": percent + 1.0}
