"""Bundles that stay on their way between two owners."""

from __future__ import annotations

from trimtab.diagnose.channel_evidence import of_transitions
from trimtab.diagnose.night import Channel, Finding, Night, Transition

#: State on the way → whose turn it is, as a field of the record.
_TURN = {"Assigning": "target", "Releasing": "source", "Splitting": "source"}


def stuck_in_state(night: Night) -> list[Finding]:
    """Find bundles that were Assigning, Releasing or Splitting for longer than lookups wait.

    A bundle on its way has no owner that serves it, and a lookup of it fails after
    loadBalancerInFlightServiceUnitStateWaitingTimeInMillis.  The leader's monitor overrides it at
    its next run: high where that did not happen in time, medium where it did.

    Source:
        ServiceUnitStateChannelImpl.java monitorOwnerships, deferGetOwnerRequest, 4.0.8
    """
    channel = night.channel
    if channel is None:
        return []
    waiting_s = channel.settings.waiting_s
    return [
        _finding(night, channel, each) for each in channel.transitions if each.is_stuck(waiting_s)
    ]


def _finding(night: Night, channel: Channel, stuck: Transition) -> Finding:
    settings = channel.settings
    is_late = stuck.lasted_s > settings.waiting_s + settings.monitor_interval_s
    broker = getattr(stuck, _TURN[stuck.state])
    others = (stuck.target, stuck.source)
    return Finding(
        "stuck-in-state.still" if stuck.is_last else "stuck-in-state",
        "high" if is_late else "medium",
        brokers=tuple(dict.fromkeys(filter(None, (broker, *others)))),
        bundles=(stuck.bundle,),
        numbers={"lasted_s": stuck.lasted_s, "waiting_s": settings.waiting_s},
        values={"state": stuck.state},
        **of_transitions(night, [stuck]),
    )
