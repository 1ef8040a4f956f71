"""AvgShedder's destinations: a Java hash map whose keys go on changing after they were put in.

The shedder puts them in, the placer looks them up.  A `HashMap` looks a key up by its hash as
it was when the key was put in, then compares it with what the key holds now.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.pulsar.model import BundleData, Plan, Plans

# Entries that are copied whenever one is put in; older ones are shared.
_COPIED = 256


@dataclass(frozen=True, slots=True)
class Keys:
    """What makes two keys equal, and what becomes of entries when keys change."""

    #: What the keys of some bundles hold.
    contents: Callable[[BundleData | None, Sequence[str]], list[bytes]]
    #: Whether an entry can still be found once the leader has forgotten its bundle.
    outlives: Callable[[bytes, Plan], bool]


def noticed(plans: Plans, averages: BundleData | None, keys: Keys) -> Plans:
    """Return plans whose keys are up to date with the leader's averages.

    Properties:
        Noticing the same averages twice changes nothing more.
        Entries that nothing can find any more are dropped.
    """
    if averages is plans.seen:
        return plans
    if averages is None or not plans.entries:
        return Plans(plans.entries, averages)
    now = iter(_contents_now(plans, averages, keys))
    entries = {}
    for inserted, group in plans.entries.items():
        left = []
        for old in group:
            # One that was forgotten changes no more.
            plan = old if old.is_forgotten else _updated(old, next(now))
            if not plan.is_forgotten or keys.outlives(inserted, plan):
                left.append(plan)
        if left:
            entries[inserted] = tuple(left)
    return Plans(entries, averages)


def destination(plans: Plans, bundle: str, keys: Keys) -> str | None:
    """Return where a bundle is to go; None if nothing is planned for it."""
    (content,) = keys.contents(plans.seen, [bundle])
    for plan in plans.entries.get(content, ()):
        if plan.content == content:
            return plan.broker
    return None


def planned(plans: Plans, targets: Iterable[tuple[str, str]], keys: Keys) -> Plans:
    """Return plans with destinations put in, one after the other: (bundle, broker).

    Quirks:
        If an equal key is there it stays, and its destination is replaced.
    """
    pairs = list(targets)
    if not pairs:
        return plans
    entries = _copied(plans.entries)
    contents = keys.contents(plans.seen, [bundle for bundle, _ in pairs])
    for (bundle, broker), content in zip(pairs, contents, strict=True):
        group = list(entries.get(content, ()))
        at = next((i for i, plan in enumerate(group) if plan.content == content), len(group))
        old = group[at : at + 1] or [Plan(bundle, _number(plans.seen, bundle), content, False, "")]
        group[at : at + 1] = [replace(old[0], broker=broker)]
        entries[content] = tuple(group)
    return replace(plans, entries=entries)


def _copied(
    entries: Mapping[bytes, tuple[Plan, ...]],
) -> MutableMapping[bytes, tuple[Plan, ...]]:
    """Return a copy of entries to put some in; its cost hardly grows with how many there are."""
    if not isinstance(entries, ChainMap):
        return dict(entries) if len(entries) < _COPIED else ChainMap({}, dict(entries))
    latest, older = entries.maps
    if len(latest) < _COPIED:
        return ChainMap(dict(latest), older)
    return ChainMap({}, dict(older) | dict(latest))


def _values(averages: BundleData | None, bundles: Sequence[str]) -> list[bytes]:
    """Return everything by which two objects are equal, or the names if it is not known."""
    if averages is None:
        return [bundle.encode() for bundle in bundles]
    if unknown := [bundle for bundle in bundles if bundle not in averages.rows]:
        raise ValueError(f"no averages of {unknown[0]}: expected it in ClusterLoad.bundle_data")
    values = averages.values[[averages.rows[bundle] for bundle in bundles]]
    # As Double.compare has it: all NaN are one number, 0.0 and -0.0 are two.
    contents = np.where(np.isnan(values), np.nan, values).tobytes()
    width = values.itemsize * values.shape[1]
    return [contents[at : at + width] for at in range(0, len(contents), width)]


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
    """Return which object of a bundle the leader has."""
    row = None if averages is None else averages.rows.get(bundle)
    return 0 if averages is None or row is None else int(averages.numbers[row])


def _contents_now(plans: Plans, averages: BundleData, keys: Keys) -> list[bytes | None]:
    """Return what each key that was not forgotten holds now, in order; None: it is forgotten."""
    alive = [plan for group in plans.entries.values() for plan in group if not plan.is_forgotten]
    rows = [averages.rows.get(plan.bundle, -1) for plan in alive]
    # A row of -1 gives some number, and is left out by itself.
    numbers = averages.numbers[rows].tolist() if averages.numbers.size else [-1] * len(rows)
    same = zip(alive, rows, numbers, strict=True)
    is_known = [row >= 0 and number == plan.number for plan, row, number in same]
    known = [plan.bundle for plan, is_it in zip(alive, is_known, strict=True) if is_it]
    contents = iter(keys.contents(averages, known))
    return [next(contents) if is_it else None for is_it in is_known]


def _updated(plan: Plan, content: bytes | None) -> Plan:
    """Return a plan whose key holds what the leader's object does, or did when it was forgotten."""
    if content == plan.content:
        return plan
    if content is None:
        return Plan(plan.bundle, plan.number, plan.content, is_forgotten=True, broker=plan.broker)
    return Plan(plan.bundle, plan.number, content, is_forgotten=False, broker=plan.broker)
