"""The command `trimtab rehearse`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import (
    ANEW,
    FILE,
    bar_options,
    json_option,
    output_option,
    seeds_option,
    spark_options,
)
from trimtab.cli.cluster import ADMIN, CLIENT_CONF, NO_HOST_CHECK, cluster_access, where_of
from trimtab.cli.trials import sparked, tell
from trimtab.cli.values import Duration

if TYPE_CHECKING:
    from trimtab.trials.rehearse.present import Present

# s for which a live cluster is followed.
_FOR_S = 3600.0


@click.command()
@click.argument("words", metavar="[RECORDING] EVENT...", nargs=-1)
@ADMIN
@CLIENT_CONF
@NO_HOST_CHECK
@click.option(
    "--for",
    "duration",
    type=Duration(),
    metavar="DURATION",
    help="With --admin: how long the cluster is followed.  [default: 1h]",
)
@output_option("Folder to write into.", required=True)
@click.option("--plan", type=FILE, help="A TOML file with events, racks and the bar.")
@click.option(
    "--rack",
    "racks",
    metavar="NAME=BROKER,…",
    multiple=True,
    help="Which brokers stand in a rack, by name or pattern; may come again for another.",
)
@bar_options
@seeds_option(20, "Courses, each with other luck and other costs of traffic.")
@spark_options
@ANEW
@json_option("Print rehearsal.json instead of a summary.")
def rehearse(
    words: tuple[str, ...],
    admin: str | None,
    client_conf: Path | None,
    no_host_check: bool,
    duration: float | None,
    output: Path,
    plan: Path | None,
    racks: tuple[str, ...],
    seeds: int,
    cores: int,
    master: str | None,
    anew: bool,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Rehearse what is planned on the recorded load: would it be safe?

    RECORDING is a folder or an archive of one, as trimtab rerun takes it.  The real
    strategy is replayed first; where that does not reproduce what really happened,
    nothing is foretold.  Then the same night is simulated with the events in it and
    without, seed by seed with the same luck and the same costs of traffic, and where
    it breaks the bar, with what may help.  With --admin in place of RECORDING a live
    cluster is looked at once, nothing is changed, and its traffic goes on as it is.
    Writes rehearsal.html (one page that needs
    no network), rehearsal.json and the tables of the runs.

    \b
    An EVENT is one of
      lose broker-3              killed, and stays away; also broker-*, rack=a
      remove broker-3            stopped in good order, and stays away
      add 2                      brokers like the median one
      restart all every 10m      one after the other, each down for 1m: down 90s
      traffic shop/* x1.5 from 20:00 to 21:00
      split shop/orders/0x00000000_0x40000000
      strategy AvgShedder        from the first event on, and so:
      set KEY=VALUE
      release 4.0.8
    with a time behind it if need be: at 20:00 (UTC), at +30m.  Without any time they
    begin after a tenth of the recording, or of the time for which a cluster is followed.

    Exit code 0: safe; 1: not safe, or not decidable; 2: wrong use.

    \b
    Examples:
      trimtab rehearse recordings/uniform "lose 10.213.0.12 at 07:18" -o rehearsed
      trimtab rehearse night.tar.gz "restart all every 10m" "add 1" -o rehearsed
      trimtab rehearse night --plan friday.toml --peak 80 --minutes-over 5 -o rehearsed
      trimtab rehearse --admin http://broker-1:8080 "lose broker-3 at +10m" -o rehearsed
    """
    from trimtab.trials.rehearse.bar import Limits
    from trimtab.trials.rehearse.command import Question, rehearsed_by
    from trimtab.trials.rehearse.present import rehearsed_present

    recording, events = ("", words) if admin is not None else ("".join(words[:1]), words[1:])
    to_s, file = duration or _FOR_S, str(plan or "")
    bar = Limits(**limits)
    question = Question(recording, events, file, racks, bar, seeds, admin or "", to_s)
    _refuse_nothing(recording, admin, duration)
    start = sparked(cores, master)
    if admin is None:
        tell(rehearsed_by(start, question, output, anew=anew), as_json=as_json)
        return
    # Before the cluster is asked.
    question.planned()
    present = _present(admin, client_conf, no_host_check=no_host_check)
    tell(rehearsed_present(start, present, question, output, anew=anew), as_json=as_json)


def _refuse_nothing(recording: str, admin: str | None, duration: float | None) -> None:
    """Refuse a rehearsal of nothing, and one of a recording for another time than its own.

    Raises:
        FieldError: so it is.
    """
    from trimtab.files.fields import FieldError

    if admin is None and not recording:
        raise FieldError("RECORDING", "nothing", "a recording, or --admin URL")
    if admin is None and duration is not None:
        raise FieldError("--for", f"{duration:g} s", "it with --admin only")


def _present(admin: str, client_conf: Path | None, *, no_host_check: bool) -> Present:
    """Return a live cluster as it stands."""
    from trimtab.live.apply import connected_cluster
    from trimtab.live.apply.restart_order import standing
    from trimtab.trials.rehearse.present import Present

    address, access = cluster_access(admin, client_conf, no_host_check=no_host_check)
    with connected_cluster(where_of(address, access, None, None, is_lock_here=False)) as cluster:
        at, name = standing(cluster), cluster.admin.cluster
    return Present(name, at.balancer.release, at.made_s, at.now, at.balancer)
