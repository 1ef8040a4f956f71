"""Which day the lines of a log are of that print the time of day alone, as Pulsar's console does.

A dated line of the same log says it, else recording.toml's `from`; else, where nothing in the
recording has a date, a day is assumed.  Whatever says it, each midnight that the lines pass
begins the next day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta

from trimtab.files.assumed_day import ASSUMED, ASSUMED_DAY
from trimtab.ingest.layouts import LogLine, inner_line, log_line
from trimtab.ingest.outcome import Origin
from trimtab.ingest.recording import RecordedFile, Recording
from trimtab.ingest.splits import DamagedError, cut, read_blocks

#: Sources whose rows have no time.
_TIMELESS = frozenset({"recording", "conf", "helm-values", "runtime-config", "log"})
#: Bytes at the head of a log that show whether its lines have dates.
_HEAD = 8 << 10
_DAY_S = 24 * 60 * 60
#: A clock that goes back by more than this has passed midnight; by less, lines are in disorder.
_MIDNIGHT_S = _DAY_S // 2
#: Logs of one stretch of time: so long may one be silent before another begins.
_SILENCE_S = 60 * 60


@dataclass(slots=True)
class _Undated:
    """A log in which lines have no date, as far as it was read."""

    #: Times of day of the first and the last line, seconds.
    first_s: int | None = None
    last_s: int = 0
    #: Days passed since the first line.
    days: int = 0
    #: The day of the first line, by a line that has a date; None where none has.
    base: date | None = None
    #: Byte of the unpacked text from which on → days after the first line's.
    turns: list[tuple[int, int]] | None = None

    def pass_by(self, line: LogLine, place: int) -> None:
        """Take the next line, which begins at a byte."""
        second = _second_of_day(line.clock)
        if second is None:
            return
        before = self.days
        if self.first_s is None:
            self.first_s = second
        elif second < self.last_s - _MIDNIGHT_S:
            self.days += 1
        self.last_s = second
        if line.day is not None and (day := _date(line.day)) is not None:
            self.base = self.base or day - timedelta(days=self.days)
            self.days = (day - self.base).days
        if self.days != before:
            self.turns = [*(self.turns or ()), (place, self.days)]

    def interval(self, shift: int) -> tuple[int, int]:
        """Return from when to when it goes if its first day is so many days late, in seconds."""
        first = (self.first_s or 0) + shift * _DAY_S
        return first, self.last_s + (self.days + shift) * _DAY_S


def with_days(recording: Recording) -> Recording:
    """Return a recording that knows the days of its lines without a date, as far as can be known.

    Where a day is assumed, the recording's `meta` says which.
    """
    logs = recording.files.get("log", ())
    heads = {file.name: _has_dates(file) for file in logs}
    undated = {file.name: _read(file) for file in logs if False in heads[file.name]}
    if not undated:
        return recording
    meta = recording.meta
    bases = {name: _base(each, recording) for name, each in undated.items()}
    is_dated = any(bases.values()) or set(recording.files) - _TIMELESS
    if not is_dated and not any(True in days for days in heads.values()):
        bases |= _lined_up(undated, {file.name: file.path.stat().st_size for file in logs})
        meta = meta | {ASSUMED: ASSUMED_DAY.isoformat()}
    files = tuple(
        replace(file, day=base, turns=tuple(undated[file.name].turns or ()))
        if (base := bases.get(file.name)) is not None
        else file
        for file in logs
    )
    return replace(recording, meta=meta, files=recording.files | {"log": files})


def of_days(origin: Origin, blocks: Iterable[bytes], place: int) -> Iterator[tuple[Origin, bytes]]:
    """Yield blocks of whole lines, cut where the next day begins, each with the day's origin.

    Args:
        origin: of the file, with the day of its first line.
        blocks: of the unpacked text.
        place: where in it the first of them begins.
    """
    day = origin.day
    if day is None or not origin.turns:
        for block in blocks:
            yield origin, block
        return
    for block in blocks:
        cuts = [turn for turn, _ in origin.turns if place < turn < place + len(block)]
        for start, end in zip([place, *cuts], [*cuts, place + len(block)], strict=True):
            days = max((turn for turn in origin.turns if turn[0] <= start), default=(0, 0))[1]
            of_day = replace(origin, day=day + timedelta(days=days))
            yield of_day, block[start - place : end - place]
        place += len(block)


def _base(undated: _Undated, recording: Recording) -> date | None:
    """Return the day of a log's first line: by its dated lines, else by recording.toml."""
    begin = recording.begin
    if undated.base is not None or begin is None or undated.first_s is None:
        return undated.base
    begin_s = begin.hour * 3600 + begin.minute * 60 + begin.second
    # A log that begins after midnight is of the night that began in the evening.
    is_next = undated.first_s < begin_s - _MIDNIGHT_S
    return begin.date() + timedelta(days=is_next)


def _lined_up(undated: Mapping[str, _Undated], sizes: Mapping[str, int]) -> dict[str, date]:
    """Return the assumed days of logs that go with the largest one in a single way.

    Times of day alone do not say whether two logs are of one night: a log is left out unless
    exactly one day puts it beside, or right behind, those that are placed.
    """
    largest = max(undated, key=lambda name: (sizes[name], name))
    shifts = {largest: 0}
    is_changed = True
    while is_changed:
        placed = [undated[name].interval(shift) for name, shift in shifts.items()]
        days = max(last for _, last in placed) // _DAY_S + 1
        more: dict[str, int] = {}
        for name in undated.keys() - shifts.keys():
            fits = [
                shift
                for shift in range(-1 - undated[name].days, days + 1)
                if any(_is_beside(undated[name].interval(shift), other) for other in placed)
            ]
            if len(fits) == 1:
                more[name] = fits[0]
        shifts |= more
        is_changed = bool(more)
    first = min(shifts.values())
    return {name: ASSUMED_DAY + timedelta(days=shift - first) for name, shift in shifts.items()}


def _is_beside(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] + _SILENCE_S and other[0] <= one[1] + _SILENCE_S


def _read(file: RecordedFile) -> _Undated:
    """Return what a log's own lines say of its days."""
    undated = _Undated()
    for place, line in _timed_lines(_blocks(file)):
        undated.pass_by(line, place)
    return undated


def _has_dates(file: RecordedFile) -> set[bool]:
    """Return whether the first lines of a log that have a time have a date as well."""
    head = next(_blocks(file), b"")[:_HEAD]
    return {line.day is not None for _, line in _timed_lines([head])}


def _blocks(file: RecordedFile) -> Iterator[bytes]:
    """Yield a log's unpacked text as far as it can be read: whoever parses it names the damage."""
    origin = Origin(file.name, file.log_broker, UTC, None)
    try:
        for split in cut(file.path, origin, "log"):
            yield from read_blocks(split)
    except DamagedError:
        return


def _timed_lines(blocks: Iterable[bytes]) -> Iterator[tuple[int, LogLine]]:
    """Yield the lines that have a time, each with the byte of the text that it begins at."""
    place = 0
    for block in blocks:
        for text in block.split(b"\n"):
            line = _timed(text)
            if line is not None:
                yield place, line
            place += len(text) + 1
        # Behind the last end of a line stands nothing, or a line without an end.
        place -= 1


def _timed(text: bytes) -> LogLine | None:
    """Return the parts of a line; None where it has no time."""
    if text.startswith(b"\t") or not text:
        return None
    return log_line(inner_line(text.decode("utf-8", "replace").removeprefix("\ufeff")))


def _second_of_day(clock: str) -> int | None:
    hour, minute, second = map(int, clock.split(":"))
    return hour * 3600 + minute * 60 + second if hour < 24 and max(minute, second) < 60 else None


def _date(day: str) -> date | None:
    try:
        return date.fromisoformat(day)
    except ValueError:
        return None
