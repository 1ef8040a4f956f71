"""The options of a watch that acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import click

from trimtab.cli.arguments import Command

if TYPE_CHECKING:
    from trimtab.live.apply import Where
    from trimtab.live.watch.actor import ActingRequest


@dataclass(frozen=True, slots=True)
class ActingOptions:
    """Whether what is decided is carried out, who says so, and how much at a time."""

    act: bool
    yes: bool
    ask: bool
    limits: tuple[str, ...]
    throttle: tuple[float, float] | None

    def request(
        self, where: Callable[[], Where], *, once: bool, has_page: bool
    ) -> ActingRequest | None:
        """Return what is asked of whoever acts; None if nobody is to.

        Raises:
            GatherError: an option is wrong, or nobody says yes.
        """
        from trimtab.live.control.throttle import Bars
        from trimtab.live.gather import GatherError
        from trimtab.live.watch.actor import ActingRequest
        from trimtab.live.watch.plans import limits_in

        if not self.act:
            if self.yes or self.ask or self.limits or self.throttle:
                options = "--yes, --ask, --limit, --throttle"
                raise GatherError(f"{options}: found without --act, expected with it")
            return None
        if self.yes == self.ask:
            which = "both --yes and --ask" if self.yes else "neither --yes nor --ask"
            raise GatherError(f"--act: found {which}, expected one of them: bundles would be moved")
        if self.ask and not has_page:
            raise GatherError("--ask: found without --page, expected with it: it is answered there")
        if once:
            raise GatherError(
                "--act: found with --once, expected without: acting takes more than one round"
            )
        try:
            bars = Bars(*self.throttle) if self.throttle else None
        except ValueError:
            least, most = self.throttle or (0.0, 0.0)
            raise GatherError(
                f"--throttle: found {least:g} {most:g}, expected two numbers above 0, rising"
            ) from None
        return ActingRequest(where(), limits_in(self.limits), bars, is_asking=self.ask)


def acting_options(command: Command) -> Command:
    """Return a command with the options of `ActingOptions`, which it takes as `acts`."""

    @wraps(command)
    def with_acts(**options: Any) -> object:  # noqa: ANN401  # click checks them
        names = [field.name for field in fields(ActingOptions)]
        return command(acts=ActingOptions(**{name: options.pop(name) for name in names}), **options)

    with_options = cast(Command, with_acts)
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


_OPTIONS = (
    click.option(
        "--act", is_flag=True, help="Carry out what --strategy decides; takes --yes or --ask, too."
    ),
    click.option("--yes", is_flag=True, help="With --act: yes, move bundles."),
    click.option(
        "--ask", is_flag=True, help="With --act: each plan waits for an answer on --page."
    ),
    click.option(
        "--limit",
        "limits",
        metavar="NAME=VALUE",
        multiple=True,
        help="With --act: a limit of plans, such as moves_per_hour=20; may come again.",
    ),
    click.option(
        "--throttle",
        type=(float, float),
        metavar="LEAST MOST",
        help="With --act: moves a round, adapted between these.  [default: 0.25 3]",
    ),
)
