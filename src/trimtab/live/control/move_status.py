"""What the guards say of every move of a plan now, asked before anything is done."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.live.control.guards import GUARDS, Needless, Objection
from trimtab.live.control.memory import Memory, Phase
from trimtab.live.control.plan import Plan, PlannedMove
from trimtab.live.control.view import View


@dataclass(frozen=True, slots=True)
class MoveStatus:
    """One move, and what each guard says of it."""

    move: PlannedMove
    #: It was made already, or is under way: its guards were not asked.
    is_begun: bool
    #: Guards that object, by name, in the order in which they are asked.
    objections: tuple[tuple[str, Objection], ...]

    @property
    def may_go(self) -> bool:
        """Return whether nothing stands against it, or it needs not be made."""
        return all(isinstance(statuses, Needless) for _, statuses in self.objections[:1])


def standings(plan: Plan, view: View, memory: Memory) -> tuple[MoveStatus, ...]:
    """Return what every guard says of every move that was not begun.

    Properties:
        Each move is asked about as if its turn were now; what the moves before it will
        have done is not foreseen.
    """
    statuses = []
    for number, move in enumerate(plan.moves):
        is_begun = number < memory.move or (
            number == memory.move and (memory.phase is not Phase.READY or memory.attempts > 0)
        )
        at = replace(memory, move=number, phase=Phase.READY, attempts=0, holder=None)
        answers = [] if is_begun else [(guard.__name__, guard(plan, view, at)) for guard in GUARDS]
        objections = tuple((name, each) for name, each in answers if each is not None)
        statuses.append(MoveStatus(move, is_begun, objections))
    return tuple(statuses)
