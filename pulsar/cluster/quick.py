"""A leader whose rounds are seconds apart, so that a test need not wait for minutes.

The shortest interval that Pulsar's settings know is a minute.  In the class of the shedding
task, which does nothing but wait and call the load manager, the name of the unit that it
waits in is another; everything that decides is as it was released.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from cluster.java import BUILD, ClusterError, jars

_TASK = "org/apache/pulsar/broker/loadbalance/LoadSheddingTask.class"
#: As a class file has text: a tag, the length, the letters.
_MINUTES, _SECONDS = b"\x01\x00\x07MINUTES", b"\x01\x00\x07SECONDS"


def quickened(release: str) -> Path:
    """Return a folder with the class that counts `loadBalancerSheddingIntervalMinutes` in seconds.

    Raises:
        ClusterError: the release's class is not as expected.
    """
    folder = BUILD / "quick" / release
    made = folder / _TASK
    if made.exists():
        return folder
    content = next(
        (
            archive.read(_TASK)
            for path in sorted(jars(release).glob("pulsar-broker-*.jar"))
            for archive in [zipfile.ZipFile(path)]
            if _TASK in archive.namelist()
        ),
        b"",
    )
    if content.count(_MINUTES) != 1 or _SECONDS in content:
        found = content.count(_MINUTES)
        raise ClusterError(f"{_TASK} of {release}: found MINUTES {found} times, expected once")
    made.parent.mkdir(parents=True, exist_ok=True)
    draft = made.with_suffix(".draft")
    draft.write_bytes(content.replace(_MINUTES, _SECONDS))
    draft.rename(made)
    return folder
