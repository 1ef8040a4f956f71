"""Who asks a store: what the environment says, or the files that it names."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.live.gather.access import Access, GatherError


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """What every call to a store brings along."""

    access: Access
    #: What may stand in no message, whoever wrote it.
    secrets: tuple[str, ...] = field(repr=False)
    #: Variables that say who asks; empty where nobody in particular does.
    variables: tuple[str, ...]


#: Variable behind a store's prefix → the header that it is sent in.
_TENANTS = {"ORG_ID": "X-Scope-OrgID", "ACCOUNT_ID": "AccountID", "PROJECT_ID": "ProjectID"}
#: The same for secrets, each with what stands in front of it.
_TOKENS = {"BEARER_TOKEN": "Bearer", "API_KEY": "ApiKey"}


def store_access(prefix: str, environ: Mapping[str, str]) -> StoreAccess:
    """Return who asks a store, by the variables that begin with its prefix.

    They are those of Loki's own logcli: `LOKI_USERNAME`, `LOKI_PASSWORD`, `LOKI_BEARER_TOKEN`,
    `LOKI_ORG_ID` and `LOKI_CA_CERT_PATH`; `_FILE` behind one that is secret names a file with it.

    Raises:
        GatherError: a variable cannot be followed; its value is not shown.
    """
    keys = {
        name.removeprefix(f"{prefix}_"): value
        for name, value in environ.items()
        if name.startswith(f"{prefix}_") and value
    }
    headers = {"Accept-Encoding": "gzip", "Content-Type": "application/json"}
    headers |= {header: keys[name] for name, header in _TENANTS.items() if name in keys}
    tokens = {it: token for it in _TOKENS if (token := _secret(prefix, keys, it)) is not None}
    password = _secret(prefix, keys, "PASSWORD")
    user = keys.get("USERNAME")
    if (user is None) != (password is None):
        there, absent = ("USERNAME", "PASSWORD") if password is None else ("PASSWORD", "USERNAME")
        raise GatherError(
            f"{prefix}_{there}: found it without {prefix}_{absent}, expected both or neither"
        )
    if len(tokens) + (user is not None) > 1:
        names = " and ".join(_names(prefix, [*tokens, *(["USERNAME"] if user else [])]))
        raise GatherError(f"{names}: found both, expected one of them")
    secrets = list(tokens.values())
    variables = list(tokens)
    for name, token in tokens.items():
        headers["Authorization"] = f"{_TOKENS[name]} {token}"
    if user is not None and password is not None:
        encoded = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
        headers["Authorization"] = f"Basic {encoded}"
        secrets, variables = [password, encoded], ["USERNAME", "PASSWORD"]
    access = Access(lambda: headers, _tls(prefix, keys.get("CA_CERT_PATH")))
    return StoreAccess(access, tuple(secrets), tuple(_names(prefix, variables)))


def _names(prefix: str, keys: Iterable[str]) -> list[str]:
    return [f"{prefix}_{key}" for key in keys]


def _secret(prefix: str, keys: Mapping[str, str], name: str) -> str | None:
    """Return what a variable holds, or the file that its sibling names; None without both."""
    path = keys.get(f"{name}_FILE")
    if path is None:
        secret = keys.get(name)
    elif name in keys:
        raise GatherError(f"{prefix}_{name} and {prefix}_{name}_FILE: found both, expected one")
    else:
        try:
            secret = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise GatherError(
                f"{prefix}_{name}_FILE: found {path}, expected a file that can be read"
            ) from None
    if secret is not None and (not secret or not secret.isprintable()):
        raise GatherError(f"{prefix}_{name}: found something else, expected one line of text")
    return secret


def _tls(prefix: str, trusted: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=trusted)
    except (OSError, ssl.SSLError):
        raise GatherError(
            f"{prefix}_CA_CERT_PATH: found {trusted}, expected a file of certificates"
        ) from None
