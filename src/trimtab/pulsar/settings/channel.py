"""What the extensible load manager's channel of bundle states goes by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from trimtab.pulsar.channel import IN_STORE, Kept
from trimtab.pulsar.settings.reader import Reader, by, flag, settings_of


def _waiting_s(read: Reader) -> float:
    """Return a time that was fixed before it became a setting."""
    ms = read.number("loadBalancerInFlightServiceUnitStateWaitingTimeInMillis", before=30_000)
    return ms / 1000.0


def _monitor_interval_s(read: Reader) -> float:
    """Return a time that was fixed before it became a setting."""
    return read.number("loadBalancerServiceUnitStateMonitorIntervalInSeconds", before=60)


def _kept(read: Reader) -> Kept:
    """Return where records are kept; before 4.0 always in the topic."""
    view = read.text("loadManagerServiceUnitStateTableViewClassName", before="")
    return Kept.STORE if view.endswith(IN_STORE) else Kept.TOPIC


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """What the channel goes by."""

    #: So long a bundle may be on its way, and so long its clients wait.
    waiting_s: float = by(_waiting_s)
    #: How often the leader looks for bundles that are on their way for longer.
    monitor_interval_s: float = by(_monitor_interval_s)
    kept: Kept = by(_kept)
    #: Decisions are logged in detail, and TransferShedder counts what it exchanges.
    is_debugging: bool = flag("loadBalancerDebugModeEnabled")


channel_settings = partial(settings_of, ChannelSettings)
