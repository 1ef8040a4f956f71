"""Every cause's family of recordings: what is drawn, and what is planted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from zlib import crc32

import numpy as np

from tools.precision import families_of_balancers, families_of_channels, families_of_clusters
from tools.precision.case import Case, drawn_night, hot
from trimtab.diagnose.findings import FINDINGS

Family = Callable[[Case, np.random.Generator], None]


def _family(code: str) -> Family | None:
    """Return the family of a cause, the function of its name; None if there is none."""
    modules = (families_of_balancers, families_of_clusters, families_of_channels)
    found = (getattr(module, code.replace("-", "_"), None) for module in modules)
    return next(filter(None, found), None)


#: Cause → its family, in the order of the findings.
FAMILIES: Mapping[str, Family] = {
    code: family for code in FINDINGS if (family := _family(code)) is not None
}
#: Healthy nights, under each strategy.
CLEAN: Mapping[str, tuple[str, str]] = {
    "clean-threshold": ("ThresholdShedder", "LeastResourceUsageWithWeight"),
    "clean-threshold-rate": ("ThresholdShedder", "LeastLongTermMessageRate"),
    "clean-overload": ("OverloadShedder", "LeastLongTermMessageRate"),
    "clean-uniform": ("UniformLoadShedder", "LeastLongTermMessageRate"),
    "clean-avg": ("AvgShedder", "AvgShedder"),
    "clean-channel": ("TransferShedder", "LeastResourceUsageWithWeight"),
}
#: Share of recordings that have something else planted besides.
_MIXED = 0.4


def missing() -> list[str]:
    """Return for each cause that nothing would judge which family is to be written."""
    return [
        f"{code}: found no family of recordings, expected `def {code.replace('-', '_')}(case, "
        "random)` in tools/precision/families_of_balancers.py, families_of_channels.py or "
        "families_of_clusters.py"
        for code in FINDINGS
        if code not in FAMILIES
    ]


def case(code: str, seed: int) -> Case:
    """Draw one recording of a family.

    Args:
        code: a cause, or a key of CLEAN.
        seed: of the recording.
    """
    random = np.random.default_rng((seed, crc32(code.encode())))
    drawn = drawn_night(code, seed, random)
    if code == "clean-channel":
        families_of_channels.clean_channel(drawn, random)
        return drawn
    if code in CLEAN:
        drawn.shedder, drawn.placer = CLEAN[code]
        _live(drawn, random)
        drawn.plants["came back"] = {}
        return drawn
    FAMILIES[code](drawn, random)
    if drawn.written is not None:
        return drawn
    if random.random() < _MIXED:
        _mix(drawn, random)
    drawn.plants.setdefault("came back", {})
    return drawn


def _live(drawn: Case, random: np.random.Generator) -> None:
    """Let a healthy cluster be as uneven and as restless as the laboratory has them."""
    del drawn.scenario["start"], drawn.scenario["clients"]
    drawn.scenario["machines"][0]["spikes_per_hour"] = 0.5
    bundles = drawn.scenario["bundles"][0]
    bundles |= {"jitter": 0.08, "sigma": float(random.uniform(0.3, 0.8)), "cost_sigma": 0.25}
    bundles |= {"fan_out": [0, 0.5, 1, 1, 1, 2, 3], "message_sigma": 0.8}
    if random.random() < 0.5:
        del drawn.scenario["settings"]["loadBalancerReportUpdateThresholdPercentage"]
    drawn.scenario["traffic"]["cpu_percent"] = int(random.integers(25, 61))


def _mix(drawn: Case, random: np.random.Generator) -> None:
    """Plant one or two things more that do not touch what the family is about."""
    others: tuple[tuple[str, dict[str, object]], ...] = (
        ("split refused", {"why": "full", "times": int(random.integers(1, 12))}),
        ("wrong manager", {"is_told": bool(random.random() < 0.5)}),
        ("nic unread", {}),
        ("unload failed", {"how": str(random.choice(["late", "refused"])), "share": 0.3}),
        ("skipped bundles", {"share": 0.4}),
    )
    for at in random.choice(len(others), int(random.integers(1, 3)), replace=False).tolist():
        name, parameters = others[at]
        drawn.plants.setdefault(name, dict(parameters))


__all__ = ["CLEAN", "FAMILIES", "case", "hot", "missing"]
