"""Names as short as they can be told apart."""

from __future__ import annotations

from collections.abc import Sequence


def short_brokers(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the port, if that leaves names that differ.

    >>> short_brokers(["b1:8080", "b2:8080"])
    ('b1', 'b2')
    >>> short_brokers(["host:8080", "host:8081"])
    ('host:8080', 'host:8081')
    """
    hosts = tuple(name.rpartition(":")[0] or name for name in names)
    return hosts if len(set(hosts)) == len(names) else tuple(names)


def short_bundles(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the namespace, if there is one only, and the zeros of hashes.

    >>> short_bundles(["t/n/0x00000000_0x40000000", "t/n/0x40000000_0x80000000"])
    ('0x0_0x4', '0x4_0x8')
    >>> short_bundles(["t/n/0x00000000_0xffffffff", "t/m/0x00000000_0xffffffff"])
    ('t/n/0x0_0xffffffff', 't/m/0x0_0xffffffff')
    """
    cut = [name.rpartition("/") for name in names]
    is_one = len({namespace for namespace, _, _ in cut}) == 1
    short = tuple(
        _short_range(last) if is_one else f"{namespace}/{_short_range(last)}"
        for namespace, _, last in cut
    )
    return short if len(set(short)) == len(names) else tuple(names)


def _short_range(bundle: str) -> str:
    ends = bundle.split("_")
    if not all(end.startswith("0x") and len(end) == 10 for end in ends):
        return bundle
    return "_".join(end.rstrip("0") if end != "0x00000000" else "0x0" for end in ends)
