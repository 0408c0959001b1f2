"""Evidence: the passages of some files, each a whole block (spec/memory.md, "Context")."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from hedgerow._engine import Chunk, Filters, Hit, Index
from hedgerow.embedders import AnyEmbedder
from hedgerow.ranking import Ranking
from hedgerow.retriever import Retriever

_PASSAGES = 5
_LONGEST = 8000
"""The most characters of a block whose parts are joined."""
_STOPS = ("。", "！", "？")  # noqa: RUF001 - no space follows these


class Evidence(NamedTuple):
    """A passage with its score; parts of one long block are one, up to a limit."""

    path: str
    ordinal: int
    score: float
    line_start: int
    text: str


def passages(
    index: Index, embedder: AnyEmbedder | None, query: str, files: Sequence[str]
) -> list[Evidence]:
    """Find passages of some files, the best first, each whole."""
    if not files:
        return []
    retriever = Retriever(index, embedder=embedder, ranking=Ranking("best"))
    most = _PASSAGES * len(files)
    hits = retriever.search(
        query,
        limit=most,
        candidates=most,
        skip_retry_ladder=True,
        filters=Filters(paths=list(files)),
    ).results
    found: dict[tuple[str, int], Evidence] = {}
    for hit in hits:
        whole = _whole(index, hit)
        found.setdefault((whole.path, whole.ordinal), whole)
    return list(found.values())


def _whole(index: Index, hit: Hit) -> Evidence:
    """Join a passage with those before and after it that go on without a blank line."""
    parts: list[Hit | Chunk] = [hit]
    size = len(hit.content)
    for step in (-1, 1):
        while True:
            end = parts[0] if step < 0 else parts[-1]
            chunk = index.get(f"{hit.path}#{end.ordinal + step}")
            if chunk is None:
                break
            size += len(chunk.content)
            pair = (chunk, end) if step < 0 else (end, chunk)
            if _between(*pair) is None or size > _LONGEST:
                break
            parts.insert(0 if step < 0 else len(parts), chunk)
    text = parts[0].content
    for before, after in pairwise(parts):
        text += f"{_between(before, after)}{after.content}"
    start = int(parts[0].metadata["line_start"])
    return Evidence(hit.path, parts[0].ordinal, hit.score, start, text)


def _between(before: Hit | Chunk, after: Hit | Chunk) -> str | None:
    """Return what stood between two parts of a block; None where they are no parts of one."""
    lines = int(after.metadata["line_start"]) - int(before.metadata["line_end"])
    if lines > 1 or before.title != after.title:
        return None
    if lines == 1:
        return "\n"
    return "" if before.content.endswith(_STOPS) else " "
