"""Rounds of TransferShedder that end, again and again, before anything is shed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Event, Finding, Night, Round
from trimtab.pulsar.channel import SHEDDER

#: So many rounds are more than a start, a pause or a count takes by its defaults.
_OUT_OF_BALANCE = 6
_IN_A_ROW = {"cool-down": 5, "load-data": 3}
#: So many are a long time.
_LONG = 10
#: In so many rounds a broker's bundles had all just been moved.
_OFTEN = 3
_ENDED = "round-without-unload"
#: Words of a round that ends for want of what brokers publish.
_DATA = frozenset({"NoLoadData", "OutDatedData"})


def shedding_held_back(night: Night) -> list[Finding]:
    """Find what kept a leader from shedding for longer than its settings are meant to.

    Hit count: six rounds out of balance without an unload between them, so that the count began
    anew before it passed its threshold, or the threshold is high.  Cool-down: five rounds in a
    row, since a report was too early after a transfer.  Load data: three in a row, since a
    registered broker had published none, or only old ones.  Grace: a broker was to be relieved,
    and each of its bundles that was looked at last had just been moved.  Low; medium from ten
    rounds on, and for grace from three.

    Source:
        TransferShedder.java findBundlesForUnloading, 4.0.8
    """
    mine = [each for each in night.rounds if each.strategy == SHEDDER]
    mine.sort(key=lambda each: (each.term, each.log_broker, each.number))
    findings: list[Finding] = []
    for _, tenure in groupby(mine, key=lambda each: (each.term, each.log_broker)):
        rounds = list(tenure)
        findings += _by_count(night, rounds)
        findings += _in_a_row(night, rounds, "cool-down", _is_too_early)
        findings += _in_a_row(night, rounds, "load-data", _is_without_data)
    return findings + list(_by_grace(mine))


def _by_count(night: Night, rounds: Iterable[Round]) -> Iterator[Finding]:
    """Yield the stretches between two unloads in which the count was never enough."""
    stretch: list[tuple[Round, Event]] = []
    for logged in [*rounds, None]:
        if logged is None or logged.moves:
            if len(stretch) >= _OUT_OF_BALANCE:
                brokers = (night.broker(stretch[0][0].log_broker),)
                threshold = stretch[0][1].numbers.get("threshold", 0.0)
                yield _finding("hit-count", stretch, brokers, {"threshold": threshold})
            stretch = []
            continue
        line = next((e for e in logged.events if e.kind == _ENDED and e.count), None)
        if line is not None:
            stretch.append((logged, line))


def _in_a_row(
    night: Night, rounds: Sequence[Round], variant: str, is_so: Callable[[Event], bool]
) -> Iterator[Finding]:
    """Yield the stretches of rounds that all ended for the same reason."""
    ends = [next((e for e in each.events if is_so(e)), None) for each in rounds]
    paired = zip(rounds, ends, strict=True)
    for is_ended, group in groupby(paired, key=lambda pair: pair[1] is not None):
        stretch = [(logged, end) for logged, end in group if end is not None]
        if is_ended and len(stretch) >= _IN_A_ROW[variant]:
            named = [(e.broker, *e.brokers) for logged, _ in stretch for e in _about(logged)]
            brokers = tuple(dict.fromkeys(name for names in named for name in names if name))
            # Whoever they are, the leader says so.
            brokers = brokers or (night.broker(stretch[0][0].log_broker),)
            yield _finding(variant, stretch, brokers, _numbers(stretch))


def _about(logged: Round) -> Iterator[Event]:
    """Yield the lines that name the brokers for which a round ended."""
    for event in logged.events:
        if event.kind in {"too-early-since-transfer", "load-data-missing"}:
            yield event


def _numbers(stretch: Iterable[tuple[Round, Event]]) -> dict[str, float]:
    thresholds = [e.numbers.get("threshold_s") for logged, _ in stretch for e in _about(logged)]
    return {"threshold_s": next(filter(None, thresholds), 0.0)}


def _by_grace(rounds: Iterable[Round]) -> Iterator[Finding]:
    """Yield brokers that lost nothing, since all that they had published had just been moved."""
    by_broker: dict[str, list[tuple[Round, Event]]] = {}
    for logged in rounds:
        attempt, lines, has_lost = "", list[Event](), False
        for event in [*logged.events, None]:
            is_next = event is None or event.kind == "transfer-attempt"
            if is_next and attempt and lines and not has_lost:
                by_broker.setdefault(attempt, []).append((logged, lines[0]))
            if event is None:
                break
            if is_next:
                attempt, lines, has_lost = event.broker or "", [], False
            elif event.kind == "transfer-bundle-in-grace":
                lines.append(event)
            elif event.kind == "transfer-decided":
                has_lost = True
    for broker, stretch in by_broker.items():
        bundles = tuple(dict.fromkeys(line.bundle for _, line in stretch if line.bundle))
        yield _finding("grace", stretch, (broker,), {}, bundles)


def _finding(
    variant: str,
    stretch: Sequence[tuple[Round, Event]],
    brokers: tuple[str, ...],
    numbers: dict[str, float],
    bundles: tuple[str, ...] = (),
) -> Finding:
    long = _OFTEN if variant == "grace" else _LONG
    first, last = stretch[0][0], stretch[-1][0]
    minutes = (last.end - first.time).total_seconds() / 60
    return Finding(
        f"shedding-held-back.{variant}",
        "medium" if len(stretch) >= long else "low",
        first.time,
        first.number,
        brokers=brokers,
        bundles=bundles,
        evidence=tuple(line for _, line in stretch[:SHOWN]),
        numbers={"rounds": len(stretch), "minutes": minutes, **numbers},
        values={"list": ", ".join(brokers)},
    )


def _is_too_early(event: Event) -> bool:
    return _word(event) == "CoolDown"


def _is_without_data(event: Event) -> bool:
    return _word(event) in _DATA


def _word(event: Event) -> str:
    """Return the reason for which a line says that the round ends; blank if it says none."""
    if event.kind != _ENDED or "Reason:" not in event.text:
        return ""
    return event.text.rpartition("Reason:")[2].strip().rstrip(".")
