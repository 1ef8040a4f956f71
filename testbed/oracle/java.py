"""Runs Pulsar's strategy classes: gets a release's class path, compiles, asks.

Everything is kept in `build/oracle/<release>`, so that Maven is needed once a release.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

from oracle.extensible_states import ROLES as EXTENSIBLE
from trimtab.pulsar.keys import KEYS

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "oracle"
SOURCES = HERE / "src"
#: What asks the extensible load manager's classes, with stand-ins for the services that they
#: ask; the modular one's must not meet these, so they are compiled to a place of their own.
SOURCES_EXTENSIBLE = HERE / "src-extensions"

#: Releases of which nothing but the broker's jar and the managed ledger's is to be had, and not
#: even the pom that theirs stand on → the release of which the other jars of Pulsar are.
PARTLY_THERE = {"5.0.1": "5.0.0-M1"}
_PARENT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.apache.pulsar</groupId>
  <artifactId>pulsar</artifactId>
  <version>{}</version>
  <packaging>pom</packaging>
</project>
"""

#: What this program and all releases up to 5.0.0-M1 run on.
JAVA_OLDEST = 17

# javac 17.0.15
_VERSION = re.compile(r"javac (\d+)")


class OracleError(RuntimeError):
    """Pulsar's classes cannot be run; the message says what is missing."""


def command(release: str, program: str = "Oracle", *, is_extensible: bool = False) -> list[str]:
    """Make a release ready to be asked, and return the command that does it.

    Args:
        release: of Pulsar.
        program: one of ours that has a `main`.
        is_extensible: the classes of the extensible load manager are to be asked.

    Raises:
        OracleError: Maven, a JDK or the release is missing.
    """
    javac = _javac()
    jars = _jars(release)
    path: tuple[str, ...] = (str(jars / "*"),)
    path = (_compiled(SOURCES, BUILD / release / "classes", path, javac), *path)
    if is_extensible:
        classes = BUILD / release / "classes-extensible"
        path = (_compiled(SOURCES_EXTENSIBLE, classes, path, javac), *path)
    # Without `noUnsafe` netty warns under newer Javas; it only measures memory here.
    flags = ("-Xmx1g", "-XX:+UseSerialGC", "-Dio.netty.noUnsafe=true")
    java = str(javac.with_name("java"))
    return [java, *flags, "-cp", os.pathsep.join(path), f"trimtab.oracle.{program}", release]


def ask(release: str, sequences: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Ask a release's classes; yield each sequence with what they answered, in order.

    Only a few sequences are in memory at a time, however many there are.

    Args:
        release: of Pulsar.
        sequences: all of classes of one load manager.

    Raises:
        OracleError: the classes cannot be run, or the program failed half-way.
    """
    questions = (_with_defaults(release, sequence) for sequence in sequences)
    first = next(questions, None)
    if first is None:
        return
    running = subprocess.Popen(
        command(release, is_extensible=first["strategy"] in EXTENSIBLE),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert running.stdin is not None
    assert running.stdout is not None
    feeder = threading.Thread(
        target=_feed, args=(running.stdin, chain([first], questions)), daemon=True
    )
    feeder.start()
    try:
        for line in running.stdout:
            yield json.loads(line)
        feeder.join()
        if running.wait() != 0:
            raise OracleError(f"the oracle ended with {running.returncode}: see its message above")
    finally:
        running.kill()
        running.wait()


def _with_defaults(release: str, sequence: dict[str, Any]) -> dict[str, Any]:
    """Return a sequence that says what the settings' class, of an older release, has otherwise."""
    if release not in PARTLY_THERE:
        return sequence
    told = {
        name: new
        for name, key in KEYS.items()
        if (new := key.default(release)) != (old := key.default(PARTLY_THERE[release]))
        and None not in (old, new)
        and isinstance(new, float)
    }
    return sequence | {"conf": told | sequence["conf"]}


def defaults(release: str) -> dict[str, Any]:
    """Return the load-balancing defaults of a release."""
    done = subprocess.run(
        [*command(release), "defaults"], stdout=subprocess.PIPE, check=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _feed(pipe: IO[str], sequences: Iterable[dict[str, Any]]) -> None:
    try:
        for sequence in sequences:
            pipe.write(json.dumps(sequence) + "\n")
        pipe.close()
    except BrokenPipeError:
        return  # whoever reads will find that the program has ended


def _jars(release: str) -> Path:
    """Fetch the class path of a release, unless it is there."""
    jars = BUILD / release / "jars"
    if jars.is_dir():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise OracleError(
            "no mvn on PATH: install Maven, which fetches Pulsar's classes once a release"
        )
    partial = jars.with_name("jars.partial")
    shutil.rmtree(partial, ignore_errors=True)
    others: tuple[str, ...] = ()
    if release in PARTLY_THERE:
        others = _without_parent(maven, release)
    fetch = (
        *(maven, "-q", "-B", "-f", str(HERE / "pom.xml"), f"-Dpulsar.version={release}", *others),
        *("dependency:copy", f"-DoutputDirectory={partial}"),
    )
    done = subprocess.run(fetch, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise OracleError(f"Maven does not find the classes of {release}:\n{done.stdout}")
    # Only what is complete gets the name, so that an interrupted run is begun again.
    return partial.rename(jars)


def _without_parent(maven: str, release: str) -> tuple[str, ...]:
    """Return what Maven needs for a release that is there in part: a store with an empty parent."""
    store, parent = BUILD / release / "m2", BUILD / release / "parent.pom"
    parent.parent.mkdir(parents=True, exist_ok=True)
    parent.write_text(_PARENT.format(release))
    local = f"-Dmaven.repo.local={store}"
    install = "org.apache.maven.plugins:maven-install-plugin:3.1.1:install-file"
    put = (maven, "-q", "-B", local, install, f"-Dfile={parent}", f"-DpomFile={parent}")
    done = subprocess.run(put, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise OracleError(f"Maven does not take an empty parent of {release}:\n{done.stdout}")
    return local, f"-Dpulsar.others.version={PARTLY_THERE[release]}"


def _compiled(root: Path, classes: Path, path: tuple[str, ...], javac: Path) -> str:
    """Compile the sources below a folder, unless that was done since their last change."""
    sources = sorted(root.rglob("*.java"))
    stamp = classes / "complete"
    newest = max(source.stat().st_mtime for source in sources)
    # What was compiled from a file that is gone must not stay.
    names = "".join(f"{source.relative_to(root)}\n" for source in sources)
    if stamp.is_file() and stamp.stat().st_mtime > newest and stamp.read_text() == names:
        return str(classes)
    shutil.rmtree(classes, ignore_errors=True)
    compiler = (
        *(str(javac), "-d", str(classes), "-cp", os.pathsep.join(path)),
        *map(str, sources),
    )
    done = subprocess.run(compiler, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise OracleError(
            f"javac does not compile {root.name} for {classes.parent.name}:\n{done.stderr}"
        )
    stamp.write_text(names)
    return str(classes)


def _javac() -> Path:
    """Find the compiler of a JDK that is new enough; its `java` stands beside it."""
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("javac")
    places = [Path(home) / "bin" / "javac"] if home else []
    places += [Path(on_path).resolve()] if on_path else []
    found = []
    for javac in places:
        version = _version(javac)
        if version is not None and version >= JAVA_OLDEST:
            return javac
        found.append(f"{javac} is {version or 'not there'}")
    where = "; ".join(found) or "found no javac in JAVA_HOME or on PATH"
    raise OracleError(f"a JDK of {JAVA_OLDEST} or newer is needed: {where}")


def _version(javac: Path) -> int | None:
    """Ask a compiler for its version; None if it does not answer."""
    try:
        done = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    match = _VERSION.search(done.stdout + done.stderr)
    return int(match[1]) if match else None
