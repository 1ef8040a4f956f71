"""A host that has more or fewer cores than before → all that is known of it in percent of these."""

from __future__ import annotations

import numpy as np

from trimtab.lab.costs.knowledge import CORES, CPU, NOISE, Knowledge, with_brokers
from trimtab.lab.costs.look import Look


def resized(known: Knowledge, look: Look) -> Knowledge:
    """Return what is known with usages in percent of the cores that reports tell of now.

    A quota that is set, lifted or changed makes the same work another share of the host.

    Properties:
        Of brokers whose cores are as before, or that had not reported, nothing changes.
    """
    b, who = known.brokers, look.broker
    by_cores = b.by_cores.copy()
    sized = (look.cores > 0) & np.isfinite(b.written_s[who])
    by_cores[who[sized]] = CORES / look.cores[sized]
    share = by_cores / b.by_cores
    if (share == 1.0).all():
        return known
    square = share**2
    blocks, sums = b.blocks.copy(), b.open.copy()
    for column, by in ((CPU, share), (NOISE, square)):
        blocks[:, :, column] *= by[:, None]
        sums[:, column] *= by
    return with_brokers(
        known,
        by_cores=by_cores,
        rest=b.rest * share,
        blocks=blocks,
        open=sums,
        level=b.level * share,
        level_variance=b.level_variance * square,
        window_variance=b.window_variance * square,
        doubt=b.doubt * share,
        unverified=b.unverified * square,
        others=b.others * share,
        levels=b.levels * share[:, None],
    )
