"""`make pictures`: the pictures of the report in the docs, out of the real recordings.

Each recording is explained and its page photographed in a browser, as wide as a desk's screen
and as a telephone's, in the light and in the dark theme.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
RECORDINGS = ("threshold", "uniform", "avg")

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: What differs from desk to desk: anti-aliasing in colours, the GPU, scroll bars.
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-lcd-text", "--hide-scrollbars")


@dataclass(frozen=True, slots=True)
class View:
    """One way of looking at a page."""

    name: str
    width: int
    height: int
    theme: str
    #: Part of the page at which it begins; empty for its top.
    start: str = ""


VIEWS = (
    View("desktop-light", 1040, 1600, "light"),
    View("desktop-dark", 1040, 1600, "dark"),
    View("phone-light", 360, 1240, "light"),
    View("phone-dark", 360, 1240, "dark", "picture"),
    View("possible-light", 1040, 480, "light", "possible"),
)


def main() -> None:
    """Explain the recordings, and photograph what comes out."""
    with sync_playwright() as playwright:
        browser = launched(playwright)
        for recording in RECORDINGS:
            page = explained(recording)
            for view in VIEWS:
                photographed(browser, page, view, IMAGES / f"report-{recording}-{view.name}.png")
        browser.close()


def launched(playwright: Playwright) -> Browser:
    """Return the browser that is on this machine."""
    path = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if path is None:
        sys.exit(f"pictures: none of {', '.join(_BROWSERS)} is on PATH")
    return playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))


def explained(recording: str) -> Path:
    """Explain a recording into build/, and give its page."""
    folder = ROOT / "build" / "pictures" / recording
    command = ("explain", f"recordings/{recording}", "-o", str(folder))
    subprocess.run([sys.executable, "-m", "trimtab", *command], cwd=ROOT, check=True)
    return folder / "report.html"


def photographed(
    browser: Browser, page: Path, view: View, picture: Path, question: str = "() => null"
) -> object:
    """Take one picture of a page as it lies on the screen, and return the answer of a script."""
    tab = browser.new_page(
        viewport={"width": view.width, "height": view.height},
        color_scheme="dark" if view.theme == "dark" else "light",
        reduced_motion="reduce",
    )
    tab.goto(page.as_uri())
    tab.wait_for_function("performance.getEntriesByName('trimtab-ready').length > 0")
    if view.start:
        tab.locator(f"#{view.start}").evaluate("(each) => each.scrollIntoView()")
    tab.screenshot(path=picture, animations="disabled")
    answer = tab.evaluate(question)
    tab.close()
    print(f"→ {picture.relative_to(ROOT)}, {picture.stat().st_size >> 10} KiB")
    return answer


if __name__ == "__main__":
    main()
