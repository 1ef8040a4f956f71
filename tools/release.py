"""Makes what is published of a release, and tries it: `python -m tools.release`.

Wheel and sdist are built twice and must have the same bytes; the wheel is tried in an environment
of its own, from another folder; what it rests on is listed as CycloneDX.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BIN = Path(sys.executable).parent
#: What lists the libraries; it is no dependency of ours, and runs in an environment of its own.
SBOM = "cyclonedx-bom==7.5.0"
#: What is tried of the wheel as pip installs it unasked, each from a folder that is no clone.
TRIED = (
    ("--version",),
    ("help", "ping-pong"),
    ("simulate", "S05", "--strategy", "AvgShedder", "--minutes", "60"),
)


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """Return what a command prints.

    Raises:
        CalledProcessError: it failed.
    """
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def built(folder: Path) -> dict[str, str]:
    """Return the digest of each file that a build of the clone makes."""
    run(BIN / "uv", "build", "--quiet", "--no-build-isolation", "--out-dir", folder)
    files = sorted(path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def tried(wheel: Path, folder: Path) -> None:
    """Install a wheel as a user does, and run it from another folder."""
    run(BIN / "uv", "venv", "--quiet", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(BIN / "uv", "pip", "install", "--quiet", "--python", python, wheel)
    for words in TRIED:
        run(folder / "venv" / "bin" / "trimtab", *words, folder=folder)
    for place in ("share/man/man1/trimtab.1", "share/bash-completion/completions/trimtab"):
        assert (folder / "venv" / place).is_file(), place


def listed(path: Path) -> None:
    """Write what the full installation rests on, as CycloneDX, by the locks."""
    lock = ROOT / "requirements" / "run.lock"
    tool = ("tool", "run", "--quiet", "--from", SBOM, "cyclonedx-py")
    how = ("--output-reproducible", "--pyproject", ROOT / "pyproject.toml", "-o", path)
    run(BIN / "uv", *tool, "requirements", *how, lock)


def main() -> int:
    """Build into dist/, and say what was made."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", run("git", "log", "-1", "--format=%ct").strip())
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="trimtab-release-") as scratch:
        again = built(Path(scratch) / "again")
        digests = built(DIST)
        if digests != again:
            print(f"release: two builds differ: {digests} and {again}")
            return 1
        (wheel,) = DIST.glob("*.whl")
        tried(wheel, Path(scratch))
    listed(DIST / "sbom.cdx.json")
    for name, digest in digests.items():
        print(f"{digest}  {name}")
    print("dist/sbom.cdx.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
