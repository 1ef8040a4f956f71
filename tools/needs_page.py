"""What each kind of recording answers, of the needs of the findings: docs/what-is-needed.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tools.catalogue import table
from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.findings import FINDINGS

Answer = Literal["yes", "partly", "no"]

_LOGS = frozenset({Need.LEADER_LOGS, Need.OTHER_LOGS, Need.TAKERS, Need.ELECTIONS})
_STORE = frozenset(
    {
        Need.OWNERS,
        Need.TAKERS,
        Need.BUNDLE_REPORTS,
        Need.BROKER_REPORTS,
        Need.USAGE,
        Need.ELECTIONS,
    }
)
_SETTINGS = frozenset({Need.SETTINGS})
#: Kind of recording → what it holds; settings are with each.
KINDS: Mapping[str, frozenset[Need]] = {
    "the leader's log": _SETTINGS | {Need.LEADER_LOGS, Need.ELECTIONS},
    "logs and metrics": _SETTINGS | _LOGS | {Need.USAGE, Need.USAGE_IN_THE_ROUND},
    "reports, no log": _SETTINGS | _STORE,
    "a snapshot": _SETTINGS | {Need.BROKER_REPORTS, Need.USAGE},
    "ZooKeeper's folder": _STORE,
    "all of it": frozenset(Need),
}
#: What makes a finding graver or milder, and is no condition of it.
_WEIGHING = frozenset({Need.USAGE_IN_THE_ROUND, Need.PLACER_SCORES})
_SIGNS: Mapping[Answer, str] = {"yes": "yes", "partly": "partly", "no": "–"}


def answer(kind: str, entry: FindingEntry) -> Answer:
    """Return whether a kind of finding can be found in a kind of recording.

    Part of it where only the other part needs what is absent, and where nothing but a line
    that says it outright is there.
    """
    absent = set(entry.needs) - KINDS[kind]
    if not absent:
        return "yes" if KINDS[kind] >= set(entry.partly) else "partly"
    has_lines = bool(KINDS[kind] & entry.partly.keys())
    return "partly" if has_lines or absent <= _WEIGHING else "no"


def findings() -> str:
    """Return the table of the findings by kinds of recordings, as Markdown."""
    rows = [
        (f"[`{code}`](findings/{code}.md)", *(_SIGNS[answer(kind, entry)] for kind in KINDS))
        for code, entry in sorted(FINDINGS.items())
    ]
    return table(("finding", *KINDS), rows)
