"""The command `trimtab lint`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import json_option
from trimtab.cli.output import complain, say, say_as_is
from trimtab.files.version import __version__

if TYPE_CHECKING:
    from trimtab.explanation.conf_files import LintResult
    from trimtab.explanation.lint import Finding, Severity

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@click.command()
@click.argument("broker_conf", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option(
    "--release",
    metavar="RELEASE",
    default="",
    help="The Pulsar that it is for; by default what can be known of it.",
)
@click.option("--from", "before", metavar="RELEASE", default="", help="Upgrade: the Pulsar before.")
@click.option("--to", "after", metavar="RELEASE", default="", help="Upgrade: the Pulsar after.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["plain", "json", "sarif"]),
    default="plain",
    show_default=True,
    help="For people, for programs, or SARIF 2.1.0 for code hosts.",
)
@json_option("As --format json.")
@click.option(
    "--severity",
    type=click.Choice(["error", "warning", "note"]),
    default="note",
    show_default=True,
    help="Leave out what is less bad than this.",
)
@click.option("--ignore", metavar="CODE", multiple=True, help="Leave out one rule; may come again.")
@click.option("--explain", is_flag=True, help="Say why each bites, and the evidence.")
def lint(
    broker_conf: tuple[str, ...],
    release: str,
    before: str,
    after: str,
    output_format: str,
    as_json: bool,
    severity: str,
    ignore: tuple[str, ...],
    explain: bool,
) -> None:
    """Check the load balancer's settings for traps, slips and defaults that bite.

    BROKER_CONF is a broker.conf, Helm values, what a broker tells of its settings (JSON), a
    recording, whose brokers are compared with each other as well, or - for the standard
    input.  With --from and --to it is an upgrade that is checked: which defaults flip,
    which keys go or come, and what to write to keep what you have.  Without a release all are
    looked at that it may be, and what only some have says which.  docs/lint.md lists the rules.

    Exit code 0: nothing found; 1: something is; 2: wrong use, or something cannot be read.

    \b
    Examples:
      trimtab lint broker.conf
      trimtab lint broker.conf --release 4.0.8 --explain
      trimtab lint recordings/threshold
      trimtab lint broker.conf --from 3.0.7 --to 5.0.1
      trimtab lint broker.conf --release 4.0.8 --format sarif > lint.sarif
    """
    from trimtab.explanation.conf_files import Releases, look, refuse_unknown
    from trimtab.explanation.conf_text import LintError
    from trimtab.explanation.lint import Severity, chosen
    from trimtab.explanation.lint.conf import shown

    if as_json:
        output_format = "json"
    try:
        refuse_unknown(ignore)
        looked = look(broker_conf, Releases(release.strip(), before.strip(), after.strip()))
    except LintError as error:
        complain(f"trimtab: {shown(str(error), 1000)}")
        sys.exit(2)
    findings = chosen(looked.findings, Severity(severity), ignore)
    if output_format == "plain":
        _tell(findings, looked, before, explain)
    else:
        say_as_is(json.dumps(_laid_out(findings, looked, before, output_format), indent=2))
    if findings:
        sys.exit(1)


def _tell(findings: Sequence[Finding], looked: LintResult, before: str, is_explained: bool) -> None:
    """Print from what the release is known, findings for people, and a line that sums them up."""
    from trimtab.explanation.lint.conf import shown
    from trimtab.explanation.lint.text import counts_text, finding_lines, released

    (first, *others) = looked.files
    files = f"{len(looked.files)} files" if others else shown(first, 200)
    if looked.basis:
        say(released(files, looked.release, looked.others, looked.basis))
    for running in looked.running:
        say(f"{files}: {shown(running, 400)}")
    for line in finding_lines(findings, _paint, explains=is_explained):
        say_as_is(line)
    release = f"from {before} to {looked.release}" if before else f"release {looked.release}"
    if looked.others:
        release = f"any release of {looked.others}"
    hint = "" if is_explained or not findings else "; --explain says why"
    say(f"{files}, {release}: {counts_text(findings)}{hint}")


def _paint(text: str, severity: Severity | None) -> str:
    if severity is None:
        return click.style(text, bold=True)
    return click.style(text, fg=_COLOURS[severity.value], bold=True)


def _laid_out(
    findings: Sequence[Finding], looked: LintResult, before: str, output_format: str
) -> dict[str, object]:
    """Return findings for programs."""
    from trimtab.explanation.lint import RULES
    from trimtab.explanation.lint.document import document
    from trimtab.explanation.lint.sarif import sarif

    if output_format == "sarif":
        return sarif(findings, RULES, __version__)
    releases: dict[str, object] = {"from": before, "to": looked.release}
    if not before:
        releases = {
            "release": looked.release,
            "release_basis": looked.basis or "as told",
            "releases": looked.others,
            "running": list(looked.running),
        }
    return document(findings, looked.files, releases)
