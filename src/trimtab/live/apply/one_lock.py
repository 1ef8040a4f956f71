"""Where the lock of a cluster is: in its own ZooKeeper, so that all who act share one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from trimtab.live.apply.store_lock import Store, opened_store
from trimtab.live.gather.access import GatherError
from trimtab.live.gather.watched_store import NOTHING_ELSE

#: For a ZooKeeper that the brokers' settings name: it may be out of reach from here.
CONNECT_S = 5.0
_KEYS = ("metadataStoreUrl", "zookeeperServers")
_SERVERS = re.compile(r"(?:zk:(?://)?)?([\w.\[\]:-]+:\d+(?:,[\w.\[\]:-]+:\d+)*(?:/\S*)?)")


def own_store(settings: Mapping[str, str]) -> str | None:
    """Return the ZooKeeper of a cluster as `--metadata` takes it, by a broker's settings.

    Returns:
        None if they name none, such as with etcd or Oxia.

    >>> own_store({"metadataStoreUrl": "zk:zk-1:2181,zk-2:2181/pulsar"})
    'zk://zk-1:2181,zk-2:2181/pulsar'
    """
    url = next((settings[key] for key in _KEYS if settings.get(key)), "")
    match = _SERVERS.fullmatch(url.strip())
    return f"zk://{match[1]}" if match else None


@contextmanager
def cluster_store(
    settings: Mapping[str, str], options: Mapping[str, Any] = NOTHING_ELSE
) -> Iterator[tuple[Store | None, str]]:
    """Yield the ZooKeeper of a cluster and an empty text, or None and why there is none."""
    url = own_store(settings)
    if url is None:
        yield None, "its settings name no ZooKeeper that could hold its lock"
        return
    with ExitStack() as opened:
        try:
            store = opened.enter_context(opened_store(url, CONNECT_S, options))
        except GatherError as error:
            yield None, str(error)
            return
        yield store, ""
