"""Many samples fed to many averages, one after the other, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.leader.samples import Samples
from trimtab.pulsar.leader.time_average import averaged
from trimtab.pulsar.model import Flags, Floats, Ints

# Feedings after which those at rest are left out: to look costs as much as to feed thrice.
_STRIDE = 32
# Where an average that is fed for long may begin as well, as a share of the sample, and how often
# it is fed from there until it rests, at most: both for each sample in the average.
_NEAR = 2.0**-51
_SETTLING = 8
# Of a row's last samples so many are looked at for one before which nothing counts.
_BACK_MAX = 16
# Beyond it, and beyond one by it, numbers lose bits or overflow.
_LEAST = 1e-280


@dataclass(frozen=True, slots=True)
class Feedings:
    """What rows are fed, each row's samples together and in order."""

    #: (n,) ascending.
    rows: Ints
    #: (n, 5) METRICS and topics.
    samples: Floats
    #: (n,) how often each is fed, once or more.
    times: Ints

    def part(self, which: Flags | Ints) -> Feedings:
        """Return some of them."""
        return Feedings(self.rows[which], self.samples[which], self.times[which])

    def starts(self) -> Ints:
        """Return where each row's begin."""
        return np.flatnonzero(np.append(True, self.rows[1:] != self.rows[:-1])[: self.rows.size])

    def ends(self) -> Ints:
        """Return where each row's end."""
        starts = self.starts()
        return np.append(starts[1:], self.rows.size)[: starts.size]


def feedings(new: Samples, since: Ints, until: int) -> Feedings:
    """Return what rows are fed.

    Args:
        new: the samples.
        since: (n_rows,) how many feedings each row has had already.
        until: how many it is to have.
    """
    order = np.argsort(new.rows, kind="stable")
    rows, at = new.rows[order], new.at[order]
    is_last = np.append(rows[1:] != rows[:-1], True)[: rows.size]
    ends = np.where(is_last, until, np.append(at[1:], until)[: rows.size])
    times = ends - np.maximum(at, since[rows])
    # Of two that came before the same feeding only the second is fed.
    is_fed = times > 0
    return Feedings(rows[is_fed], new.samples[order[is_fed]], times[is_fed])


def turns(fed: Feedings) -> Iterator[Feedings]:
    """Yield what rows are fed turn by turn: their first sample, then their second."""
    starts = fed.starts()
    place = np.arange(fed.rows.size) - np.repeat(starts, fed.ends() - starts)
    by_place = np.argsort(place, kind="stable")
    for mine in np.split(by_place, np.cumsum(np.bincount(place))[:-1]):
        yield fed.part(mine)


def decisive(fed: Feedings, greatest: Floats, most: int) -> tuple[Feedings, Feedings]:
    """Return what need be fed, and for some rows the sample that stands for their average before.

    An average that rests on a sample lies so close to it that the next one, if it is another
    and is fed until the average rests again, brings it where it would have brought the sample
    itself: what came before need not be fed.

    Args:
        fed: what rows are fed.
        greatest: (4,) METRICS of which none has been greater so far, in averages and samples.
        most: the greatest number of samples in an average.

    Properties:
        The averages are the same to the last bit, and full.
    """
    starts, ends = fed.starts(), fed.ends()
    begins, is_open = starts.copy(), np.arange(starts.size)
    for back in range(1, _BACK_MAX + 1):
        at = ends[is_open] - back
        is_open, at = is_open[at > starts[is_open]], at[at > starts[is_open]]
        decides = _decides(fed, at, greatest, most)
        begins[is_open[decides]] = at[decides]
        is_open = is_open[~decides]
    behind = np.arange(fed.rows.size) >= np.repeat(begins, ends - starts)
    return fed.part(behind), fed.part(begins[begins > starts] - 1)


def _decides(fed: Feedings, at: Ints, greatest: Floats, most: int) -> Flags:
    """Return which feedings make the same of an average, whatever came before the one before."""
    near = most * _NEAR
    before, sample = fed.samples[at - 1, :4], fed.samples[at, :4]
    gap = np.abs(sample - before)
    is_plain = (np.minimum(before, sample) > _LEAST) & (np.maximum(before, sample) < 1.0 / _LEAST)
    with np.errstate(all="ignore"):
        # `_approach` tells how long it takes to rest; the average has to be filled before.
        rests = np.log(np.stack([2.0 * greatest / before, 2.0 * gap / sample]) / near)
        longest = (rests / -np.log1p(-1.0 / most) + (_SETTLING + 2) * most).max(axis=2)
        is_long = (longest < np.stack([fed.times[at - 1], fed.times[at]])).all(axis=0)
    # On the sample's side and not near it, wherever near the sample before the average rests.
    is_apart = gap > 2.0 * near * (before + sample)
    return np.asarray((is_plain & is_apart).all(axis=1) & is_long)


def feed(average: Floats, taken: Ints, most: int, sample: Floats, times: Ints) -> None:
    """Feed each average its sample, so many times.

    Args:
        average: (4, n) METRICS so far; changed in place.
        taken: (n,) samples in each, never more than `most`; changed in place.
        most: the greatest number of samples.
        sample: (4, n) of each.
        times: (n,) how often.

    Properties:
        The numbers are those of as many calls of `averaged`.
        What is fed the same comes to rest: each time the distance becomes a share of itself,
        and rounding does not turn it back.  So few feedings are as good as thousands.
    """
    young = np.clip(most - taken, 0, times)
    left = times - young
    with np.errstate(all="ignore"):
        if (places := _longest_first(young)).size:
            values, samples, counts = average[:, places], sample[:, places], taken[places]
            for n in _together(young[places]):
                counts[:n] += 1
                values[:, :n] = averaged(values[:, :n].T, counts[:n, None], samples[:, :n].T).T
            average[:, places], taken[places] = values, counts
        _approach(average, most, sample, left)
        while (places := _longest_first(left)).size:
            values, samples = average.take(places, axis=1), sample.take(places, axis=1)
            now = np.minimum(left[places], _STRIDE)
            for n in _together(now):
                # As `averaged` has it, in place; with one number for all in half the time.
                value = values[:, :n]
                value *= np.float64(most - 1)
                value += samples[:, :n]
                value /= np.float64(most)
            average[:, places] = values
            left[places] = np.where(are_at_rest(values, most, samples), 0, left[places] - now)


def _approach(average: Floats, most: int, sample: Floats, times: Ints) -> None:
    """Set averages that are fed until they rest close to where they do, on their side of it.

    A feeding never turns the order of two averages round, as none of its roundings does.  So all
    that begin on one side of the sample, and not within the few last bits in which feedings
    change nothing, come to rest at the same number, however far away they begin.

    Args:
        average: (4, n) so far; changed in place.
        most: the number of samples in each.
        sample: (4, n) of each.
        times: (n,) how often each is fed.
    """
    # Three roundings a feeding move it by as many times `most` units in the last place at most:
    # that far from the sample an average may rest, and this is five times as far.
    near = most * _NEAR
    long = np.flatnonzero(times > _SETTLING * most)
    if not long.size:
        return
    values, samples = average.take(long, axis=1), sample.take(long, axis=1)
    distance = (values - samples) / samples
    shares = np.log(np.abs(distance) / near) / -np.log1p(-1.0 / most)
    is_plain = (samples > _LEAST) & (samples < 1.0 / _LEAST) & (values < 1.0 / _LEAST)
    is_far = is_plain & (np.abs(distance) > near) & (shares + _SETTLING * most < times[long])
    average[:, long] = np.where(is_far, samples * (1.0 + np.copysign(near, distance)), values)


def are_at_rest(average: Floats, most: int, sample: Floats) -> Flags:
    """Tell which averages of as many samples as there may be the same sample changes no more."""
    after = averaged(average, most, sample)
    return np.asarray((after == average).all(axis=0))


def _longest_first(times: Ints) -> Ints:
    """Return where there is something to do, what is to be done most often first."""
    places = np.flatnonzero(times)
    return places[np.argsort(-times[places], kind="stable")]


def _together(times: Ints) -> list[int]:
    """Return for one feeding after the other how many take part."""
    together: list[int] = (times.size - np.cumsum(np.bincount(times)))[:-1].tolist()
    return together
