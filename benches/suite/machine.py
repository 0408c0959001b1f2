"""The machine, the date and the versions of a measurement, and its memory."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from importlib.metadata import distributions
from pathlib import Path

import hedgerow as hr

REQUIREMENTS = Path(__file__).parents[1] / "requirements.txt"


def machine() -> dict[str, str]:
    """Return the processor, memory, system and versions."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "hedgerow": f"{hr.__version__}, SQLite {_sqlite()}",
        "Python": platform.python_version(),
        "peers": ", ".join(_peers()) or "none installed",
    }


def give_back() -> None:
    """Return freed memory to the system, which glibc would keep for reuse."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _processor() -> str:
    """Return the name of the processor, and the widest of its instructions that hedgerow has loops for."""
    name, flags = platform.processor() or platform.machine(), ""
    with suppress(OSError):  # other systems have no such file
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            elif key.strip() == "flags":
                flags = value
    loops = [("AVX-512", "avx512_vpopcntdq"), ("AVX2", "avx2")]
    widest = next((f" ({loop})" for loop, flag in loops if flag in flags), "")
    return f"{name}{widest}"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return f"{size / 2**30:.0f} GiB"


def _sqlite() -> str:
    with hr.Index.in_memory() as index:
        return index.stats().sqlite_version


def _peers() -> Iterator[str]:
    """Return the installed packages that the requirements name, with their versions."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    asked = {line.split("==")[0] for line in lines if "==" in line}
    found = {one.name.lower(): one.version for one in distributions()}
    return (f"{name} {found[name]}" for name in sorted(asked & found.keys()))
