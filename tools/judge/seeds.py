"""Which seeds are for tuning, and which for judging.

Whoever changes a strategy looks at TUNING alone.  Seeds for judging are drawn after a change is
frozen, by `drawn`, from the name of the commit that froze it, and never looked at again for tuning.
"""

from __future__ import annotations

import hashlib

#: For whoever tunes.
TUNING = range(100, 106)
#: Those that were looked at in earlier work and are worth nothing for judging any more: first and
#: last.
SPENT = ((0, 29), (100, 105), (500, 505))
_FROM, _UP_TO = 10_000, 4_000_000_000


def drawn(commit: str, count: int) -> tuple[int, ...]:
    """Return seeds for judging what a commit froze.

    >>> drawn("0123abc", 2) == drawn("0123abc", 3)[:2]
    True
    """
    digests = (hashlib.blake2b(f"{commit} {i}".encode(), digest_size=8) for i in range(count))
    span = _UP_TO - _FROM
    return tuple(_FROM + int.from_bytes(each.digest(), "big") % span for each in digests)
