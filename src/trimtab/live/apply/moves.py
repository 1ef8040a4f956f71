"""A live cluster → the few moves worth making."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from trimtab.live.apply.drain import state_of
from trimtab.live.apply.live import each_of
from trimtab.live.apply.run import Reached
from trimtab.live.control.drain import Frame
from trimtab.live.control.level import Levelled, Wish, levelling
from trimtab.live.control.limits import Limits
from trimtab.pulsar.sequences.wording import aligned_rows, mebibytes


def level_plan(cluster: Reached, wish: Wish, shedding: str) -> Levelled:
    """Return a plan of the moves that bring the busiest brokers down.

    Raises:
        GatherError: a broker does not answer.
    """
    made_s = time.time()
    names = cluster.admin.brokers()
    states = each_of(names, lambda name: state_of(cluster, name))
    takers = frozenset(names) - cluster.unheld.draining
    frame = Frame(cluster.admin.cluster, made_s, Limits(), shedding)
    return levelling(states, takers, wish, frame)


def levelled_lines(levelled: Levelled) -> Iterator[str]:
    """Return lines of what each move is expected to bring: the best that so many moves can do."""
    highest, lowest = levelled.highest[0], levelled.lowest[0]
    yield f"{levelled.plan.cluster}: highest {highest:.1f} %, lowest {lowest:.1f} %"
    if not levelled.plan.moves:
        yield "No move would gain enough."
        return
    moves = levelled.plan.moves
    yield from aligned_rows(
        [
            ("move", [str(number + 1) for number in range(len(moves))]),
            ("bundle", [move.bundle for move in moves]),
            ("from", [move.source for move in moves]),
            ("to", [move.destination for move in moves]),
            ("traffic", [mebibytes(move.traffic_bytes_s) for move in moves]),
            ("highest", [f"{each:.1f} %" for each in levelled.highest[1:]]),
            ("lowest then", [f"{each:.1f} %" for each in levelled.lowest[1:]]),
        ]
    )


def levelled_json(levelled: Levelled) -> str:
    """Return the same to a program."""
    document = {
        "cluster": levelled.plan.cluster,
        "plan": levelled.plan.digest,
        "highest_percent": levelled.highest,
        "lowest_percent": levelled.lowest,
    }
    return json.dumps(document, indent=1)
