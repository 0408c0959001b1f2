"""`make test-extras`: the adapters with the real libraries, and nothing fetched at run time."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"
