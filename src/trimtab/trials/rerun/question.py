"""What is asked when a recording is simulated again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path

from trimtab.files.errors import TrimtabError


class QuestionError(TrimtabError, ValueError):
    """What is asked cannot be answered; says which option, what was found and expected."""


@dataclass(frozen=True, slots=True)
class Question:
    """How a recording is to be simulated."""

    #: When the simulated leader takes over, and up to when it is compared; blank for the
    #: recording's beginning and end.
    from_text: str = ""
    to_text: str = ""
    #: Simulations, each with a seed of its own.
    n_seeds: int = 20
    #: Picture to draw, .svg or .png; None for none.
    plot: Path | None = None

    def __post_init__(self) -> None:
        """Check that a picture can be made, before the time for all else is spent.

        Raises:
            QuestionError: it cannot.
        """
        if self.plot is None:
            return
        if self.plot.suffix not in (".svg", ".png"):
            name = self.plot.name
            raise QuestionError(f"--plot: found {name!r}, expected a name in .svg or .png")
        if not self.plot.parent.is_dir():
            raise QuestionError(f"--plot: found no folder {str(self.plot.parent)!r}")


def moments(question: Question, from_s: float, to_s: float) -> tuple[float, float]:
    """Return from when to when is asked.

    Args:
        question: what is asked.
        from_s: s from 1970 at which the recording begins.
        to_s: s from 1970 at which it ends.

    Returns:
        s from the beginning of the recording.

    Raises:
        QuestionError: a text is no time, or the times are in no order within the recording.
    """
    begin = _seconds("--from", question.from_text, from_s) if question.from_text else from_s
    end = _seconds("--to", question.to_text, from_s) if question.to_text else to_s
    if not from_s <= begin < end <= to_s:
        raise QuestionError(
            f"--from, --to: found {_iso(begin)} to {_iso(end)}, expected a stretch within "
            f"{_iso(from_s)} to {_iso(to_s)}"
        )
    return begin - from_s, end - from_s


def _seconds(option: str, text: str, from_s: float) -> float:
    """Return a time, or a time of day on the recording's first day, in UTC."""
    first = datetime.fromtimestamp(from_s, UTC)
    try:
        if "-" in text:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        return datetime.combine(first.date(), time.fromisoformat(text), UTC).timestamp()
    except ValueError:
        raise QuestionError(
            f"{option}: found {text!r}, expected a time such as 07:15 or {_iso(from_s)}"
        ) from None


def _iso(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
