"""Of which time somebody is asked: as it was given, as recording.toml says, or as the logs go."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from trimtab.files.parameters import text_of
from trimtab.ingest.log_span import log_span
from trimtab.ingest.recording import Recording
from trimtab.live.gather.access import GatherError

_EXAMPLE = "a time such as 2026-11-21T22:00:00Z"


def text_of_time(name: str, value: object) -> str | None:
    """Return a time as the command line would give it; None where it is left out.

    Raises:
        FieldError: it is something else.
    """
    return value.isoformat() if isinstance(value, datetime) else text_of(name, value)


def span_of(recording: Recording, begin: str | None, end: str | None) -> tuple[datetime, datetime]:
    """Return from when to when a recording goes, in UTC; a time without a zone is in its zone.

    What is given counts before what recording.toml says, and that before the logs.

    Raises:
        GatherError: nothing says it, or it is no time.
    """
    begin, end = begin or recording.meta.get("from"), end or recording.meta.get("to")
    logs = None if begin and end else log_span(recording)
    first, last = logs or (None, None)
    return _checked(
        _moment("--from", begin, recording.zone) or first,
        _moment("--to", end, recording.zone) or last,
    )


def span_between(begin: str | None, end: str | None) -> tuple[datetime, datetime]:
    """Return from when to when, where there is no recording to say it; without a zone, in UTC.

    Raises:
        GatherError: as `span_of`.
    """
    return _checked(_moment("--from", begin, UTC), _moment("--to", end, UTC))


def _checked(begin: datetime | None, end: datetime | None) -> tuple[datetime, datetime]:
    for option, moment in (("--from", begin), ("--to", end)):
        if moment is None:
            raise GatherError(
                f"{option}: found nothing, and neither recording.toml nor a log says it; "
                f"expected {_EXAMPLE}"
            )
    assert begin is not None and end is not None
    if begin > end:
        raise GatherError(f"--to: found {end.isoformat()}, expected a time after --from")
    return begin, end


def _moment(option: str, value: str | None, zone: tzinfo) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise GatherError(f"{option}: found {value!r}, expected {_EXAMPLE}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
