"""Make `.venv` from the lock files, on a machine that has nothing but Python and pip.

Runs under any Python 3.7 or newer, with the standard library alone: it is what finds the
Python that the project then runs on.  Everything fetched is checked against the hashes in
requirements/, what builds pyspark's sdist included.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
#: Touched last, so that a set-up that was broken off is begun again; the Makefile looks at it.
STAMP = VENV / "complete"
LOCKS = ROOT / "requirements"

#: 3.11 first: the locks are made for it and CI runs on it.
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3", "python")
PYTHON_OLDEST = (3, 11)
#: Spark 4 does not start on anything older.

#: Prints the version, and whether `python -m venv` can put pip in (Debian packs that apart).
PROBE = (
    "import sys; from importlib.util import find_spec as has; "
    "print(*sys.version_info[:2], int(bool(has('ensurepip'))), int(bool(has('pip'))))"
)

#: pip's settings by the variable under which uv knows the same; uv does not read pip's.
PIP_TO_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "trusted-host": "UV_INSECURE_HOST",
    "proxy": "ALL_PROXY",
}


def say(text: str) -> None:
    """Print one line of progress at once."""
    print(f"setup: {text}", flush=True)


def output_of(*command: str) -> str:
    """Return what a command prints on both streams, or nothing where it cannot run or fails."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout


def usable_python() -> tuple[str, bool]:
    """Find the Python to build on, and say whether it can put pip into a virtual environment.

    Returns:
        The path, and true where `ensurepip` is there; else pip works from outside.

    Raises:
        SystemExit: there is none; the message lists what was looked at.
    """
    asked = os.environ.get("PYTHON")
    seen = []
    for name in (asked,) if asked else PYTHONS:
        path = shutil.which(name)
        # A version manager's stand-in is on PATH for every version and runs for the chosen one.
        answer = output_of(path, "-c", PROBE).split() if path else []
        if path is None or len(answer) != 4:
            seen.append(f"{name}: not found or does not run")
            continue
        major, minor, has_ensurepip, has_pip = map(int, answer)
        if (major, minor) < PYTHON_OLDEST:
            seen.append(f"{name}: is {major}.{minor}")
        elif not has_ensurepip and not has_pip:
            seen.append(f"{name}: has no pip (on Debian: apt-get install python3-venv)")
        else:
            return path, bool(has_ensurepip)
    sys.exit(
        "setup: no Python 3.11 or newer with pip. Looked at:\n  "
        + "\n  ".join(seen)
        + "\nName one with `make setup PYTHON=/path/to/python3.11`."
    )


def uv_settings(pip_config: str) -> dict[str, str]:
    """Translate what `pip config list` prints into uv's variables; what is set for uv wins.

    Returns:
        The variables to add to the environment.
    """
    found: dict[str, str] = {}
    for line in pip_config.splitlines():
        name, _, value = line.partition("=")
        variable = PIP_TO_UV.get(name.rpartition(".")[2])
        if variable and variable not in os.environ:
            # pip separates several values by newlines or spaces, uv by spaces or commas.
            words = value.strip("'\"").replace("\\n", " ").split()
            found[variable] = ("," if variable == "UV_FIND_LINKS" else " ").join(words)
    # uv keeps every build tree of pyspark's sdist, 2.6 GB for each environment made.
    if "UV_CACHE_DIR" not in os.environ:
        found["UV_NO_CACHE"] = "1"
    return found


def create(python: str, has_ensurepip: bool) -> list[str]:
    """Make an empty virtual environment, or take up one that was completed before.

    Returns:
        The command that is pip for it.
    """
    inside = str(VENV / "bin" / "python")
    if STAMP.exists() and output_of(inside, "-m", "pip", "--version"):
        STAMP.unlink()
        return [inside, "-m", "pip"]
    if VENV.exists():
        shutil.rmtree(VENV)
    if has_ensurepip:
        subprocess.run([python, "-m", "venv", str(VENV)], check=True)
        return [inside, "-m", "pip"]
    subprocess.run([python, "-m", "venv", "--without-pip", str(VENV)], check=True)
    return [python, "-m", "pip", "--python", inside]


def install(pip: list[str], locks: list[str]) -> None:
    """Install the locks and then the project itself, editable."""
    quiet = ["--quiet", "--disable-pip-version-check"]
    hashed = ["--require-hashes", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "install", *quiet, *hashed, "-r", str(LOCKS / "build.lock")], check=True)
    files = [argument for lock in locks for argument in ("-r", str(LOCKS / lock))]
    project = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    uv = [str(VENV / "bin" / "uv"), "pip"]
    target = ["--quiet", "--python", str(VENV / "bin" / "python")]
    environment = {**os.environ, **uv_settings(output_of(*pip, "config", "list"))}
    done = subprocess.run([*uv, "install", *target, *hashed, *files], env=environment, check=False)
    if done.returncode:
        say("uv could not install (above); pip tries the same locks")
        subprocess.run([*pip, "install", *quiet, *hashed, *files], check=True)
    subprocess.run([*uv, "install", *target, *project], env=environment, check=True)


def main() -> int:
    """Set up `.venv`, and say in one line each what is done."""
    began = time.monotonic()
    python, has_ensurepip = usable_python()
    # The machine's own Java comes first when Spark starts; the tests try both.
    locks = ["dev.lock", "java.lock"]
    size = "what has changed" if STAMP.exists() else "about 600 MB, most of it Spark"
    say(f"{python} -> .venv")
    pip = create(python, has_ensurepip)
    say(f"installing {' and '.join(locks)}; downloads {size}")
    try:
        install(pip, locks)
    except subprocess.CalledProcessError as failure:
        say(f"failed: {' '.join(map(str, failure.cmd[:6]))} ... (above); run `make setup` again")
        return 1
    STAMP.touch()
    say(f"done in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
