"""Who may do what on a cluster of a test: a secret of its own, and a token for any role."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path

SUPER_USER = "super"
#: Administrator of every tenant that `load.py` makes.
TENANT_ADMIN = "tenant-admin"
_KEY = "secret.key"
_ONLY_OURS = 0o600
_PLUGIN = "org.apache.pulsar.client.impl.auth.AuthenticationToken"


def settings(folder: Path) -> dict[str, str]:
    """Return the keys of broker.conf that ask everybody for a token; the secret is made anew."""
    key = folder / _KEY
    if not key.exists():
        _write(key, secrets.token_bytes(32))
    provider = "org.apache.pulsar.broker.authentication.AuthenticationProviderToken"
    return {
        "authenticationEnabled": "true",
        "authenticationProviders": provider,
        "authorizationEnabled": "true",
        "superUserRoles": SUPER_USER,
        "tokenSecretKey": key.as_uri(),
        "brokerClientAuthenticationPlugin": _PLUGIN,
        "brokerClientAuthenticationParameters": token_file(folder, SUPER_USER).as_uri(),
    }


def token(folder: Path, role: str) -> str:
    """Return a token that says that whoever has it is of a role."""
    secret = (folder / _KEY).read_bytes()
    parts = [_encoded(json.dumps(part).encode()) for part in ({"alg": "HS256"}, {"sub": role})]
    signed = ".".join(parts)
    return f"{signed}.{_encoded(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


def token_file(folder: Path, role: str) -> Path:
    """Write a role's token into a file of its own."""
    path = folder / f"{role}.token"
    _write(path, token(folder, role).encode())
    return path


def client_conf(folder: Path, role: str) -> Path:
    """Write a client.conf with which somebody of a role asks."""
    path = folder / f"{role}.conf"
    text = f"authPlugin={_PLUGIN}\nauthParams={token_file(folder, role).as_uri()}\n"
    _write(path, text.encode())
    return path


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _ONLY_OURS)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
