"""Run the simulations of an index and of a root: simulate.py SECONDS [SEED].

Each simulation runs one seed after the other for half of the time, and prints the line that `make
simulate` records. A failure is printed with its seed and a minimal failing sequence. SEED is the
first seed of both.
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
    """Run both simulations."""
    seconds = float(sys.argv[1])
    first = int(sys.argv[2]) if sys.argv[2:] else int(time.time())
    # hedgerow logs warnings about damage that it repairs, which the simulation causes on purpose.
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as configuration:
        os.environ["HEDGEROW_CONFIG_DIR"] = configuration
        for simulation in SIMULATIONS:
            simulation.run(first, seconds / len(SIMULATIONS))


if __name__ == "__main__":
    main()
