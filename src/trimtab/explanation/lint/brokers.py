"""What only several files tell: brokers that differ, and what a broker goes by in truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trimtab.explanation.lint.conf import MANAGER_KEY, PLACER_KEY, SHEDDER_KEY, Conf, Written, shown
from trimtab.explanation.lint.rule import Finder, Match
from trimtab.pulsar.keys import KEYS

#: May differ from machine to machine, for good reason.
_OF_MACHINES = {"loadBalancerOverrideBrokerNicSpeedGbps", "loadBalancerOverrideBrokerNics"}
#: Read when a broker starts, although the first is called dynamic.
_AT_START = (SHEDDER_KEY, PLACER_KEY)


def _overruled(conf: Conf) -> Iterator[Match]:
    for written, holds in conf.overruled:
        if written.key not in _AT_START:
            yield _other(written, holds)


def _needs_restart(conf: Conf) -> Iterator[Match]:
    for written, holds in conf.overruled:
        if written.key in _AT_START:
            yield _other(written, holds)


def _other(written: Written, holds: Written) -> Match:
    return Match(
        f"{written.key} = {shown(written.value.strip())} in the file, and the broker goes by "
        f"{shown(holds.value.strip()) or 'nothing'} ({shown(holds.source)}:{holds.line})",
        written,
        written.key,
    )


def _settings_differ(confs: Sequence[Conf]) -> Iterator[Match]:
    for key in (name for name in KEYS if name not in _OF_MACHINES):
        values: dict[object, list[Conf]] = {}
        for conf in confs:
            values.setdefault(_spelled(conf, key), []).append(conf)
        if len(values) < 2:
            continue
        values_by_file = "; ".join(
            f"{shown(str(value)) or 'nothing'} in {', '.join(shown(it.source) for it in those)}"
            for value, those in values.items()
        )
        first = next((at for conf in confs if (at := conf.at(key))), None)
        instead = f"one value of {key} for all brokers"
        why = _MANAGERS_DIFFER if key == MANAGER_KEY else ""
        yield Match(f"{key} differs between brokers: {values_by_file}", first, key, instead, why)


def _spelled(conf: Conf, key: str) -> str:
    value = conf.value(key)
    if value is None:
        return conf.written[key].value.strip() if key in conf.written else "unknown"
    return str(value).lower() if isinstance(value, bool) else str(value)


_MANAGERS_DIFFER = (
    "A broker that reports another load manager than the leader's is no candidate for anything."
)


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "overruled": _overruled,
    "needs-restart": _needs_restart,
    "settings-differ": _settings_differ,
}
