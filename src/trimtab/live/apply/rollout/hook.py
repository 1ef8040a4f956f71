"""Whoever restarts a broker: a command, or somebody who is asked to."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from trimtab.live.apply.files import ONLY_OURS
from trimtab.live.gather.access import GatherError

#: For the id of a broker, its host, and the first part of that, as pods are called.
_MARKS = ("{broker}", "{host}", "{name}")


@dataclass(frozen=True, slots=True)
class Hook:
    """A command with its arguments, some of which stand for a broker's id, host or name."""

    #: Empty: nothing is begun, since somebody restarts the broker by hand.
    words: tuple[str, ...] = ()

    def begin(self, broker: str, output: Path) -> subprocess.Popen[bytes] | None:
        """Return the command, begun for a broker; None if there is none.

        It is its own session, so that Ctrl-C here does not break a restart off.

        Args:
            broker: its id.
            output: file of what it prints.

        Raises:
            OSError: it cannot be begun.
        """
        if not self.words:
            return None
        host = broker.rpartition(":")[0]
        values = dict(zip(_MARKS, (broker, host, host.partition(".")[0]), strict=True))
        words = [_filled(word, values) for word in self.words]
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, ONLY_OURS)
        try:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        finally:
            os.close(descriptor)


def hook_of(command: str) -> Hook:
    """Return the hook of a command line, whose words are split as a shell would, without one.

    Raises:
        GatherError: it is none, it names no broker, or there is no such command.

    >>> hook_of("true --restart {host}").words
    ('true', '--restart', '{host}')
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise GatherError(f"--hook: found {command!r}, expected a command: {error}") from None
    if not any(mark in word for word in words for mark in _MARKS):
        raise GatherError(f"--hook: found {command!r}, expected one of {', '.join(_MARKS)} in it")
    if shutil.which(words[0]) is None:
        raise GatherError(f"--hook: found no command {words[0]}, expected one that can be run")
    return Hook(words)


def _filled(word: str, values: dict[str, str]) -> str:
    for mark, value in values.items():
        word = word.replace(mark, value)
    return word
