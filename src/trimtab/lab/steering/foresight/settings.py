"""What Foresee goes by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Its numbers, and its parts, each of which can be switched off."""

    #: Points of spread from which evidence is collected, and points over it that are a full
    #: window's evidence.
    trigger: float = 11.0
    evidence: float = 6.0
    #: Widths of the bands: who is outside the outer one is brought inside the inner one.
    outer: float = 10.0
    inner: float = 6.0
    #: Points of spread at which an episode is over, and the outer width while it is open.
    episode: float = 10.0
    episode_outer: float = 9.0
    #: s after a plan before the next.
    settle_s: float = 175.0
    #: Windows of which the traffic of a bundle is a robust mean.
    windows: int = 6
    #: Of a plan with more moves than this, this share is carried out first.
    staged_from: int = 8
    staged: float = 0.6
    #: The parts.
    learning: bool = True
    robust: bool = True
    sequential: bool = True
    episodes: bool = True
    two_bands: bool = True
    staging: bool = True
    water: bool = True
    placement: bool = True
    patience: bool = True
    aside: bool = True
