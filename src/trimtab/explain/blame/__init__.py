"""The story of one bundle or one broker over a night, for a terminal and for programs."""

from trimtab.explain.blame.command import Question, blame
from trimtab.explain.blame.document import document
from trimtab.explain.blame.lines import lines
from trimtab.explain.blame.subject import BlameError

__all__ = ["BlameError", "Question", "blame", "document", "lines"]
