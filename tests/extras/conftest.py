"""`make test-extras`: the adapters with the real libraries, and nothing fetched at run time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1]))  # for doubles.py
