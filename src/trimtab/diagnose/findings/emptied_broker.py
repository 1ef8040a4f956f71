"""Brokers that lost nearly all they had in one round."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.failed_orders import carried_out
from trimtab.diagnose.night import Finding, Night, Round

#: Share of the bundles, and their least number.
_SHARE, _BUNDLES = 0.9, 3


def emptied_broker(night: Night) -> list[Finding]:
    """Find rounds that took nine of ten bundles or more of a broker, and three at least.

    Where what can be moved is less than what is asked for, all of it is taken, idle bundles
    too, and the hot broker becomes the coolest.  UniformLoadShedder asks for a thousand
    messages at least, which is all that a broker with little traffic has.  By the bundles of
    its last report before the round; high.  A bundle whose unload failed was not taken.

    Source:
        impl/ThresholdShedder.java and impl/UniformLoadShedder.java findBundlesForUnloading,
        4.0.8 (#21905)
    """
    findings = []
    for logged in carried_out(night):
        for source in dict.fromkeys(move.source for move in logged.moves):
            had = _had(night, logged, source)
            moves = logged.moves_from(source)
            if had and len(moves) >= max(_BUNDLES, _SHARE * had):
                is_uniform = logged.strategy == "UniformLoadShedder"
                findings.append(
                    Finding(
                        "emptied-broker.uniform" if is_uniform else "emptied-broker",
                        "high",
                        logged.time,
                        logged.number,
                        brokers=(source,),
                        numbers={"bundles": had, "moved": len(moves)},
                        **of_moves(moves),
                    )
                )
    return findings


def _had(night: Night, logged: Round, broker: str) -> int | None:
    state = logged.brokers.get(broker)
    if state is not None and state.bundles is not None:
        return state.bundles
    reports = night.reports.get(broker)
    at = reports.at(logged.time) if reports else None
    return None if reports is None or at is None else int(reports.bundles[at])
