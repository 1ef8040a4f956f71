"""The machine that figures were measured on, in words."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")
_GIBIBYTE = 1 << 30


def machine() -> str:
    """Name cores, processor, memory and system."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIBIBYTE
    return f"{os.cpu_count()} cores of {_processor()}, {memory:.0f} GiB of memory, {_system()}"


def work_beside() -> str:
    """Return how much the machine was at over the last minutes, for wall times to be judged by."""
    return f"load average {os.getloadavg()[1]:.1f}, of which the benchmark is 1"


def _processor() -> str:
    """Name the processor as Linux does, elsewhere as Python does."""
    lines = _CPU_INFO.read_text(encoding="utf-8").splitlines() if _CPU_INFO.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.processor() or platform.machine())


def _system() -> str:
    """Name the distribution, elsewhere the kernel."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return f"{platform.system()} {platform.release()}"
