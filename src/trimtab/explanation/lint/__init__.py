"""Traps, contradictions and defaults that bite in settings: a rule looks, and says why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trimtab.explanation.lint import (
    brokers,
    classes,
    floors,
    never_sheds,
    placement,
    readers,
    spelling,
    splitting,
    thresholds,
    timing,
    upgrade,
    usage,
    values,
)
from trimtab.explanation.lint.candidates import (
    OLDEST,
    Candidates,
    candidates,
    findings_of_releases,
    known_releases,
)
from trimtab.explanation.lint.conf import Conf, Written
from trimtab.explanation.lint.rule import ALWAYS, Finding, Rule, Severity, applied, chosen, holds_in
from trimtab.explanation.lint.traps import TABLES, rules_of
from trimtab.explanation.lint.upgrade import Upgrade

_FINDERS = {
    **spelling.FINDERS,
    **values.FINDERS,
    **classes.FINDERS,
    **never_sheds.FINDERS,
    **thresholds.FINDERS,
    **floors.FINDERS,
    **placement.FINDERS,
    **usage.FINDERS,
    **timing.FINDERS,
    **splitting.FINDERS,
    **readers.FINDERS,
    **brokers.FINDERS,
    **upgrade.FINDERS,
}

#: Every rule by its code, in the order of the page.
RULES: Mapping[str, Rule[Any]] = {
    rule.code: rule for subject in TABLES for rule in rules_of(subject, _FINDERS)
}
#: Rules that look at a change of release, at the brokers of a cluster beside each other, and
#: at what one broker goes by.
UPGRADE_RULES: tuple[Rule[Upgrade], ...] = tuple(map(RULES.__getitem__, TABLES["upgrade"]))
CLUSTER_RULES: tuple[Rule[Sequence[Conf]], ...] = (RULES["settings-differ"],)
CONF_RULES: tuple[Rule[Conf], ...] = tuple(
    rule for rule in RULES.values() if rule not in (*UPGRADE_RULES, *CLUSTER_RULES)
)

#: Every release with which something changes that a rule knows, oldest first.
RELEASES = known_releases(RULES.values())

__all__ = [
    "ALWAYS",
    "CLUSTER_RULES",
    "CONF_RULES",
    "OLDEST",
    "RELEASES",
    "RULES",
    "UPGRADE_RULES",
    "Candidates",
    "Conf",
    "Finding",
    "Rule",
    "Severity",
    "Written",
    "candidates",
    "chosen",
    "findings_of_releases",
    "holds_in",
    "lint",
    "lint_upgrade",
]


def lint(confs: Sequence[Conf]) -> tuple[Finding, ...]:
    """Return all that the rules find in the settings of a cluster's brokers, of one release.

    Args:
        confs: what each broker goes by; one is enough.

    Returns:
        Findings by place, then by code; what several brokers share stands once.
    """
    findings = [it for conf in confs for it in _of_one(conf)]
    if len(confs) > 1:
        findings += applied(CLUSTER_RULES, confs, confs[0].release, confs[0].source)
    return _in_order(findings)


def lint_upgrade(confs: Sequence[Conf], before: str, after: str) -> tuple[Finding, ...]:
    """Return what changes with a release: defaults, keys, and rules that hold from then on.

    Args:
        confs: what each broker goes by; whatever release they are of.
        before: the release that the brokers have.
        after: the one that they are to have.

    Returns:
        As `lint`; without what is found in the release before as well.
    """
    findings: list[Finding] = []
    for conf in confs:
        pair = Upgrade(replace(conf, release=before), replace(conf, release=after))
        findings += applied(UPGRADE_RULES, pair, after, conf.source)
        old = {(it.code, it.key, it.place) for it in _of_one(pair.before)}
        findings += (it for it in _of_one(pair.after) if (it.code, it.key, it.place) not in old)
    return _in_order(findings)


def _of_one(conf: Conf) -> Iterator[Finding]:
    return applied(CONF_RULES, conf, conf.release, conf.source)


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings in order; those that say the same of several brokers are one."""
    places: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        places.setdefault((finding.code, finding.key, finding.message), []).append(finding)
    folded = (
        replace(first, also=tuple(dict.fromkeys(it.place for it in others)))
        for first, *others in places.values()
    )
    order = list(RULES)
    return tuple(
        sorted(
            folded,
            key=lambda it: (
                it.place[0],
                it.place[1] or math.inf,
                order.index(it.code),
                it.message,
            ),
        )
    )
