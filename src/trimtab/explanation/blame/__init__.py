"""The story of one bundle or one broker over a night, for a terminal and for programs."""

from trimtab.explanation.blame.command import BlameOptions, blame
from trimtab.explanation.blame.document import document
from trimtab.explanation.blame.lines import lines
from trimtab.explanation.blame.subject import BlameError

__all__ = ["BlameError", "BlameOptions", "blame", "document", "lines"]
