"""Stores of objects by URI, through `pyarrow.fs`: what is there, its bytes by ranges, put whole.

Credentials are looked for by the stores' own libraries in the environment's usual places, and
nothing of them is ever part of an address or of a message.
"""

from __future__ import annotations

import errno
import io
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from trimtab.files.errors import TrimtabError

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileInfo, FileSystem

Answer = TypeVar("Answer")

#: Schemes of stores; `file` is this machine.
SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs")
#: Times that S3's library tries a call that is throttled, fails or breaks off: some 26 s in all.
_TRIES = 10
#: Times that a call is begun anew which came to nothing for the store's sake all the same.
_ANEW = 3
_ANEW_AFTER_S = 0.5
#: s until a store takes a connection.
_CONNECTS_WITHIN_S = 5.0
_ANSWERS_WITHIN_S = 60.0
#: Bytes that are read ahead of who reads on, doubled each time up to the latter.
_AHEAD_MAX = 8 << 20
#: Bytes that are sent at a time.
_CHUNK_SIZE = 8 << 20
_TEMPORARY = re.compile(
    r"AWS Error (?:SLOW_DOWN|INTERNAL_FAILURE|SERVICE_UNAVAILABLE|THROTTLING|REQUEST_TIMEOUT"
    r"|NETWORK_CONNECTION|UNKNOWN \(HTTP status 5)|HTTP status 5\d\d|broke off"
)
#: What a store's library says → what it means.
_FAULTS = (
    (r"NO_SUCH_BUCKET|Bucket '[^']*' not found", "there is no such bucket"),
    (
        r"AWS Error (INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|MISSING_AUTHENTICATION_TOKEN"
        r"|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN_ID|[A-Z_]*EXPIRED[A-Z_]*)",
        "the store refuses the credentials of the environment: {}",
    ),
    (r"Could not resolve host: ([\w.\-]+)", "there is no such host: {}"),
    (r"Failed to connect to ([\w.\-]+ port \d+)|Could(?:n't| not) connect", "nobody answers: {}"),
    (r"AWS Error (\w+)", "the store failed: {}"),
    (r"", "the store failed"),
)
_DENIED = re.compile(r"ACCESS_DENIED|HTTP status 403")


class StoreError(TrimtabError):
    """A store failed or refused all that was asked of it; names the place and says why."""


class PlaceError(TrimtabError):
    """An address is none, or of a store that is not known; says what was found and expected."""


@cache
def file_system(scheme: str, authority: str) -> tuple[FileSystem, str]:
    """Return the file system of a store, and what it calls the place at the top.

    Credentials come from the environment.
    """
    from pyarrow import fs  # noqa: PLC0415  # not for who has no store

    if scheme != "s3":
        system, top = fs.FileSystem.from_uri(f"{scheme}://{authority}/")
        return system, top.rstrip("/")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        _check_answer(endpoint)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    system = fs.S3FileSystem(
        endpoint_override=endpoint,
        # Without a region in the environment, the bucket has one; servers of one's own have none.
        region=region or ("us-east-1" if endpoint else fs.resolve_s3_region(authority)),
        # The standard one has a budget of retries that only successes fill up again: who looks
        # for what is not there yet has none left after a hundred faults.
        retry_strategy=fs.AwsDefaultS3RetryStrategy(max_attempts=_TRIES),
        connect_timeout=_CONNECTS_WITHIN_S,
        request_timeout=_ANSWERS_WITHIN_S,
        background_writes=False,
        # What is small is sent in one call.
        allow_delayed_open=True,
    )
    return system, authority


def _check_answer(endpoint: str) -> None:
    """Stop if nobody takes a connection there; S3's library would try for a minute.

    Raises:
        OSError: it says why.
    """
    address = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    host, port = address.hostname or "", address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((host, port), _CONNECTS_WITHIN_S).close()
    except socket.gaierror:
        raise OSError(f"Could not resolve host: {host}") from None
    except OSError:
        raise OSError(f"Failed to connect to {host} port {port}") from None


@contextmanager
def plain_faults(place: str) -> Iterator[None]:
    """Turn what a store's library raises into one line that names a place.

    What a library says may quote what was sent, so that nothing of it is repeated but words that
    are known.

    Raises:
        FileNotFoundError, PermissionError: an object is not there, or is not for us to read.
        StoreError: the store failed, which is no fault of an object's.
    """
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such file or folder", place) from None
    except OSError as fault:
        text = str(fault)
        if _DENIED.search(text):
            why = "the store gives no right to it"
            raise PermissionError(errno.EACCES, why, place) from None
        means = ((re.search(pattern, text), words) for pattern, words in _FAULTS)
        match, words = next((match, words) for match, words in means if match)
        known = (match[1] if match.groups() else "") or "connection refused"
        raise StoreError(f"{place}: {words.format(known)}") from None


def tried(call: Callable[[], Answer]) -> Answer:
    """Return what a call answers, which is begun anew where the store failed for a time."""
    for pause in range(1, _ANEW):
        try:
            return call()
        except OSError as fault:
            if not _TEMPORARY.search(str(fault)):
                raise
        time.sleep(pause * _ANEW_AFTER_S)
    return call()


def look(system: FileSystem, key: str) -> FileInfo:
    """Return what is known of an object or a folder, which may be that there is none."""
    from pyarrow.fs import FileSelector, FileType  # noqa: PLC0415  # not for who has no store

    info = tried(lambda: system.get_file_info(key))
    if info.type == FileType.NotFound:
        try:
            # Where there is no such bucket, only a listing says so.
            tried(lambda: system.get_file_info(FileSelector(key)))
        except FileNotFoundError:
            return info
    return info


def listed(system: FileSystem, key: str, *, is_deep: bool) -> list[FileInfo]:
    """Return what is in a folder, or anywhere below it; nothing where there is none."""
    from pyarrow.fs import FileSelector  # noqa: PLC0415  # not for who has no store

    try:
        return list(tried(lambda: system.get_file_info(FileSelector(key, recursive=is_deep))))
    except FileNotFoundError:
        return []


def put(system: FileSystem, key: str, source: io.BufferedIOBase) -> None:
    """Write an object, which is there whole once it is written, and not before."""

    def send() -> None:
        source.seek(0)
        # As it is: otherwise what is named .gz would be packed.
        target = system.open_output_stream(key, compression=None)
        # It is not closed where a chunk fails: that would end the object there.
        while chunk := source.read(_CHUNK_SIZE):
            target.write(chunk)
        target.close()

    tried(send)


def remove(system: FileSystem, key: str) -> None:
    """Remove a folder with all that is below it, if it is there."""
    with suppress(FileNotFoundError):
        tried(lambda: system.delete_dir(key))


class ObjectFile(io.RawIOBase):
    """The bytes of an object, by ranges: further ahead the longer it is read on."""

    def __init__(self, system: FileSystem, key: str, place: str) -> None:
        """Open it.

        Raises:
            OSError: there is none, or it may not be read.
        """
        super().__init__()
        self._place = place
        with plain_faults(place):
            self._file: NativeFile = tried(lambda: system.open_input_file(key))
            self._size: int = self._file.size()
        self._at = self._start = 0
        self._ahead = 0
        self._buffer = b""

    def readable(self) -> bool:
        """Return that it is."""
        return True

    def seekable(self) -> bool:
        """Return that it is."""
        return True

    def tell(self) -> int:
        """Return where it stands."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Return where it stands now."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any buffer
        """Return how many bytes were read into a buffer: all that it takes, but at the end."""
        wanted = max(min(len(buffer), self._size - self._at), 0)
        if not wanted:
            return 0
        begin = self._at - self._start
        if not 0 <= begin <= begin + wanted <= len(self._buffer):
            self._fetch(wanted)
            begin = 0
        memoryview(buffer)[:wanted] = memoryview(self._buffer)[begin : begin + wanted]
        self._at += wanted
        return wanted

    def _fetch(self, wanted: int) -> None:
        """Have bytes from where it stands in the buffer, at least as many as are wanted."""
        reads_on = self._start < self._at <= self._start + len(self._buffer)
        self._ahead = min(2 * max(self._ahead, wanted), _AHEAD_MAX) if reads_on else wanted
        size = min(max(self._ahead, wanted), self._size - self._at)

        def read() -> bytes:
            part: bytes = self._file.read_at(size, self._at)
            if len(part) < size:
                raise OSError(errno.EIO, "the answer broke off", self._place)
            return part

        with plain_faults(self._place):
            self._buffer = tried(read)
        self._start = self._at
