"""What the extensible load manager's strategies decide in a sequence of rounds, and its story."""

from trimtab.pulsar.sequences.extensible.decide import ExtensibleDecided, decide, result
from trimtab.pulsar.sequences.extensible.rounds import (
    ExtensibleRound,
    ExtensibleSequence,
    extensible_round,
)
from trimtab.pulsar.sequences.extensible.story import story

__all__ = [
    "ExtensibleDecided",
    "ExtensibleRound",
    "ExtensibleSequence",
    "decide",
    "extensible_round",
    "result",
    "story",
]
