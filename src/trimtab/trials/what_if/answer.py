"""A replayed recording → the sentence that says whether anything would have been better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.report.contenders import figure
from trimtab.trials.what_if.matrix import COST, GAIN, alternatives


def answer(document: Mapping[str, Any]) -> str:
    """Return which change would have been better and by how much, or why that is not known.

    Args:
        document: a comparison of a recording, with its fidelity, strategies and changes.
    """
    if not document["fidelity"]["is_trusted"]:
        failed = [it["name"] for it in document["fidelity"]["checks"] if it["is_met"] is False]
        return (
            "What other strategies would have done is not known: the replay does not reproduce "
            f"what really happened ({', '.join(failed)})."
        )
    strategies, changes = document["strategies"], document["changes"]
    count = alternatives(strategies)
    if not changes:
        return (
            f"Of {count} other strategies and settings none is surely better than "
            f"{strategies[0]['label']}, which really steered."
        )
    first, *others = changes
    effects = {it["measure"]: it for it in first["effects"]}
    by = ", ".join(_effect(effects[name]) for name in (GAIN, COST))
    head = f"By the replay {_name(first)} would have been better: {by}"
    more = f"; {len(others)} more of {count} would have been, too" if others else ""
    return f"{head}{more}."


def _name(change: Mapping[str, Any]) -> str:
    """Return a strategy with its settings; its name says already what switches it on."""
    keys = (
        f" {key}={value}"
        for key, value in change["set"].items()
        if key != "loadBalancerSheddingEnabled" and not value.startswith("org.apache.pulsar.")
    )
    name = change["strategy"]
    return f"{name[:1].upper()}{name[1:]}{''.join(keys)}"


def _effect(effect: Mapping[str, Any]) -> str:
    """Return what a measure was and would have been."""
    now, then = (
        "unknown" if effect[end] is None else figure(effect[end]) for end in ("now", "then")
    )
    title = effect["title"][:1].lower() + effect["title"][1:]
    unit = f" {effect['unit']}" if effect["unit"] else ""
    return f"{title} {then} instead of {now}{unit}"
