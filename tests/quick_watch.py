"""trimtab beside brokers that count the minutes of a window of usage in seconds.

    python tests/quick_watch.py watch …

The harness does the same to the brokers' class (testbed/cluster/quick.py): `watch` then goes by
what they do, and not by what their settings say.
"""

from __future__ import annotations

from trimtab.cli import main
from trimtab.live.watch import costs

if __name__ == "__main__":
    setattr(costs, "MINUTE_S", 1.0)  # noqa: B010  # a constant everywhere else
    main()
