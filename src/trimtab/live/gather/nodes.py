"""Which nodes of the metadata store are recorded, and what of a node has been seen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

STATES = "/service_unit_state"
ROOTS = ("/loadbalance", "/namespace", STATES)
BROKERS = "/loadbalance/brokers"
_RANGE = r"/0x[0-9a-fA-F]+_0x[0-9a-fA-F]+"


class Kind(Enum):
    """What a node is to a recording."""

    #: A broker's load report.
    REPORT = "report"
    LEADER = "leader"
    #: The averages of a bundle or of a broker.
    AVERAGE = "average"
    #: Who owns a bundle.
    OWNER = "owner"
    #: The state of a bundle, under the extensible load manager where it keeps them here.
    STATE = "state"
    #: It has such nodes below it.
    PARENT = "parent"


_KINDS: tuple[tuple[re.Pattern[str], Kind], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (rf"{BROKERS}/[^/]+", Kind.REPORT),
        (r"/loadbalance(?:/extension)?/leader", Kind.LEADER),
        (rf"/loadbalance/bundle-data/.+{_RANGE}", Kind.AVERAGE),
        (r"/loadbalance/broker-time-average/[^/]+", Kind.AVERAGE),
        (rf"/namespace/.+{_RANGE}", Kind.OWNER),
        (rf"{STATES}/.+{_RANGE}", Kind.STATE),
        (
            r"/loadbalance(?:/brokers|/extension|/broker-time-average|/bundle-data(?:/.+)?)?",
            Kind.PARENT,
        ),
        (rf"(?:/namespace|{STATES})(?:/.+)?", Kind.PARENT),
    )
)


def kind_of(path: str) -> Kind | None:
    """Return what a node is to a recording; None if it is nothing."""
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(path)), None)


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """A node as it was seen last."""

    #: Transaction that made it: one that was removed and made again is another node.
    made_by: int
    #: Of its value; 0 when it was made, and one more at each write.
    version: int
    #: Of the list of its children; one more whenever one is made or removed.
    children_version: int


@dataclass(frozen=True, slots=True)
class Count:
    """What was written and has been seen or not, as far as the store tells by its counting."""

    reports_missed: int
    #: Bundles got an owner or lost one: to go from one to another is both.
    owners_seen: int
    owners_missed: int
    #: Versions of bundles' states.
    states_seen: int = 0
    states_missed: int = 0

    @property
    def missed(self) -> int:
        """Return all that has not been seen."""
        return self.reports_missed + self.owners_missed + self.states_missed


class Ledger:
    """Everything that has been seen of the nodes, and the counting that shows what has not."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self.nodes: dict[str, NodeVersion] = {}
        #: Parent → its count of children's changes when first seen, and how many were seen since.
        self._first: dict[str, int] = {}
        self._changes: dict[str, int] = {}
        self._owners_seen = self._states_seen = 0
        #: Kind of a node whose versions count → how many were not seen.
        self._missed = dict.fromkeys((Kind.REPORT, Kind.STATE), 0)
        #: Before all has been seen once, nothing that comes new is a change.
        self.is_begun = False

    def is_new(self, path: str, node: NodeVersion) -> bool:
        """Return whether a node has changed since it was seen, and note how it stands now."""
        before, kind = self.nodes.get(path), kind_of(path)
        self.nodes[path] = node
        if before is not None and before.made_by == node.made_by:
            self._skipped(kind, node.version - before.version - 1)
            self._states_seen += kind is Kind.STATE and node.version != before.version
            return node.version != before.version
        self._states_seen += kind is Kind.STATE
        if self.is_begun:
            self._changed(path, 1 if before is None else 2)
            self._skipped(kind, node.version)
        return True

    def was_made_again(self, path: str, node: NodeVersion) -> bool:
        """Return whether a node was removed and made again since it was seen."""
        before = self.nodes.get(path)
        return before is not None and before.made_by != node.made_by

    def is_gone(self, path: str) -> bool:
        """Return whether a node was there that is not there now, and note it."""
        if self.nodes.pop(path, None) is None:
            return False
        self._changed(path, 1)
        return True

    def listed(self, path: str, node: NodeVersion) -> None:
        """Note how a parent stands."""
        before = self.nodes.get(path)
        if before is None or before.made_by != node.made_by:
            # Of one that was made since, all changes of its children are to be seen.
            self._first[path] = 0 if self.is_begun else node.children_version
            self._changes[path] = 0
            if self.is_begun:
                self._changed(path, 1 if before is None else 2)
        self.nodes[path] = node

    def count(self) -> Count:
        """Return the count of what was written, when all has just been looked at again."""
        missed = 0
        for path, first in self._first.items():
            node = self.nodes.get(path)
            if path.startswith("/namespace") and node is not None:
                missed += max(0, node.children_version - first - self._changes[path])
        return Count(
            self._missed[Kind.REPORT],
            self._owners_seen,
            missed,
            self._states_seen,
            self._missed[Kind.STATE],
        )

    def _skipped(self, kind: Kind | None, versions: int) -> None:
        """Note versions that were written and not seen, of a node whose versions count."""
        if kind in self._missed:
            self._missed[kind] += max(0, versions)

    def _changed(self, path: str, times: int) -> None:
        """Note that a node was made, removed, or both."""
        parent = path.rpartition("/")[0]
        if parent in self._changes:
            self._changes[parent] += times
        if kind_of(path) is Kind.OWNER:
            self._owners_seen += times
