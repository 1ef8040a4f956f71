"""An entry of a topic, as the admin API hands it out → the messages in it.

A producer packs messages that come together into one entry.  What packs them is the protocol of
Pulsar's clients: the length of a header, the header, the value, and the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

#: Numbers of the fields of `SingleMessageMetadata` in PulsarApi.proto.
_KEY, _SIZE, _COMPACTED_OUT, _NULL = 2, 3, 4, 9
#: Kinds of a field: a number, bytes with their length before them; and those of fixed length.
_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}
_VARINT_BYTES_MAX = 10


class Message(NamedTuple):
    """One message."""

    key: str
    #: ms since 1970, by the broker of who sent it.
    published_ms: int
    #: Empty of one that removes its key.
    value: bytes


def messages_of(headers: Mapping[str, str], body: bytes) -> list[Message]:
    """Return the messages of an entry, in order.

    Args:
        headers: of the answer, by name in small letters.
        body: the answer, unpacked by the broker.

    Raises:
        ValueError: it is not what an entry is.

    Source:
        PersistentTopicsBase.java generateResponseWithEntry, 4.0.8; Commands.java
        deSerializeSingleMessageInBatch; PulsarApi.proto SingleMessageMetadata
    """
    published_ms = _milliseconds(headers.get("x-pulsar-publish-time", ""))
    count = headers.get("x-pulsar-num-batch-message")
    if count is None:
        value = b"" if headers.get("x-pulsar-null-value") == "true" else body
        return [Message(headers.get("x-pulsar-partition-key", ""), published_ms, value)]
    return list(_batch(body, int(count), published_ms))


def _batch(body: bytes, count: int, published_ms: int) -> Iterator[Message]:
    """Yield the messages of a batch, but for those that compaction has left out."""
    at = 0
    for _ in range(count):
        size = int.from_bytes(_part(body, at, 4), "big")
        numbers, texts = _fields(_part(body, at + 4, size))
        at += 4 + size
        value = _part(body, at, numbers.get(_SIZE, 0))
        at += len(value)
        if not numbers.get(_COMPACTED_OUT):
            key = texts.get(_KEY, b"").decode()
            yield Message(key, published_ms, b"" if numbers.get(_NULL) else value)


def _fields(header: bytes) -> tuple[dict[int, int], dict[int, bytes]]:
    """Return the fields of a header that are numbers, and those that are bytes; the last counts."""
    numbers, texts, at = dict[int, int](), dict[int, bytes](), 0
    while at < len(header):
        tag, at = _varint(header, at)
        field, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            numbers[field], at = _varint(header, at)
        elif kind == _BYTES:
            size, at = _varint(header, at)
            texts[field] = _part(header, at, size)
            at += size
        elif kind in _FIXED:
            at += len(_part(header, at, _FIXED[kind]))
        else:
            raise ValueError(f"found a field of kind {kind}, expected one of 0, 1, 2, 5")
    return numbers, texts


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, the lowest first, and where it ends."""
    number = 0
    for place in range(_VARINT_BYTES_MAX):
        byte = _part(content, at + place, 1)[0]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    raise ValueError(f"found a number of more than {_VARINT_BYTES_MAX} bytes")


def _part(content: bytes, at: int, size: int) -> bytes:
    """Return bytes of something that must have them.

    Raises:
        ValueError: it has not.
    """
    part = content[at : at + size]
    if len(part) != size:
        raise ValueError(f"found {len(content)} bytes, expected {at + size}")
    return part


def _milliseconds(text: str) -> int:
    """Return a time with its zone as ms since 1970."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)
