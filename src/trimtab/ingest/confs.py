"""Settings: broker.conf as deployed, and the effective values as a broker gives them."""

from __future__ import annotations

import json

from trimtab.ingest.entries import MalformedError, Row, decode
from trimtab.ingest.outcome import OTHER, Origin, Outcome, Rejected, Rows
from trimtab.pulsar.confs import (
    ConfError,
    conf_entry,
    dumped_entries,
    helm_entries,
    is_dump,
    runtime_entries,
)


def conf_line(text: str, origin: Origin) -> Outcome:
    """Return the setting in one line of a broker.conf, or of the same settings as YAML."""
    try:
        entry = conf_entry(text)
    except ConfError as error:
        return Rejected(str(error))
    if entry is None:
        return OTHER
    return Rows((_setting(origin, entry.key, entry.value, "conf"),))


def helm_values(text: str, origin: Origin) -> Outcome:
    """Return the broker's settings in a whole file of Helm values, or a ConfigMap."""
    rows = tuple(_placed(origin, "conf", *entry) for entry in helm_entries(text))
    return Rows(rows) if rows else Rejected("found no setting, expected broker.configData")


def runtime_config(text: str, origin: Origin) -> Outcome:
    """Return the settings in a broker's answer about those in effect, or in its dump of them.

    The rows say in `line` where in the document their key stands.
    """
    text = text.removeprefix("\ufeff")
    if is_dump(text) and not text.lstrip().startswith("{"):
        dumped = tuple(_placed(origin, "runtime", *entry) for entry in dumped_entries(text))
        return Rows(dumped) if dumped else Rejected("found an empty ServiceConfiguration()")
    try:
        settings = decode(text)
    except MalformedError as error:
        return Rejected(str(error))
    if not isinstance(settings, dict) or not settings:
        shown = json.dumps(settings)
        return Rejected(f"found {shown[:80]}, expected an object of settings")
    entries = runtime_entries(settings, text)
    return Rows(tuple(_placed(origin, "runtime", *entry) for entry in entries))


def _placed(origin: Origin, kind: str, key: str, value: str, line: int) -> Row:
    table, row = _setting(origin, key, value, kind)
    return table, row | {"line": line}


def _setting(origin: Origin, key: str, value: str, kind: str) -> Row:
    return "settings", {
        "log_broker": origin.log_broker,
        "key": key,
        "value": value,
        "origin": kind,
    }
