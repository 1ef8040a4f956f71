"""What is planted in the files of a recording: lines and writes as Pulsar leaves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tools.precision.plants_of_lines import LINES
from tools.precision.plants_of_stores import STORES

PLANTS: Mapping[str, Callable[..., None]] = {**LINES, **STORES}
