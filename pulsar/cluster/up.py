"""The command `python -m cluster.up`."""

from __future__ import annotations

import click

from cluster.java import ClusterError, Memory
from cluster.run import FOLDER, up
from cluster.state import State, web


@click.command()
@click.option(
    "--brokers", type=click.IntRange(1, 200), default=3, show_default=True, help="How many."
)
@click.option("--release", default="4.0.8", show_default=True, help="Of Pulsar.")
@click.option("--heap", default=192, show_default=True, help="Of each broker, in MiB.")
@click.option("--quick", is_flag=True, help="Count the interval between rounds in seconds.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A key of broker.conf.")
def main(brokers: int, release: str, heap: int, quick: bool, settings: tuple[str, ...]) -> None:
    """Start a cluster on the loopback interface, which runs until `python -m cluster.down`.

    \b
    Example:
      python -m cluster.up --brokers 2 --set loadBalancerSheddingEnabled=false
    """
    keys = dict(setting.partition("=")[::2] for setting in settings)
    memory = Memory(heap, 96)
    state = State(FOLDER, release=release, memory=memory, settings=keys, is_quick=quick)
    try:
        up(state, brokers)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    for number in range(1, brokers + 1):
        click.echo(f"broker {number}: {web(number)}")
    click.echo(f"logs, settings and state: {state.folder}")


if __name__ == "__main__":
    main()
