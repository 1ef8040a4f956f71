"""Records of bundles that the channel must not take."""

from __future__ import annotations

from trimtab.diagnose.channel_evidence import of_transitions
from trimtab.diagnose.night import Finding, Night, Transition

#: What does not follow, as the channel's rules have it → the wording of it.
_WORDINGS = {
    "state": "illegal-transition.state",
    "brokers": "illegal-transition.brokers",
    "version": "illegal-transition.version",
}


def illegal_transition(night: Night) -> list[Finding]:
    """Find states that followed on others which they must not follow.

    Whoever writes to the store looks first, and whoever reads the topic leaves out what does not
    follow, so such a record in the store, or one that a broker acts by, was written past the
    check: by hand, by another release, or by the copying between the two.  High.

    Source:
        ServiceUnitStateDataConflictResolver.java shouldKeepLeft, 4.0.8
    """
    channel = night.channel
    return [
        _finding(night, each)
        for each in (channel.transitions if channel else ())
        if each.verdict.startswith("illegal")
    ]


def _finding(night: Night, odd: Transition) -> Finding:
    reason = odd.verdict.partition(": ")[2]
    brokers = (odd.ordered_by, odd.target, odd.source)
    return Finding(
        _WORDINGS[reason],
        "high",
        brokers=tuple(dict.fromkeys(filter(None, brokers))),
        bundles=(odd.bundle,),
        numbers={"version": odd.version or 0},
        values={
            "before": odd.before,
            "state": odd.state,
            "owner": odd.owner or "nobody",
            "source": odd.source or "nobody",
            "target": odd.target or "nobody",
        },
        **of_transitions(night, [odd]),
    )
