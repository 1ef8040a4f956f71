"""Settings: broker.conf as deployed, and the effective values as a broker tells them."""

from __future__ import annotations

import json

from trimtab.confs import ConfError, conf_entry, runtime_entries
from trimtab.ingest.entries import MalformedError, Row, decode
from trimtab.ingest.outcome import OTHER, Origin, Outcome, Rejected, Rows


def conf_line(text: str, origin: Origin) -> Outcome:
    """Read one line of a broker.conf, or of the same settings as YAML."""
    try:
        entry = conf_entry(text)
    except ConfError as error:
        return Rejected(str(error))
    if entry is None:
        return OTHER
    return Rows((_setting(origin, entry.key, entry.value, "conf"),))


def runtime_config(text: str, origin: Origin) -> Outcome:
    """Read a whole answer of a broker that was asked for its effective settings.

    The rows say in `line` where in the document their key stands.
    """
    text = text.removeprefix("\ufeff")
    try:
        found = decode(text)
    except MalformedError as error:
        return Rejected(str(error))
    if not isinstance(found, dict) or not found:
        shown = json.dumps(found)
        return Rejected(f"found {shown[:80]}, expected an object of settings")
    rows = []
    for key, value, line in runtime_entries(found, text):
        table, row = _setting(origin, key, value, "runtime")
        rows.append((table, row | {"line": line}))
    return Rows(tuple(rows))


def _setting(origin: Origin, key: str, value: str, told_by: str) -> Row:
    return "settings", {
        "log_broker": origin.log_broker,
        "key": key,
        "value": value,
        "origin": told_by,
    }
