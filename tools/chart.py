"""Render the chart as it stands, by helm, into the manifest beside it: `python -m tools.chart`.

Helm is `go install helm.sh/helm/v3/cmd/helm@v3.22.0`.
"""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

DEPLOY = Path(__file__).parent.parent / "deploy"
CHART, MANIFEST = DEPLOY / "chart", DEPLOY / "watch.yaml"


def rendered(*arguments: str) -> str:
    """Return what helm makes of the chart."""
    command = ["helm", "template", "trimtab", str(CHART), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def head() -> str:
    """Return the first line of the manifest, which changes with every file of the chart."""
    files = sorted(path for path in CHART.rglob("*") if path.is_file())
    digest = sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    return f"# Made by `python -m tools.chart` of deploy/chart ({digest}).\n"


def main() -> None:
    """Write the manifest."""
    MANIFEST.write_text(head() + rendered(), encoding="utf-8")


if __name__ == "__main__":
    main()
