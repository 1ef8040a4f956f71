"""A host that has more or fewer cores than before → all that is known of it in percent of these."""

from __future__ import annotations

import dataclasses

import numpy as np

from trimtab.lab.costs.knowledge import (
    CORES,
    CPU,
    HEAVIEST,
    NOISE,
    WRITTEN,
    Deviations,
    Knowledge,
    with_brokers,
)
from trimtab.lab.costs.look import Look, has_measured
from trimtab.pulsar.model import Floats


def resized(known: Knowledge, look: Look) -> Knowledge:
    """Return what is known with usages in percent of the cores that reports tell of now.

    A quota that is set, lifted or changed makes the same work another share of the host.

    Properties:
        Of brokers whose cores are as before, or that had not reported, nothing changes.
    """
    b, who = known.brokers, look.broker
    by_cores = b.by_cores.copy()
    sized = (look.cores > 0) & has_measured(look.cpu) & np.isfinite(b.written_s[who])
    by_cores[who[sized]] = CORES / look.cores[sized]
    share = by_cores / b.by_cores
    if (share == 1.0).all():
        return known
    square = share**2
    blocks, sums = b.blocks.copy(), b.open.copy()
    for column, by in ((CPU, share), (NOISE, square)):
        blocks[:, :, column] *= by[:, None]
        sums[:, column] *= by
    known = dataclasses.replace(known, deviations=_resized(known.deviations, share))
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


def _resized(of: Deviations, share: Floats) -> Deviations:
    """Return bases and windows, which are in points; a bundle deviates by as much as before."""
    mean, covariance, kept = of.mean.copy(), of.covariance.copy(), of.kept.copy()
    mean[:, HEAVIEST] *= share
    covariance[:, HEAVIEST, :] *= share[:, None]
    covariance[:, :, HEAVIEST] *= share[:, None]
    kept[:, :, :WRITTEN] *= share[:, None, None]
    return dataclasses.replace(
        of,
        mean=mean,
        covariance=covariance,
        noise=of.noise * share**2,
        kept=kept,
        lags_missed=of.lags_missed * share[:, None],
    )
