"""Units of Pulsar's settings, for whoever reads them and needs no arrays."""

from __future__ import annotations

#: Bytes in a MiB, which Pulsar calls MB.
MEBIBYTE = 1048576.0
#: Seconds in the minutes of Pulsar's settings and of scenarios.
MINUTE_S = 60.0
