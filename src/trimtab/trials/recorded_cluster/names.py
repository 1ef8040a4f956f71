"""Names of brokers or bundles → their positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.pulsar.model import Ints


class Names:
    """Names in their order; -1 is the position of what is none of them."""

    def __init__(self, names: Sequence[str]) -> None:
        """Number names, each once."""
        self.names = tuple(sorted(set(names)))
        self._at = {name: i for i, name in enumerate(self.names)}

    def at(self, name: str | None) -> int:
        """Return the position of a name."""
        return self._at.get(name or "", -1)

    def all(self, names: Sequence[str | None]) -> Ints:
        """Return the positions of many names."""
        return np.array([self.at(name) for name in names], np.int64)
