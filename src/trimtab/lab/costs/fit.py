"""Blocks of usage beside traffic → the costs that all brokers share, and each one's speed and rest.

The most probable costs, and by how much they may be off: Gauss's and Newton's steps, with the
weights of Student's distribution, so that a few blocks that fit nothing count for little.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.knowledge import (
    CONCENTRATION,
    COUNT,
    CPU,
    DEVIATION,
    FIRST,
    NOISE,
    REST_BEFORE,
    SLOWNESS_BEFORE,
    TIME,
    Knowledge,
    shared_before,
)
from trimtab.lab.costs.look import FULL
from trimtab.pulsar.model import Floats

# Steps from one look to the next; the last fit is where they begin.
_STEPS = 3
# Largest step of a logarithm: beyond it a straight line is not to be believed.
_STEP_MAX = 0.7
# Degrees of freedom of the weights.
_FREEDOM = 4.0
# Variance that is in any block, however long, points squared: hosts say whole ticks, and what
# a broker takes at rest goes up and down.  Chosen on runs for tuning; with 1.0 a cluster of known
# need was said to need too few brokers.
_BLOCK_VARIANCE = 0.5
# Share of the variance by bundles' own costs that changes from block to block: the rest stays as
# long as they do, and is in what the broker takes at rest.
_CHANGING = 0.5
# s after which a block counts a third.
_MEMORY_S = 86_400.0
# Brokers that what is taken beforehand of their differences counts as, and the share of that.
_ALIKE_BEFORE = 1.0
_ALIKE_SHARE = 0.3
# Largest logarithm of the exponent, either way: CPU that hardly grows with traffic is due to what
# costs beside it.
_EXPONENT_MAX = 0.5
# Windows below which the open block is not used yet.
_OPEN_MIN = 2.0


class _Slopes(NamedTuple):
    """What blocks are off, and by how much that depends on what is fitted."""

    #: (n_brokers, n_blocks) percent.
    missed: Floats
    variance: Floats
    #: (n_brokers, n_blocks, SHARED) and (…, 2).
    shared: Floats
    own: Floats


class _Before(NamedTuple):
    """What is taken before there is any block: means and 1/variances."""

    shared: Floats
    weight: Floats
    #: (n_brokers, 2)
    own: Floats
    own_weight: Floats


def fitted(known: Knowledge) -> Knowledge:
    """Return what is known with costs fitted to its blocks.

    Properties:
        With no block at all, what was taken before anything was learned.
        The order of brokers does not matter, but for rounding.
    """
    blocks = _blocks(known)
    before = _before(known)
    shared = known.shared
    own = np.stack((known.brokers.slowness, known.brokers.rest), axis=1)
    for _ in range(_STEPS):
        slopes = _slopes(known, blocks, shared, own)
        weight = _weights(blocks, slopes, known.time_s)
        schur, following, inverse = _curvature(slopes, weight, before)
        pull = before.weight @ (before.shared - shared)
        pull += np.einsum("bks,bk->s", slopes.shared, weight * slopes.missed)
        own_pull = before.own_weight * (before.own - own)
        own_pull += np.einsum("bki,bk->bi", slopes.own, weight * slopes.missed)
        covariance = _inverse(schur)
        step = covariance @ (pull - np.einsum("bis,bi->s", following, own_pull))
        step = np.clip(step, -_STEP_MAX, _STEP_MAX)
        own_step = np.einsum("bij,bj->bi", inverse, own_pull) - following @ step
        own_step[:, 0] = np.clip(own_step[:, 0], -_STEP_MAX, _STEP_MAX)
        shared, own = shared + step, own + own_step
        shared[-1] = np.clip(shared[-1], -_EXPONENT_MAX, _EXPONENT_MAX)
        own[:, 1] = np.maximum(own[:, 1], 0.0)
    brokers = dataclasses.replace(known.brokers, slowness=own[:, 0], rest=own[:, 1])
    known = dataclasses.replace(
        known,
        brokers=brokers,
        shared=shared,
        covariance=covariance,
        own_covariance=inverse,
        following=following,
    )
    return _alike(known)


def deviation_variance(known: Knowledge) -> float:
    """Return the variance of bundles' own costs about their traffic's, by what moves showed."""
    return DEVIATION**2 * float(known.missed[0] / known.missed[1])


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _blocks(known: Knowledge) -> Floats:
    """Return all blocks, (n_brokers, BLOCKS + 1, columns): those that are kept and the open one."""
    sums = known.brokers.open
    count = sums[:, :1]
    means = sums / np.maximum(count, 1.0)
    means[:, COUNT] = np.where(count[:, 0] >= _OPEN_MIN, count[:, 0], 0.0)
    return np.concatenate((known.brokers.blocks, means[:, None]), axis=1)


def _before(known: Knowledge) -> _Before:
    """Return what is taken before there is any block: brokers are like each other."""
    brokers = known.brokers
    mean, covariance = shared_before()
    own = np.stack((brokers.slowness, brokers.rest), axis=1)
    square = (own - known.alike_mean) ** 2 + _own_variance(known)
    weight = (_FREEDOM + 1.0) / (_FREEDOM + square / known.alike_variance) / known.alike_variance
    own = np.broadcast_to(known.alike_mean, weight.shape).copy()
    remembered = brokers.weight_before
    own[:, 0] = weight[:, 0] * own[:, 0] + remembered * brokers.slowness_before
    weight[:, 0] += remembered
    own[:, 0] /= weight[:, 0]
    return _Before(mean, _inverse(covariance), own, weight)


def _alike(known: Knowledge) -> Knowledge:
    """Return what is known with how much brokers differ: a few that are like no other count less.

    Only brokers with blocks tell; without any, all stays as it was taken to be.
    """
    brokers = known.brokers
    has = (brokers.blocks[:, :, COUNT] > 0).any(axis=1)
    own = np.stack((brokers.slowness, brokers.rest), axis=1)[has]
    variance = _own_variance(known)[has]
    start = np.array((0.0, REST_BEFORE[0])), np.array((SLOWNESS_BEFORE, REST_BEFORE[1])) ** 2
    square = (own - known.alike_mean) ** 2 + variance
    weight = (_FREEDOM + 1.0) / (_FREEDOM + square / known.alike_variance)
    count = _ALIKE_BEFORE + weight.sum(axis=0)
    mean = (_ALIKE_BEFORE * start[0] + (weight * own).sum(axis=0)) / count
    spread = (_ALIKE_BEFORE * start[1] * _ALIKE_SHARE + (weight * square).sum(axis=0)) / (
        _ALIKE_BEFORE + own.shape[0]
    )
    # The scale of all brokers is in the shared costs.
    mean[0] = 0.0
    return dataclasses.replace(known, alike_mean=mean, alike_variance=spread)


def _own_variance(known: Knowledge) -> Floats:
    """Return the variance of brokers' slowness and rest, (n_brokers, 2)."""
    by_itself = np.stack((known.own_covariance[:, 0, 0], known.own_covariance[:, 1, 1]), axis=1)
    by_shared = np.einsum("bis,st,bit->bi", known.following, known.covariance, known.following)
    return np.asarray(by_itself + by_shared)


def _slopes(known: Knowledge, blocks: Floats, shared: Floats, own: Floats) -> _Slopes:
    """Return what blocks are off by costs as they are now, and how that depends on them."""
    speed = known.brokers.by_cores * np.exp(own[:, 0])
    parts = blocks[:, :, FIRST:] * np.exp(shared[:-1]) * speed[:, None, None]
    work = parts.sum(axis=2)
    curve = curved(work, float(shared[-1]))
    missed = blocks[:, :, CPU] - own[:, 1:] - curve.cpu
    by_work = curve.slope * work
    deviation = _CHANGING * deviation_variance(known) * by_work**2 * blocks[:, :, CONCENTRATION]
    count = np.maximum(blocks[:, :, COUNT], 1.0)
    window = known.brokers.window_variance[:, None] / count
    return _Slopes(
        missed,
        window + blocks[:, :, NOISE] + deviation + _BLOCK_VARIANCE,
        np.concatenate((curve.slope[:, :, None] * parts, curve.by_exponent[:, :, None]), axis=2),
        np.stack((by_work, np.ones_like(work)), axis=2),
    )


def _weights(blocks: Floats, slopes: _Slopes, time_s: float) -> Floats:
    """Return how much blocks count, 1/variance; nothing where there is none."""
    age_s = np.maximum(time_s - blocks[:, :, TIME], 0.0)
    z2 = slopes.missed**2 / slopes.variance
    weight = (_FREEDOM + 1.0) / (_FREEDOM + z2) / slopes.variance * np.exp(-age_s / _MEMORY_S)
    # Who is full says that its traffic costs at least so much: more would not be to be seen.
    is_bound = (blocks[:, :, CPU] >= FULL) & (slopes.missed < 0.0)
    return np.where((blocks[:, :, COUNT] > 0) & ~is_bound, weight, 0.0)


def _curvature(slopes: _Slopes, weight: Floats, before: _Before) -> tuple[Floats, Floats, Floats]:
    """Return the inverse of the shared covariance, how brokers follow, and their own covariance."""
    shared = before.weight + np.einsum("bks,bk,bkt->st", slopes.shared, weight, slopes.shared)
    cross = np.einsum("bki,bk,bks->bis", slopes.own, weight, slopes.shared)
    own = np.einsum("bki,bk,bkj->bij", slopes.own, weight, slopes.own)
    own[:, (0, 1), (0, 1)] += before.own_weight
    inverse = np.linalg.inv(own)
    following = np.einsum("bij,bjs->bis", inverse, cross)
    return shared - np.einsum("bis,bit->st", cross, following), following, inverse
