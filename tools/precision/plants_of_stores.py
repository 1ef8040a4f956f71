"""Faults that show in what brokers and leaders write to the metadata store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tools.precision.draft import Draft, when
from tools.precision.plants_of_lines import BY_MEMORY
from tools.precision.truth import Planted
from trimtab.trials.record.lines import log_line, log_lines

#: Causes that are found in what brokers wrote to the store of themselves and of their bundles.
BY_REPORTS = (
    "over-placement",
    "over-unloading",
    "giant-bundle",
    "vanished-bundle",
    "empty-bundle-moved",
    "no-headroom",
    "emptied-broker",
)
_REPORTS = "store/brokers.jsonl"
_LOADBALANCE = "org.apache.pulsar.broker.loadbalance"
_ELECTION = "org.apache.pulsar.metadata.coordination.impl.LeaderElectionImpl"
_MODULAR = f"{_LOADBALANCE}.impl.ModularLoadManagerImpl"


def wrong_manager(draft: Draft, *, is_told: bool) -> None:
    """Have a broker go on with another load manager than the others."""
    broker = int(draft.random.integers(len(draft.brokers)))
    name = draft.brokers[broker]
    for row in draft.rows(_REPORTS):
        if row["broker"] == name and row["report"] is not None:
            simple = f"{_LOADBALANCE}.impl.SimpleLoadManagerImpl"
            row["report"]["loadManagerClassName"] = simple
    if is_told:
        text = (
            "Error when trying to create load manager: \njava.lang.IllegalArgumentException: The "
            f"load shedding strategy: {_LOADBALANCE}.impl.AvgShedder can't work with the "
            f"placement strategy: {_LOADBALANCE}.impl.LeastLongTermMessageRate"
        )
        line = log_line("main", f"{_LOADBALANCE}.LoadManager", text, "WARN")
        draft.say(broker, draft.start_ms - 70_000, line)
    draft.plant(Planted("wrong-manager", None, None, (name,)))


def no_acting_leader(draft: Draft, *, since_min: float, until_min: float) -> None:
    """Have nobody lead for a while; nothing was shed meanwhile."""
    since = draft.ms(since_min * 60.0)
    leader = draft.leader(since)
    row = {"time": when(since), "version": None, "mtime": None, "leader": None}
    draft.rows("store/leader.jsonl").append(row)
    text = "Leadership released for /loadbalance/leader"
    draft.say(leader, since, log_line("metadata-store-10-1", _ELECTION, text, "WARN"))
    draft.plant(Planted("no-acting-leader", since, draft.ms(until_min * 60.0)))


def frozen_record(draft: Draft, *, broker: int, since_min: float) -> None:
    """Have a broker's record stand still: what it writes from a time on is not in the store."""
    # What the leader goes by cannot be worked out of the files any more.
    draft.leave_open(BY_MEMORY)
    draft.leave_open(BY_REPORTS)
    name, since = draft.brokers[broker], draft.ms(since_min * 60.0)
    rows = draft.rows(_REPORTS)
    rows[:] = [row for row in rows if row["broker"] != name or row["mtime"] <= since]
    draft.plant(Planted("frozen-record", None, None, (name,)))


def vanished_bundle(draft: Draft, *, before_min: float) -> None:
    """Have nobody look an unloaded bundle up again: it is in no report and has no owner."""
    witness = draft.witness
    last = draft.ms(draft.run.world.duration_s) - round(before_min * 60_000)
    often: dict[int, int] = {}
    for _, unload in witness.unloads:
        often[unload.bundle] = often.get(unload.bundle, 0) + 1
    fit = [
        unload
        for _, unload in witness.unloads
        if unload.time_ms < last and often[unload.bundle] < 2
    ]
    for unload in fit[-1:]:
        name = witness.bundles[unload.bundle]
        _forget(draft, name, unload.time_ms)
        draft.plant(Planted("vanished-bundle", unload.time_ms, unload.time_ms, (), (name,)))


def _forget(draft: Draft, name: str, since: int) -> None:
    for row in draft.rows(_REPORTS):
        report = row["report"]
        if report is not None and row["mtime"] > since and name in report["bundles"]:
            report["bundles"].remove(name)
            report["lastStats"].pop(name, None)
            report["numBundles"] -= 1
    for row in draft.rows("store/ownership.jsonl"):
        if row["time"] > when(since) and name in row["change"]:
            row["change"][name] = None
    words = (f"Trying to acquire ownership of {name}", f"Loading all topics on bundle: {name}")
    acquired = (f"lock on /namespace/{name}", f"OwnedBundle(bundle={name},")

    def kept(time_ms: int, line: str) -> str | None:
        is_taking = line.endswith(words) or (
            (any(word in line for word in acquired) and "Acquired" in line)
            or ("Successfully acquired" in line and f"bundle={name}," in line)
        )
        return None if time_ms >= since and is_taking else line

    for broker in range(len(draft.brokers)):
        draft.rewrite(broker, kept)


def chatty_reports(draft: Draft, *, every_s: float, since_min: float) -> None:
    """Have a broker's heap go up and down, so that it writes a report every few seconds."""
    broker = int(draft.random.integers(len(draft.brokers)))
    name = draft.brokers[broker]
    rows = draft.rows(_REPORTS)
    mine = [row for row in rows if row["broker"] == name and row["report"] is not None]
    since, end = draft.ms(since_min * 60.0), draft.ms(draft.run.world.duration_s)
    added: list[dict[str, Any]] = []
    time_ms = since
    is_high = False
    while time_ms < end - 5_000:
        known = [row for row in mine if row["mtime"] <= time_ms]
        if known and time_ms - known[-1]["mtime"] > 2_000:
            is_high = not is_high
            added.append(_again(draft, known[-1], time_ms, is_high))
            change = float(draft.random.uniform(10.1, 30))
            values = {"change": change, "threshold": 10, "since": float(every_s)}
            (line,) = log_lines("report_of_change", **values)
            draft.say(broker, time_ms, line)
        time_ms += round(1000 * every_s) + int(draft.random.integers(-400, 400))
    rows += added
    mine = sorted((row for row in rows if row["broker"] == name), key=lambda row: row["time"])
    for version, row in enumerate(mine):
        row["version"] = version
    draft.plant(Planted("chatty-reports", None, None, (name,)))


def _again(draft: Draft, row: dict[str, Any], time_ms: int, is_high: bool) -> dict[str, Any]:
    report = dict(row["report"])
    limit = report["memory"]["limit"]
    share = float(draft.random.uniform(0.55, 0.75) if is_high else draft.random.uniform(0.2, 0.4))
    report["memory"] = {"usage": share * limit, "limit": limit}
    report["lastUpdate"] = time_ms
    return {**row, "time": when(time_ms), "mtime": time_ms, "report": report}


STORES: Mapping[str, Callable[..., None]] = {
    "wrong manager": wrong_manager,
    "no acting leader": no_acting_leader,
    "frozen record": frozen_record,
    "vanished bundle": vanished_bundle,
    "chatty reports": chatty_reports,
}
