"""The command `trimtab blame`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from trimtab.cli.arguments import CORES, MASTER, RECORDING
from trimtab.cli.saying import complain, say


class _Asked(TypedDict):
    """The options that say whose story is asked for, and where a recording is explained."""

    bundle: str | None
    broker: str | None
    cores: int
    master: str | None


@click.command()
@RECORDING
@click.option("--bundle", metavar="BUNDLE", help="Tell the story of this bundle.")
@click.option("--broker", metavar="BROKER", help="Tell the story of this broker.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the story.")
@CORES
@MASTER
def blame(recording: Path, as_json: bool, **asked: Unpack[_Asked]) -> None:
    """Tell what happened to one bundle or one broker over the night.

    RECORDING is what `trimtab explain` takes, and is explained first; or the folder that
    explain wrote, which is read at once.  BUNDLE is a full name, its hash range, or a
    beginning that only one bundle has; BROKER is likewise, with or without domain and port.
    Beside its moves it tells who took a bundle and who let it go, and when a broker led or
    was gone, as far as the recording says.

    Exits with 2 when nothing of that name is known, and names the nearest.

    \b
    Examples:
      trimtab blame recordings/threshold --bundle 0xf0000000_0xf8000000
      trimtab blame explained/threshold --broker 10.213.0.12
      trimtab blame explained/threshold --bundle lb/ns1/0x18 --json | jq .steps[].text
    """
    from trimtab.explanation.blame import Question, document, lines
    from trimtab.explanation.blame import blame as blamed

    if (asked["bundle"] is None) == (asked["broker"] is None):
        found = "neither" if asked["bundle"] is None else "both --bundle and --broker"
        complain(f"trimtab: found {found}, expected either --bundle or --broker")
        sys.exit(2)
    story, where = blamed(recording, Question(**asked))
    if as_json:
        click.echo(json.dumps(document(story), indent=1))
        return
    for line in lines(story, where):
        say(line)
