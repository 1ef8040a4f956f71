"""A broker.conf as the rules look at it: what is written where, and what holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from trimtab.files.visible import visible
from trimtab.pulsar.keys import KEYS, Kind, Value
from trimtab.pulsar.releases import release_order
from trimtab.pulsar.settings import SettingError, setting

#: Package of the modular load manager's classes, and of the extensible one's.
IMPL = "org.apache.pulsar.broker.loadbalance.impl."
EXTENSIONS = "org.apache.pulsar.broker.loadbalance.extensions."

MODULAR, EXTENSIBLE, SIMPLE = "modular", "extensible", "simple"
#: Only some of the settings are here, and they do not go with the default.
UNKNOWN = "unknown"
_MANAGERS = {
    f"{IMPL}ModularLoadManagerImpl": MODULAR,
    f"{EXTENSIONS}ExtensibleLoadManagerImpl": EXTENSIBLE,
    f"{IMPL}SimpleLoadManagerImpl": SIMPLE,
}

SHEDDER_KEY = "loadBalancerLoadSheddingStrategy"
PLACER_KEY = "loadBalancerLoadPlacementStrategy"
MANAGER_KEY = "loadManagerClassName"

_SHOWN_MAX = 100
# Numbers as Double.parseDouble takes them beyond what settings do: 0.9d, 1f.
_JAVA_SUFFIX = re.compile(r"(?<=[\d.])[dDfF]$")


@dataclass(frozen=True, slots=True)
class Written:
    """One setting, as it stands in a file."""

    key: str
    #: As it is written.
    value: str
    #: Name of the file.
    source: str
    #: Line, from 1.
    line: int


@dataclass(frozen=True)
class Conf:
    """What one broker goes by, in one release."""

    #: Name of the file, or of the broker's first one.
    source: str
    #: A Pulsar release or a release line.
    release: str
    #: What is written and holds, key by key: the last where a key stands twice.
    written: Mapping[str, Written]
    #: What is written, and a later line of the same file overrules, oldest first.
    repeated: tuple[tuple[Written, Written], ...] = ()
    #: What the file says, and what the broker goes by instead.
    overruled: tuple[tuple[Written, Written], ...] = ()
    #: Lines that are no settings: their number and what is wrong.
    unreadable: tuple[tuple[int, str], ...] = ()
    #: The broker has told its settings itself.
    is_runtime: bool = False
    #: All of them: what is missing is no key of its release.
    is_whole: bool = False
    #: Limits of the network in kbit/s that the brokers' load reports have, if there are any.
    network_limits: frozenset[float] = frozenset()

    def value(self, key: str) -> Value | None:
        """Return a value as the broker reads it; None if the release lacks the key, or refuses it.

        Quirks:
            Of true and false whatever is not true is false, without a word.
        """
        try:
            return setting(self._texts, key, self.release)
        except SettingError:
            return False if KEYS[key].kind is Kind.BOOL else None

    def number(self, key: str) -> float | None:
        """Return a number; None if the release lacks the key, or the value is refused."""
        value = self.value(key)
        return None if value is None or isinstance(value, str) else float(value)

    def is_on(self, key: str) -> bool:
        """Return a flag; off if the release lacks the key."""
        return self.value(key) is True

    def text(self, key: str) -> str:
        """Return text; empty if the release lacks the key."""
        value = self.value(key)
        return "" if value is None else str(value)

    def is_written(self, key: str) -> bool:
        """Return whether a key is set at all; one that is set to nothing is not."""
        return key in self.written and bool(self.written[key].value.strip())

    def is_changed(self, key: str) -> bool:
        """Return whether a key is set to something else than its default."""
        return self.is_written(key) and self.value(key) != KEYS[key].default(self.release)

    def at(self, *keys: str) -> Written | None:
        """Return where the first of some keys that is set stands; None if none is set."""
        return next((self.written[key] for key in keys if self.is_written(key)), None)

    def fact(self, key: str) -> str:
        """Return what holds: `key = value`, or that it is not set and what the default is."""
        if self.is_written(key):
            return f"{key} = {shown(self.written[key].value.strip())}"
        default = KEYS[key].default(self.release)
        if default is None:
            return f"{key} is not known to release {self.release}"
        spelled = str(default).lower() if isinstance(default, bool) else simple_name(str(default))
        return f"{key} is not set: the default of release {self.release} is {spelled or 'nothing'}"

    def is_from(self, release: str) -> bool:
        """Return whether this is the release named, or a later one."""
        return release_order(self.release) >= release_order(release)

    @cached_property
    def manager(self) -> str:
        """The load manager: modular, extensible, simple, or a class of somebody else's.

        Not known where a shedder of the extensible one is set and no load manager: it may be
        set elsewhere, and whatever runs is not the modular one with that shedder.
        """
        if not self.is_written(MANAGER_KEY) and self.text(SHEDDER_KEY).startswith(EXTENSIONS):
            return UNKNOWN
        name = self.text(MANAGER_KEY)
        return _MANAGERS.get(name, name)

    @cached_property
    def shedder(self) -> str:
        """Simple name of the shedder, empty if nothing sheds; the whole one of foreign classes."""
        if not self.is_on("loadBalancerEnabled") or not self.is_on("loadBalancerSheddingEnabled"):
            return ""
        if self.manager == EXTENSIBLE:
            name = self.text(SHEDDER_KEY)
            return "TransferShedder" if name.startswith(IMPL) else name.rpartition(".")[2]
        return simple_name(self.text(SHEDDER_KEY)) if self.manager == MODULAR else ""

    @cached_property
    def placer(self) -> str:
        """Simple name of the placer; the extensible load manager's begins with its package."""
        if self.manager == EXTENSIBLE:
            return "ExtensionsLeastResourceUsageWithWeight"
        if self.manager != MODULAR:
            return ""
        name = simple_name(self.text(PLACER_KEY) or "LeastLongTermMessageRate")
        is_alone = name == "AvgShedder" and self.text(SHEDDER_KEY) != self.text(PLACER_KEY)
        return "LeastLongTermMessageRate" if is_alone and self.is_from("5.0.0") else name

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {
            key: _JAVA_SUFFIX.sub("", it.value.strip())
            if KEYS[key].kind in (Kind.FLOAT, Kind.OPTIONAL_FLOAT)
            else it.value
            for key, it in self.written.items()
            if key in KEYS
        }


def simple_name(name: str) -> str:
    """Return the short name of a class of the modular load manager's; others stay whole."""
    short = name.removeprefix(IMPL)
    return name if "." in short else short


def shown(text: str, longest: int = _SHOWN_MAX) -> str:
    """Return text of a file so that a terminal shows it and does nothing else, cut if long."""
    return visible(text, longest)
