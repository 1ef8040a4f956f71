"""Statements about who balances → a balancer, refused where its release has no such thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab.files.fields import Field, FieldError, shown
from trimtab.lab.simulate.balancer import Balancer
from trimtab.pulsar.sequences.sequences import known_release
from trimtab.trials.rehearse.language import Statement
from trimtab.trials.sweep.grid import Strategy, axes, pair
from trimtab.trials.sweep.task import NOBODY
from trimtab.trials.what_if.variants import refuse_uncovered

# A strategy that is asked about sheds, whether or not the cluster did.
_SHEDS = {"loadBalancerEnabled": "true", "loadBalancerSheddingEnabled": "true"}


def steered(balancer: Balancer, statements: Sequence[Statement]) -> Balancer:
    """Return a balancer as `strategy`, `release` and `set` have it.

    Raises:
        FieldError: there is no such strategy, release or key, or one is given twice.
    """
    _refuse_second(statements)
    # A release first, as it decides what else there is.
    chosen = balancer
    for each in sorted(statements, key=lambda it: ("release", "strategy", "set").index(it.verb)):
        try:
            chosen = _with(chosen, each)
        except FieldError as error:
            raise FieldError(each.path, error.found, error.expected) from error
    return chosen


def _with(balancer: Balancer, statement: Statement) -> Balancer:
    """Return a balancer with one thing changed, if the release has it."""
    what, settings = Field(statement.what), dict[str, str]()
    if statement.verb == "release":
        chosen = replace(balancer, release=known_release(what))
    elif statement.verb == "strategy":
        refuse_uncovered(statement.what)
        sheds, places = pair(what)
        shedder = None if sheds == NOBODY else sheds
        conf = {**balancer.conf, **_SHEDS}
        chosen = replace(balancer, shedder=shedder, placer=places, conf=conf)
    else:
        key, _, text = statement.what.partition("=")
        settings = {key: values[0] for key, values in axes(Field({key: text})).items()}
        chosen = replace(balancer, conf={**balancer.conf, **settings})
    named = chosen.shedder or NOBODY, chosen.placer
    Strategy(*named, chosen.release, settings, what).check(chosen.release)
    return chosen


def _refuse_second(statements: Sequence[Statement]) -> None:
    """Refuse what contradicts: two strategies, two releases, two values of one key."""
    first: dict[str, Statement] = {}
    for each in statements:
        what = each.what.partition("=")[0] if each.verb == "set" else each.verb
        other = first.setdefault(what, each)
        if other is not each:
            expected = f"one only: {shown(other.text)} contradicts it"
            raise FieldError(each.path, shown(each.what), expected)
