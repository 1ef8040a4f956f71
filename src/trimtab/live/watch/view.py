"""What a watch shows at each of its steps."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.live.watch.memory import Memory
from trimtab.live.watch.nouns import Action, Settings
from trimtab.live.watch.tally import Tally


@dataclass(frozen=True, slots=True)
class View:
    """One step."""

    settings: Settings
    memory: Memory
    #: What is new, and all that was said, added up.
    actions: list[Action]
    tally: Tally
    #: Lines that could not be read so far, and why the last of them.
    n_rejected: int = 0
    rejected_because: str = ""
