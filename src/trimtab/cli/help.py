"""The command `trimtab help`."""

from __future__ import annotations

import sys
from textwrap import TextWrapper

import click

from trimtab.cli.output import say

#: Words are listed whole, so that they can be copied.
_WORDS = TextWrapper(
    80, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
)


@click.command("help")
@click.argument("word", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, word: tuple[str, ...]) -> None:
    """Print what WORD means: a finding, a strategy, a setting, an outcome, a scenario.

    Also a command, a rule of lint, a log message, a table or a word of the glossary.
    Without WORD, all words are listed.

    Exit code 0: there is such a page; 2: there is none: the nearest is named.

    \b
    Examples:
      trimtab help ping-pong
      trimtab help ThresholdShedder
      trimtab help loadBalancerSheddingIntervalMinutes
    """
    from trimtab.explanation.words import known_words, pages_of

    words = {"command": _commands(ctx), **known_words()}
    if not word:
        say(_listed(words))
        return
    _print("\n".join(pages_of(" ".join(word), words)))


def _commands(ctx: click.Context) -> dict[str, str]:
    """Return the page of every command: its help, as its option --help prints it."""
    group = ctx.parent.command if ctx.parent else None
    assert isinstance(group, click.Group)
    return {
        name: f"```text\n{command.get_help(click.Context(command, ctx.parent, name))}\n```"
        for name, command in group.commands.items()
    }


def _listed(words: dict[str, dict[str, str]]) -> str:
    """Return all words that have a page, by what they are."""
    parts = ["`trimtab help WORD` prints the page of one of these words."]
    for kind, texts in words.items():
        parts.append(f"{kind.capitalize()} ({len(texts)})\n{_WORDS.fill(', '.join(texts))}")
    return "\n\n".join(parts)


def _print(text: str) -> None:
    """Print Markdown: laid out for whoever looks at a terminal, else as it is."""
    if not sys.stdout.isatty():
        say(text.rstrip("\n"))
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
