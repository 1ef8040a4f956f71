"""What only several files tell: brokers that differ, and what a broker goes by in truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.explanation.lint.conf import MANAGER_KEY, PLACER_KEY, SHEDDER_KEY, Conf, Written, shown
from trimtab.explanation.lint.rule import Match, Rule, Severity
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

CONF_RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "overruled",
        Severity.NOTE,
        "a key that the broker goes by in another way than its file says",
        "Dynamic settings are kept in the metadata store and overrule the file, on every broker "
        "and after every restart; changing the file changes nothing.",
        ("#725",),
        "the value in one place: pulsar-admin brokers delete-dynamic-config, or no line here",
        _overruled,
    ),
    Rule(
        "needs-restart",
        Severity.WARNING,
        "a strategy that was changed and has not started yet, or was changed behind the file",
        "Strategies are made when a broker starts.  The key of the shedder is called dynamic, and "
        "can be changed on a running cluster, but the old class goes on until a restart.",
        ("ModularLoadManagerImpl", "#26609"),
        "the class in the file, and a restart of all brokers",
        _needs_restart,
    ),
)

CLUSTER_RULES: tuple[Rule[Sequence[Conf]], ...] = (
    Rule(
        "settings-differ",
        Severity.WARNING,
        "brokers of one cluster that go by different settings of the load balancer",
        "The leader decides by its own settings, and any broker may be leader next: the cluster "
        "balances differently after each election.",
        ("#20058", "#13119"),
        "the same settings on every broker",
        _settings_differ,
    ),
)
