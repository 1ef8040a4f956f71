"""The command `python -m cluster.down`."""

from __future__ import annotations

import click

from cluster.java import ClusterError
from cluster.run import FOLDER, down


@click.command()
def main() -> None:
    """Stop the cluster; its logs stay until the next one is started."""
    try:
        click.echo(f"{down(FOLDER)} processes stopped; logs in {FOLDER / 'logs'}")
    except ClusterError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
