"""`make site`: stage the pages, explain the sample recordings, build, and check what came out."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import tomlkit

from tools.site.checks import faults
from tools.site.navigation import navigation, unlisted
from tools.site.staging import SAMPLES, sample, stage

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = Path(__file__).resolve().parent
SITE = ROOT / "build" / "site"

#: The search of a site that is opened from a folder needs this file, which the generator leaves
#: to the network.
_WORKER = "iframe-worker.js"
_WORKER_OF_NETWORK = re.compile(r'src="https://[^"]*/iframe-worker/shim"')


def main() -> int:
    """Build the site, and return 1 if anything is wrong with it."""
    shutil.rmtree(SITE, ignore_errors=True)
    prepare(SITE)
    explain_samples(SITE)
    lost = [f"{page}: no door of docs/ lists it" for page in unlisted(SITE / "pages")]
    status = build(SITE)
    wrong = [*lost, *faults(SITE / "html")]
    print(*wrong, f"Site: {SITE.relative_to(ROOT) / 'html' / 'index.html'}", sep="\n")
    return 1 if status or wrong else 0


def prepare(site: Path) -> None:
    """Write the pages and the generator's configuration into a folder."""
    stage(ROOT, site / "pages")
    for name in ("style.css", _WORKER):
        shutil.copyfile(PARTS / name, site / "pages" / name)
    config = tomllib.loads((PARTS / "config.toml").read_text(encoding="utf-8"))
    config["project"]["nav"] = navigation(site / "pages")
    (site / "zensical.toml").write_text(tomlkit.dumps(config), encoding="utf-8")


def explain_samples(site: Path) -> None:
    """Write the report on every sample recording among the pages."""
    for name in SAMPLES:
        folder = site / "explained" / name
        command = ("explain", f"recordings/{name}", "-o", str(folder))
        subprocess.run([sys.executable, "-m", "trimtab", *command], cwd=ROOT, check=True)
        (site / "pages" / sample(name)).parent.mkdir(exist_ok=True)
        shutil.copyfile(folder / "report.html", site / "pages" / sample(name))


def build(site: Path) -> int:
    """Run the generator on the prepared folder, and return its exit code."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    status = subprocess.run(command, cwd=site, check=False).returncode
    html = site / "html"
    for page in html.rglob("*.html"):
        own = "../" * (len(page.relative_to(html).parts) - 1) + _WORKER
        text = page.read_text(encoding="utf-8")
        page.write_text(_WORKER_OF_NETWORK.sub(f'src="{own}"', text), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
