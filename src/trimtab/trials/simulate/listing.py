"""The scenarios that trimtab brings, each with what it asks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from trimtab.lab.scenarios import built_in, scenario_of

_WIDTH = 100


def listing() -> Iterator[str]:
    """Return names and questions as lines, wrapped for reading."""
    names = built_in()
    margin = max(map(len, names)) + 2
    for name in names:
        scenario = scenario_of(name)
        size = f"{scenario.n_machines} brokers, {scenario.n_bundles} bundles:"
        yield from textwrap.wrap(
            f"{size} {scenario.question}",
            _WIDTH,
            initial_indent=name.ljust(margin),
            subsequent_indent=" " * margin,
        )
