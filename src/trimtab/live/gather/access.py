"""How to get into a cluster: what a client.conf says of who asks, and of whom to trust."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.files.errors import TrimtabError
from trimtab.live.gather.client_conf import read_client_conf
from trimtab.live.gather.store_access import store_options

_PLUGINS = "AuthenticationToken, AuthenticationBasic, AuthenticationTls"


class GatherError(TrimtabError):
    """A cluster cannot be recorded; the message says what was found and expected, no secret."""


@dataclass(frozen=True, slots=True)
class Access:
    """What every call brings along.  Nothing of it may be shown, so it has no text of its own."""

    #: Gives the header that says who asks, or none; asked each time, since tokens are renewed.
    header: Callable[[], dict[str, str]] = field(repr=False)
    #: For https.
    tls: ssl.SSLContext = field(repr=False)
    #: The admin API as client.conf has it; None if it does not.
    web_service_url: str | None = None
    #: What whoever runs this should know, in whole sentences.
    warnings: tuple[str, ...] = ()
    #: For ZooKeeper, as kazoo takes it.
    store: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: For Pulsar's client, as it takes them; `certificate`: the files of one that says who asks.
    client: Mapping[str, Any] = field(default_factory=dict, repr=False)


def read_access(client_conf: Path | None, *, checks_host: bool = True) -> Access:
    """Return the access of a client.conf, as pulsar-admin has it; without one, nobody's.

    Quirks:
        A broker's certificate is checked unless `tlsAllowInsecureConnection` is true, and
        that it is for the host that was asked, too: `tlsEnableHostnameVerification`, which
        is false in the client.conf that Pulsar ships, is not looked at.

    Raises:
        GatherError: a key cannot be followed; its value is not shown if it may be secret.
    """
    if client_conf is None:
        tls = _trusting(None, checks_host=checks_host)
        return Access(dict, tls, client={"tls_validate_hostname": checks_host})
    try:
        keys = read_client_conf(client_conf)
    except OSError as error:
        raise GatherError(f"{client_conf}: {error.strerror}") from None
    if keys.get("useKeyStoreTls", "").lower() == "true":
        raise GatherError(
            f"{client_conf}: key useKeyStoreTls: found true, expected PEM files: "
            "tlsTrustCertsFilePath and AuthenticationTls"
        )
    warnings: tuple[str, ...] = ()
    tls = _trusting(client_conf, keys.get("tlsTrustCertsFilePath"), checks_host=checks_host)
    if keys.get("tlsAllowInsecureConnection", "").lower() == "true":
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        key = f"{client_conf}: key tlsAllowInsecureConnection"
        warnings = (f"{key} is true: certificates are not checked, so a token may go to anybody.",)
    certificate = keys.get("tlsCertificateFilePath"), keys.get("tlsKeyFilePath")
    plugin, credential = keys.get("authPlugin", "").rpartition(".")[2], keys.get("authParams", "")
    header: Callable[[], dict[str, str]] = dict
    if plugin == "AuthenticationToken":
        header = _token(client_conf, credential)
    elif plugin == "AuthenticationBasic":
        header = _basic(client_conf, credential)
    elif plugin == "AuthenticationTls":
        certificate = _certificate(client_conf, credential)
    elif plugin:
        raise GatherError(
            f"{client_conf}: key authPlugin: found {plugin}, expected one of {_PLUGINS}"
        )
    _bring(tls, client_conf, *certificate)
    store = store_options(client_conf, keys, checks_host=checks_host)
    addresses = {
        "service_url": keys.get("brokerServiceUrl"),
        "tls_trust_certs_file_path": keys.get("tlsTrustCertsFilePath"),
    }
    client: dict[str, Any] = {
        "tls_allow_insecure_connection": bool(warnings),
        "tls_validate_hostname": checks_host and not warnings,
        **{key: value for key, value in addresses.items() if value},
        **_client_certificate(plugin, *certificate),
    }
    return Access(header, tls, keys.get("webServiceUrl") or None, warnings, store, client)


def _client_certificate(plugin: str, certificate: str | None, key: str | None) -> dict[str, Any]:
    """Return what Pulsar's client takes of a certificate: to say who asks, or for TLS alone."""
    if not certificate:
        return {}
    if plugin == "AuthenticationTls":
        return {"certificate": (certificate, key)}
    names = ("tls_certificate_file_path", "tls_private_key_file_path")
    return dict(zip(names, (certificate, key), strict=True))


def _trusting(
    client_conf: Path | None, trusted: str | None = None, *, checks_host: bool
) -> ssl.SSLContext:
    """Return TLS settings, which trust a file of certificates, or else what the system does."""
    try:
        tls = ssl.create_default_context(cafile=trusted or None)
    except (OSError, ssl.SSLError):
        where = f"{client_conf}: key tlsTrustCertsFilePath"
        raise GatherError(f"{where}: found {trusted}, expected a file of certificates") from None
    tls.check_hostname = checks_host
    return tls


def _bring(
    tls: ssl.SSLContext, client_conf: Path, certificate: str | None, key: str | None
) -> None:
    """Bring a certificate to each call, for a broker that asks for one."""
    if not certificate:
        return
    try:
        # Without a password given, OpenSSL would ask for it on the terminal.
        tls.load_cert_chain(certificate, key or None, password="")
    except (OSError, ssl.SSLError):
        raise GatherError(
            f"{client_conf}: found {certificate} and {key}, expected a certificate in PEM "
            "and its key without a password"
        ) from None


def _token(client_conf: Path, credential: str) -> Callable[[], dict[str, str]]:
    """Return what makes the header of `token:…`, `file:…`, `{"token": …}` or a bare token."""
    if credential.startswith("file:"):
        path = Path("/" + credential.removeprefix("file:").lstrip("/"))

        def from_file() -> dict[str, str]:
            try:
                return _bearer(client_conf, path.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError):
                where = f"{client_conf}: key authParams"
                raise GatherError(f"{where}: found {path}, expected a file with a token") from None

        from_file()
        return from_file
    spelled = _object(credential)
    token = credential.removeprefix("token:") if spelled is None else spelled.get("token")
    header = _bearer(client_conf, token)
    return lambda: header


def _bearer(client_conf: Path, token: object) -> dict[str, str]:
    text = token.strip() if isinstance(token, str) else ""
    if not text or not text.isascii() or not text.isprintable():
        raise _secret(client_conf, "token:… or file:///…")
    return {"Authorization": f"Bearer {text}"}


def _basic(client_conf: Path, credential: str) -> Callable[[], dict[str, str]]:
    spelled = _object(credential) or {}
    user, password = spelled.get("userId"), spelled.get("password")
    if not isinstance(user, str) or not isinstance(password, str) or not user:
        raise _secret(client_conf, '{"userId": …, "password": …}')
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return lambda: {"Authorization": f"Basic {encoded}"}


def _certificate(client_conf: Path, credential: str) -> tuple[str | None, str | None]:
    """Return the files of `tlsCertFile:…,tlsKeyFile:…`, or of the same as JSON."""
    spelled = _object(credential)
    if spelled is None:
        spelled = dict(part.strip().partition(":")[::2] for part in credential.split(","))
    certificate, key = spelled.get("tlsCertFile"), spelled.get("tlsKeyFile")
    if not isinstance(certificate, str) or not isinstance(key, str):
        raise _secret(client_conf, "tlsCertFile:…,tlsKeyFile:…")
    return certificate, key


def _object(credential: str) -> dict[str, object] | None:
    """Return a JSON object; None if it is none."""
    try:
        keys = json.loads(credential)
    except ValueError:
        return None
    return keys if isinstance(keys, dict) else None


def _secret(client_conf: Path, expected: str) -> GatherError:
    # What was found may be most of a password.
    return GatherError(f"{client_conf}: key authParams: found something else, expected {expected}")
