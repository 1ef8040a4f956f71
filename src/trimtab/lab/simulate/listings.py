"""Which bundles stand in whose bundle stats, and in whose report, and what that does to averages.

A bundle that moves stands in its old owner's report until that one has measured and
written again, and in its new owner's as soon as that one has: for a while in both or in
neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.averages import Averages
from trimtab.lab.simulate.reports import Writes
from trimtab.lab.simulate.standing import Listed
from trimtab.lab.simulate.windows import Counted
from trimtab.pulsar.model import Flags, Floats, Ints


@dataclass(slots=True)
class Former:
    """What a former owner of a bundle still says of it."""

    bundle: int
    broker: int
    #: It is in the broker's latest bundle stats, and in its report.
    is_listed: bool
    is_written: bool
    #: Messages/s of those bundle stats.
    rate_in: float
    rate_out: float


class Listings:
    """What owners say of their bundles, and former owners of those that they had."""

    def __init__(self, averages: Averages) -> None:
        """Start without any measurement."""
        self.averages, count = averages, averages.fed.size
        #: (n_bundles,) the owner's latest bundle stats have it, its report has it.
        self.is_listed: Flags = np.zeros(count, np.bool_)
        self.is_written: Flags = np.zeros(count, np.bool_)
        #: (n_bundles,) messages/s of the owner's latest bundle stats.
        self.rate_in: Floats = np.zeros(count)
        self.rate_out: Floats = np.zeros(count)
        #: Bundle → what its former owners still say of it.
        self.formers: dict[int, list[Former]] = {}

    def resume(self, owner: Ints, listed: Listed) -> None:
        """Begin with what brokers have written before, those too that have unloaded it since."""
        is_owner = owner[listed.bundle] == listed.broker
        mine = listed.bundle[is_owner]
        self.is_listed[mine] = self.is_written[mine] = True
        for rate, known in ((self.rate_in, listed.rate_in), (self.rate_out, listed.rate_out)):
            rate[mine] = known[is_owner]
        rates = self.rate_in[mine], self.rate_out[mine]
        clock = np.full(mine.size, self.averages.clock + 1)
        self.averages.resume(mine, listed.samples[is_owner], listed.average[is_owner])
        self.averages.sample(mine, clock, *rates)
        for row in np.flatnonzero(~is_owner).tolist():
            bundle, broker = int(listed.bundle[row]), int(listed.broker[row])
            last = float(listed.rate_in[row]), float(listed.rate_out[row])
            former = Former(bundle, broker, False, True, *last)
            self.formers.setdefault(bundle, []).append(former)

    def move(self, bundle: int, source: int, target: int) -> None:
        """Note that a bundle has another owner; -1 is nobody."""
        is_listed, is_written = bool(self.is_listed[bundle]), bool(self.is_written[bundle])
        if source >= 0 and (is_listed or is_written):
            rates = float(self.rate_in[bundle]), float(self.rate_out[bundle])
            former = Former(bundle, source, is_listed, is_written, *rates)
            self.formers.setdefault(bundle, []).append(former)
        self.is_listed[bundle] = self.is_written[bundle] = False
        for former in [f for f in self.formers.get(bundle, ()) if f.broker == target]:
            self.is_listed[bundle] = former.is_listed
            self.is_written[bundle] = former.is_written
            self.rate_in[bundle], self.rate_out[bundle] = former.rate_in, former.rate_out
            self._remove(former)

    def drop(self, broker: int, owned: Ints) -> None:
        """Forget what a broker said that the leader has dropped."""
        self.is_listed[owned] = self.is_written[owned] = False
        gone = [former for former in self.all_formers() if former.broker == broker]
        for former in gone:
            self._remove(former)
        lost = [former.bundle for former in gone]
        self.forget_unreported(np.append(owned, lost).astype(np.int64))

    def forget_unreported(self, bundles: Ints) -> None:
        """Let the leader forget those of some bundles that are in nobody's report."""
        unwritten = bundles[~self.is_written[bundles]].tolist()
        lost = [i for i in unwritten if not self._is_in_a_former_report(i)]
        self.averages.bundles.forget(np.array(lost, np.int64))

    def count(self, counted: Counted) -> None:
        """Take new bundle stats."""
        is_of_all = counted.bundles.size == self.is_listed.size
        at = slice(None) if is_of_all else counted.bundles
        self.rate_in[at], self.rate_out[at] = counted.rate_in, counted.rate_out
        self.is_listed[at] = counted.is_listed
        for former in self.all_formers():
            former.is_listed &= bool(counted.tick[former.broker] < 0)

    def vanish_first(self, owner: Ints, stale: Ints, fresh: Ints) -> None:
        """Forget what its last reporter leaves out before its owner's report has it.

        Reports with older bundle stats are taken before those with new ones, of whichever
        broker, and some are written after them.

        Args:
            owner: (n_bundles,) of the bundles.
            stale: first writes with bundle stats of an earlier stretch, from `first_writes`.
            fresh: those with bundle stats of this one.
        """
        early = [f for f in self.all_formers() if 0 < fresh[f.broker] < stale[owner[f.bundle]]]
        for former in sorted(early, key=lambda it: int(fresh[it.broker])):
            others = [f for f in self.formers[former.bundle] if f.is_written and f is not former]
            if former.is_written and not self.is_written[former.bundle] and not others:
                self._remove(former)
                self.averages.bundles.forget(np.array([former.bundle]))

    def write(self, owner: Ints, at: Ints) -> None:
        """Take what brokers write.

        Args:
            owner: (n_bundles,) of the bundles.
            at: (n_brokers + 1,) recomputation in which a broker's first report with its
                bundle stats counts, 0 if it wrote none.
        """
        writes = (at > 0).take(owner, mode="wrap")
        # What came back to an owner that has not measured it since is in its report no more.
        (left,) = (self.is_written & ~self.is_listed & writes).nonzero()
        if left.size:
            self.is_written[left] = False
            self.forget_unreported(left)
        (bundles,) = (writes & self.is_listed).nonzero()
        clock, is_new = at.take(owner.take(bundles)), ~self.is_written[bundles]
        new = bundles[is_new]
        if self.formers:
            self._vanish(at, dict(zip(new.tolist(), clock[is_new].tolist(), strict=True)))
        self.averages.meet(new, clock[is_new] - 1)
        rates = self.rate_in.take(bundles), self.rate_out.take(bundles)
        self.averages.sample(bundles, clock, *rates)
        self.is_written[bundles] = True

    def _vanish(self, at: Ints, new: dict[int, int]) -> None:
        """Take bundles out of the reports of former owners, and forget those in no other."""
        gone = [f for f in self.all_formers() if at[f.broker] > 0 and not f.is_listed]
        for former in gone:
            self._remove(former)
            bundle, clock = former.bundle, int(at[former.broker])
            is_elsewhere = (
                bool(self.is_written[bundle])
                or new.get(bundle, clock) < clock
                or self._is_in_a_former_report(bundle)
            )
            if former.is_written and not is_elsewhere:
                self.averages.bundles.forget(np.array([bundle]))
        for former in self.all_formers():
            if at[former.broker] > 0:
                self._write_again(former, int(at[former.broker]))

    def all_formers(self) -> list[Former]:
        """Return all of them, those of a bundle in the order in which they gave it up."""
        return [former for group in self.formers.values() for former in group]

    def _remove(self, former: Former) -> None:
        """Let a former owner say nothing more of its bundle."""
        left = [other for other in self.formers[former.bundle] if other is not former]
        if left:
            self.formers[former.bundle] = left
        else:
            del self.formers[former.bundle]

    def _is_in_a_former_report(self, bundle: int) -> bool:
        """Return whether a former owner's report lists a bundle."""
        return any(former.is_written for former in self.formers.get(bundle, ()))

    def _write_again(self, former: Former, clock: int) -> None:
        """Let a former owner that has not noticed yet report a bundle once more."""
        former.is_written = True
        bundle = np.array([former.bundle])
        if not self.is_written[former.bundle]:
            self.averages.meet(bundle, clock - 1)
            rates = np.array([[former.rate_in], [former.rate_out]])
            self.averages.sample(bundle, np.array([clock]), *rates)


def first_writes(writes: Writes, clock: int, is_fresh: bool, n_brokers: int) -> Ints:
    """Return in which recomputation each broker's first write of a kind counts, 0 for none.

    Each write is a recomputation; fresh are those with bundle stats of this stretch.

    Returns:
        (n_brokers + 1,), the last stands for nobody.
    """
    at = np.zeros(n_brokers + 1, np.int64)
    mine = (writes.is_fresh == is_fresh).nonzero()[0][::-1]
    at[writes.broker[mine]] = clock + 1 + mine
    return at
