"""What the extensible load manager's strategies decide in a sequence of rounds, and its story."""

from trimtab.extensible.decide import ExtensibleDecided, decide, result
from trimtab.extensible.rounds import ExtensibleRound, ExtensibleSequence, extensible_round
from trimtab.extensible.story import story

__all__ = [
    "ExtensibleDecided",
    "ExtensibleRound",
    "ExtensibleSequence",
    "decide",
    "extensible_round",
    "result",
    "story",
]
