"""Bundles that TransferShedder gave up without saying who is to have them."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Finding, Night
from trimtab.pulsar.channel import SHEDDER


def shed_without_destination(night: Night) -> list[Finding]:
    """Find rounds of TransferShedder whose bundles got no destination.

    With loadBalancerTransferEnabled the bundle goes straight to the broker for which it was
    chosen.  Without, it is free until a client looks for it, and a placement strategy that knows
    nothing of the round says where it goes.  One finding a round, medium.

    Source:
        TransferShedder.java findBundlesForUnloading, isLoadBalancerTransferEnabled, 4.0.8
    """
    findings = []
    for logged in night.rounds:
        without = [move for move in logged.moves if move.target is None]
        if logged.strategy != SHEDDER or not without:
            continue
        findings.append(
            Finding(
                "shed-without-destination",
                "medium",
                without[0].time,
                logged.number,
                brokers=tuple(dict.fromkeys(move.source for move in without)),
                numbers={"without": len(without)},
                **of_moves(without),
            )
        )
    return findings
