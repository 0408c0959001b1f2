"""A background load that keeps the memory bus of the machine busy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Copies more than any cache holds, for the lifetime of the parent process.
_STREAM = """
import os, sys
import numpy

source = numpy.ones(1 << 24)
target = numpy.empty_like(source)
parent = int(sys.argv[1])
print("streaming", flush=True)
while os.getppid() == parent:
    numpy.copyto(target, source)
"""


@contextmanager
def busy_memory() -> Iterator[None]:
    """Run the block while another process copies 256 MB in a loop."""
    command = [sys.executable, "-c", _STREAM, str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as streaming:  # noqa: S603
        try:
            if streaming.stdout is None or not streaming.stdout.readline():
                raise RuntimeError("nothing streams through memory: the process has ended")
            yield
        finally:
            streaming.kill()
