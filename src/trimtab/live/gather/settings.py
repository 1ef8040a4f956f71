"""A broker's effective settings, without what opens doors."""

from __future__ import annotations

import re
from collections.abc import Mapping

LEFT_OUT = "(left out)"

#: Keys whose value is, or may hold, a password, a token or a key.
_SECRET_KEY = re.compile(
    r"password|passwd|secret|credential|token(?!.*(?:Claim|Audience))|AuthenticationParam|authParams"
    r"|accessKey|private|saslJaas|^properties$",
    re.IGNORECASE,
)
#: A user's name and password in front of a host, a token, or one that stands in the value itself.
_SECRET_VALUE = re.compile(r"://[^/@\s]+@|(?:^|[\s,;{\"])token:|\bdata:[^,]*,|eyJ[\w-]+\.", re.I)


def without_secrets(settings: Mapping[str, object]) -> dict[str, object]:
    """Return settings without values that may be secret; empty ones stay as they are."""
    return {
        key: LEFT_OUT
        if value and (_SECRET_KEY.search(key) or _SECRET_VALUE.search(str(value)))
        else value
        for key, value in settings.items()
    }
