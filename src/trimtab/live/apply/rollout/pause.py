"""Pulsar's own shedding: switched off for a while, and put back as it was."""

from __future__ import annotations

import time

from trimtab.live.apply.admin import Admin
from trimtab.live.apply.live import LockHolder, each_of
from trimtab.live.apply.post import Pause
from trimtab.live.gather.access import GatherError
from trimtab.live.gather.calls import CallError

KEY = "loadBalancerSheddingEnabled"
_OFF = "false"
#: Within which brokers go by a dynamic setting: they are told by the metadata store.
_EFFECT_S = 30.0


def pause_now(admin: Admin, time_s: float, plan: str) -> Pause:
    """Return how Pulsar's own shedding stands, to be put back later.

    Raises:
        CallError: that cannot be read.
    """
    value = admin.settings(admin.leader()).get(KEY, "true")
    return Pause(time_s, value, admin.overrides().get(KEY, ""), plan)


def switch_off(admin: Admin, pause_s: float) -> None:
    """Switch Pulsar's own shedding off, and wait until every broker goes by that.

    Raises:
        GatherError: it cannot be, or a broker does not go by it.
    """
    admin.override(KEY, _OFF)
    if others := _others(admin, _OFF, pause_s):
        raise GatherError(
            f"{KEY} was switched off, and {_EFFECT_S:g} s later it is still on at {others}, so "
            "Pulsar may move bundles, too: restart these, or see why they do not follow; the same "
            "command goes on"
        )


def put_back(admin: Admin, post: LockHolder, pause_s: float) -> str:
    """Put Pulsar's own shedding back as a note has it; what was not put back stays noted.

    It may be done again whenever it was broken off.

    Returns:
        What is not quite as it was; empty if all is.

    Raises:
        CallError, LockError: it cannot be put back now.
    """
    pause = post.pause
    if pause is None:
        return ""
    override = admin.overrides().get(KEY, "")
    remark = ""
    if override not in {_OFF, pause.value, pause.override}:
        remark = f"somebody has set {KEY}={override} meanwhile, so it was left at that"
    elif override != pause.override or _others(admin, pause.value, 0.0):
        remark = _restored(admin, pause, pause_s)
    post.note_pause(None)
    return remark


def _restored(admin: Admin, pause: Pause, pause_s: float) -> str:
    """Return what is not quite as it was after a value was set, and its override removed."""
    # First set: releases that do not notice a removal would go on without shedding.
    admin.override(KEY, pause.value)
    others = _others(admin, pause.value, pause_s)
    if others:
        return (
            f"{KEY}={pause.value} was set, and {_EFFECT_S:g} s later is not so at {others}: should "
            "one of these lead, Pulsar goes by the other value; see why they do not follow"
        )
    if pause.override:
        return ""
    admin.override(KEY, "")
    others = _others(admin, pause.value, pause_s)
    if not others:
        return ""
    # It would be off there, so it is better set than as it was.
    admin.override(KEY, pause.value)
    return (
        f"{KEY}={pause.value} stays as a dynamic setting, where there was none: without it "
        f"{others} would not go by that"
    )


def _others(admin: Admin, value: str, pause_s: float) -> str:
    """Return the brokers that do not go by a value within a while; empty if all that answer do.

    Args:
        admin: of the cluster.
        value: of the setting.
        pause_s: between two looks; with 0 there is one alone.
    """

    def current(broker: str) -> str:
        try:
            return admin.settings(broker).get(KEY, "true")
        except CallError:
            # It reads the setting when it starts.
            return value

    last = time.monotonic() + _EFFECT_S
    while True:
        values = each_of(admin.brokers(), current)
        others = ", ".join(name for name in values if values[name].lower() != value.lower())
        if not others or not pause_s or time.monotonic() > last:
            return others
        time.sleep(pause_s)
