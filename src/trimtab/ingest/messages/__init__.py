"""Every message that ingest knows, one file a family of classes that print them."""

from __future__ import annotations

from trimtab.ingest.messages.message import Message, messages_in

__all__ = ["MESSAGES", "Message"]

#: In the order of the page of log messages: decisions first, then what follows from them.
_FAMILIES = (
    "threshold_shedder",
    "overload_shedder",
    "uniform_load_shedder",
    "avg_shedder",
    "load_manager",
    "placement",
    "extensible",
    "channel",
    "ownership",
    "leadership",
    "broker_life",
    "splitting",
    "admin",
    "host_usage",
)
MESSAGES: tuple[Message, ...] = tuple(
    message for family in _FAMILIES for message in messages_in(f"{family}.toml")
)
