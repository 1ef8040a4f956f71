"""How to get into a cluster's ZooKeeper: what a client.conf says of TLS, a digest and SASL."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionLoss,
    KazooException,
    SessionClosedRequireSaslError,
)
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import KazooState
from kazoo.security import READ_ACL_UNSAFE, make_acl, make_digest_acl

from trimtab.files.errors import TrimtabError

_TRUSTED = "zookeeperTlsTrustCertsFilePath"
_CERTIFICATE, _KEY = "zookeeperTlsCertificateFilePath", "zookeeperTlsKeyFilePath"
#: Raised by kazoo when a server does not like a login.
_AT_LOGIN = (AuthFailedError, ConnectionLoss, SessionClosedRequireSaslError)
_FLAGS = {"": False, "false": False, "true": True}


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Threads of kazoo whose end for a refused login prints no traceback: the caller says it."""

    def spawn(self, func: Callable[..., object], *args: object, **kwargs: object) -> object:
        def quiet() -> None:
            with suppress(KazooException):
                func(*args, **kwargs)

        return super().spawn(quiet)


class StoreAccessError(TrimtabError):
    """A key of a client.conf cannot be followed; says what was found and expected, no secret."""


def store_client(servers: str, timeout_s: float, options: Mapping[str, Any]) -> KazooClient:
    """Return a client of ZooKeeper that is not connected yet.

    Args:
        servers: with their ports, and the path behind them.
        timeout_s: of the session.
        options: from `store_options`.
    """
    if "sasl_options" not in options:
        return KazooClient(hosts=servers, timeout=timeout_s, **options)
    # kazoo writes into what it is told.
    own = {**options, "sasl_options": {**options["sasl_options"]}, "handler": _Handler()}
    return KazooClient(hosts=servers, timeout=timeout_s, **own)


def begun(client: KazooClient) -> threading.Event:
    """Have a client connect, and return what is set once it was connected.

    Quirks:
        kazoo's own event is cleared when a server ends the connection at the login, which may be
        before anybody has looked at it; then no server would seem to have answered.
    """
    once = threading.Event()

    def on_state(state: KazooState) -> None:
        if state == KazooState.CONNECTED:
            once.set()

    client.add_listener(on_state)
    client.start_async()
    return once


def unreached(error: Exception, options: Mapping[str, Any], within_s: float) -> str:
    """Return why ZooKeeper was not reached, and what to look at.

    Args:
        error: that kazoo raised.
        options: from `store_options`.
        within_s: for which it was waited for.
    """
    if isinstance(error, SessionClosedRequireSaslError) and "sasl_options" not in options:
        return "it takes only who logs in by SASL: see zookeeperSasl in the client.conf"
    if "sasl_options" in options and isinstance(error, _AT_LOGIN):
        return (
            "it ended the connection at the login: see user and password of zookeeperSasl in the "
            "client.conf"
        )
    see = "is it up, and does it want TLS (zookeeperTls in the client.conf)?"
    return f"no ZooKeeper answers within {within_s:g} s: {see}"


def store_options(
    client_conf: Path, keys: Mapping[str, str], *, checks_host: bool = True
) -> Mapping[str, Any]:
    """Return what kazoo takes of a client.conf, besides the servers; nothing of it may be shown.

    What is made with a digest, or by SASL, can be changed by its owner alone, and read by
    everybody.

    Raises:
        StoreAccessError: a key cannot be followed.
    """
    digest, sasl = _digest(client_conf, keys), _sasl(client_conf, keys)
    if digest and sasl:
        raise StoreAccessError(
            f"{client_conf}: found zookeeperDigest and zookeeperSasl, expected one of them"
        )
    return _tls(client_conf, keys, checks_host=checks_host) | digest | sasl


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
    """Return the options of a user whom ZooKeeper's ACLs know by a digest; none without one."""
    if (known := _user(client_conf, keys, "zookeeperDigest")) is None:
        return {}
    acl = [make_digest_acl(*known, all=True), *READ_ACL_UNSAFE]
    return {"auth_data": [("digest", ":".join(known))], "default_acl": acl}


def _sasl(client_conf: Path, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a user whom ZooKeeper's own login knows; none without one."""
    if (known := _user(client_conf, keys, "zookeeperSasl")) is None:
        return {}
    user, password = known
    return {
        "sasl_options": {"mechanism": "DIGEST-MD5", "username": user, "password": password},
        "default_acl": [make_acl("sasl", user, all=True), *READ_ACL_UNSAFE],
    }


def _user(client_conf: Path, keys: Mapping[str, str], key: str) -> tuple[str, str] | None:
    """Return user and password of a key: `user:password`, or where that is; None without it."""
    value = keys.get(key, "")
    if not value:
        return None
    where = f"{client_conf}: key {key}"
    if value.startswith("env:"):
        name = value.removeprefix("env:")
        value = os.environ.get(name, "")
        if not value:
            raise StoreAccessError(
                f"{where}: found no variable {name}, expected one with user:password"
            )
    elif value.startswith("file:"):
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
            f"{where}: found something else, expected user:password, file:///… or env:NAME"
        )
    return user, password
