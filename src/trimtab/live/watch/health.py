"""How clients fare, by the brokers' own metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

#: Sums since a broker's start: of all latencies (ms), of all messages, of all failures.
_LATENCY, _MESSAGES = "pulsar_broker_publish_latency_sum", "pulsar_broker_publish_latency_count"
_FAILURES = ("pulsar_broker_lookup_failures_total", "pulsar_connection_create_fail_count")
_SAMPLE = re.compile(
    rf"^({'|'.join((_LATENCY, _MESSAGES, *_FAILURES))})(?:\{{[^}}]*\}})? (\S+)", re.MULTILINE
)


@dataclass(slots=True)
class Fares:
    """What brokers told last, so that what came since can be said."""

    _before: dict[str, dict[str, float]] = field(default_factory=dict)

    def since(self, texts: Mapping[str, str | None]) -> tuple[float, float]:
        """Return how clients fared since the last call.

        Args:
            texts: broker → its metrics as text; None if it did not answer.

        Returns:
            Mean publish latency, ms, and how many lookups and connections failed; NaN if
            nobody told it twice.

        Quirks:
            A broker that started anew begins its sums anew, and is left out once.
        """
        now = {broker: _sums(text) for broker, text in texts.items() if text is not None}
        grown = [
            {name: value - self._before[broker].get(name, 0.0) for name, value in sums.items()}
            for broker, sums in now.items()
            if broker in self._before
        ]
        self._before = now
        grown = [each for each in grown if min(each.values(), default=-1.0) >= 0.0]
        if not grown:
            return math.nan, math.nan
        messages = _total(grown, (_MESSAGES,))
        latency = _total(grown, (_LATENCY,)) / messages if messages else math.nan
        return latency, _total(grown, _FAILURES)


def _sums(text: str) -> dict[str, float]:
    sums: dict[str, float] = {}
    for name, value in _SAMPLE.findall(text):
        sums[name] = sums.get(name, 0.0) + float(value)
    return sums


def _total(grown: Iterable[Mapping[str, float]], names: Iterable[str]) -> float:
    listed = tuple(names)
    return sum(each.get(name, 0.0) for each in grown for name in listed)
