"""What is seen of a cluster and remembered of it → commands with predictions, and why, or why not.

Strategies of trimtab's own stand here, beside Pulsar's, which are copied in `trimtab.pulsar`.
A strategy is two pure functions over one memory: `step` says what is to be moved, `place` where a
bundle goes that a client looks up.  `STRATEGIES` has them by name, `named` reads a name with its
settings.  The simulator calls them, and whoever watches a real cluster may do the same.
"""

from trimtab.lab.steering.registry import (
    STRATEGIES,
    Entry,
    Named,
    StrategyError,
    bare,
    is_own,
    named,
    own,
)
from trimtab.lab.steering.view import (
    Answer,
    Asked,
    Change,
    Command,
    Fate,
    Member,
    Network,
    Prediction,
    Sight,
    View,
)

__all__ = [
    "STRATEGIES",
    "Answer",
    "Asked",
    "Change",
    "Command",
    "Entry",
    "Fate",
    "Member",
    "Named",
    "Network",
    "Prediction",
    "Sight",
    "StrategyError",
    "View",
    "bare",
    "is_own",
    "named",
    "own",
]
