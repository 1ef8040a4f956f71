"""What a watch says, as lines that people read."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.live.watch.nouns import Acted, Action, Compared, Decided, Relearn, Scored, Settings
from trimtab.live.watch.targets import moves_of

_SHOWN = 3


def words(action: Action, settings: Settings) -> str:
    """Return an action in one line; empty if it is not worth one."""
    match action:
        case Relearn(leader, since):
            return f"{since:%H:%M:%S}Z {leader} leads"
        case Decided():
            head = f"{action.time:%H:%M:%S}Z round {action.number}"
            if action.shadow is None:
                return f"{head}: {settings.shedder} has nothing to decide on"
            guessed = f" ({action.guessed})" if action.guessed else ""
            would = moves(moves_of(action.shadow))
            return f"{head}: {settings.shedder} would unload {would}{guessed}"
        case Compared(number, logged):
            did = moves([(move.bundle, move.source, move.target) for move in logged.moves])
            head = f"{logged.time:%H:%M:%S}Z round {number}: Pulsar unloaded {did}"
            return f"{head}; {verdict(logged.recomputed.equal)}: {logged.recomputed.why}"
        case Acted():
            return _acted(action)
        case Scored():
            return ""


def _acted(action: Acted) -> str:
    head = f"{action.time:%H:%M:%S}Z round {action.number}"
    signs = f"; not well: {', '.join(action.signs)}" if action.signs else ""
    if action.is_over:
        states = [state for _, state in action.states]
        counts = ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(states))
        return f"{head}: moved: {counts or 'nothing'}{f'; {action.why}' if action.why else ''}"
    if action.why:
        return f"{head}: nothing is moved: {action.why}{signs}"
    if not action.moves and not signs:
        return ""
    what = f"moving {action.moves}" if action.moves else "moving nothing yet"
    return f"{head}: {what}, up to {action.allowed:.2g} a round{signs}"


def moves(triples: Sequence[tuple[str, str, str | None]]) -> str:
    """Return some moves as text, of many the first."""
    if not triples:
        return "nothing"
    texts = [
        f"{bundle} from {source} to {target or 'nobody'}"
        for bundle, source, target in triples[:_SHOWN]
    ]
    more = f" and {len(triples) - _SHOWN} more" if len(triples) > _SHOWN else ""
    return ", ".join(texts) + more


def verdict(equal: bool | None) -> str:
    """Return how a round stands to its recomputation."""
    return {True: "equal", False: "DIFFERS", None: "not decidable"}[equal]
