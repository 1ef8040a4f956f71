"""A live cluster → which brokers its policies leave to which namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from trimtab.live.apply.admin import Admin
from trimtab.live.gather.calls import CallError
from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.candidates import IsolationPolicy, allowed_by_policies
from trimtab.pulsar.model import Flags, Ints

# Statuses of an answer that there is none.
_NONE = {204, 404, 405, 412}


class Isolation(NamedTuple):
    """Who may have which bundles, and what could not be read."""

    #: (n_bundles,) row of `allowed`, (n_kinds, n_brokers).
    kind: Ints
    allowed: Flags
    note: str


def isolation(admin: Admin, bundles: Sequence[str], brokers: Sequence[str]) -> Isolation:
    """Return who may have which bundles by the cluster's isolation policies."""
    everybody = np.ones((1, len(brokers)), np.bool_)
    nothing = Isolation(np.zeros(len(bundles), np.int64), everybody, "")
    try:
        answer = admin.anyone(
            f"/admin/v2/clusters/{quote(admin.cluster)}/namespaceIsolationPolicies"
        )
    except CallError as error:
        if error.status in _NONE:
            return nothing
        return nothing._replace(note=f"isolation policies cannot be read: {error.reason}")
    policies = tuple(map(_policy, answer.values())) if isinstance(answer, dict) else ()
    if not policies:
        return nothing
    names = sorted({namespace(bundle) for bundle in bundles})
    row = {name: i for i, name in enumerate(names)}
    allowed = np.stack([allowed_by_policies(name, brokers, policies) for name in names])
    kind = np.array([row[namespace(bundle)] for bundle in bundles], np.int64)
    return Isolation(kind, allowed, "")


def grouped(admin: Admin, bundles: Iterable[str]) -> frozenset[str]:
    """Return which namespaces of some bundles are in an anti-affinity group, or may be.

    One that cannot be read may be: its bundles are better left where they are.
    """
    names = sorted({namespace(bundle) for bundle in bundles})
    return frozenset(name for name in names if _is_grouped(admin, name))


def _is_grouped(admin: Admin, name: str) -> bool:
    try:
        answer = admin.anyone(f"/admin/v2/namespaces/{quote(name)}/antiAffinity")
    except CallError as error:
        # Pulsar answers nothing at all where there is no group, and a bare name where there is.
        return error.status not in _NONE and " of 0 bytes" not in error.reason
    return bool(answer)


def _policy(given: object) -> IsolationPolicy:
    policy: Mapping[str, Any] = given if isinstance(given, dict) else {}
    parameters = policy.get("auto_failover_policy", {}).get("parameters", {})
    namespaces, primary, secondary = (
        tuple(map(str, policy.get(key, ()))) for key in ("namespaces", "primary", "secondary")
    )
    return IsolationPolicy(namespaces, primary, secondary, int(parameters.get("min_limit", 1)))
