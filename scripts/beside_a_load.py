"""Run a command while every core is busy: beside_a_load.py --times 2 -- COMMAND."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys

BUSY = "while True: pass"


def main() -> int:
    """Run the command `--times` times. Return the first nonzero exit code, or 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    # Without a handler, SIGTERM would leave the load processes running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    cores = os.cpu_count() or 1
    loads = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(cores)]
    try:
        for time in range(1, arguments.times + 1):
            print(f"--- beside {cores} busy loops, {time} of {arguments.times}", flush=True)
            done = subprocess.run(arguments.command, check=False)
            if done.returncode != 0:
                return done.returncode
    finally:
        for load in loads:
            load.kill()
            load.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
