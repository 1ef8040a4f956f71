"""What a person sees while a watch runs: lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trimtab.watch.memory import Memory
from trimtab.watch.nouns import Action, Settings
from trimtab.watch.words import words


def shown(steps: Iterable[tuple[Settings, Memory, list[Action]]]) -> Iterator[str]:
    """Give a line for whatever is said."""
    for settings, _, actions in steps:
        for action in actions:
            if line := words(action, settings):
                yield line
