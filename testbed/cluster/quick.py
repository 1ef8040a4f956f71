"""Rounds of a leader, and samples of a broker, that are seconds apart: a test need not wait.

The shortest interval that Pulsar's settings know is a minute.  In the class of the shedding
task, which does nothing but wait and call the load manager, the name of the unit that it
waits in is another; everything that decides is as it was released.  The same is done to the
class that reads CPU and network cards; it divides by the time that has really gone by.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

from cluster.java import BUILD, ClusterError, jars


@dataclass(frozen=True, slots=True)
class Part:
    """A class that waits."""

    #: Of the folder of what is made of it.
    name: str
    file: str
    #: How often it names seconds for something else.
    n_seconds: int


_PACKAGE = "org/apache/pulsar/broker/loadbalance"
ROUNDS = Part("quick", f"{_PACKAGE}/LoadSheddingTask.class", 0)
#: Of the extensible load manager; it counts the grace period of a bundle in the same unit.
TRANSFERS = Part("quick", f"{_PACKAGE}/extensions/scheduler/UnloadScheduler.class", 0)
HOST_USAGE = Part("quick-usage", f"{_PACKAGE}/impl/LinuxBrokerHostUsageImpl.class", 1)
#: As a class file has text: a tag, the length, the letters.
_MINUTES, _SECONDS = b"\x01\x00\x07MINUTES", b"\x01\x00\x07SECONDS"


def quickened(release: str, part: Part = ROUNDS) -> Path:
    """Return a folder with the class that counts its interval in seconds instead of minutes.

    Raises:
        ClusterError: the release's class is not as expected.
    """
    folder = BUILD / part.name / release
    made = folder / part.file
    if made.exists():
        return folder
    content = next(
        (
            archive.read(part.file)
            for path in sorted(jars(release).glob("pulsar-broker-*.jar"))
            for archive in [zipfile.ZipFile(path)]
            if part.file in archive.namelist()
        ),
        b"",
    )
    if content.count(_MINUTES) != 1 or content.count(_SECONDS) != part.n_seconds:
        found = content.count(_MINUTES)
        raise ClusterError(f"{part.file} of {release}: found MINUTES {found} times, expected once")
    made.parent.mkdir(parents=True, exist_ok=True)
    # Two clusters may be started at once.
    draft = made.with_suffix(f".{os.getpid()}.draft")
    draft.write_bytes(content.replace(_MINUTES, _SECONDS))
    draft.rename(made)
    return folder
