"""What the recording cannot answer, and what is missing."""

from __future__ import annotations

from trimtab.diagnose.night import Night, Round, Undecidable
from trimtab.diagnose.standing import standing

#: What is found in what a leader logs of its rounds and of its elections.
_BY_LEADER = (
    *("random-placement", "over-placement", "over-unloading", "ping-pong", "cold-history"),
    *("score-disagreement", "sole-bundle", "even-distribution-override", "same-broker"),
    *("blind-to-imbalance", "lost-destination", "empty-bundle-moved", "emptied-broker"),
    *("jitter-chasing", "cold-cpu", "vanished-bundle", "one-pair-per-round", "wrong-extreme"),
    *("throughput-floor", "grace-starvation", "stale-report", "memory-as-load"),
    *("skipped-bundles", "unload-failed", "shedding-aborted", "slow-round", "leader-change"),
    *("two-leaders", "split-refused", "split-storm"),
)
#: Brokers whose names are told where very many have no log.
_NAMED_MAX = 10


def undecidable(night: Night, covered: Undecidable | None) -> list[Undecidable]:
    """List the questions that had to stay open.

    Args:
        night: what happened.
        covered: why no round was replayed; None if they were.
    """
    found = [*_of_logs(night), *_of_settings(night), *_of_sources(night)]
    is_open = any(logged.recomputed.equal is None for logged in night.rounds)
    if covered is not None and is_open:
        found.append(covered)
    for logged in night.rounds:
        if covered is None and logged.recomputed.equal is None:
            found.append(_round(logged, "recomputation", logged.recomputed.why))
        found += _of_usage(night, logged)
        found += _of_draws(logged)
    return found


def leaders_without_log(night: Night) -> str:
    """Name those who led and of whom there is no log; empty if there is none, as far as known."""
    if night.logs is None:
        return ""
    absent = ", ".join(sorted(_led(night) - _logged(night)))
    return absent or ("" if night.logs else "the leader")


def is_leader_known(night: Night) -> bool:
    """Say whether it is known that a log is one of a broker that led."""
    return bool(night.rounds or night.elected or _led(night) & _logged(night))


def _logged(night: Night) -> set[str]:
    """Give the brokers of which there is a log."""
    return {night.names.get(log, log) for log in night.logs or ()}


def _led(night: Night) -> set[str]:
    """Give the brokers that led, as the store says."""
    return {broker for _, broker in night.leaders if broker is not None}


def _of_logs(night: Night) -> list[Undecidable]:
    """List what was not looked for because logs are absent: the leader's, or others'."""
    if night.logs is None:
        return []
    ids, led = _logged(night), _led(night)
    found = []
    if who := leaders_without_log(night):
        found.append(
            Undecidable(
                ", ".join(_BY_LEADER),
                f"the log of {who} is not in the recording, so its rounds are not known",
                "logs/ of every broker that led",
            )
        )
    others = set(night.names.values()) - ids - led
    if others:
        who = ", ".join(sorted(others)[:_NAMED_MAX])
        found.append(
            Undecidable(
                "same-broker, slow-round, unload-failed, and bad-nic-limit and wrong-manager by "
                "their lines",
                f"logs of {len(others)} broker(s) are not in the recording: {who}",
                "logs/ of all brokers",
            )
        )
    return found


def _of_settings(night: Night) -> list[Undecidable]:
    if night.has_settings:
        return []
    return [
        Undecidable(
            "blind-to-imbalance, cold-cpu, even-distribution-override, memory-as-load, "
            "score-disagreement, throughput-floor",
            "no setting is in the recording: what was decided again was decided by the defaults "
            f"of {night.release}",
            "conf/ or runtime-config/",
        )
    ]


def _of_sources(night: Night) -> list[Undecidable]:
    """List what was not looked for because a whole source is absent, once a night."""
    moved = any(logged.moves for logged in night.rounds)
    elections = any(event.kind == "elected-leader" for event in night.events)
    reports = "store/zookeeper/ or store/brokers.jsonl"
    absent = (
        (
            moved and not night.owners,
            "vanished-bundle",
            "who owned the bundles before and after is not in the recording",
            "store/ownership.jsonl",
        ),
        (
            moved and not night.owners and not night.acquired,
            "lost-destination, same-broker",
            "who took the bundles after their unloads is not in the recording",
            "store/ownership.jsonl, or the logs of all brokers",
        ),
        (
            moved and not night.bundles,
            "empty-bundle-moved, jitter-chasing, vanished-bundle",
            "what the moved bundles carried is not in the recording",
            reports,
        ),
        (
            not night.reports,
            "bad-nic-limit, chatty-reports, emptied-broker, giant-bundle, heterogeneous-brokers, "
            "usage-zero, wrong-extreme, wrong-manager, zero-traffic-contradiction",
            "what brokers told the store is not in the recording",
            reports,
        ),
        (
            not night.usages,
            "no-headroom",
            "no usage of any broker is in the recording",
            f"{reports}, load-reports.jsonl or metrics/",
        ),
        (
            not night.decided.times,
            "blind-to-imbalance, cold-cpu, even-distribution-override, score-disagreement, and "
            "grace-starvation and throughput-floor of rounds without a line",
            "no round was decided again",
            reports,
        ),
        (
            not night.leaders and not elections,
            "leader-change, no-acting-leader, two-leaders",
            "no election is in the recording",
            "store/leader.jsonl, or the logs of all brokers",
        ),
    )
    return [
        Undecidable(what, why, missing) for is_absent, what, why, missing in absent if is_absent
    ]


def _round(
    logged: Round, what: str, why: str, missing: str = "every write of the store"
) -> Undecidable:
    return Undecidable(what, why, missing, logged.number, logged.time)


def _of_usage(night: Night, logged: Round) -> list[Undecidable]:
    if not logged.moves:
        return []
    stood = standing(night, logged)
    if stood is not None and stood.is_reported:
        return []
    return [
        _round(
            logged,
            "over-unloading, over-placement, cold-history",
            "no reported usage of the brokers is known for this round",
            "store/brokers.jsonl, load-reports.jsonl or metrics/",
        )
    ]


def _of_draws(logged: Round) -> list[Undecidable]:
    found = []
    for move in logged.moves:
        draw = move.draw
        if draw is not None and draw.is_fallback and (draw.count or 2) > 1 and not draw.scores:
            found.append(
                _round(
                    logged,
                    "random-placement",
                    f"how far the candidates for {move.bundle} were from the bar is not known",
                    "the placer's scores: reports of all brokers since the leader's election",
                )
            )
    return found
