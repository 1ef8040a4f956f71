"""What a process of the cluster runs on: Pulsar's jars, fetched by Maven, and a small Java."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "cluster"

_OPENED = (
    *("java.base/java.nio", "java.base/jdk.internal.misc", "java.base/jdk.internal.platform"),
    *("java.base/sun.net", "java.management/sun.management"),
    "jdk.management/com.sun.management.internal",
)


class ClusterError(RuntimeError):
    """The cluster cannot be run; the message says what is missing or which log tells why."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What one Java may take, in MiB."""

    heap: int
    direct: int


def jars(release: str) -> Path:
    """Fetch all that a broker of a release stands on, unless it is there.

    Raises:
        ClusterError: there is no Maven, or it does not find the release.
    """
    folder = BUILD / "jars" / release
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{release}.lock").open("w") as lock:
        # Whoever comes second waits, and finds what the first has fetched.
        fcntl.flock(lock, fcntl.LOCK_EX)
        return folder if folder.is_dir() else _fetched(release, folder)


def _fetched(release: str, folder: Path) -> Path:
    """Have Maven fetch what a release stands on into a folder, and return the folder."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ClusterError("no mvn on PATH: install Maven, which fetches Pulsar once a release")
    partial = folder.with_name(f"{release}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    fetch = (
        *(maven, "-q", "-B", "-f", str(HERE / "pom.xml"), f"-Dpulsar.version={release}"),
        *("dependency:copy-dependencies", f"-DoutputDirectory={partial}"),
    )
    done = subprocess.run(fetch, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise ClusterError(f"Maven does not find what {release} stands on:\n{done.stdout}")
    # Only what is complete gets the name, so that an interrupted run is begun again.
    return partial.rename(folder)


def command(
    release: str, memory: Memory, properties: dict[str, str], before: tuple[Path, ...] = ()
) -> list[str]:
    """Return the beginning of a command line, which a main class and its arguments follow.

    Args:
        release: of Pulsar.
        memory: what the process may take.
        properties: of the system.
        before: folders of classes that win over those of the release.

    Quirks:
        The first compiler alone starts a broker in half the CPU time of both.
    """
    return [
        *(_java(), f"-Xms{min(memory.heap, 64)}m", f"-Xmx{memory.heap}m"),
        *(f"-XX:MaxDirectMemorySize={memory.direct}m", "-XX:+UseSerialGC", "-Xss512k"),
        *("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=96m"),
        *("-Djava.net.preferIPv4Stack=true", "-Dio.netty.tryReflectionSetAccessible=true"),
        *(f"--add-opens={opened}=ALL-UNNAMED" for opened in _OPENED),
        *(f"-D{key}={value}" for key, value in properties.items()),
        *("-cp", ":".join(map(str, (*before, jars(release) / "*")))),
    ]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    if java is None:
        raise ClusterError("no java in JAVA_HOME or on PATH: Pulsar 4 needs one of 17 or newer")
    return java
