"""The topic of bundles' states, read entry by entry over the admin API.

Nothing is left behind: no subscription, no cursor.  A client of Pulsar's is not needed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from trimtab.live.gather.access import Access
from trimtab.live.gather.batches import Message, messages_of
from trimtab.live.gather.calls import Answer, CallError, Calls, Limits
from trimtab.live.gather.cluster import TROUBLE, Asker
from trimtab.live.gather.folder import STATES_FILE, now_text, time_text

_TOPIC = "/admin/v2/persistent/pulsar/system/loadbalancer-service-unit-state"
_STATS = f"{_TOPIC}/internalStats"
#: Entries that are asked for at a time, over as many connections as are kept, and how many
#: before it is looked whether an end is asked for.
_AT_A_TIME, _IN_A_ROW = 4, 64
#: An end that was asked for is not to be kept waiting by a broker that is silent.
_IN_THE_END = Limits(connect_s=1.0, read_s=2.0, whole_s=4.0)


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """What the topic has given."""

    messages: int
    #: Entries that were there and could not be read any more.
    missed: int
    #: Records of bundles that no message has, by the records' own numbers: compacted away, or
    #: trimmed.
    lost: int

    @property
    def sentence(self) -> str:
        """Return it in one sentence."""
        return (
            f"{self.messages} messages of the topic of states, {self.missed} entries missed, "
            f"{self.lost} records gone before"
        )


class StateTopic:
    """Reads the topic from its earliest entry on, and then what comes."""

    def __init__(self, asker: Asker, access: Access) -> None:
        """Begin with nothing read."""
        self._asker = asker
        # Whoever asks for an end gets no answer by the usual calls any more.
        self._last = Calls(access, _IN_THE_END)
        #: Ledger → its first entry that has not been read, of those that there are.
        self._next: dict[int, int] = {}
        #: Ledger → how many entries it was known to have.
        self._sizes: dict[int, int] = {}
        self._n_messages = self._n_missed = self._n_lost = 0
        #: Bundle → number of its last record.
        self._versions: dict[str, int] = {}

    def read(self, is_over: threading.Event) -> None:
        """Record what has come since it was read last; what fails is read next time."""
        self._read(self._asker.anywhere, is_over.is_set)

    def _read(self, ask: Callable[[str], Answer], is_over: Callable[[], bool]) -> None:
        try:
            sizes = self._ledgers(ask)
        except (CallError, ValueError, KeyError, TypeError) as error:
            self._failed(_STATS, error)
            return
        self._asker.answered("", _STATS)
        self._note_missed(sizes)
        self._sizes = sizes
        due = [
            (ledger, entry)
            for ledger, size in sorted(sizes.items())
            for entry in range(self._next.get(ledger, 0), size)
        ]
        with ThreadPoolExecutor(_AT_A_TIME, "state-topic") as several:
            for start in range(0, len(due), _IN_A_ROW):
                if is_over():
                    return
                few = due[start : start + _IN_A_ROW]
                answers = several.map(partial(_answered, ask), map(_path, few))
                for place, answer in zip(few, answers, strict=True):
                    if not self._taken(place, answer):
                        return

    def close(self) -> TopicCounts:
        """Return what there is, after a last look."""
        self._read(partial(self._asker.anywhere, calls=self._last), lambda: False)
        counts = TopicCounts(self._n_messages, self._n_missed, self._n_lost)
        trouble = {"event": "topic of states", "said": counts.sentence}
        self._asker.folder.line(TROUBLE, time=now_text(), **trouble)
        return counts

    def _ledgers(self, ask: Callable[[str], Answer]) -> dict[int, int]:
        """Return the ledgers of the topic, and how many entries each has.

        Quirks:
            The last ledger is being written, and counts as empty; how far it has come stands
            in the last entry that is confirmed.
        """
        stats = json.loads(ask(_STATS).body)
        last, _, confirmed = str(stats["lastConfirmedEntry"]).partition(":")
        sizes = {int(each["ledgerId"]): int(each["entries"]) for each in stats["ledgers"]}
        if int(last) in sizes:
            sizes[int(last)] = max(sizes[int(last)], int(confirmed) + 1)
        return sizes

    def _note_missed(self, sizes: dict[int, int]) -> None:
        """Count what was there and is not any more, before it was read."""
        for ledger in [each for each in self._sizes if each not in sizes]:
            self._n_missed += self._sizes[ledger] - self._next.pop(ledger, 0)

    def _taken(self, place: tuple[int, int], answer: Answer | Exception) -> bool:
        """Return whether an entry was read, and record its messages."""
        ledger, entry = place
        if isinstance(answer, Exception):
            self._failed(_path(place), answer)
            return False
        try:
            messages = messages_of(answer.headers, answer.body)
            lines = [_line(message) for message in messages]
        except ValueError as error:
            # It will not be another the next time, and those behind it are to be read.
            self._failed(_path(place), error)
            self._n_missed += 1
            lines = []
        for line in lines:
            self._asker.folder.line(STATES_FILE, **line)
            self._note_lost(line)
        self._n_messages += len(lines)
        self._next[ledger] = entry + 1
        return True

    def _note_lost(self, line: Mapping[str, Any]) -> None:
        """Count the records between a message's and the one before, of which there is none.

        Quirks:
            Records of a bundle are numbered one by one, and begin anew after one that removes
            what is known.  One that lost a race has a number that another has too.
        """
        record, bundle = line["record"], line["bundle"]
        version = record.get("versionId") if isinstance(record, dict) else 0
        if isinstance(version, int):
            before = self._versions.get(bundle, 0)
            self._n_lost += max(0, version - before - 1)
            self._versions[bundle] = max(before, version) if version else 0

    def _failed(self, path: str, error: Exception) -> None:
        wrong = (
            error if isinstance(error, CallError) else CallError(path, f"not as expected: {error}")
        )
        self._asker.failed("", path, wrong)


def _path(place: tuple[int, int]) -> str:
    return f"{_TOPIC}/ledger/{place[0]}/entry/{place[1]}"


def _answered(ask: Callable[[str], Answer], path: str) -> Answer | Exception:
    try:
        return ask(path)
    except CallError as error:
        return error


def _line(message: Message) -> dict[str, Any]:
    """Return what a recording has of a message.

    Raises:
        ValueError: its value is not JSON.
    """
    record = json.loads(message.value) if message.value else None
    time = time_text(message.published_ms)
    return {"time": time, "bundle": message.key, "record": record}
