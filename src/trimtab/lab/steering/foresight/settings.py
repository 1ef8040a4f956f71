"""What Foresee goes by."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Brokers from which on they are many.
_MANY = 17


@dataclass(frozen=True, slots=True)
class Settings:
    """Its numbers, and its parts, each of which can be switched off."""

    #: Points of spread from which evidence is collected, and points over it that are a full
    #: window's evidence.
    trigger: float = 11.0
    evidence: float = 6.0
    #: Widths of the bands: who is outside the outer one is brought inside the inner one.
    outer: float = 11.0
    inner: float = 7.0
    #: A wider inner band that is taken where it needs fewer moves.
    lenient: float = 11.0
    #: Points of spread at which an episode is over, and the outer width while it is open.
    episode: float = 11.0
    episode_outer: float = 10.0
    #: Share of these widths that is allowed to many brokers.
    many: float = 0.65
    #: s after a plan before the next.
    settle_s: float = 140.0
    #: And for which it waits besides, until nearly all show in their reports what it did.
    seen_s: float = 240.0
    #: Windows of which the traffic of a bundle is a robust mean.
    windows: int = 6
    #: Of a plan with more moves than this, this share is carried out first.
    staged_from: int = 8
    staged: float = 0.6
    #: Share of brokers that may be in doubt and left alone, where the others are as far apart as
    #: all are.
    in_doubt: float = 0.0
    #: A report that contradicts the one before waits until it is confirmed.
    calm: bool = False
    #: s for which a broker that bundles came to or left is left alone until it reports.
    unseen_s: float = 420.0
    #: s after its first whole window from which such a broker's report is held against its level.
    sound_s: float = 0.0
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
    catching_up: bool = True


def sized(settings: Settings, n_brokers: int) -> Settings:
    """Return the settings for a cluster of so many brokers.

    The extremes of many are far apart, so their bands are narrower, and nobody is left near the
    edge.
    """
    if n_brokers < _MANY:
        return settings
    many = settings.many
    return replace(
        settings,
        outer=many * settings.outer,
        inner=many * settings.inner,
        lenient=many * settings.inner,
        episode=many * settings.episode,
        episode_outer=many * settings.episode_outer,
    )
