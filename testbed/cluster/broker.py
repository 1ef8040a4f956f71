"""The command `python -m cluster.broker`."""

from __future__ import annotations

import signal

import click

from cluster.java import ClusterError
from cluster.run import FOLDER, add, begin, leave
from cluster.state import broker_id, load

_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGTERM, "restart": signal.SIGTERM}


@click.command()
@click.argument("verb", type=click.Choice(["add", "kill", "stop", "start", "restart"]))
@click.argument("number", type=click.IntRange(1), required=False)
def main(verb: str, number: int | None) -> None:
    """Change a broker of the running cluster: kill ends it at once, stop in good order.

    \b
    Examples:
      python -m cluster.broker add
      python -m cluster.broker kill 2
      python -m cluster.broker start 2
    """
    if (number is None) != (verb == "add"):
        raise click.UsageError("expected the broker's number behind every verb but add")
    try:
        state = load(FOLDER)
        if number is None:
            number = add(state)
            click.echo(f"{broker_id(number, state.network)} serves")
            return
        if verb in _SIGNALS:
            took_s = leave(state, number, _SIGNALS[verb])
            click.echo(f"{broker_id(number, state.network)} has gone after {took_s:.1f} s")
        if verb in ("start", "restart"):
            begin(state, number)
            click.echo(f"{broker_id(number, state.network)} serves")
    except ClusterError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
