"""What all errors have in common that a user can mend."""

from __future__ import annotations

import errno


class TrimtabError(Exception):
    """What the user gave, or what surrounds the program, is not as it must be.

    The message is whole: it names file, option or key, what was found and what was expected.
    A command prints it in one line and ends with exit code 2.  What one part of the program
    owes another, such as an exception that Pulsar would throw, derives from something else.
    """


class StoppedError(TrimtabError):
    """Somebody asked for an end before there was anything to keep."""


def system_fault(error: Exception) -> str | None:
    """Return what the system refused and why, in one line; None if it is no refusal.

    A reader that has left is none.
    """
    if isinstance(error, MemoryError):
        return f"there is too little memory for this: {error}".removesuffix(": ")
    if not isinstance(error, OSError) or error.errno in (None, errno.EPIPE):
        return None
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
