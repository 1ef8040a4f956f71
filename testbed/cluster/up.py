"""The command `python -m cluster.up`."""

from __future__ import annotations

from typing import TypedDict, Unpack

import click

from cluster.java import ClusterError, Memory
from cluster.run import FOLDER, up
from cluster.state import NETWORKS, Mode, State, web


class Asked(TypedDict):
    """What is handed on as it stands."""

    mode: Mode
    release: str
    is_quick: bool
    is_sampled_quickly: bool


@click.command()
@click.option(
    "--brokers", type=click.IntRange(1, 200), default=3, show_default=True, help="How many."
)
@click.option(
    "--mode",
    type=click.Choice(list(NETWORKS)),
    default="plain",
    show_default=True,
    help="namespaces: each broker has CPU and network figures of its own; needs root.",
)
@click.option("--release", default="4.0.8", show_default=True, help="Of Pulsar.")
@click.option("--heap", default=192, show_default=True, help="Of each broker, in MiB.")
@click.option(
    "--quick", "is_quick", is_flag=True, help="Count the interval between rounds in seconds."
)
@click.option(
    "--quick-usage",
    "is_sampled_quickly",
    is_flag=True,
    help="Count the interval between looks at CPU and network cards in seconds.",
)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A key of broker.conf.")
def main(brokers: int, heap: int, settings: tuple[str, ...], **asked: Unpack[Asked]) -> None:
    """Start a cluster on this machine, which runs until `python -m cluster.down`.

    \b
    Examples:
      python -m cluster.up --brokers 2 --set loadBalancerSheddingEnabled=false
      python -m cluster.up --mode namespaces
    """
    keys = dict(setting.partition("=")[::2] for setting in settings)
    memory = Memory(heap, 96)
    state = State(FOLDER, memory=memory, settings=keys, **asked)
    try:
        up(state, brokers)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    for number in range(1, brokers + 1):
        click.echo(f"broker {number}: {web(number, state.network)}")
    click.echo(f"logs, settings and state: {state.folder}")


if __name__ == "__main__":
    main()
