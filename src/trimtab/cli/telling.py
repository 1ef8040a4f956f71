"""What commands that write a page tell of it in the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import click


class Written(Protocol):
    """What a command has written."""

    @property
    def page(self) -> Path:
        """Return where the page is."""

    def lines(self) -> Iterable[str]:
        """Say the most of what is on it."""


def tell(found: Written, document: Path | None) -> None:
    """Print the document, if one is asked for, or else the most of it and where the page is."""
    if document is not None:
        click.echo(document.read_text(encoding="utf-8"), nl=False)
    else:
        click.echo("\n".join([*found.lines(), f"Page: {found.page}"]))
