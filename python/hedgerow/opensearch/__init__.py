"""Collections of chunks in OpenSearch, with the language and the ranking of an index
(spec/opensearch.md); needs the extra `opensearch`.

    from hedgerow.opensearch import Collection

    with Collection.create("https://search.example:9200", "notes", auth=("me", password)) as notes:
        notes.upsert([{"id": "a", "content": "Hedgehogs sleep."}])
"""

from __future__ import annotations

from .collection import Collection
from .copying import CopyCounts, copy_index
from .stats import CollectionStats

__all__ = ["Collection", "CollectionStats", "CopyCounts", "copy_index"]


def __dir__() -> list[str]:
    return sorted(__all__)
