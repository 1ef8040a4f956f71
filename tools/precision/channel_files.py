"""A night under the extensible load manager as the files of a recording."""

from __future__ import annotations

import json
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path

import numpy as np

from tools.precision.channel_night import CHANNEL, MANAGER, MINUTE, MONITOR, PACKAGE, Night, Record
from tools.precision.draft import when
from trimtab.trials.record.files import printed
from trimtab.trials.record.lines import log_line

_ELECTION = "org.apache.pulsar.metadata.coordination.impl.LeaderElectionImpl"


def write(
    night: Night, root: Path, origin: str, *, is_leader_stored: bool, is_debugging: bool = True
) -> None:
    """Write a night as a recording whose states are from the `topic`, the `log` or `both`."""
    _conduct(night)
    records = [(t, bundle, it) for t, bundle, it in night.records if t < night.end_ms]
    records.sort(key=itemgetter(0))
    if origin != "log":
        rows: list[Record] = [
            {"time": when(time), "bundle": bundle.removeprefix("race "), "record": record}
            for time, bundle, record in records
        ]
        _json(root / "store" / "service-unit-state.jsonl", rows)
    if origin != "topic":
        _logged(night, records)
    _json(root / "store" / "brokers.jsonl", _reports(night))
    if is_leader_stored:
        _json(
            root / "store" / "leader.jsonl",
            [
                {
                    "time": when(t),
                    "version": i,
                    "mtime": t,
                    "leader": {"brokerId": night.brokers[b]},
                }
                for i, (t, b) in enumerate(night.elections)
            ],
        )
    for broker in range(len(night.brokers)):
        mine = sorted(
            (t, line) for t, who, line in night.lines if who == broker and t < night.end_ms
        )
        text = printed(np.array([t for t, _ in mine], np.int64), [line for _, line in mine])
        _text(root / "logs" / f"broker{broker + 1}" / "pulsar-broker.log", text)
        conf = f"loadManagerClassName={MANAGER}\n"
        conf += f"loadBalancerDebugModeEnabled={str(is_debugging).lower()}\n"
        conf += f"loadBalancerLoadSheddingStrategy={PACKAGE}.scheduler.TransferShedder\n"
        _text(root / "conf" / f"broker{broker + 1}.conf", conf)
    head = f'cluster = "corpus"\npulsar = "4.0.8"\nfrom = "{when(night.start_ms)}"\n'
    head += f'to = "{when(night.end_ms)}"\n'
    for i, name in enumerate(night.brokers, 1):
        head += f'\n[brokers.broker{i}]\nid = "{name}"\n'
    _text(root / "recording.toml", head)


def _conduct(night: Night) -> None:
    """Have each leader say so, and run its monitor once a minute."""
    ends = [time for time, _ in night.elections[1:]] + [night.end_ms]
    for (since, broker), until in zip(night.elections, ends, strict=True):
        name = night.brokers[broker]
        text = "Acquired leadership on /loadbalance/extension/leader with "
        text += f"LeaderBroker(brokerId={name}"
        line = log_line("metadata-store-10-1", _ELECTION, f"{text}, serviceUrl=http://{name})")
        night.lines.append((since, broker, line))
        night.say(since + 40, broker, MANAGER, f"This broker:{name} plays the leader now.")
        text = f"This leader broker:{name} started the ownership monitor."
        night.say(since + 45, broker, CHANNEL, text)
        for at in range(since + 50, until, MINUTE):
            night.say(at, broker, CHANNEL, MONITOR.format(len(night.brokers)))


def _logged(night: Night, records: Iterable[tuple[int, str, Record | None]]) -> None:
    """Have every broker that lives say in debug mode what it was told."""
    for time, bundle, record in records:
        if record is None or bundle.startswith("race "):
            continue
        values = ", ".join(f"{key}={_java(value)}" for key, value in record.items())
        for broker, name in enumerate(night.brokers):
            if night.dead.get(broker, night.end_ms) <= time:
                continue
            text = (
                f"{name} received a handle request for serviceUnit:{bundle}, "
                f"data:ServiceUnitStateData[{values}]. totalHandledRequests:1"
            )
            night.say(heard_ms(night, broker, time), broker, CHANNEL, text)
    for broker, since in night.started.items():
        text = "Started load manager."
        night.lines.append((since + 900, broker, log_line("main", MANAGER, text)))


def heard_ms(night: Night, broker: int, time: int) -> int:
    """Return when a broker hears of a record of a time."""
    lag = max((by for who, a, b, by in night.lags if who == broker and a <= time < b), default=0)
    return max(time + lag, night.started.get(broker, 0)) + night.between((1, 20))


def _java(value: object) -> str:
    return (
        "null"
        if value is None
        else str(value).lower()
        if value in (True, False) and isinstance(value, bool)
        else str(value)
    )


def _reports(night: Night) -> list[Record]:
    rows: list[Record] = []
    for time, broker, is_alive in night.presence:
        head = {"time": when(time), "broker": night.brokers[broker]}
        report = {"loadManagerClassName": MANAGER, "brokerVersion": "4.0.8"}
        written = {"version": 0, "mtime": time, "report": report | {"startTimestamp": time}}
        rows.append(head | (written if is_alive else {"report": None}))
    return rows


def _json(path: Path, rows: Iterable[Record]) -> None:
    _text(path, "".join(json.dumps(row) + "\n" for row in rows))


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
