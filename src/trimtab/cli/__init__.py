"""A command line → one call: a file a command; opens files and starts Spark, decides nothing."""

from __future__ import annotations

from collections.abc import Callable

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
from trimtab.cli.output import as_loud_as_before, be_quiet, be_verbose
from trimtab.cli.plan import plan
from trimtab.cli.rate import rate
from trimtab.cli.record import record
from trimtab.cli.rehearse import rehearse
from trimtab.cli.reproduce import reproduce
from trimtab.cli.rerun import rerun
from trimtab.cli.restart_plan import restart_plan
from trimtab.cli.rollout import rollout
from trimtab.cli.sections import SECTIONS
from trimtab.cli.simulate import simulate
from trimtab.cli.size import size
from trimtab.cli.surroundings import one_thread, private_files, quiet_libraries
from trimtab.cli.sweep import sweep
from trimtab.cli.trends import trends
from trimtab.cli.watch import watch
from trimtab.files.version import __version__


def _loudness(be: Callable[[], None]) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Return a callback that says how much is printed from now on."""

    def chosen(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
        if is_asked and not ctx.resilient_parsing:
            be()

    return chosen


def _loudness_options() -> list[click.Parameter]:
    """Return the options that every command has besides its own."""
    common = {"is_flag": True, "is_eager": True, "expose_value": False}
    return [
        click.Option(
            ["-q", "--quiet"],
            callback=_loudness(be_quiet),
            help="Results and errors alone.",
            **common,
        ),
        click.Option(
            ["-v", "--verbose"], callback=_loudness(be_verbose), help="Each step, too.", **common
        ),
    ]


class _Main(click.Group):
    """All commands, in sections, each with its errors in one line."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        with as_loud_as_before(), clear_errors(), private_files(), quiet_libraries(), one_thread():
            return super().invoke(ctx)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Take up a command, with what all have."""
        cmd.params.extend(_loudness_options())
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the sections."""
        return [name for section in SECTIONS.values() for name in section]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, by what they are for."""
        width = max(map(len, self.commands))
        for title, commands in SECTIONS.items():
            rows = [(name.ljust(width), summary) for name, summary in commands.items()]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(
    cls=_Main,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="trimtab COMMAND --help has examples and exit codes; trimtab help WORD explains a word.",
)
@click.version_option(__version__, "-V", "--version", prog_name="trimtab")
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
    trends,
    lint,
    rerun,
    backtest,
    costs,
    decide,
    simulate,
    record,
    compare,
    rehearse,
    size,
    sweep,
    reproduce,
    rate,
    ingest,
    watch,
    plan,
    apply,
    drain,
    restart_plan,
    rollout,
    help_,
):
    _name = str(_command.name)
    _command.short_help = next(each[_name] for each in SECTIONS.values() if _name in each)
    main.add_command(_command)
