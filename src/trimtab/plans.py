"""AvgShedder's destinations: a Java hash map whose keys go on changing after they were put in.

The shedder puts them in, the placer looks them up.  A `HashMap` looks a key up by its hash as
it was when the key was put in, then compares it with what the key holds now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.model import BundleData, Plan, Plans


@dataclass(frozen=True, slots=True)
class Keys:
    """What makes two keys equal, and what becomes of entries when keys change."""

    #: What the keys of some bundles hold.
    contents: Callable[[BundleData | None, Sequence[str]], list[bytes]]
    #: Whether an entry can still be found once the leader has forgotten its bundle.
    outlives: Callable[[bytes, Plan], bool]


def noticed(plans: Plans, averages: BundleData | None, keys: Keys) -> Plans:
    """Bring the keys up to date with the leader's averages.

    Properties:
        Noticing the same averages twice changes nothing more.
        Entries that nothing can find any more are dropped.
    """
    if averages is None or averages is plans.seen:
        return replace(plans, seen=averages)
    known = _known(plans, averages)
    contents = keys.contents(averages, [bundle for bundle, _ in known])
    now = dict(zip(known, contents, strict=True))
    entries = {}
    for inserted, found in plans.entries.items():
        updated = [_updated(plan, now) for plan in found]
        left = tuple(p for p in updated if not p.is_forgotten or keys.outlives(inserted, p))
        if left:
            entries[inserted] = left
    return Plans(entries, averages)


def destination(plans: Plans, bundle: str, keys: Keys) -> str | None:
    """Look up where a bundle is to go; None if nothing is planned for it."""
    (content,) = keys.contents(plans.seen, [bundle])
    for plan in plans.entries.get(content, ()):
        if plan.content == content:
            return plan.broker
    return None


def planned(plans: Plans, targets: Iterable[tuple[str, str]], keys: Keys) -> Plans:
    """Put bundles' destinations in, one after the other: (bundle, broker).

    Quirks:
        If an equal key is there it stays, and its destination is replaced.
    """
    entries = dict(plans.entries)
    pairs = list(targets)
    contents = keys.contents(plans.seen, [bundle for bundle, _ in pairs])
    for (bundle, broker), content in zip(pairs, contents, strict=True):
        found = list(entries.get(content, ()))
        at = next((i for i, plan in enumerate(found) if plan.content == content), len(found))
        old = found[at : at + 1] or [Plan(bundle, _number(plans.seen, bundle), content, False, "")]
        found[at : at + 1] = [replace(old[0], broker=broker)]
        entries[content] = tuple(found)
    return replace(plans, entries=entries)


def _values(averages: BundleData | None, bundles: Sequence[str]) -> list[bytes]:
    """Return everything by which two objects are equal, or the names if it is not known."""
    if averages is None:
        return [bundle.encode() for bundle in bundles]
    if unknown := [bundle for bundle in bundles if bundle not in averages.rows]:
        raise ValueError(f"no averages of {unknown[0]}: expected it in ClusterLoad.bundle_data")
    values = averages.values[[averages.rows[bundle] for bundle in bundles]]
    # As Double.compare has it: all NaN are one number, 0.0 and -0.0 are two.
    return [row.tobytes() for row in np.where(np.isnan(values), np.nan, values)]


def _identities(averages: BundleData | None, bundles: Sequence[str]) -> list[bytes]:
    """Return what tells objects apart, whatever they hold."""
    return [f"{bundle} {_number(averages, bundle)}".encode() for bundle in bundles]


def _holds_what_it_did(inserted: bytes, plan: Plan) -> bool:
    return plan.content == inserted


def _never(inserted: bytes, plan: Plan) -> bool:
    del inserted, plan
    return False


#: Keys are equal if their averages are (4.0.0 to 5.0.0-M1).
BY_VALUE = Keys(_values, _holds_what_it_did)
#: Each object equals itself alone (3.0 and 3.3).
BY_IDENTITY = Keys(_identities, _never)


def _number(averages: BundleData | None, bundle: str) -> int:
    """Tell which object of a bundle the leader has."""
    row = None if averages is None else averages.rows.get(bundle)
    return 0 if averages is None or row is None else int(averages.numbers[row])


def _known(plans: Plans, averages: BundleData) -> list[tuple[str, int]]:
    """List bundle and number of the keys that are objects which the leader still has."""
    alive = [plan for found in plans.entries.values() for plan in found if not plan.is_forgotten]
    rows = [averages.rows.get(plan.bundle, -1) for plan in alive]
    if not rows:
        return []
    # A row of -1 gives some number, and is left out by itself.
    numbers = averages.numbers[rows].tolist() if averages.numbers.size else [-1] * len(rows)
    same = zip(alive, rows, numbers, strict=True)
    return [(p.bundle, number) for p, row, number in same if row >= 0 and number == p.number]


def _updated(plan: Plan, now: Mapping[tuple[str, int], bytes]) -> Plan:
    """Let a key hold what the leader's object does; one that was forgotten changes no more."""
    if plan.is_forgotten:
        return plan
    content = now.get((plan.bundle, plan.number))
    if content == plan.content:
        return plan
    if content is None:
        return Plan(plan.bundle, plan.number, plan.content, is_forgotten=True, broker=plan.broker)
    return Plan(plan.bundle, plan.number, content, is_forgotten=False, broker=plan.broker)
