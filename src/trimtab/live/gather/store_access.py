"""How to get into a cluster's ZooKeeper: what a client.conf says of TLS and of a digest."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kazoo.security import READ_ACL_UNSAFE, make_digest_acl

from trimtab.files.errors import TrimtabError

_TRUSTED = "zookeeperTlsTrustCertsFilePath"
_CERTIFICATE, _KEY = "zookeeperTlsCertificateFilePath", "zookeeperTlsKeyFilePath"
_FLAGS = {"": False, "false": False, "true": True}


class StoreAccessError(TrimtabError):
    """A key of a client.conf cannot be followed; says what was found and expected, no secret."""


def store_options(
    client_conf: Path, keys: Mapping[str, str], *, checks_host: bool = True
) -> Mapping[str, Any]:
    """Return what kazoo takes of a client.conf, besides the servers; nothing of it may be shown.

    What is made with a digest can be changed by its owner alone, and read by everybody.

    Raises:
        StoreAccessError: a key cannot be followed.
    """
    return _tls(client_conf, keys, checks_host=checks_host) | _digest(client_conf, keys)


def _tls(client_conf: Path, keys: Mapping[str, str], *, checks_host: bool) -> dict[str, Any]:
    value = keys.get("zookeeperTls", "")
    if value.lower() not in _FLAGS:
        raise StoreAccessError(
            f"{client_conf}: key zookeeperTls: found {value!r}, expected true or false"
        )
    if not _FLAGS[value.lower()]:
        return {}
    trusted, certificate, key = (keys.get(name) or None for name in (_TRUSTED, _CERTIFICATE, _KEY))
    # kazoo reads them at each connection, and would only log that it cannot.
    tls = ssl.create_default_context()
    try:
        if trusted:
            tls.load_verify_locations(trusted)
    except (OSError, ssl.SSLError):
        where = f"{client_conf}: key {_TRUSTED}"
        raise StoreAccessError(f"{where}: found {trusted}, expected certificates in PEM") from None
    try:
        # kazoo brings the certificate only if both are named, be they one file.
        if certificate and key:
            tls.load_cert_chain(certificate, key, password="")
        is_whole = bool(certificate) == bool(key)
    except (OSError, ssl.SSLError):
        is_whole = False
    if not is_whole:
        raise StoreAccessError(
            f"{client_conf}: keys {_CERTIFICATE} and {_KEY}: found {certificate} and {key}, "
            "expected a certificate in PEM and its key without a password"
        )
    return {
        **{"use_ssl": True, "check_hostname": checks_host},
        **{"ca": trusted, "certfile": certificate, "keyfile": key},
    }


def _digest(client_conf: Path, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of `user:password`, or of `file:///…`, a file with that."""
    value = keys.get("zookeeperDigest", "")
    if not value:
        return {}
    where = f"{client_conf}: key zookeeperDigest"
    if value.startswith("file:"):
        path = Path("/" + value.removeprefix("file:").lstrip("/"))
        try:
            value = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise StoreAccessError(
                f"{where}: found {path}, expected a file with user:password"
            ) from None
    user, colon, password = value.partition(":")
    if not (user and colon and password):
        # What was found may be most of a password.
        raise StoreAccessError(
            f"{where}: found something else, expected user:password or file:///…"
        )
    acl = [make_digest_acl(user, password, all=True), *READ_ACL_UNSAFE]
    return {"auth_data": [("digest", value)], "default_acl": acl}
