"""Costs that were fitted → costs in one of the ways in which they may be, blocks considered.

What is known of a cost is known of its logarithm, and a few minutes leave single costs open by
a factor of two and more, while they say well what all of them take together.  Logarithms that
are drawn by their covariance keep that sum to first order only: one that is twice as high adds
more than one that is half as high takes away, so that all together cost too much.  So what is
measured and what was taken beforehand is drawn instead, and the costs are fitted to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from trimtab.lab.costs.fit import (
    Before,
    Fitted,
    all_blocks,
    block_weights,
    gauss_step,
    inverse_of,
    slopes_of,
    taken_before,
)
from trimtab.lab.costs.knowledge import COUNT, CPU, Knowledge
from trimtab.pulsar.model import Floats

#: A shape → so many numbers of the standard normal distribution.
Normals: TypeAlias = Callable[[tuple[int, ...]], Floats]

# Steps of a fit at most, and change of a logarithm and of points at which it is at its end.
_STEPS = 30
_CLOSE = 1e-4
# Times that a step is halved where the whole makes the fit worse.
_HALVES = 6


class _Target(NamedTuple):
    """What costs are fitted to: blocks that were measured otherwise, and other beliefs."""

    known: Knowledge
    blocks: Floats
    weight: Floats
    before: Before


def normals(random: np.random.Generator, sign: float) -> Normals:
    """Return what draws standard normal numbers, or with a sign of -1 their mirror images.

    A few draws are off on one side by chance; of a draw and its mirror image one is as far above
    as the other is below.
    """

    def numbers(shape: tuple[int, ...]) -> Floats:
        return sign * random.standard_normal(shape)

    return numbers


def fitted_draw(known: Knowledge, numbers: Normals) -> Fitted:
    """Return costs fitted to blocks, and to what was taken beforehand, as they may have been.

    Properties:
        With no block at all, they are drawn from what was taken before anything was learned.
        What blocks say of all costs together every draw says, as closely as blocks are sure.
    """
    own = np.stack((known.brokers.slowness, known.brokers.rest), axis=1)
    target = _target(known, own, numbers)
    costs = Fitted(known.shared, own)
    badness = _badness(target, costs)
    for _ in range(_STEPS):
        slopes = slopes_of(known, target.blocks, costs.shared, costs.own)
        by = gauss_step(slopes, target.weight, target.before, costs).by
        costs, by, badness = _stepped(target, costs, by, badness)
        if max(np.abs(by.shared).max(), np.abs(by.own).max(initial=0.0)) < _CLOSE:
            break
    return costs


def _stepped(
    target: _Target, costs: Fitted, by: Fitted, badness: float
) -> tuple[Fitted, Fitted, float]:
    """Return the costs after a step, the step and how badly they fit then.

    A step that makes the fit worse is halved; if that does not help, it is none.
    """
    for _ in range(_HALVES):
        tried = Fitted(costs.shared + by.shared, costs.own + by.own)
        worse = _badness(target, tried)
        if worse <= badness:
            return tried, by, worse
        by = Fitted(by.shared / 2.0, by.own / 2.0)
    return costs, Fitted(0.0 * by.shared, 0.0 * by.own), badness


def _target(known: Knowledge, own: Floats, numbers: Normals) -> _Target:
    """Return blocks and beliefs, each off by as much as it may be."""
    blocks, before = all_blocks(known), taken_before(known)
    weight = block_weights(blocks, slopes_of(known, blocks, known.shared, own), known.time_s)
    # Who has told nothing is what it was taken to be.
    is_told = np.any(blocks[:, :, COUNT] > 0, axis=1, keepdims=True)
    own_mean = np.where(is_told, before.own, own)
    root = np.linalg.cholesky(inverse_of(before.weight))
    shared = before.shared + root @ numbers(before.shared.shape)
    own_mean = own_mean + numbers(own.shape) / np.sqrt(before.own_weight)
    noise = np.divide(1.0, np.sqrt(weight), out=np.zeros_like(weight), where=weight > 0)
    blocks = blocks.copy()
    blocks[:, :, CPU] += noise * numbers(weight.shape)
    return _Target(known, blocks, weight, before._replace(shared=shared, own=own_mean))


def _badness(target: _Target, costs: Fitted) -> float:
    """Return how badly costs fit: twice the negative logarithm of how likely they are."""
    before = target.before
    missed = slopes_of(target.known, target.blocks, costs.shared, costs.own).missed
    off, own_off = costs.shared - before.shared, costs.own - before.own
    return float(
        (target.weight * missed**2).sum()
        + off @ before.weight @ off
        + (before.own_weight * own_off**2).sum()
    )
