"""AvgShedder's destinations: a Java hash map whose keys go on changing after they were put in.

The shedder puts them in, the placer looks them up.  A `HashMap` looks a key up by its hash as
it was when the key was put in, then compares it with what the key holds now.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from trimtab.pulsar.model import BundleData, Flags, Plan, Plans

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

    A key that the leader still has holds what the averages say, and is not copied from them: it is
    looked at when the leader forgets its bundle, or somebody looks it up.

    Properties:
        Noticing the same averages twice changes nothing more.
        Entries that nothing can find any more are dropped.
    """
    if averages is plans.averages:
        return plans
    if not plans.entries:
        return Plans(plans.entries, averages)
    if averages is None:
        return Plans(brought_up_to_date(plans, keys).entries, None)
    lost = _lost_objects(plans.averages, averages) if keys is BY_VALUE else None
    if lost is not None and not lost:
        return Plans(plans.entries, averages)
    entries = _in_one(plans.entries)
    # Of those that are forgotten nothing changes any more, and there are more and more of them.
    changing = {
        inserted: group
        for inserted, group in entries.items()
        for plan in group
        if not plan.is_forgotten
        and (lost is None or plan.number in lost or plan.content is not None)
    }
    alive = [plan for group in changing.values() for plan in group if not plan.is_forgotten]
    gone = list(compress(alive, ~_are_there(averages, alive)))
    contents = _contents(plans.averages, gone, keys)
    last = {id(plan): content for plan, content in zip(gone, contents, strict=True)}
    for inserted, group in changing.items():
        # One that was forgotten changes no more.
        now = [old if old.is_forgotten else _noticed(old, last.get(id(old))) for old in group]
        left = [plan for plan in now if not plan.is_forgotten or keys.outlives(inserted, plan)]
        if left:
            entries[inserted] = tuple(left)
        else:
            del entries[inserted]
    return Plans(entries, averages)


def brought_up_to_date(plans: Plans, keys: Keys) -> Plans:
    """Return plans each of which says what its key holds now."""
    entries = {
        inserted: tuple(
            replace(plan, content=content)
            for plan, content in zip(group, _contents(plans.averages, group, keys), strict=True)
        )
        for inserted, group in plans.entries.items()
    }
    return Plans(entries, plans.averages)


def destination(plans: Plans, bundle: str, keys: Keys) -> str | None:
    """Return where a bundle is to go; None if nothing is planned for it."""
    (content,) = keys.contents(plans.averages, [bundle])
    group = plans.entries.get(content, ())
    at = _equal(plans.averages, group, content, keys)
    return None if at is None else group[at].broker


def planned(plans: Plans, targets: Iterable[tuple[str, str]], keys: Keys) -> Plans:
    """Return plans with destinations put in, one after the other: (bundle, broker).

    Quirks:
        If an equal key is there it stays, and its destination is replaced.
    """
    pairs = list(targets)
    if not pairs:
        return plans
    entries = _copied(plans.entries)
    contents = keys.contents(plans.averages, [bundle for bundle, _ in pairs])
    for (bundle, broker), content in zip(pairs, contents, strict=True):
        group = list(entries.get(content, ()))
        equal = _equal(plans.averages, group, content, keys)
        at = len(group) if equal is None else equal
        old = group[at : at + 1] or [Plan(bundle, _number(plans.averages, bundle), None, False, "")]
        group[at : at + 1] = [replace(old[0], broker=broker)]
        entries[content] = tuple(group)
    return replace(plans, entries=entries)


def _in_one(entries: Mapping[bytes, tuple[Plan, ...]]) -> dict[bytes, tuple[Plan, ...]]:
    """Return a copy of entries in the same order."""
    if not isinstance(entries, ChainMap):
        return dict(entries)
    latest, older = entries.maps
    return dict(older) | dict(latest)


def _copied(
    entries: Mapping[bytes, tuple[Plan, ...]],
) -> MutableMapping[bytes, tuple[Plan, ...]]:
    """Return a copy of entries to put some in; its cost hardly grows with how many there are."""
    if not isinstance(entries, ChainMap):
        return dict(entries) if len(entries) < _COPIED else ChainMap({}, dict(entries))
    latest, older = entries.maps
    if len(latest) < _COPIED:
        return ChainMap(dict(latest), older)
    return ChainMap({}, _in_one(entries))


def _values(averages: BundleData | None, bundles: Sequence[str]) -> list[bytes]:
    """Return everything by which two objects are equal, or the names if it is not known."""
    if averages is None:
        return [bundle.encode() for bundle in bundles]
    rows = [averages.rows.get(bundle, -1) for bundle in bundles]
    for bundle, row in zip(bundles, rows, strict=True):
        if row < 0 or averages.numbers[row] < 0:
            raise ValueError(f"no averages of {bundle}: expected it in ClusterLoad.bundle_data")
    values = averages.values[rows]
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
    """Return which object of a bundle the leader has, 0 for none."""
    row = None if averages is None else averages.rows.get(bundle)
    return 0 if averages is None or row is None else max(0, int(averages.numbers[row]))


def _equal(
    averages: BundleData | None, group: Sequence[Plan], content: bytes, keys: Keys
) -> int | None:
    """Return which plan of a group has a key that holds this; None if no one has."""
    return next(
        (i for i, held in enumerate(_contents(averages, group, keys)) if held == content), None
    )


def _contents(averages: BundleData | None, group: Sequence[Plan], keys: Keys) -> list[bytes]:
    """Return what keys hold: by the averages, or what they held when they were written down."""
    unwritten = [plan.bundle for plan in group if plan.content is None]
    contents = iter(keys.contents(averages, unwritten) if unwritten else ())
    return [next(contents) if plan.content is None else plan.content for plan in group]


def _lost_objects(before: BundleData | None, averages: BundleData) -> set[int] | None:
    """Return which objects of those before are not among averages; None, if it takes long to say.

    Whoever goes by value has plans for objects alone; whoever goes by identity may have one for
    a bundle without an object, and forgets it.
    """
    if before is None or before.rows is not averages.rows:
        return None
    if before.numbers.size != averages.numbers.size:
        return None
    return set(before.numbers[before.numbers != averages.numbers].tolist()) - {-1}


def _are_there(averages: BundleData, plans: Sequence[Plan]) -> Flags:
    """Return of which plans the leader still has the object, (n_plans,)."""
    row = averages.rows.get
    rows = np.array([row(plan.bundle, -1) for plan in plans], np.int64)
    there = rows >= 0
    numbers = np.array([plan.number for plan in plans], np.int64)
    there[there] = averages.numbers[rows[there]] == numbers[there]
    return there


def _noticed(plan: Plan, last: bytes | None) -> Plan:
    """Return a plan whose key the leader still has, or forgot when it held this."""
    if last is not None:
        return Plan(plan.bundle, plan.number, last, is_forgotten=True, broker=plan.broker)
    if plan.content is None:
        return plan
    return Plan(plan.bundle, plan.number, None, is_forgotten=False, broker=plan.broker)
