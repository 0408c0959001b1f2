"""Compare hedgerow with its peers: python benches/compare.py [--sizes N ...] [--data DIR] ..."""

from __future__ import annotations

import os
import sys

# Set before numpy is imported. One thread each, as in a service that answers many requests in
# parallel.
for library in ("MKL", "NUMBA", "OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("VECLIB_MAXIMUM_THREADS", "1")
# LanceDB logs a warning about its own defaults at every search.
os.environ.setdefault("LANCEDB_LOG", "error")

from suite.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
