"""A page of the docs in Markdown → a part of the report, whose links lead somewhere in it."""

from __future__ import annotations

import re
from collections.abc import Collection

from markdown_it import MarkdownIt
from markupsafe import Markup

_LINK = re.compile(r"\[([^\]\n]+)\]\(((?!https?:)[^)\s]+)\)")
#: A page of the docs is a part of the report, below the title of a cause.
_HEADING = re.compile(r"(?m)^#+ (.*)$")


def finding_page(text: str, codes: Collection[str]) -> Markup:
    """Return the page of a finding as markup.

    Args:
        text: in Markdown, without its title.
        codes: findings of the report, which links to their pages lead to; a link to any other page
            keeps its words alone.
    """

    def kept(link: re.Match[str]) -> str:
        words, target = link.groups()
        code = target.removesuffix(".md")
        return f"[{words}](#cause-{code})" if code in codes else words

    # Markup within the text is text; what is left are headings, lists, tables and our own links.
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    return Markup(markdown.render(_HEADING.sub(r"#### \1", _LINK.sub(kept, text))))
