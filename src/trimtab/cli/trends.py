"""The command `trimtab trends`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import HERE, json_option, output_option
from trimtab.cli.output import say, say_as_is


@click.command()
@click.argument("explained", type=HERE)
@output_option("Folder to write into.", required=True)
@json_option("Print trends.json instead of a summary.")
def trends(explained: Path, output: Path, as_json: bool) -> None:
    """Find what changed over clusters and weeks, and whether it helped.

    EXPLAINED is the folder that trimtab explain wrote of several recordings.  Useless moves,
    regret and time at 85 percent or more by week and cluster; causes; when release, classes
    or settings changed, with what came of it and its interval; the nights to look at, each
    linked to its page.  Writes trends.html (one page that needs no network), trends.json,
    weeks.parquet, causes.parquet and changes.parquet.

    Exit code 0: written; 2: wrong use, or there are no nights in the folder.

    \b
    Examples:
      trimtab trends fleet -o trends
      trimtab trends fleet -o trends --json | jq '.changes[].what'
    """
    from trimtab.explanation.trends.command import trends as compared

    result = compared(explained, output)
    if as_json:
        say_as_is(result.json.read_text(encoding="utf-8"))
        return
    say("\n".join([*result.lines(), f"Page: {result.page}"]))
