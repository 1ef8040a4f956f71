"""What all errors have in common that a user can mend."""

from __future__ import annotations


class TrimtabError(Exception):
    """What the user gave, or what surrounds the program, is not as it must be.

    The message is whole: it names file, option or key, what was found and what was expected.
    A command prints it in one line and ends with exit code 2.  What one part of the program
    owes another, such as an exception that Pulsar would throw, derives from something else.
    """
