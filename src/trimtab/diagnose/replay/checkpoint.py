"""What a leader knows between two stretches of its tenure, as bytes, and how it begins."""

from __future__ import annotations

import pickle

from trimtab.diagnose.replay.leading import Leading, reads_long
from trimtab.diagnose.replay.lookups import owners
from trimtab.diagnose.replay.replay import Replaying, replaying
from trimtab.diagnose.replay.timeline import Script
from trimtab.pulsar.leader.averages import LeaderAverages
from trimtab.pulsar.leader.view import LeaderView

#: Samples that wait at most: those of a stretch are in memory, whether they wait or not.
_WAITING_MAX = 1 << 22
#: Said where a strategy looks at averages over a long time, and the store's are absent.
_NO_AVERAGES = "bundles' averages over a long time (store/bundles.jsonl) are not in the recording"


def checkpoint(now: Replaying) -> bytes:
    """Return what a leader knows, for the stretch that follows: maps, memories, last flush.

    Of samples none waits, and of reports each broker's newest is there; which of the rows of
    the tables they came from is not.
    """
    now.view.settle()
    return pickle.dumps((now.view, now.memory, now.flushed), pickle.HIGHEST_PROTOCOL)


def resumed(script: Script, known: bytes | None) -> Replaying:
    """Return a leader as a stretch begins.

    Args:
        script: what happens in the stretch.
        known: from `checkpoint`; None as the tenure begins.
    """
    leading, outline = script.leading, script.outline
    now = replaying(leading, _new_view(leading), {}, script.reports.report)
    if known is not None:
        now.view, now.memory, now.flushed = pickle.loads(known)
    go_on(now, script)
    now.gaps, now.departures = outline.gaps, outline.departures
    now.averages_doubt = _NO_AVERAGES if outline.lacks_averages else None
    return now


def go_on(now: Replaying, script: Script) -> None:
    """Have a leader that knows what it knew behind a stretch begin the next."""
    now.soon, now.read = owners(script.stretch.ownership), script.reports.report
    now.stored, now.likes = script.reports, script.reports.going_on(now.view.reports)


def _new_view(leading: Leading) -> LeaderView:
    return LeaderView(LeaderAverages(reads_long(leading), waiting_max=_WAITING_MAX))
