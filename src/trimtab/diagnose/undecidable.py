"""What the recording cannot answer, and what is missing."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from trimtab.diagnose.answers import stands_still
from trimtab.diagnose.broker_loads import broker_loads
from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.night import Night, Round, Undecidable
from trimtab.diagnose.store_source import Move
from trimtab.diagnose.transfers.again import MISSING
from trimtab.diagnose.wording import iso_time
from trimtab.pulsar.channel import SHEDDER

#: Brokers whose names are told where very many have no log.
_NAMED_MAX = 10
_NEVER = datetime.max.replace(tzinfo=UTC)
_REPORTS = "store/zookeeper/ or store/brokers.jsonl"
#: Need → what is said where its source is absent, and what would have been its source.
_SOURCES = {
    Need.OWNERS: (
        "who owned the bundles before and after is not in the recording",
        "store/ownership.jsonl",
    ),
    Need.TAKERS: (
        "who took the bundles after their unloads is not in the recording",
        "store/ownership.jsonl, or the logs of all brokers",
    ),
    Need.BUNDLE_REPORTS: ("what the moved bundles carried is not in the recording", _REPORTS),
    Need.BROKER_REPORTS: ("what brokers told the store is not in the recording", _REPORTS),
    Need.USAGE: (
        "no usage of any broker is in the recording",
        f"{_REPORTS}, load-reports.jsonl or metrics/",
    ),
    Need.ROUNDS_DECIDED_AGAIN: ("no round was decided again", _REPORTS),
    Need.ANSWERS: (
        "what brokers said beside the store is not in the recording",
        "load-reports.jsonl or metrics/",
    ),
    Need.ELECTIONS: (
        "no election is in the recording",
        "store/leader.jsonl, or the logs of all brokers",
    ),
    Need.BUNDLE_STATES: (
        "no state of any bundle is in the recording",
        "store/zookeeper/ where the states are kept in the metadata store, else "
        "store/service-unit-state.jsonl, or logs with loadBalancerDebugModeEnabled = true",
    ),
    Need.PRESENCE: (
        "which brokers were alive is not in the recording",
        "store/zookeeper/, store/brokers.jsonl or the logs of all brokers",
    ),
    Need.TRANSFERS: (
        "no log of a leader is in the recording, so the rounds of TransferShedder are not known",
        "logs/ of every broker that led",
    ),
    Need.CHANNEL_ACTS: (
        "nothing that only the owner of the channel does is in the recording",
        "store/zookeeper/, or the logs of all brokers",
    ),
}
#: Said of those that need rounds decided again, where these are all of TransferShedder.
_OF_TRANSFERS = (
    "the rounds that were decided again are those of TransferShedder, of which this is not asked",
    "rounds of the modular load manager's shedders",
)


def undecidable(
    night: Night, covered: Undecidable | None, move: Move | None = None
) -> list[Undecidable]:
    """Return the questions that had to stay open.

    Args:
        night: what is known.
        covered: why no round was replayed; None if they could be.
        move: of the metadata store; None if it stayed where it was.
    """
    questions = [*_of_logs(night), *_of_settings(night), *_of_sources(night)]
    if move is not None:
        missing = "the load reports, owners and leaders of the other store, which keeps no history"
        what = "everything from then on"
        questions.insert(0, Undecidable(what, moved_sentence(move), missing, time=move.time))
    is_open = any(logged.recomputed.equal is None for logged in night.rounds)
    if covered is not None and is_open:
        questions.append(covered)
    for logged in night.rounds:
        if covered is None and logged.recomputed.equal is None:
            missing = MISSING if logged.strategy == SHEDDER else "every write of the store"
            questions.append(_round(logged, "recomputation", logged.recomputed.why, missing))
        questions += _of_usage(night, logged)
        questions += _of_draws(logged)
    return questions


def moved_sentence(move: Move) -> str:
    """Return why nothing is said of the time from which on the metadata store had moved."""
    to = f" to {move.target}" if move.target else ""
    how = "was moved" if move.phase == "COMPLETED" else f"was to be moved ({move.phase})"
    return (
        f"the metadata store {how}{to} at {iso_time(move.time)}: from then on ZooKeeper stands "
        "still whatever the cluster does, and nothing is concluded"
    )


def leaders_without_log(night: Night) -> str:
    """Return the leaders of which there is no log, as text; empty if none is known."""
    if night.logs is None:
        return ""
    absent = ", ".join(sorted(_leading_brokers(night) - _logged(night)))
    return absent or ("" if night.logs else "the leader")


def absent_log(night: Night, who: str) -> str:
    """Return what is true of leaders' logs that are not there, or cannot be read."""
    unread = {night.names.get(log, log) for log in night.unread}
    if unread & set(who.split(", ")):
        return f"no line of the log of {who} could be read"
    if unread and not _leading_brokers(night):
        return "no line of a log could be read"
    return f"no log of {who} is in the recording"


def possible_leaders(night: Night) -> str:
    """Return the brokers without a log of which nobody knows that they never led, as text."""
    known = {*night.names.values(), *night.reports, *night.usages.brokers}
    times = [*night.usages.ends()[:1], *(it.time for it in night.rounds[:1])]
    interval = timedelta(seconds=night.interval_s)
    is_told = bool(night.leaders) and night.leaders[0][0] - min(times, default=_NEVER) <= interval
    if night.logs is None or is_told or len(night.logs) >= len(known):
        return ""
    absent = sorted(known - _logged(night))
    more = f" and {len(absent) - _NAMED_MAX} more" if len(absent) > _NAMED_MAX else ""
    return ", ".join(absent[:_NAMED_MAX]) + more


def is_leader_known(night: Night) -> bool:
    """Return whether it is known that a log is one of a broker that led."""
    return bool(night.rounds or night.elected or _leading_brokers(night) & _logged(night))


def _needing(need: Need) -> list[FindingEntry]:
    """Return the kinds of findings that cannot be looked for without something."""
    return [entry for entry in FINDINGS.values() if need in entry.needs]


def _missed(need: Need) -> str:
    """Return the codes of what is missed without something: `a, b, and c and d by their lines`."""
    wholly = ", ".join(sorted(entry.code for entry in _needing(need)))
    partly: dict[str, list[str]] = {}
    for code, entry in sorted(FINDINGS.items()):
        if need in entry.partly:
            partly.setdefault(entry.partly[need], []).append(code)
    return ", and ".join(
        [wholly, *(f"{' and '.join(codes)} {part}" for part, codes in partly.items())]
    )


def _gravity(entry: FindingEntry) -> float:
    """Return how early a kind of finding would name a move; last if it makes none useless."""
    return math.inf if entry.useless is None else entry.useless.rank


def _logged(night: Night) -> set[str]:
    """Return the brokers of which there is a log."""
    return {night.names.get(log, log) for log in night.logs or ()}


def _leading_brokers(night: Night) -> set[str]:
    """Return the brokers that led, by the store."""
    return {broker for _, broker in night.leaders if broker is not None}


def _of_logs(night: Night) -> list[Undecidable]:
    """Return what was not looked for because logs are absent: the leader's, or others'."""
    if night.logs is None:
        return []
    ids, led = _logged(night), _leading_brokers(night)
    questions = []
    if who := leaders_without_log(night):
        questions.append(
            Undecidable(
                ", ".join(entry.code for entry in _needing(Need.LEADER_LOGS)),
                f"{absent_log(night, who)}, so the rounds are not known",
                "logs/ of every broker that led",
            )
        )
    others = set(night.names.values()) - ids - led
    if others:
        who = ", ".join(sorted(others)[:_NAMED_MAX])
        questions.append(
            Undecidable(
                _missed(Need.OTHER_LOGS),
                f"logs of {len(others)} broker(s) are not in the recording: {who}",
                "logs/ of all brokers",
            )
        )
    return questions


def _of_settings(night: Night) -> list[Undecidable]:
    if night.has_settings:
        return []
    return [
        Undecidable(
            _missed(Need.SETTINGS),
            "no setting is in the recording: what was decided again was decided by the defaults "
            f"of {night.release}",
            "conf/ or runtime-config/",
        )
    ]


def _of_sources(night: Night) -> list[Undecidable]:
    """Return what was not looked for because a whole source is absent, once a night."""
    moved = any(logged.moves for logged in night.rounds)
    elections = any(event.kind == "elected-leader" for event in night.events)
    is_absent = {
        Need.OWNERS: moved and not night.owners,
        Need.TAKERS: moved and not night.owners and not night.acquired,
        Need.BUNDLE_REPORTS: moved and not night.bundles,
        Need.BROKER_REPORTS: not night.reports,
        Need.USAGE: not len(night.usages),
        Need.ROUNDS_DECIDED_AGAIN: not night.decisions.times,
        Need.ANSWERS: not night.answers
        and stands_still(night.reports, night.report_interval_s_max),
        Need.ELECTIONS: not night.leaders and not elections,
        **_of_channel(night),
    }
    sources = dict(_SOURCES)
    if any(each.strategy == SHEDDER and each.recomputed.equal is not None for each in night.rounds):
        sources[Need.ROUNDS_DECIDED_AGAIN] = _OF_TRANSFERS
    return [
        Undecidable(_missed(need), why, missing)
        for need, (why, missing) in sources.items()
        if is_absent[need]
    ]


def _of_channel(night: Night) -> dict[Need, bool]:
    """Return what is absent of the extensible manager's sources; nothing where another ran."""
    channel = night.channel
    return {
        Need.BUNDLE_STATES: channel is not None and not channel.transitions,
        Need.PRESENCE: channel is not None and not channel.presence,
        Need.TRANSFERS: channel is not None and bool(leaders_without_log(night)),
        Need.CHANNEL_ACTS: channel is not None and not channel.acts,
    }


def _round(logged: Round, what: str, why: str, missing: str) -> Undecidable:
    return Undecidable(what, why, missing, logged.number, logged.time)


def _of_usage(night: Night, logged: Round) -> list[Undecidable]:
    if not logged.moves:
        return []
    loads = broker_loads(night, logged)
    if loads is not None and loads.is_reported:
        return []
    return [
        _round(
            logged,
            ", ".join(
                entry.code for entry in sorted(_needing(Need.USAGE_IN_THE_ROUND), key=_gravity)
            ),
            "no reported usage of the brokers is known for this round",
            "store/brokers.jsonl, load-reports.jsonl or metrics/",
        )
    ]


def _of_draws(logged: Round) -> list[Undecidable]:
    questions = []
    for move in logged.moves:
        draw = move.draw
        if draw is not None and draw.is_fallback and (draw.count or 2) > 1 and not draw.scores:
            questions.append(
                _round(
                    logged,
                    _missed(Need.PLACER_SCORES),
                    f"how far the candidates for {move.bundle} were from the bar is not known",
                    "the placer's scores: reports of all brokers since the leader's election",
                )
            )
    return questions
