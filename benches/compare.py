"""hedgerow and its peers: python benches/compare.py [--sizes N ...] [--data DIR] ..."""

from __future__ import annotations

import os
import sys

# Before numpy is imported: one thread for everybody, as in a service that answers many at once.
for library in ("MKL", "NUMBA", "OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("VECLIB_MAXIMUM_THREADS", "1")
# LanceDB warns of its own defaults at every search.
os.environ.setdefault("LANCEDB_LOG", "error")

from suite.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
