"""What all errors have in common that a user can mend."""

from __future__ import annotations

import errno

#: Library → the extra that brings it; the other libraries always come with the program.
_EXTRAS = {
    "jinja2": "explain",
    "markupsafe": "explain",
    "pyarrow": "explain",
    "pyiceberg": "catalog",
    "vl_convert": "explain",
    "_pulsar": "client",
    "pulsar": "client",
    "zstandard": "connect",
    "google": "spark",
    "grpc": "connect",
    "grpc_status": "connect",
    "pandas": "spark",
    "py4j": "spark",
    "pyspark": "spark",
    "sqlalchemy": "catalog",
}


class TrimtabError(Exception):
    """What the user gave, or what surrounds the program, is not as it must be.

    The message is whole: it names file, option or key, what was found and what was expected.
    A command prints it in one line and ends with exit code 2.  What one part of the program
    owes another, such as an exception that Pulsar would throw, derives from something else.
    """


class StoppedError(TrimtabError):
    """Somebody asked for an end before there was anything to keep."""


def missing_extra(module: str) -> str | None:
    """Return what to install where a module is missing that an extra brings; None for any other."""
    library = module.partition(".")[0]
    extra = _EXTRAS.get(library)
    if extra is None:
        return None
    return f"this needs {library}, which is not installed: pip install 'trimtab[{extra}]'"


def system_fault(error: Exception) -> str | None:
    """Return what the system refused and why, in one line; None if it is no refusal.

    A reader that has left is none.  A library that is not installed counts as refused.
    """
    if isinstance(error, ModuleNotFoundError):
        return missing_extra(error.name or "")
    if isinstance(error, MemoryError):
        return f"there is too little memory for this: {error}".removesuffix(": ")
    if not isinstance(error, OSError) or error.errno in (None, errno.EPIPE):
        return None
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
