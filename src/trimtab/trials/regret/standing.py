"""What was known at one time of a recorded night → who uses what, and what moves would do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.costs import Knowledge
from trimtab.lab.frontier import Question, question
from trimtab.lab.planning.columns import Column, Doubts, learned_cpu, weighed
from trimtab.lab.reconstruct.evidence import Reports
from trimtab.pulsar.model import Flags, Floats
from trimtab.trials.regret.network import Cards

# What is not known of the bytes on a wire for each that is counted, as a share of it, and of a
# level, percent.
_CARD_DOUBT = 0.05
_CARD_SWING = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """A cluster at one time."""

    question: Question
    columns: tuple[Column, ...]


def standing(known: Knowledge, cards: Cards, there: Flags, weights: Floats) -> Standing:
    """Return how a cluster stands, by what is known of it.

    Args:
        known: costs, traffic and owners.
        cards: what its NICs take.
        there: (n_brokers,) who is there.
        weights: (3,) how much CPU, NIC in and NIC out count.

    Properties:
        Who is not there, or has not measured its CPU, counts for nothing and takes nothing.
    """
    bundles = known.bundles
    names = ("network in", "network out")
    nics = [_card(name, cards, end) for end, name in enumerate(names)]
    columns = weighed((learned_cpu(known), *nics), weights.tolist())
    counted = there & ~np.isnan(known.brokers.level)
    asked = question(
        np.nan_to_num(np.stack([each.usage for each in columns], axis=1)),
        np.stack([each.speed for each in columns], axis=1),
        np.stack([each.cost for each in columns], axis=1),
        bundles.owner,
    )
    return Standing(_restrained(asked, counted, bundles.windows > 0), columns)


def is_there(reports: Reports, time_s: float, n_brokers: int) -> Flags:
    """Return who has reported by some time and not left since, (n_brokers,)."""
    until = slice(0, int(np.searchsorted(reports.time_s, time_s)))
    there = np.zeros(n_brokers, np.bool_)
    # Of several reports of a broker the last is what is.
    there[reports.broker[until]] = ~reports.is_gone[until]
    return there


def _restrained(asked: Question, counted: Flags, has_traffic: Flags) -> Question:
    """Return a question about those who count, and bundles of known traffic."""
    return replace(
        asked,
        is_movable=asked.is_movable & has_traffic,
        allowed=asked.allowed & counted,
        is_counted=counted,
    )


def _card(name: str, cards: Cards, end: int) -> Column:
    n_brokers, n_bundles = len(cards.level), len(cards.cost)
    return Column(
        name=name,
        usage=cards.level[:, end],
        deviation=np.full(n_brokers, _CARD_SWING),
        spread=np.zeros(n_brokers),
        speed=cards.speed[:, end],
        cost=cards.cost[:, end],
        doubts=Doubts(
            following=np.ones((n_bundles, 1)),
            covariance=np.array([[_CARD_DOUBT**2]]),
            speed=np.zeros(n_brokers),
            own=np.full(n_bundles, _CARD_DOUBT),
        ),
    )
