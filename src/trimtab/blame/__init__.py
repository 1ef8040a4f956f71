"""The story of one bundle or one broker over a night, for a terminal and for programs."""

from trimtab.blame.command import Question, blame
from trimtab.blame.document import document
from trimtab.blame.lines import lines
from trimtab.blame.naming import BlameError

__all__ = ["BlameError", "Question", "blame", "document", "lines"]
