"""Run the simulations of an index and of a root: simulate.py SECONDS [SEED].

Each runs seed after seed for half of the time, and ends with the line that `make simulate` records. A failure is
printed with its seed and the fewest operations that still fail; both begin with SEED, if it is given.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time

import index_simulation
import root_simulation

SIMULATIONS = (index_simulation.SIMULATION, root_simulation.SIMULATION)


def main() -> None:
    """Run both."""
    seconds = float(sys.argv[1])
    first = int(sys.argv[2]) if sys.argv[2:] else int(time.time())
    # What hedgerow mends on purpose is logged as a warning.
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as configuration:
        os.environ["HEDGEROW_CONFIG_DIR"] = configuration
        for simulation in SIMULATIONS:
            simulation.run(first, seconds / len(SIMULATIONS))


if __name__ == "__main__":
    main()
