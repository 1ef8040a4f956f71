"""The command `trimtab blame`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from trimtab.cli.arguments import RECORDING, json_option, spark_options
from trimtab.cli.output import complain, say, say_as_is


@click.command()
@RECORDING
@click.option("--bundle", metavar="BUNDLE", help="Tell the story of this bundle.")
@click.option("--broker", metavar="BROKER", help="Tell the story of this broker.")
@json_option("Print JSON instead of the story.")
@spark_options
def blame(
    recording: Path,
    bundle: str | None,
    broker: str | None,
    as_json: bool,
    cores: int,
    master: str | None,
) -> None:
    """Tell what happened to one bundle or one broker over the night.

    RECORDING is what `trimtab explain` takes, and is explained first; or the folder that
    explain wrote, which is read at once.  BUNDLE is a full name, its hash range, or a
    beginning that only one bundle has; BROKER is likewise, with or without domain and port.
    Beside its moves it tells who took a bundle and who let it go, and when a broker led or
    was gone, as far as the recording says.

    Exit code 0: told; 2: wrong use, or nothing of that name is known: the nearest is named.

    \b
    Examples:
      trimtab blame recordings/threshold --bundle 0xf0000000_0xf8000000
      trimtab blame explained/threshold --broker 10.213.0.12
      trimtab blame explained/threshold --bundle lb/ns1/0x18 --json | jq .steps[].text
    """
    from trimtab.explanation.blame import BlameOptions, document, lines
    from trimtab.explanation.blame import blame as blamed

    if (bundle is None) == (broker is None):
        options = "neither" if bundle is None else "both --bundle and --broker"
        complain(f"trimtab: found {options}, expected either --bundle or --broker")
        sys.exit(2)
    story, where = blamed(recording, BlameOptions(bundle, broker, cores, master))
    if as_json:
        say_as_is(json.dumps(document(story), indent=1))
        return
    for line in lines(story, where):
        say(line)
