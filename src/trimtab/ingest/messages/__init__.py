"""Every message that ingest knows, one file a family of classes that print them."""

from __future__ import annotations

from trimtab.ingest.messages import (
    admin,
    avg_shedder,
    broker_life,
    channel,
    extensible,
    host_usage,
    leadership,
    load_manager,
    overload_shedder,
    ownership,
    placement,
    splitting,
    threshold_shedder,
    uniform_load_shedder,
)
from trimtab.ingest.messages.message import Message

__all__ = ["MESSAGES", "Message"]

#: In the order of the page of log messages: decisions first, then what follows from them.
MESSAGES: tuple[Message, ...] = (
    *threshold_shedder.MESSAGES,
    *overload_shedder.MESSAGES,
    *uniform_load_shedder.MESSAGES,
    *avg_shedder.MESSAGES,
    *load_manager.MESSAGES,
    *placement.MESSAGES,
    *extensible.MESSAGES,
    *channel.MESSAGES,
    *ownership.MESSAGES,
    *leadership.MESSAGES,
    *broker_life.MESSAGES,
    *splitting.MESSAGES,
    *admin.MESSAGES,
    *host_usage.MESSAGES,
)
