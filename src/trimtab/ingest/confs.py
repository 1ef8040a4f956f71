"""Settings: broker.conf as deployed, and the effective values as a broker tells them."""

from __future__ import annotations

import json
import re

from trimtab.ingest.entries import MalformedError, Row, decode
from trimtab.ingest.outcome import OTHER, Origin, Outcome, Rejected, Rows

#: `loadBalancerEnabled=true`, or as Helm values have it: `  loadBalancerEnabled: "true"`.
_SETTING = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*(=|:(?=\s|$))\s*(.*?)\s*")
#: A YAML value behind which a comment may stand: `"true"  # why`.
_YAML_VALUE = re.compile(r"""(?:"([^"]*)"|'([^']*)'|(.*?))(?:(?:^|\s+)#.*)?""")


def conf_line(text: str, origin: Origin) -> Outcome:
    """Read one line of a broker.conf, or of the same settings as YAML.

    Quirks:
        The value is kept as it is written: `10 * 1024 * 1024`, which no broker accepts,
        is a row, so that it can be seen.  In the `key=value` form a `#` behind the value
        is part of it, as it is for the broker.  A YAML key without a value is a heading.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip() or text.lstrip().startswith(("#", "!")):
        return OTHER
    found = _SETTING.fullmatch(text)
    if found is None:
        return Rejected(f"found {text.strip()[:80]!r}, expected key=value")
    key, separator, value = found.groups()
    if separator == ":":
        written = _YAML_VALUE.fullmatch(value)
        value = next((group for group in written.groups() if group), "") if written else value
        if not value and '""' not in text and "''" not in text:
            return OTHER
    return Rows((_setting(origin, key, value, "conf"),))


def runtime_config(text: str, origin: Origin) -> Outcome:
    """Read a whole answer of a broker that was asked for its effective settings.

    The rows say in `line` where in the document their key stands.
    """
    try:
        found = decode(text.removeprefix("\ufeff"))
    except MalformedError as error:
        return Rejected(str(error))
    if not isinstance(found, dict) or not found:
        shown = json.dumps(found)
        return Rejected(f"found {shown[:80]}, expected an object of settings")
    rows = []
    place = 0
    for key, value in found.items():
        # Keys come in the document's order, so each is searched for behind the last one.
        at = re.compile(re.escape(json.dumps(key)) + r"\s*:").search(text, place)
        place = at.end() if at else place
        table, row = _setting(
            origin, key, value if isinstance(value, str) else json.dumps(value), "runtime"
        )
        rows.append((table, row | {"line": text.count("\n", 0, place) + 1}))
    return Rows(tuple(rows))


def _setting(origin: Origin, key: str, value: str, told_by: str) -> Row:
    return "settings", {
        "log_broker": origin.log_broker,
        "key": key,
        "value": value,
        "origin": told_by,
    }
