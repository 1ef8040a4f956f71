"""A command line → one call: a file a command; opens files and starts Spark, decides nothing."""

from __future__ import annotations

import click

from trimtab.cli.apply import apply
from trimtab.cli.backtest import backtest
from trimtab.cli.blame import blame
from trimtab.cli.compare import compare
from trimtab.cli.costs import costs
from trimtab.cli.decide import decide
from trimtab.cli.drain import drain
from trimtab.cli.errors import clear_errors
from trimtab.cli.explain import explain
from trimtab.cli.gather import gather
from trimtab.cli.help import help_
from trimtab.cli.ingest import ingest
from trimtab.cli.lint import lint
from trimtab.cli.plan import plan
from trimtab.cli.rate import rate
from trimtab.cli.record import record
from trimtab.cli.reproduce import reproduce
from trimtab.cli.rerun import rerun
from trimtab.cli.restart_plan import restart_plan
from trimtab.cli.simulate import simulate
from trimtab.cli.surroundings import private_files, quiet_libraries
from trimtab.cli.sweep import sweep
from trimtab.cli.watch import watch
from trimtab.files.version import __version__


class _Main(click.Group):
    """All commands, each with its errors in one line."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        with clear_errors(), private_files(), quiet_libraries():
            return super().invoke(ctx)


@click.group(
    cls=_Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="trimtab")
def main() -> None:
    """Explain, rehearse and steer the load balancer of an Apache Pulsar cluster.

    \b
    Example:
      trimtab explain recordings/threshold -o night
    """


for _command in (
    gather,
    explain,
    blame,
    lint,
    rerun,
    backtest,
    costs,
    decide,
    simulate,
    record,
    compare,
    sweep,
    reproduce,
    rate,
    ingest,
    watch,
    plan,
    apply,
    drain,
    restart_plan,
    help_,
):
    main.add_command(_command)
