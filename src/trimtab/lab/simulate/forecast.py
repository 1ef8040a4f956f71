"""What will pass if nobody's bundles change hands: worked out for some stretches at once."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.lab.simulate.flow import Flow, Flows
from trimtab.lab.simulate.physics import Loaded
from trimtab.lab.simulate.traffic import Rows

# Numbers of a flow's traffic that are worked out ahead at most: it is for clusters in which
# a step takes longer to ask for than to compute.
_NUMBERS = 1 << 16


@dataclass(slots=True)
class Forecast:
    """Works flows out ahead, further each time that it was right, and anew when it was not.

    Properties:
        A flow is the same as if it had been worked out when it was asked for.
    """

    flows: Flows
    #: Ticks of the whole simulation, and before a flow that are asked for with it.
    n_ticks: int
    back: int
    _flow: Flow | None = None
    #: The tick after its last, and `Cluster.version` of which it holds.
    _end: int = 0
    _version: int = -1

    def flow(self, first: int, end: int) -> tuple[Rows, Flow]:
        """Return the traffic and what passes in the ticks from `first` up to `end`."""
        flow, cluster = self._flow, self.flows.cluster
        if flow is None or cluster.version != self._version:
            flow = self._worked_out(first, end)
        elif end > self._end:
            ahead = steps_ahead(len(cluster.bundles.names)) * self.flows.step_ticks
            flow = self._worked_out(first, max(end, first + min(2 * len(flow.work), ahead)))
        rows = self.flows.rows(first, end, self.back)
        return rows, flow if flow.first == first and self._end == end else _part(flow, first, end)

    def _worked_out(self, first: int, end: int) -> Flow:
        self._end, self._version = min(end, self.n_ticks), self.flows.cluster.version
        rows = self.flows.rows(first, self._end, self.back)
        self._flow = self.flows.flow(rows, first, self._end)
        return self._flow


def steps_ahead(n_bundles: int) -> int:
    """Return for how many steps of traffic it is worth to look ahead."""
    return _NUMBERS // max(1, n_bundles)


def _part(flow: Flow, first: int, end: int) -> Flow:
    """Return some ticks of a flow."""
    at = slice(first - flow.first, end - flow.first)
    brokers = flow.brokers
    return Flow(
        first,
        Loaded(brokers.cpu[at], brokers.nic_in[at], brokers.nic_out[at], brokers.passed[at]),
        flow.background[at],
        flow.offered[at],
        flow.served[at],
        flow.lost[at],
        flow.work[at],
    )
