"""Puts completions for three shells and a manual page a command into the wheel, as it is built.

All are made of the commands themselves, so nothing of them lies in the repository.
"""

from __future__ import annotations

import sys
import tempfile
from inspect import cleandoc
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Shell → where it looks for completions, below a prefix such as /usr or that of an environment.
PLACES = {
    "bash": "share/bash-completion/completions/trimtab",
    "zsh": "share/zsh/site-functions/_trimtab",
    "fish": "share/fish/vendor_completions.d/trimtab.fish",
}
MANUAL = "share/man/man1"
#: How click is told not to fill a paragraph.
SIGN = "\b\n"


class ShellFiles(BuildHookInterface[Any]):
    """Hatch's hook; it finds the class by what it derives from."""

    PLUGIN_NAME = "shell-files"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to a wheel, unless it only leads to the sources."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "src"))
        self._folder = tempfile.TemporaryDirectory(prefix="trimtab-shell-")
        for path, target in written(Path(self._folder.name)).items():
            build_data["shared_data"][str(path)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was packed."""
        if version != "editable":
            self._folder.cleanup()


def written(folder: Path) -> dict[Path, str]:
    """Write the files into a folder, and return where each belongs below a prefix."""
    from trimtab.files.version import __version__

    files = {}
    for shell, place in PLACES.items():
        path = folder / Path(place).name
        path.write_text(completion(shell), encoding="utf-8")
        files[path] = place
    manual = folder / "man"
    manual.mkdir()
    for name, page in manual_pages(__version__).items():
        (manual / name).write_text(page, encoding="utf-8")
        files[manual / name] = f"{MANUAL}/{name}"
    return files


def completion(shell: str) -> str:
    """Return what a shell reads to complete words of the command."""
    from click.shell_completion import ShellComplete, get_completion_class

    from trimtab.cli import main

    found = get_completion_class(shell)
    assert found is not None
    # Bash's own class would start a bash, which need not be there.
    return ShellComplete.source(found(main, {}, "trimtab", "_TRIMTAB_COMPLETE"))


def manual_pages(version: str) -> dict[str, str]:
    """Return the manual page of the program and of each command, by the names of their files."""
    import click
    from click_man.core import generate_man_page

    from trimtab.cli import main

    above = click.Context(main, info_name="trimtab", **main.context_settings)
    pages = {"trimtab.1": _page(generate_man_page, above, version)}
    for name, command in main.commands.items():
        here = click.Context(command, info_name=name, parent=above)
        pages[f"trimtab-{name}.1"] = _page(generate_man_page, here, version)
    return pages


def _page(make: Any, context: Any, version: str) -> str:  # noqa: ANN401  # neither is typed
    """Return a page; lines that click would not fill are not filled by roff either."""
    command = context.command
    before = command.help
    paragraphs = cleandoc(before or "").replace("\\", "\\e").split("\n\n")
    command.help = "\n\n".join(
        f".nf\n{each.removeprefix(SIGN)}\n.fi" if each.startswith(SIGN) else each
        for each in paragraphs
    )
    try:
        return str(make(context, version=version))
    finally:
        command.help = before
