"""What is true of a recording: causes that were planted, or that the simulator knows of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trimtab.trials.record.files import iso

#: A finding may be dated so much before or after what it is about, ms.
_SLACK_MS = 180_000


@dataclass(frozen=True, slots=True)
class Planted:
    """One cause, and where it is to be found."""

    code: str
    #: Epoch ms between which it is dated; None for any time.
    since_ms: int | None = None
    until_ms: int | None = None
    #: A finding must name one of these; none: it need not name any.
    brokers: tuple[str, ...] = ()
    bundles: tuple[str, ...] = ()
    #: It is on the edge of what counts: it may be found, and need not be.
    is_marginal: bool = False

    def row(self) -> dict[str, Any]:
        """Lay it out for lab/truth.jsonl."""
        times = {"since": self.since_ms, "until": self.until_ms}
        return {
            "what": "cause",
            "code": self.code,
            **{name: None if time is None else iso(time) for name, time in times.items()},
            "brokers": list(self.brokers),
            "bundles": list(self.bundles),
            "is_marginal": bool(self.is_marginal),
        }

    def names(self, finding: Named) -> bool:
        """Return whether a finding is about this."""
        return (
            finding.code == self.code
            and (self.since_ms is None or finding.last_ms >= self.since_ms - _SLACK_MS)
            and (self.until_ms is None or finding.time_ms <= self.until_ms + _SLACK_MS)
            and (not self.brokers or bool(finding.brokers & set(self.brokers)))
            and (not self.bundles or bool(finding.bundles & set(self.bundles)))
        )


@dataclass(frozen=True, slots=True)
class Named:
    """A finding, as far as it is judged."""

    code: str
    severity: str
    time_ms: int
    brokers: frozenset[str]
    #: Those that it names, and those of the unloads that it names.
    bundles: frozenset[str]
    title: str
    #: When it was so last; None: it was so once.
    until_ms: int | None = None

    @property
    def last_ms(self) -> int:
        """Return when it was so last."""
        return self.time_ms if self.until_ms is None else self.until_ms
