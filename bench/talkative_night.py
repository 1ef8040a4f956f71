"""How long it takes to explain a night whose brokers log as much as real ones do."""

from __future__ import annotations

from bench.night import LARGE, Size, measured
from bench.table import Table
from trimtab.trials.record import Options

#: What the median broker logged in the recordings of real clusters once it had started; one
#: scrape a minute; and logs packed, as brokers roll them.
_TALKATIVE = Options(
    noise_per_hour=9_000.0, metrics_s=60.0, rest_s=0.0, are_exported=True, is_packed=True
)


def talkative_night(size: Size = LARGE) -> Table:
    """Measure the stages of `trimtab explain` on a night whose brokers log much."""
    return measured(size, _TALKATIVE)
