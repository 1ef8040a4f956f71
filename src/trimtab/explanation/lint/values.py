"""Values that Pulsar refuses, misreads, or takes in another unit than was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import Conf
from trimtab.explanation.lint.rule import Finder, Match
from trimtab.explanation.lint.traps import traps
from trimtab.pulsar.keys import KEYS, Kind
from trimtab.pulsar.settings import SettingError, setting

_JAVA_FLOAT = re.compile(r"(?<=[\d.])[dDfF]$")
#: What people write for false, and what it happens to be.
_MEANT_FALSE = {"no", "off", "0", "f", "n", "none", "disabled"}
_NUMBERS = (Kind.INT, Kind.LONG, Kind.FLOAT, Kind.OPTIONAL_FLOAT)


def _refused(conf: Conf) -> Iterator[Match]:
    for key, written in conf.written.items():
        if key not in KEYS or KEYS[key].kind not in _NUMBERS or not conf.is_written(key):
            continue
        text = written.value.strip()
        if KEYS[key].kind in (Kind.FLOAT, Kind.OPTIONAL_FLOAT):
            text = _JAVA_FLOAT.sub("", text)
        try:
            setting({key: text}, key, conf.release)
        except SettingError as error:
            hint = ""
            if "#" in text or "//" in text:
                hint = ": what stands behind the value is part of it, a comment too"
            elif text.endswith("%"):
                hint = ": percent are written without the sign"
            yield Match(
                f"{conf.fact(key)}: expected {error.expected}{hint}",
                written,
                key,
                f"{key}={_default(conf, key)}, or another number like it",
            )


def _default(conf: Conf, key: str) -> str:
    default = KEYS[key].default(conf.release)
    return str(default) if default not in (None, "") else "10"


def _not_true_nor_false(conf: Conf) -> Iterator[Match]:
    for key, written in conf.written.items():
        if key not in KEYS or KEYS[key].kind is not Kind.BOOL or not conf.is_written(key):
            continue
        text = written.value.strip().lower()
        if text not in {"true", "false"} and text not in _MEANT_FALSE:
            yield Match(
                f"{conf.fact(key)} counts as false: only the word true is true",
                written,
                key,
                f"{key}=true, or {key}=false",
            )


def _percent_for_fraction(conf: Conf) -> Iterator[Match]:
    for row in traps("values", "percent-for-fraction"):
        (key,) = row.keys
        value = conf.number(key)
        if value is not None and value > 1:
            fraction = f"{value / 100:g}" if value < 100 else KEYS[key].default(conf.release)
            yield Match(
                f"{conf.fact(key)}: expected a fraction such as {fraction}",
                conf.at(key),
                key,
                f"{key}={fraction}",
                evidence=tuple(row.evidence),
            )


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "refused-value": _refused,
    "not-true-nor-false": _not_true_nor_false,
    "percent-for-fraction": _percent_for_fraction,
}
