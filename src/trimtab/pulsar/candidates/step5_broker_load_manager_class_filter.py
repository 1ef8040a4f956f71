"""Only brokers with a load manager of the same class may get a bundle."""

from __future__ import annotations

import numpy as np

from trimtab.pulsar.candidates.request import LostSelectionError, Request
from trimtab.pulsar.model import Flags, Ints


def broker_load_manager_class_filter(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers whose load manager is of the class that is configured here.

    Quirks:
        A report that does not name the class, as of brokers before 3.0, is of another
        class, so a newer leader gives older brokers nothing.
        A broker without a report is kept: it is the reports that are gone through.
        During a migration whoever asks gets its own kind, until it is leader no more.

    Source:
        apache/pulsar 3.0.2 to 5.0.1, impl/BrokerLoadManagerClassFilter.java filter;
        4.0.8 checked against runs of the class.
    """
    return candidates[_is_kept(request)[candidates]]


def broker_load_manager_class_filter_3_0(candidates: Ints, request: Request) -> Ints:
    """Keep the same, but throw if any report does not name the class.

    Raises:
        LostSelectionError: a broker reports without a class, candidate or not.

    Quirks:
        One broker of an older release is enough that the leader places nothing at all.

    Source:
        apache/pulsar 3.0.0, impl/BrokerLoadManagerClassFilter.java filter; read.
    """
    broker = _first_without_class(np.flatnonzero(request.brokers.is_reported), request)
    if broker is not None:
        raise LostSelectionError(f"{broker} reports no load manager class")
    return candidates[_is_kept(request)[candidates]]


def broker_load_manager_class_filter_extensible_3_0(candidates: Ints, request: Request) -> Ints:
    """Keep the same, but throw if a candidate does not name its class.

    Raises:
        LostSelectionError: a candidate names no class.

    Quirks:
        Of other filters a failure is passed over; this one's ends the selection.

    Source:
        apache/pulsar 3.0.0, extensions/filter/BrokerLoadManagerClassFilter.java filter; read.
    """
    broker = _first_without_class(candidates, request)
    if broker is not None:
        raise LostSelectionError(f"{broker} names no load manager class")
    return candidates[_is_kept(request)[candidates]]


def _is_kept(request: Request) -> Flags:
    wanted = request.settings.load_manager
    named = [name == wanted for name in request.brokers.load_managers]
    return np.array(named, dtype=np.bool_) | ~request.brokers.is_reported


def _first_without_class(candidates: Ints, request: Request) -> str | None:
    unnamed = (i for i in candidates.tolist() if request.brokers.load_managers[i] is None)
    return next((request.brokers.names[i] for i in unnamed), None)
